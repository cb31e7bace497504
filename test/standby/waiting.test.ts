/** The machine that waits, by a clock that the test moves; PostgreSQL is one row of a lease. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESTORE_STEPS } from '../../src/daemon/upkeep.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { beginFeed } from '../../src/standby/feed.ts';
import { openMemory } from '../../src/standby/memory.ts';
import { unknownError } from '../../src/standby/refusal.ts';
import type { Row, Servers } from '../../src/standby/session.ts';
import { readStandbyStatus } from '../../src/standby/status-file.ts';
import { takeOverNow, waitAndTakeOver } from '../../src/standby/take-over/waiting.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { openStore } from '../../src/store/store.ts';
import { configOf } from '../config/config-of.ts';
import { sharedEnd } from '../console/support.ts';
import { testLogger } from '../support/house.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { drawTaking, SERVICE, settingsFor } from './support.ts';

const { atEnd, end } = sharedEnd();
let backups: string;

afterAll(end);

beforeAll(async () => {
  const clock = manualClock();
  const dataDir = temporaryFolder(atEnd);
  backups = join(dataDir, 'backups');
  const path = join(dataDir, 'mirror.db');
  placeDatabase(path);
  const { store } = await openStore({ path, busyTimeoutMs: 100 }, clock);
  await beginFeed(store, clock, 'first');
  const plan = { dataDir, exchangeFile: join(dataDir, 'exchange.db'), directory: backups };
  await createBackup({ ...plan, keep: 5, busyTimeoutMs: 100, program: 'test' }, clock);
  await store.close();
});

interface Lease {
  taking: string;
  beat: number;
  handed_over: boolean;
}

/** PostgreSQL as far as a machine that waits asks it; undefined: nobody has held the lease. */
function server(lease: Lease | undefined) {
  const state = { lease, isAway: false, asked: 0, opened: 0 };
  const answer = (text: string): readonly Row[] => {
    if (text.includes('to_regclass')) return [{ there: true }];
    if (text.startsWith('update standby_lease set taking')) {
      state.asked += 1;
      return [];
    }
    // All that the backup had not recorded is in the record since.
    if (text.includes('max(seq)')) return [{ seq: Number.MAX_SAFE_INTEGER }];
    if (!/from standby_lease\s+where account/.test(text) || state.lease === undefined) return [];
    const times = { timeline: 1, confirmed_by: [], taken_at: 0, ends_at: 0 };
    const wish = { wanted_by: null, wanted_ms: null, says: null };
    return [{ ...state.lease, ...times, ...wish, token: 1, holder: 'there' }];
  };
  const servers: Servers = {
    openNewest: () => servers.open(),
    async open() {
      state.opened += 1;
      if (state.isAway) throw unknownError('no answer');
      const lost = new AbortController();
      return {
        timeline: 1,
        lost: lost.signal,
        async ask(text) {
          if (!state.isAway) return answer(text);
          lost.abort();
          throw unknownError('no answer');
        },
        end: () => Promise.resolve(),
      };
    },
  };
  return { state, servers };
}

function machine(lease?: Partial<Lease>, more: { readonly backups?: string } = {}) {
  const clock = manualClock();
  const dataDir = temporaryFolder();
  const there = drawTaking();
  const { state, servers } = server(
    lease && { taking: there, beat: 1, handed_over: false, ...lease },
  );
  const config = configOf([
    ...SERVICE,
    { path: 'dataDir', value: dataDir },
    { path: 'store.backup.directory', value: more.backups ?? backups },
  ]);
  const settings = settingsFor([], { dataDir });
  const memory = openMemory(settings);
  const deps = {
    config,
    settings,
    servers,
    memory,
    clock,
    log: testLogger(),
    steps: RESTORE_STEPS,
    draw: drawTaking,
    unlock: () => undefined,
    version: '1',
  };
  const stop = new AbortController();
  const wait = () => waitAndTakeOver(deps, stop.signal);
  const { signal } = stop;
  const now = (isForced = false) => takeOverNow(deps, { isForced, signal });
  const told = () => readStandbyStatus(dataDir);
  const mirror = join(dataDir, 'mirror.db');
  return { clock, deps, dataDir, mirror, memory, state, stop, wait, now, told };
}

/** Moves the clock as far as the machine may look, second by second, until it asks; seconds. */
async function secondsUntilAsked({ clock, state }: ReturnType<typeof machine>, most: number) {
  for (let second = 0; second < most; second += 1) {
    if (state.asked > 0) return second;
    await clock.advance(1_000);
  }
  return undefined;
}

describe('a machine that waits', () => {
  it('asks for the lease once its beat stood for a lease and a renewal, not before', async () => {
    const one = machine({});
    const waiting = one.wait();
    for (let beat = 2; beat < 20; beat += 1) {
      await one.clock.advance(5_000);
      if (one.state.lease) one.state.lease.beat = beat;
    }
    expect(one.state.asked).toBe(0);
    expect(one.told()).toMatchObject({ state: 'waiting', holder: 'there', role: 'standby' });
    expect(await secondsUntilAsked(one, 60)).toBe(21);
    one.stop.abort();
    expect(await waiting).toBeUndefined();
  });

  it('counts no time in which PostgreSQL did not answer, and says so', async () => {
    const one = machine({});
    const waiting = one.wait();
    await one.clock.advance(10_000);
    one.state.isAway = true;
    await one.clock.advance(300_000);
    expect(one.told()).toMatchObject({ state: 'waiting', error: { code: 'standby.unknown' } });
    one.state.isAway = false;
    expect(await secondsUntilAsked(one, 60)).toBeGreaterThan(9);
    one.stop.abort();
    await waiting;
  });

  it('asks at once for what was handed over, and again when it has moved', async () => {
    const one = machine({ handed_over: true });
    const waiting = one.wait();
    expect(await secondsUntilAsked(one, 5)).toBeLessThan(2);
    await one.clock.advance(3_000);
    expect(one.state.asked).toBeGreaterThan(1);
    one.stop.abort();
    await waiting;
  });

  it('looks at the newest server after an attempt: it may have seen an old primary', async () => {
    const one = machine({ handed_over: true });
    const waiting = one.wait();
    await secondsUntilAsked(one, 5);
    if (one.state.lease) one.state.lease.handed_over = false;
    await one.clock.advance(3_000);
    // Each attempt has a session of its own, and another one is waited on with.
    expect(one.state.opened).toBe(1 + 2 * one.state.asked);
    one.stop.abort();
    await waiting;
  });

  it('asks for none from which it could not go on, and says why', async () => {
    const one = machine({}, { backups: temporaryFolder() });
    const waiting = one.wait();
    expect(await secondsUntilAsked(one, 120)).toBeUndefined();
    expect(one.told()).toMatchObject({
      state: 'waiting',
      error: { code: 'standby.not_ready', message: expect.stringMatching(/there is none in/) },
    });
    one.stop.abort();
    await waiting;
  });

  it('leaves what is here while nobody has held the lease', async () => {
    const one = machine();
    writeFileSync(one.mirror, 'a year of decisions');
    const waiting = one.wait();
    await one.clock.advance(60_000);
    expect(one.told()?.error).toMatchObject({
      code: 'standby.nobody',
      hint: 'start the daemon on the first machine',
    });
    expect(existsSync(one.mirror)).toBe(true);
    one.stop.abort();
    await waiting;
  });

  it('starts the daemon where the lease is its own, or was given and not taken', async () => {
    for (const handed_over of [false, true]) {
      const taking = drawTaking();
      const one = machine({ taking, handed_over });
      one.memory.note(taking);
      writeFileSync(one.mirror, 'ours');
      const waiting = one.wait();
      await one.clock.advance(handed_over ? 21_000 : 0);
      expect(await waiting).toEqual({ how: 'own' });
      expect([existsSync(one.mirror), one.state.asked]).toEqual([true, 0]);
    }
  });
});

describe('a take-over by hand', () => {
  const refusal = async (one: ReturnType<typeof machine>, isForced = false) => {
    writeFileSync(one.mirror, 'what is here');
    const taken = one.now(isForced).catch((error: unknown) => error);
    await one.clock.advance(4_000);
    if (one.state.lease) one.state.lease.beat += 1;
    await one.clock.advance(4_000);
    return taken;
  };

  it('is refused while the holder renews, and leaves what is here', async () => {
    const one = machine({});
    expect(await refusal(one)).toMatchObject({
      code: 'standby.alive',
      message: 'there holds the lease and renews it',
      hint: expect.stringContaining('--force'),
    });
    expect([existsSync(one.mirror), one.state.asked]).toEqual([true, 0]);
  });

  it('asks for it from a holder that renews, if forced, and says that it moved', async () => {
    const one = machine({});
    expect(await refusal(one, true)).toMatchObject({
      code: 'standby.moved',
      hint: expect.stringContaining('selvedge standby status'),
    });
    expect(one.state.asked).toBe(1);
  });

  it('is refused where nobody has held it or without a backup, leaving what is here', async () => {
    const nobody = machine();
    expect(await refusal(nobody, true)).toMatchObject({ code: 'standby.nobody' });
    const bare = machine({}, { backups: temporaryFolder() });
    expect(await refusal(bare, true)).toMatchObject({
      code: 'standby.not_ready',
      message: expect.stringMatching(/cannot take over: no backup .*: there is none in/),
      hint: expect.stringContaining('docs/operating/standby.md'),
    });
    expect([nobody, bare].map(({ mirror }) => existsSync(mirror))).toEqual([true, true]);
  });
});
