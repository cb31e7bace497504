/** A planner over a stream that ends at once: when it runs, by its schedule and by its pace. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { seededRandom } from '../../src/lib/chance.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { createPlanner } from '../../src/sync/planner.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;

/** A stream `orders` with a pace that the test sets, and a planner that runs it. */
async function startPlanner() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const start = clock.now();
  const runs: number[] = [];
  const asked: { pace: number | undefined; mayPull: boolean } = { pace: undefined, mayPull: true };
  const stream = {
    ...{ name: 'orders', options: {} },
    async pull() {
      runs.push((clock.now() - start) / MINUTE);
      // As one that asks the service: who runs without end must not keep the test from its turn.
      await nextTurn();
      return { expectedRows: undefined, doubts: [] };
    },
  };
  const planner = createPlanner({
    ...{ store, clock, random: seededRandom(1), log: silentLogger() },
    sequence: createReadSequence(store, clock),
    variants: createVariantPages({ store, clock }),
    streams: [
      {
        ...{ stream, schedule: '*/10 * * * *', jitterMs: 0, atStart: true },
        pace: () => asked.pace,
      },
    ],
    onRunEnded: () => undefined,
    mayPull: () => asked.mayPull,
  });
  const run = () => {
    const abort = new AbortController();
    const running = planner.run(abort.signal);
    return async (): Promise<void> => {
      abort.abort();
      await running;
    };
  };
  /** The minutes, since the beginning, at which it ran in so many more. */
  const minutes = async (count: number): Promise<number[]> => {
    for (let half = 0; half < 2 * count; half += 1) await clock.advance(MINUTE / 2);
    return runs.splice(0);
  };
  return { clock, store, start, asked, run, minutes };
}

it('runs a stream by its pace, sooner when that gets shorter, never on a full disk', async () => {
  const { asked, run, minutes } = await startPlanner();
  onTestFinished(run());
  expect(await minutes(21)).toEqual([0, 10, 20]);
  asked.pace = 3 * MINUTE;
  expect(await minutes(6)).toEqual([23, 26]);
  asked.pace = 20 * MINUTE;
  // Its next time was set when the pace was shorter.
  expect(await minutes(30)).toEqual([29, 49]);
  asked.pace = undefined;
  expect(await minutes(14)).toEqual([69, 70]);
  expect(await minutes(2)).toEqual([]);
  asked.mayPull = false;
  expect(await minutes(20)).toEqual([]);
  asked.mayPull = true;
  expect(await minutes(1)).toHaveLength(1);
});

it('looks at every start for what happened while nobody listened', async () => {
  const { asked, run, minutes } = await startPlanner();
  asked.pace = 20 * MINUTE;
  const stop = run();
  expect(await minutes(5)).toEqual([0]);
  await stop();
  expect(await minutes(2)).toEqual([]);
  onTestFinished(run());
  expect(await minutes(21)).toEqual([7, 27]);
});

it('looks again behind a run that goes on from before the start', async () => {
  const { store, start, asked, run, minutes } = await startPlanner();
  asked.pace = 20 * MINUTE;
  const cutOff = { stream: 'orders', cause: 'schedule', started_at: start, read_seq: 1 };
  await store.db
    .insertInto('sync_run')
    .values({ ...cutOff, options: '{}', checkpoint: '{}' })
    .execute();
  await minutes(2);
  onTestFinished(run());
  expect(await minutes(5)).toEqual([2, 2]);
  expect(await minutes(20)).toEqual([22]);
});

it('keeps to its times when the clock is set back behind the start', async () => {
  const { clock, run, minutes } = await startPlanner();
  onTestFinished(run());
  expect(await minutes(12)).toEqual([0, 10]);
  clock.step(-60 * MINUTE);
  expect(await minutes(21)).toEqual([-40, -30]);
});
