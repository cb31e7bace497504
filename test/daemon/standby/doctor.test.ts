/** Findings of the doctor on a machine with a standby. */
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { checkStandby } from '../../../src/daemon/doctor/standby.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import type { Replication } from '../../../src/standby/replication.ts';
import { writeStandbyStatus } from '../../../src/standby/status-file.ts';
import { openStore } from '../../../src/store/store.ts';
import { configOf } from '../../config/config-of.ts';
import { SERVICE, withStandby } from '../../standby/support.ts';
import { placeDatabase, temporaryFolder } from '../../support/store.ts';

const clock = manualClock();

async function machine() {
  const dataDir = temporaryFolder();
  const path = join(dataDir, 'mirror.db');
  placeDatabase(path);
  const { store } = await openStore({ path, busyTimeoutMs: 100 }, clock);
  onTestFinished(() => store.close());
  const config = configOf([
    ...SERVICE,
    ...withStandby(['postgresql://one@127.0.0.1/x']),
    { path: 'dataDir', value: dataDir },
  ]);
  const look = async (replication?: Replication) => {
    writeStandbyStatus(dataDir, {
      at: clock.now(),
      role: 'holder',
      state: 'sending',
      account: 'main',
      machine: 'here',
      waiting: 0,
      place: 0,
      standbys: [{ machine: 'there', version: '1', seenMsAgo: 0, backupMsAgo: 0, behind: 0 }],
      acknowledge: 'postgresql',
      ...(replication && { replication }),
    });
    const findings = await checkStandby(store.db, config, clock.now());
    return findings.map(({ grade, text }) => `${grade}: ${text}`).slice(1);
  };
  return { store, look };
}

const replica = (name: string, state: string | null) => ({ name, state });

it('the doctor tells whether a replica confirms, and that one waits for nobody', async () => {
  const { look } = await machine();
  const names = 'ANY 1 (one, two)';
  expect(await look()).toEqual([]);
  expect(await look({ names, replicas: [replica('one', 'quorum')] })).toEqual([]);
  expect(await look({ names: '', replicas: [replica('one', 'async')] })).toEqual([
    'warning: whether a synchronous replica confirms what is kept: no',
  ]);
  expect(await look({ names, replicas: [replica('', null)] })).toEqual([
    'warning: whether a synchronous replica confirms what is kept: not known',
  ]);
  // A promoted server whose setting still names itself.
  for (const replicas of [[], [replica('three', 'async')]]) {
    expect(await look({ names, replicas })).toEqual([
      expect.stringMatching(/^failed: .*"ANY 1 \(one, two\)", and none of these is connected/),
    ]);
  }
});

it('the doctor warns where documents come by SQL, though no setting says so', async () => {
  const { store, look } = await machine();
  const add = (id: number, channel: string) =>
    sql`insert into intake (outbox_id, channel, source, received_at)
      values (${id}, ${channel}, 'x', 1)`.execute(store.db);
  await add(1, 'http');
  expect(await look()).toEqual([]);
  await add(2, 'sql');
  expect(await look()).toEqual([expect.stringMatching(/^warning: documents come by SQL/)]);
});
