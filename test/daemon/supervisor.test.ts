import { describe, expect, it } from 'vitest';
import { createSupervisor, type Worker } from '../../src/daemon/supervisor.ts';
import { tellFailing } from '../../src/daemon/watch/status-note.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { StoreError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { readStatus } from '../../src/ops/status.ts';
import { temporaryStore } from '../support/store.ts';

const STOP_MS_MAX = 20_000;

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function start(workers: readonly Worker[], clock = manualClock()) {
  const deps = { clock, log: silentLogger(), stopMsMax: STOP_MS_MAX };
  const supervisor = createSupervisor(workers, deps);
  const stop = new AbortController();
  let ended: 'running' | 'stopped' | Error = 'running';
  const done = supervisor.run(stop.signal).then(
    () => {
      ended = 'stopped';
    },
    (error: Error) => {
      ended = error;
    },
  );
  return { clock, supervisor, stop: () => stop.abort(), done, ended: () => ended };
}

function diary(lines: string[], name: string, stopMs?: () => Promise<void>): Worker {
  return {
    name,
    async run(signal) {
      lines.push(`${name} starts`);
      await whenAborted(signal);
      lines.push(`${name} stops`);
      await stopMs?.();
      lines.push(`${name} stopped`);
    },
  };
}

describe('the supervisor', () => {
  it('starts in the written order and stops last-in-first-out, one after the other', async () => {
    const lines: string[] = [];
    const { clock, stop, ended } = start(['a', 'b', 'c'].map((name) => diary(lines, name)));
    await clock.advance(0);
    expect(lines).toEqual(['a starts', 'b starts', 'c starts']);
    stop();
    await clock.advance(0);
    expect(lines.slice(3)).toEqual([
      ...['c stops', 'c stopped', 'b stops', 'b stopped', 'a stops', 'a stopped'],
    ]);
    expect(ended()).toBe('stopped');
  });

  it('starts a failing worker again with growing pauses, and shows its last error', async () => {
    const clock = manualClock();
    const begin = clock.now();
    const starts: number[] = [];
    const failing: Worker = {
      name: 'failing',
      async run() {
        starts.push(clock.now() - begin);
        throw new Error(`attempt ${starts.length}`);
      },
    };
    const { supervisor, stop, done } = start([failing], clock);
    await clock.advance(16_000);
    expect(starts).toEqual([0, 500, 1_500, 3_500, 7_500, 15_500]);
    expect(supervisor.health()).toEqual([
      expect.objectContaining({ state: 'waiting', restarts: 6, lastError: 'attempt 6' }),
    ]);
    await clock.advance(3_600_000);
    const [before, last] = starts.slice(-2);
    expect((last ?? 0) - (before ?? 0)).toBe(60_000);
    stop();
    await done;
    expect(clock.pending()).toBe(0);
  });

  it('shows in the status which worker keeps failing, and no more once it runs well', async () => {
    const store = await temporaryStore();
    const clock = manualClock();
    let failures = 0;
    const patient: Worker = {
      name: 'patient',
      async run(signal) {
        failures += 1;
        if (failures <= 3) throw new Error(`no way ${failures}`);
        await whenAborted(signal);
      },
    };
    const { supervisor, stop, done } = start([patient], clock);
    const shown = async () => {
      await tellFailing({ store, clock }, supervisor.health());
      return (await readStatus(store.db, clock.now(), {})).failingWorkers;
    };
    await clock.advance(500);
    expect(failures).toBe(2);
    expect(await shown()).toEqual([]);
    await clock.advance(1_000);
    const failing = { worker: 'patient', since: clock.now(), error: 'no way 3' };
    expect(await shown()).toEqual([failing]);
    await clock.advance(60_000);
    expect(await shown()).toEqual([failing]);
    await clock.advance(3_000);
    expect(await shown()).toEqual([]);
    stop();
    await done;
  });

  it('shows who fails hours after each start, and not who fails once a week', async () => {
    const store = await temporaryStore();
    const clock = manualClock();
    const failingEvery = (name: string, ms: number): Worker => ({
      name,
      async run(signal) {
        await clock.sleep(ms, signal);
        throw new Error(name);
      },
    });
    const every = [failingEvery('hourly', 3_600_000), failingEvery('weekly', 7 * 86_400_000)];
    const { supervisor, stop, done } = start(every, clock);
    const shown = async () => {
      await tellFailing({ store, clock }, supervisor.health());
      return (await readStatus(store.db, clock.now(), {})).failingWorkers.map((one) => one.worker);
    };
    await clock.advance(3 * 3_600_000);
    expect(await shown()).toEqual([]);
    await clock.advance(3_600_000);
    expect(await shown()).toEqual(['hourly']);
    await clock.advance(30 * 86_400_000);
    expect(await shown()).toEqual(['hourly']);
    stop();
    await done;
  });

  it('forgets the pauses of a worker that has run well for a while', async () => {
    const clock = manualClock();
    let runs = 0;
    const fragile: Worker = {
      name: 'fragile',
      async run(signal) {
        runs += 1;
        if (runs <= 5) throw new Error('at once');
        await clock.sleep(120_000, signal);
        throw new Error('after two minutes');
      },
    };
    const { stop } = start([fragile], clock);
    await clock.advance(15_500 + 120_000);
    expect(runs).toBe(6);
    await clock.advance(500);
    expect(runs).toBe(7);
    stop();
  });

  it('takes a worker that ended without being asked to for one that failed', async () => {
    const store = await temporaryStore();
    let runs = 0;
    const short: Worker = {
      name: 'short',
      async run() {
        runs += 1;
      },
    };
    const { clock, supervisor, stop, done } = start([short]);
    await clock.advance(600);
    expect(runs).toBe(2);
    await clock.advance(1_000);
    await tellFailing({ store, clock }, supervisor.health());
    expect((await readStatus(store.db, clock.now(), {})).failingWorkers).toMatchObject([
      { worker: 'short', error: 'it ended without being asked to' },
    ]);
    stop();
    await done;
  });

  it('waits for nobody beyond its deadline, and lets the rest stop all the same', async () => {
    const lines: string[] = [];
    const clock = manualClock();
    const stuck = diary(lines, 'stuck', () => new Promise(() => undefined));
    const slow = diary(lines, 'slow', async () => clock.sleep(100));
    const { stop, ended } = start([slow, stuck], clock);
    await clock.advance(0);
    stop();
    await clock.advance(STOP_MS_MAX - 1);
    expect(lines).not.toContain('slow stops');
    await clock.advance(1);
    expect(lines).toContain('slow stops');
    expect(ended()).toBe('running');
    await clock.advance(100);
    expect(lines).toContain('slow stopped');
    expect(ended()).toBe('stopped');
  });

  it('stops everything when the database cannot be used, and says why', async () => {
    const clock = manualClock();
    const lines: string[] = [];
    const broken: Worker = {
      name: 'broken',
      async run() {
        await clock.sleep(1_000);
        throw new StoreError('store.lease_lost', 'another daemon has taken over');
      },
    };
    const { ended } = start([diary(lines, 'good'), broken], clock);
    await clock.advance(1_000);
    expect(lines).toContain('good stopped');
    expect(ended()).toMatchObject({ code: 'store.lease_lost' });
  });
});
