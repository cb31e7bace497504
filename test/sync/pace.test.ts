/** A planner over a stream that ends at once: when it runs, by its schedule and by its pace. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { createPlanner } from '../../src/sync/planner.ts';
import type { StreamRun } from '../../src/sync/stream.ts';
import { followClock } from '../support/clock-guard.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;

/** A stream `orders` with a pace that the test sets, and a planner that runs it. */
async function startPlanner(luck = 0, schedule = '*/10 * * * *') {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const start = clock.now();
  const runs: number[] = [];
  const asked = {
    pace: undefined as number | undefined,
    mayPull: true,
    pull: async (_signal: AbortSignal): Promise<void> => undefined,
  };
  const stream = {
    ...{ name: 'orders', options: {} },
    async pull({ call }: StreamRun) {
      runs.push((clock.now() - start) / MINUTE);
      // A stream that asks the service waits, too: an endless run must not keep the test from its
      // turn.
      await nextTurn();
      await asked.pull(call.signal);
      return { expectedRows: undefined, doubts: [] };
    },
  };
  const planner = createPlanner({
    ...{ store, clock, random: { ...seededRandom(1), next: () => luck }, log: silentLogger() },
    sequence: createReadSequence(store, clock),
    variants: createVariantPages({ store, clock }),
    streams: [
      {
        ...{ stream, schedule, atStart: true },
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
  /** When the last complete read began, in milliseconds since the beginning. */
  const readAt = async (): Promise<number> => {
    const state = store.db.selectFrom('stream_state').select('complete_at');
    return ((await state.executeTakeFirst())?.complete_at ?? Number.NaN) - start;
  };
  return { clock, store, start, asked, run, minutes, readAt };
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

it.each([
  ['*/10 * * * *', 600, 5],
  ['0 3 * * *', 86_400, 10_800 + 150],
])('begins runs later by a part of the time between two: %s', async (schedule, every, at) => {
  const { store, run, minutes } = await startPlanner(0.5, schedule);
  onTestFinished(run());
  await minutes(1);
  const { due_at } = await store.db
    .selectFrom('stream_state')
    .select('due_at')
    .executeTakeFirstOrThrow();
  expect((due_at / 1_000) % every).toBe(at);
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
  const { clock, store, run, minutes } = await startPlanner();
  onTestFinished(run());
  expect(await minutes(12)).toEqual([0, 10]);
  await followClock({ store, clock });
  clock.step(-60 * MINUTE);
  await followClock({ store, clock });
  expect(await minutes(21)).toEqual([-40, -30]);
});

it('knows how old is what was read before the clock was set back', async () => {
  const { clock, store, start, asked, run, minutes, readAt } = await startPlanner();
  const stop = run();
  await minutes(12);
  await stop();
  // Nobody knows how long no daemon ran: nothing is fresh that was read before the start.
  await followClock({ store, clock });
  clock.step(-60 * MINUTE);
  await followClock({ store, clock });
  asked.mayPull = false;
  onTestFinished(run());
  const startedAt = clock.now() - start;
  await minutes(1);
  expect(await readAt()).toBe(startedAt - 7 * 24 * 60 * MINUTE);
});

it('knows how old is what is read while the clock is set back', async () => {
  const { clock, store, asked, run, minutes, readAt } = await startPlanner();
  const page = Promise.withResolvers<void>();
  asked.pull = () => page.promise;
  onTestFinished(run());
  await minutes(2);
  await followClock({ store, clock });
  clock.step(-60 * MINUTE);
  await followClock({ store, clock });
  await minutes(2);
  asked.pull = async () => undefined;
  page.resolve();
  await minutes(1);
  expect(await readAt()).toBe(-60 * MINUTE);
  // A later release says that the run was complete then.
  await store.db.updateTable('sync_run').set({ outcome: 'suspicious' }).execute();
  await followClock({ store, clock });
  clock.step(-60 * MINUTE);
  await followClock({ store, clock });
  await minutes(1);
  const runs = store.db.selectFrom('sync_run').select('started_at');
  expect(await runs.executeTakeFirst()).toEqual({ started_at: clock.now() - 6 * MINUTE });
});

it('does not let a pace hurry a stream that waits behind a failure', async () => {
  const { asked, run, minutes } = await startPlanner();
  onTestFinished(run());
  expect(await minutes(1)).toEqual([0]);
  asked.pace = 3 * MINUTE;
  const refused = new RetryLaterError('test', 'not before', { retryAfterMs: 8 * MINUTE });
  asked.pull = () => Promise.reject(refused);
  expect(await minutes(20)).toEqual([3, 11, 19]);
});

it('takes a stop in the middle of a run for no failure', async () => {
  const { clock, store, asked, run, minutes } = await startPlanner();
  asked.pull = (signal) => clock.sleep(60 * MINUTE, signal);
  const stop = run();
  await minutes(1);
  await stop();
  const state = store.db.selectFrom('stream_state').select(['failures', 'last_error']);
  expect(await state.executeTakeFirst()).toEqual({ failures: 0, last_error: null });
  const runs = store.db.selectFrom('sync_run').select('outcome');
  expect(await runs.execute()).toEqual([{ outcome: 'running' }]);
});

it('looks at its start at what an older program could not understand', async () => {
  const { store, run, minutes } = await startPlanner();
  const old = { raw: { brandName: 'B' }, path: '', reason: 'an older program' };
  await store.transaction((tx) =>
    quarantineRows(tx, 'brand', [old], { source: 'run:1', readSeq: 1, at: 1 }),
  );
  onTestFinished(run());
  await minutes(1);
  expect(await store.db.selectFrom('quarantine').select('id').execute()).toEqual([]);
});
