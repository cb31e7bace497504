/** The clock on the wall is moved by an hour, forth and back, under a daemon that works. */
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';

const HOUR = 3_600_000;
/** Until the next run of a half-hourly schedule, which begins up to 30 s later. */
const HALF_HOUR_AND_JITTER = HOUR / 2 + 30_000;

/** Somebody may move the hands; what is measured with a stop-watch stays as it is. */
function movableClock(): Clock & { move(ms: number): void } {
  const system = systemClock();
  // Ten past eight: no time of the schedule comes while the test runs.
  let moved = Date.UTC(2026, 0, 5, 8, 10) - system.now();
  return {
    ...system,
    now: () => system.now() + moved,
    // No sleep is longer than this: the planner looks twice a minute otherwise.
    sleep: (ms, signal) => system.sleep(Math.min(ms, 50), signal),
    move: (ms) => {
      moved += ms;
    },
  };
}

it('catches up once, logs in no more, keeps its lease, and comes back to its times', async () => {
  const clock = movableClock();
  const reference = await startTestReference({ auth: { loginSpacing: 0 } });
  const overrides = [
    { path: 'service.limits.loginSpacing', value: '0s' },
    {
      path: 'streams.off',
      value: ['freight', 'seasons', 'stock', 'season', 'orders', 'ordersFull'],
    },
    { path: 'streams.brands.schedule', value: '*/30 * * * *' },
  ];
  const config = testConfig(reference, { overrides });
  const daemon = await startTestDaemon(reference, config, clock);
  const { db } = daemon.store;
  const runs = async (): Promise<number> =>
    (await db.selectFrom('sync_run').select('run_id').where('outcome', '=', 'complete').execute())
      .length;
  const dueIn = async (): Promise<number> => {
    const { due_at } = await db
      .selectFrom('stream_state')
      .select('due_at')
      .where('stream', '=', 'brands')
      .executeTakeFirstOrThrow();
    return due_at - clock.now();
  };
  const leaseHolds = async (): Promise<boolean> => {
    const { expires_at } = await db
      .selectFrom('lease')
      .select('expires_at')
      .executeTakeFirstOrThrow();
    return expires_at > clock.now();
  };
  await until('the first run', async () => (await runs()) === 1 || undefined);
  const logins = () => reference.edge.journal.list({ path: '*/auth/login' }).length;
  const before = logins();

  clock.move(HOUR);
  await until('one run for all that was missed', async () => (await runs()) === 2 || undefined);
  await until('a lease that holds', async () => (await leaseHolds()) || undefined);
  expect(await dueIn()).toBeLessThanOrEqual(HALF_HOUR_AND_JITTER);

  clock.move(-HOUR);
  await until(
    'its own times again',
    async () => (await dueIn()) <= HALF_HOUR_AND_JITTER || undefined,
  );
  expect(await leaseHolds()).toBe(true);
  expect(await runs()).toBe(2);
  expect(logins()).toBe(before);
  expect(daemon.health().filter(({ restarts }) => restarts > 0)).toEqual([]);
});
