/** Interrupted runs that had changed most of their rows, and that nobody resumes. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createSyncOperations } from '../../src/sync/operations.ts';
import { createPlanner } from '../../src/sync/planner.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { manyRows, startList } from './list-server.ts';

const ASKER = { actor: 'anna', reason: 'the season is over' };
const FULL = manyRows(400).map((row) => ({ ...row, quantity: 8 }));
const EMPTY = FULL.map((row) => ({ ...row, quantity: 0 }));

/** A third run that has emptied 160 rows and broke off, as the service did. */
async function startInterrupted() {
  const started = await startList('pages');
  const { list, store, stock, run, runOf, deps } = started;
  list.rows = FULL;
  await run();
  await run();
  list.rows = EMPTY;
  list.beforePage = (page) => page <= 5;
  expect(await run()).toMatchObject({ outcome: 'interrupted' });
  list.beforePage = () => true;
  return {
    ...started,
    runOtherwise: (more: Partial<Stream>) => runOf({ ...stock, ...more }),
    async runs() {
      const rows = store.db.selectFrom('sync_run').select(['outcome', 'change_guard', 'reason']);
      return (await rows.orderBy('run_id').execute()).slice(2);
    },
    async incidents() {
      const rows = store.db.selectFrom('incident').select(['kind', 'key']);
      return rows.where('resolved_at', 'is', null).execute();
    },
    /** A start of the daemon without the stream. */
    async startWithout() {
      const stop = new AbortController();
      const planner = createPlanner({
        ...deps,
        ...{ clock: systemClock(), random: seededRandom(1), log: silentLogger() },
        ...{ streams: [], onRunEnded: () => undefined, mayPull: () => true },
      });
      const running = planner.run(stop.signal);
      try {
        await expect
          .poll(() => deps.store.db.selectFrom('sync_run').select('outcome').execute())
          .not.toContainEqual({ outcome: 'running' });
      } finally {
        stop.abort();
        await running;
      }
    },
    /** What people can do while the stream is switched off. */
    withoutIt: createSyncOperations({
      ...deps,
      ...{ streams: [], switchedOff: ['stock'] },
      ...{ wakeUp: () => undefined, onAccepted: () => undefined },
    }),
  };
}

const MASS = [{ kind: 'mass_change', key: '3' }];

describe('an interrupted run that changed most of its rows', () => {
  it.each(['stock', '3'])('ends with its stream, and is released by %s', async (which) => {
    const { startWithout, withoutIt, runs, incidents } = await startInterrupted();
    await startWithout();
    expect(await runs()).toEqual([
      {
        ...{ outcome: 'failed', change_guard: 'open' },
        reason: expect.stringMatching(/^its stream is switched off.*160 of 160 rows/),
      },
    ]);
    expect(await incidents()).toEqual(MASS);
    await expect(withoutIt.runNow('stock', false, ASKER)).rejects.toMatchObject({
      code: 'sync.switched_off',
    });
    expect(await withoutIt.release(which, ASKER)).toMatchObject({ changedRuns: [3] });
    expect(await incidents()).toEqual([]);
  });

  it('ends with its stream, without a word if its rows are as they were by then', async () => {
    const { startWithout, store, runs, incidents } = await startInterrupted();
    await store.db.updateTable('stock_variant_row').set({ quantity: 8 }).execute();
    await startWithout();
    expect(await runs()).toMatchObject([{ outcome: 'failed', change_guard: null }]);
    expect(await incidents()).toEqual([]);
  });

  it('keeps its change when a setting ends it, until a run finds its rows as before', async () => {
    const { runOtherwise, list, runs, incidents } = await startInterrupted();
    const otherwise = { options: { detailed: true } };
    await runOtherwise(otherwise);
    expect(await runs()).toMatchObject([
      { outcome: 'failed', change_guard: 'open' },
      { outcome: 'complete', change_guard: 'off' },
    ]);
    expect(await incidents()).toEqual(MASS);
    list.rows = FULL;
    await runOtherwise(otherwise);
    expect(await incidents()).toEqual([]);
  });

  it('is not resumed by another version, which would not judge it', async () => {
    const { runOtherwise, runs, operations, stock, incidents } = await startInterrupted();
    await runOtherwise({ reading: 'the next version' });
    expect(await runs()).toMatchObject([
      { outcome: 'failed', change_guard: 'open' },
      { outcome: 'complete', change_guard: 'off' },
    ]);
    expect(await incidents()).toEqual(MASS);
    // The name of a stream means all of it that waits, not only the latest run.
    expect(await operations([stock]).release('stock', ASKER)).toMatchObject({ changedRuns: [3] });
    expect(await incidents()).toEqual([]);
  });

  it('stays open when the entries are deleted that would show how its rows were', async () => {
    const { runOtherwise, store, incidents } = await startInterrupted();
    await runOtherwise({ reading: 'the next version' });
    await store.db.deleteFrom('change').where('seq', '<=', 700).execute();
    await runOtherwise({ reading: 'the next version' });
    expect(await incidents()).toEqual(MASS);
  });
});
