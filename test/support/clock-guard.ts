/** The guard against steps of the clock, beside a worker that works by its clock. */
import { CLOCK_STEPS } from '../../src/daemon/upkeep.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { type ClockGuard, openClockGuard } from '../../src/store/clock-guard.ts';
import type { SqliteStore } from '../../src/store/store.ts';

/** Opens the guard when it runs; until then its clock is the one on the wall. */
export function guardClock(store: SqliteStore, clock: Clock) {
  let guard: ClockGuard | undefined;
  const startedAt = clock.now();
  return {
    clock: { ...clock, now: () => (guard?.clock ?? clock).now() },
    watchedSince: () => guard?.watchedSince() ?? startedAt,
    /** Runs the worker once the guard is open, and both until the signal aborts. */
    async run(signal: AbortSignal, worker: () => Promise<void>): Promise<void> {
      guard = await openClockGuard({ store, clock, log: silentLogger(), steps: CLOCK_STEPS });
      await Promise.all([guard.run(signal), worker()]);
    },
  };
}

/** Starts for a moment like a daemon: notes the time, and follows how it was moved. */
export async function followClock({
  store,
  clock,
}: {
  readonly store: SqliteStore;
  readonly clock: Clock;
}): Promise<void> {
  await openClockGuard({ store, clock, log: silentLogger(), steps: CLOCK_STEPS });
}
