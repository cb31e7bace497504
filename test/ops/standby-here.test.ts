import { describe, expect, it } from 'vitest';
import { standbyWire } from '../../src/console/openapi/postgres-wire.ts';
import {
  describeStandby,
  isStandbyWell,
  readStandbyHere,
  type StandbyHere,
} from '../../src/ops/standby-here.ts';
import { type StandbyStatus, writeStandbyStatus } from '../../src/standby/status-file.ts';
import { temporaryFolder } from '../support/store.ts';

const NOW = 10_000_000;

const TOLD: StandbyStatus = {
  at: NOW - 1_000,
  role: 'holder',
  state: 'sending',
  account: 'main',
  machine: 'a:/data',
  holder: 'a:/data',
  since: NOW - 7_200_000,
  waiting: 0,
  place: 9,
  acknowledge: 'postgresql',
};

function here(told: Partial<StandbyStatus>): StandbyHere | null {
  const dataDir = temporaryFolder();
  writeStandbyStatus(dataDir, { ...TOLD, ...told });
  return readStandbyHere({ dataDir }, NOW);
}

const machine = (more: { seenMsAgo?: number; behind?: number | null }) => ({
  machine: 'b:/data',
  version: '1',
  seenMsAgo: 1_000,
  backupMsAgo: 1_000,
  behind: 40,
  ...more,
});

const told = (found: StandbyHere | null) =>
  found === null ? null : [isStandbyWell(found), describeStandby(found)];

describe('this machine with a standby', () => {
  it('says who holds the lease, for how long, and whether somebody could take over', () => {
    expect(told(here({ standbys: [machine({})] }))).toEqual([
      true,
      'holds the lease and sends, for 2h now; a standby waits, 40 rows to play',
    ]);
    const gone = [machine({ seenMsAgo: 600_000 }), machine({ behind: null })];
    expect(told(here({ standbys: gone }))).toEqual([
      false,
      'holds the lease and sends, for 2h now; NO STANDBY could take over now',
    ]);
    const waits = { role: 'standby', state: 'waiting', holder: 'b:/data' } as const;
    expect(told(here({ ...waits, backupAt: NOW - 60_000 }))).toEqual([
      true,
      'waits as a standby; b:/data holds the lease; would go on from a backup 1m old',
    ]);
  });

  it('says that it sends nothing and why, that it is silent, and what it acknowledges', () => {
    const error = { code: 'standby.unknown', message: 'PostgreSQL: no answer in time' };
    expect(told(here({ state: 'away', error }))).toEqual([
      false,
      'SENDS NOTHING: PostgreSQL cannot be asked: no answer in time',
    ]);
    expect(told(here({ at: 1 }))).toEqual([false, 'its process stopped or hangs']);
    expect(told(here({ acknowledge: 'local' }))?.[1]).toMatch(/kept here only$/);
    expect(told(readStandbyHere({ dataDir: temporaryFolder() }, NOW))).toEqual([
      false,
      'nothing ran here yet',
    ]);
    expect(readStandbyHere(null, NOW)).toBeNull();
  });

  it('is told to programs whole, as their description has it', () => {
    const error = { code: 'standby.unknown', message: 'PostgreSQL: no answer in time' };
    const waits = { role: 'standby', state: 'waiting', holder: 'b:/data' } as const;
    for (const one of [{ standbys: [machine({})] }, { ...waits, backupAt: NOW }, { error }]) {
      const found = here(one);
      expect(standbyWire.parse(found)).toEqual(found);
    }
  });
});
