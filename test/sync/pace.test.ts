/** A planner over a stream that ends at once: when it runs, by its schedule and by its pace. */
import { expect, it, onTestFinished } from 'vitest';
import { seededRandom } from '../../src/lib/chance.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { createPlanner } from '../../src/sync/planner.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;

it('runs a stream by its pace, sooner when that gets shorter, never on a full disk', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const start = clock.now();
  const runs: number[] = [];
  let pace: number | undefined;
  let mayPull = true;
  const planner = createPlanner({
    ...{ store, clock, random: seededRandom(1), log: silentLogger() },
    sequence: createReadSequence(store, clock),
    variants: createVariantPages({ store, clock }),
    streams: [
      {
        stream: {
          ...{ name: 'orders', options: {} },
          async pull() {
            runs.push((clock.now() - start) / MINUTE);
            return { expectedRows: undefined, doubts: [] };
          },
        },
        ...{ schedule: '*/10 * * * *', jitterMs: 0, pace: () => pace },
      },
    ],
    onRunEnded: () => undefined,
    mayPull: () => mayPull,
  });
  const stop = new AbortController();
  const running = planner.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const minutes = async (count: number): Promise<number[]> => {
    for (let half = 0; half < 2 * count; half += 1) await clock.advance(MINUTE / 2);
    return runs.splice(0);
  };
  expect(await minutes(21)).toEqual([0, 10, 20]);
  pace = 3 * MINUTE;
  expect(await minutes(6)).toEqual([23, 26]);
  pace = 20 * MINUTE;
  // Its next time was set when the pace was shorter.
  expect(await minutes(30)).toEqual([29, 49]);
  pace = undefined;
  expect(await minutes(14)).toEqual([69, 70]);
  expect(await minutes(2)).toEqual([]);
  mayPull = false;
  expect(await minutes(20)).toEqual([]);
  mayPull = true;
  expect(await minutes(1)).toHaveLength(1);
});
