/** Outcomes of runs: of streams that do as the test says, on a clock that it moves. */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import { createOutages } from '../../src/lib/log/outages.ts';
import { createLogger, silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { pauseFile } from '../../src/store/pauses.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { createSyncOperations } from '../../src/sync/operations.ts';
import { listStreams, readProgress } from '../../src/sync/overview.ts';
import { createPlanner, PULLS } from '../../src/sync/planner.ts';
import { ensureState } from '../../src/sync/run/open.ts';
import { runStream } from '../../src/sync/run/run-stream.ts';
import type { Stream, StreamRun } from '../../src/sync/stream.ts';
import { ALL, pausesIn, STOCK } from '../support/pauses.ts';
import { temporaryStore } from '../support/store.ts';
import { manyRows, startList } from './list-server.ts';

const MINUTE = 60_000;
const ASKER = { actor: 'anna', reason: 'looking' };
const ONE_ROW = { rows: 1, changed: 0, unchanged: 1, quarantined: 0, bytes: 10 };
const END = { expectedRows: undefined, doubts: [] };

type Pull = (context: StreamRun) => Promise<void>;

async function startRuns(pull: Pull) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const variants = createVariantPages({ store, clock });
  const sequence = createReadSequence(store, clock);
  const outages = createOutages({ clock, log: silentLogger() }, PULLS);
  const deps = { store, clock, variants, sequence, outages, log: silentLogger() };
  const stream: Stream = {
    ...{ name: 'stock', options: {} },
    async pull(context) {
      await pull(context);
      return END;
    },
  };
  await ensureState(store.db, 'stock', 0);
  const stop = new AbortController();
  const dueAt = () => clock.now() + MINUTE;
  const run = (signal = stop.signal) => runStream(deps, stream, dueAt, signal);
  const runs = () => store.db.selectFrom('sync_run').selectAll().orderBy('run_id').execute();
  const state = () => store.db.selectFrom('stream_state').selectAll().executeTakeFirstOrThrow();
  const operations = createSyncOperations({
    ...{ store, clock, variants },
    streams: [stream],
    wakeUp: () => undefined,
    onAccepted: () => undefined,
  });
  return { ...deps, stream, stop, run, runs, state, operations };
}

describe('a wish of the operator', () => {
  it('is taken off with the row of its run, and not lost when the daemon dies before', async () => {
    const { run, runs, state, operations, stop } = await startRuns(async ({ page }) => {
      await page({ next: 1 }, async () => ONE_ROW);
      stop.abort(new Error('killed'));
      await page({ next: 2 }, async () => ONE_ROW);
    });
    await operations.runNow('stock', false, ASKER);
    expect(await state()).toMatchObject({ requested: 'run' });
    await expect(run()).rejects.toThrow('killed');
    // The wish is either still there or has its run.
    expect(await state()).toMatchObject({ requested: null });
    expect(await runs()).toMatchObject([{ cause: 'operator', outcome: 'running', pages: 1 }]);
  });

  it('to compare everything starts an open run over', async () => {
    let signal = new AbortController();
    const seen: unknown[] = [];
    const { run, runs, operations } = await startRuns(async (context) => {
      seen.push(context.run.checkpoint);
      const page = { ...ONE_ROW, changed: 1, quarantined: 1 };
      await context.page({ next: 1 }, async () => page);
      if (seen.length === 1) signal.abort(new Error('stopped'));
      context.call.signal.throwIfAborted();
    });
    await expect(run(signal.signal)).rejects.toThrow('stopped');
    signal = new AbortController();
    await operations.runNow('stock', true, ASKER);
    expect(await run(signal.signal)).toMatchObject({ outcome: 'complete' });
    expect(seen).toEqual([{}, {}]);
    const counted = { pages: 1, rows_seen: 1, rows_changed: 1, rows_quarantined: 1 };
    expect(await runs()).toMatchObject([counted]);
  });

  it('that comes while a run goes on is not put off to the next time', async () => {
    const { run, state, operations, clock } = await startRuns(async () => {
      await operations.runNow('stock', false, ASKER);
    });
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await state()).toMatchObject({ requested: 'run', due_at: clock.now() });
  });

  it('that comes while a run fails waits for nothing but what the service asks for', async () => {
    let isWanted = false;
    let retryAfterMs: number | undefined;
    const { run, state, operations, clock } = await startRuns(async () => {
      if (isWanted) await operations.runNow('stock', false, ASKER);
      throw new RetryLaterError('transport.reset', 'cut', { retryAfterMs });
    });
    for (let attempt = 1; attempt <= 3; attempt += 1) await run();
    isWanted = true;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    expect(await state()).toMatchObject({ requested: 'run', due_at: clock.now(), failures: 0 });
    retryAfterMs = 45_000;
    await run();
    expect(await state()).toMatchObject({ requested: 'run', due_at: clock.now() + 45_000 });
  });

  it('gives a run that has failed often as many tries as a new one', async () => {
    const { run, operations } = await startRuns(async () => {
      throw new RetryLaterError('transport.reset', 'cut');
    });
    for (let attempt = 1; attempt <= 5; attempt += 1) await run();
    await operations.runNow('stock', false, ASKER);
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
  });

  it('is refused for a stream that is paused', async () => {
    const { operations, store, clock } = await startRuns(async () => undefined);
    await (await pausesIn({ store, clock })).pause(STOCK, ASKER);
    await expect(operations.runNow('stock', false, ASKER)).rejects.toThrow(/paused/);
  });
});

describe('a run that fails', () => {
  it('goes on as long as each attempt gets further, and never starts over', async () => {
    const last = 12;
    const { run, runs, state } = await startRuns(async ({ run: { checkpoint }, page }) => {
      const next = Number(checkpoint.next ?? 0) + 1;
      await page({ next }, async () => ONE_ROW);
      if (next < last) throw new RetryLaterError('transport.reset', 'the connection was cut');
    });
    for (let attempt = 1; attempt < last; attempt += 1) {
      expect(await run()).toMatchObject({ outcome: 'interrupted' });
      expect(await state()).toMatchObject({ failures: 1, last_error: 'the connection was cut' });
    }
    expect(await run()).toMatchObject({ outcome: 'complete', rows: last });
    expect(await runs()).toHaveLength(1);
  });

  it('goes on before a page that could not be written, with its checkpoint as it was', async () => {
    const asked: unknown[] = [];
    const { run, runs, store } = await startRuns(async ({ page, run: { checkpoint } }) => {
      asked.push(checkpoint);
      await page({ next: 1 }, async () => ONE_ROW);
      await page({ next: 2 }, async (tx) => {
        await openIncident(tx, { kind: 'row', entity: 'order', key: '1', detail: {} }, 0);
        return ONE_ROW;
      });
    });
    await sql`create trigger full before insert on incident begin
      select raise(abort, 'the disk is full'); end`.execute(store.db);
    expect(await run()).toMatchObject({ outcome: 'interrupted', reason: 'the disk is full' });
    expect((await runs())[0]).toMatchObject({ pages: 1, checkpoint: '{"next":1}' });
    await sql`drop trigger full`.execute(store.db);
    await run();
    expect(asked).toEqual([{}, { next: 1 }]);
  });

  it('ends when it gets no further, sooner when the answer came whole and is wrong', async () => {
    const attempts = async (error: Error) => {
      const { run } = await startRuns(() => Promise.reject(error));
      for (let count = 1; ; count += 1) {
        const { outcome } = await run();
        if (outcome !== 'interrupted') return { outcome, count };
      }
    };
    const failed = (count: number) => ({ outcome: 'failed', count });
    expect(await attempts(new RetryLaterError('transport.reset', 'cut'))).toEqual(failed(6));
    const broken = new RetryLaterError('transport.broken_answer', 'no list');
    expect(await attempts(broken)).toEqual(failed(3));
    expect(await attempts(new RefusedError('service.forbidden', 'no'))).toEqual(failed(1));
  });

  it('is tried again as often behind runs that were partial: none of them failed', async () => {
    const { list, run, state } = await startList('pages');
    list.rows = manyRows(40);
    list.counts = (page) => page === 1;
    for (let times = 0; times < 6; times += 1) {
      expect(await run()).toMatchObject({ outcome: 'partial' });
    }
    expect(await state('stock')).toMatchObject({ failures: 0 });
    list.beforePage = () => false;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    expect(await state('stock')).toMatchObject({ failures: 1 });
  });

  it('waits as long as the service asks, and says what to do', async () => {
    const detail = { hint: 'check the key', retryAfterMs: 45_000 };
    const { run, state, clock } = await startRuns(() =>
      Promise.reject(new RetryLaterError('session.login_refused', 'no log-in', detail)),
    );
    expect(await run()).toMatchObject({ reason: 'no log-in; check the key' });
    expect(await state()).toMatchObject({ due_at: clock.now() + 45_000 });
  });

  it('is cut off when it brings no page for ten minutes, not before', async () => {
    const { run, runs, clock } = await startRuns(async ({ page, call }) => {
      await clock.sleep(9 * MINUTE, call.signal);
      await page({ next: 1 }, async () => ONE_ROW);
      await clock.sleep(24 * 60 * MINUTE, call.signal);
    });
    let result: Awaited<ReturnType<typeof run>> | undefined;
    const running = run().then((ended) => {
      result = ended;
    });
    for (let minute = 0; minute < 18; minute += 1) await clock.advance(MINUTE);
    expect(result).toBeUndefined();
    for (let minute = 0; minute < 2; minute += 1) await clock.advance(MINUTE);
    await running;
    expect(result).toMatchObject({ outcome: 'interrupted', reason: 'no page for 10 minutes' });
    // Open, and behind its page.
    expect(await runs()).toMatchObject([{ outcome: 'running', checkpoint: '{"next":1}' }]);
  });

  it('counts what its requests cost, page by page and after the last', async () => {
    const { run, runs } = await startRuns(async ({ page, call }) => {
      call.usage?.retried();
      call.usage?.waited(250);
      await page({ next: 1 }, async () => ONE_ROW);
      call.usage?.waited(100);
      throw new RetryLaterError('transport.reset', 'cut');
    });
    await run();
    expect(await runs()).toMatchObject([{ retries: 1, waits: 2, wait_ms: 350 }]);
    await run();
    expect(await runs()).toMatchObject([{ retries: 2, waits: 4, wait_ms: 700 }]);
  });
});

describe('the log of an outage', () => {
  it('has one line when it begins, one an hour, and one when it is over', async () => {
    const clock = manualClock();
    const hour = 3_600_000;
    const lines: { readonly level: number; readonly msg: string; readonly stream: string }[] = [];
    const write = (line: string) => lines.push(JSON.parse(line));
    const scrubber = createScrubber();
    const log = createLogger({ level: 'info', format: 'json', scrubber, write });
    const outages = createOutages({ clock, log }, PULLS);
    for (let round = 0; round < 5; round += 1) {
      for (const stream of ['stock', 'brands', 'orders']) outages.note(stream, 'no way', {});
    }
    expect(lines).toMatchObject([{ stream: 'stock', msg: 'cannot pull' }]);
    await clock.advance(hour);
    for (let round = 0; round < 5; round += 1) outages.note('stock', 'no way', {});
    expect(lines.slice(1)).toMatchObject([{ msg: 'cannot pull', failures: 16, kept: 3, ms: hour }]);
    for (const stream of ['stock', 'brands', 'orders']) outages.over(stream);
    expect(lines.slice(2)).toMatchObject([{ stream: 'orders', msg: 'pulls again', failures: 20 }]);
    outages.note('stock', 'no way', {});
    expect(lines).toHaveLength(4);
  });
});

it('an outage is over with the first run that comes through', async () => {
  const told: string[] = [];
  const outages = { note: () => void told.push('note'), over: () => void told.push('over') };
  const failures = [new RefusedError('test', 'no'), new RetryLaterError('test', 'busy')];
  const { run: _, ...runs } = await startRuns(async () => {
    const failure = failures.shift();
    if (failure) throw failure;
  });
  const { signal } = new AbortController();
  for (let times = 0; times < 3; times += 1) {
    await runStream({ ...runs, outages }, runs.stream, () => 0, signal);
  }
  expect(told).toEqual(['note', 'note', 'over']);
});

describe('who follows a run', () => {
  it('hears why it was put off, and not what the run before it died of', async () => {
    const heard: (string | null | undefined)[] = [];
    const failures = [new RefusedError('test', 'not today'), new RetryLaterError('test', 'busy')];
    const { store, clock, run } = await startRuns(async () => {
      await hear();
      throw failures.shift() ?? new Error('once too often');
    });
    const hear = async (): Promise<void> => {
      const { progress } = await readProgress(store.db, 'stock', clock.now());
      heard.push(progress?.lastError);
    };
    expect(await run()).toMatchObject({ outcome: 'failed' });
    await clock.advance(MINUTE);
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    await hear();
    expect(heard).toEqual([null, null, 'busy']);
  });

  it('hears of no run before the one it asked for, and whether there is a daemon', async () => {
    const { store, clock, run } = await startRuns(async () => undefined);
    const follow = () => readProgress(store.db, 'stock', clock.now());
    await run();
    expect(await follow()).toMatchObject({ progress: { run: { runId: 1 } }, isAlive: false });
    const now = clock.now();
    const lease = { name: 'daemon', holder: 'x', acquired_at: now, fencing: 1 };
    await store.db
      .insertInto('lease')
      .values({ ...lease, expires_at: now + MINUTE })
      .execute();
    await store.db.updateTable('stream_state').set({ requested: 'run' }).execute();
    expect(await follow()).toEqual({ progress: undefined, isAlive: true });
    await clock.advance(MINUTE);
    expect((await follow()).isAlive).toBe(false);
  });
});

it('a stream that was never complete is stale', async () => {
  const { store, clock } = await startRuns(async () => undefined);
  const settings = { stock: { schedule: '* * * * *', freshness: MINUTE } };
  expect(await listStreams(store.db, settings, clock.now())).toMatchObject([{ stale: true }]);
});

type Runs = Awaited<ReturnType<typeof startRuns>>;

/** The planner of a start of the daemon. */
function planOf(runs: Runs, schedule: string, mayPull = (_stream: string) => true) {
  const planned = { stream: runs.stream, schedule };
  const deps = { ...runs, random: seededRandom(1), streams: [planned] };
  const hooks = { onRunEnded: () => undefined, mayPull };
  return (signal: AbortSignal) => createPlanner({ ...deps, ...hooks }).run(signal);
}

describe('the planner after downtime', () => {
  it('catches up once, goes on with an open run, then keeps to the schedule', async () => {
    const seen: { readonly at: number; readonly resumed: boolean }[] = [];
    const runs = await startRuns(async ({ run }) => {
      seen.push({ at: runs.clock.now(), resumed: run.resumed });
    });
    const { clock, store } = runs;
    const plan = planOf(runs, '*/10 * * * *');
    const during = async (minutes: number): Promise<number[]> => {
      const stop = new AbortController();
      const running = plan(stop.signal);
      for (let half = 0; half < 2 * minutes; half += 1) await clock.advance(MINUTE / 2);
      stop.abort();
      await running;
      return seen.splice(0).map(({ at }) => new Date(at).getUTCMinutes());
    };
    onTestFinished(() => runs.stop.abort());
    expect(await during(15)).toEqual([0, 10]);
    // Five times are missed.
    await clock.advance(47 * MINUTE);
    expect(await during(10)).toEqual([2, 10]);
    await store.db
      .insertInto('sync_run')
      .values({
        ...{ stream: 'stock', cause: 'schedule', started_at: clock.now(), ended_at: null },
        ...{ read_seq: 1, options: '{}', checkpoint: '{}', reason: null, released_at: null },
      })
      .execute();
    const stop = new AbortController();
    const running = plan(stop.signal);
    await clock.advance(MINUTE / 2);
    stop.abort();
    await running;
    expect(seen).toMatchObject([{ resumed: true }]);
  });

  it('keeps to a schedule that has become tighter meanwhile', async () => {
    let times = 0;
    const runs = await startRuns(async () => {
      times += 1;
    });
    const during = async (minutes: number, schedule: string): Promise<number> => {
      const stop = new AbortController();
      const running = planOf(runs, schedule)(stop.signal);
      for (let half = 0; half < 2 * minutes; half += 1) await runs.clock.advance(MINUTE / 2);
      stop.abort();
      await running;
      return times;
    };
    expect(await during(5, '0 0 1 1 *')).toBe(1);
    expect(await during(21, '*/10 * * * *')).toBe(3);
  });

  it('does not pull what is paused, by its name, by all or by a file', async () => {
    let times = 0;
    const runs = await startRuns(async () => {
      times += 1;
    });
    await runs.store.db.deleteFrom('stream_state').execute();
    const pauses = await pausesIn(runs);
    const file = pauseFile(dirname(runs.store.path), 'all');
    await pauses.pause(STOCK, ASKER);
    const stop = new AbortController();
    const mayPull = (stream: string) => pauses.reason('stream', stream) === undefined;
    const running = planOf(runs, '* * * * *', mayPull)(stop.signal);
    const during = async (minutes: number): Promise<number> => {
      for (let half = 0; half < 2 * minutes; half += 1) await runs.clock.advance(MINUTE / 2);
      return times;
    };
    expect(await during(3)).toBe(0);
    expect(await runs.state()).toMatchObject({ last_run_id: null });
    await pauses.pause(ALL, ASKER);
    await pauses.resume(STOCK, ASKER);
    expect(await during(3)).toBe(0);
    writeFileSync(file, '');
    await expect(pauses.resume(ALL, ASKER)).rejects.toThrow('by a file');
    rmSync(file);
    await pauses.resume(ALL, ASKER);
    expect(await during(1)).toBeGreaterThan(0);
    stop.abort();
    await running;
  });
});

describe('a run that breaks', () => {
  it.each([
    ['begun', 'before insert on sync_run'],
    ['ended', 'before update of ended_at on sync_run'],
  ])('is tried again soon when it could not be %s, not at the next time', async (_, write) => {
    const runs = await startRuns(() => Promise.resolve());
    const { clock, store, stop } = runs;
    await sql`create trigger full ${sql.raw(write)} begin
      select raise(abort, 'the disk is full'); end`.execute(store.db);
    const running = planOf(runs, '37 2 * * *')(stop.signal);
    await clock.advance(0);
    expect((await runs.state()).last_error).toBe('the disk is full');
    await clock.advance(2_000);
    // Ever later: what is broken for long is not tried without end.
    expect(await runs.state()).toMatchObject({ failures: 2, due_at: clock.now() + 10_000 });
    await sql`drop trigger full`.execute(store.db);
    await clock.advance(MINUTE);
    expect(await runs.state()).toMatchObject({ failures: 0, last_error: null, complete_rows: 0 });
    stop.abort();
    await running;
  });
});
