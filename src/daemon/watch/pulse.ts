/**
 * Tells a worker that works or sleeps from one that is stuck. Every loop asks its clock for
 * the time or sleeps on it, so the clock that a worker is given measures its progress; no worker
 * has to report. A worker that waits for an answer that never comes uses its clock no more.
 */
import type { Clock } from '../../lib/clock.ts';
import type { WorkerHealth } from '../supervisor.ts';

export interface Pulse {
  /** The clock for one worker alone; every use of it is a beat. */
  clockOf(worker: string): Clock;
  /** Names running workers whose clock was not used for too long; sleep does not count. */
  stuck(workers: readonly WorkerHealth[]): readonly string[];
}

/**
 * Milliseconds without use of its clock after which a worker counts as stuck: no single piece of
 * work lasts this long, and network requests have deadlines.
 */
export const STUCK_MS = 120_000;

function beatingClock(clock: Clock, beat: (asleepMs: number) => void): Clock {
  return {
    now() {
      beat(0);
      return clock.now();
    },
    monotonic() {
      beat(0);
      return clock.monotonic();
    },
    after(ms, task) {
      beat(ms);
      return clock.after(ms, () => {
        beat(0);
        task();
      });
    },
    sleep(ms, signal) {
      beat(ms);
      return clock.sleep(ms, signal).finally(() => beat(0));
    },
  };
}

export function createPulse(clock: Clock): Pulse {
  /** Monotonic time until which each worker sleeps, and is not expected to use its clock. */
  const quietUntil = new Map<string, number>();
  return {
    clockOf: (worker) =>
      beatingClock(clock, (asleepMs) => {
        quietUntil.set(worker, clock.monotonic() + asleepMs);
      }),
    stuck(workers) {
      const now = clock.monotonic();
      return workers
        .filter(({ name, state, sinceStartMs }) => {
          const until = quietUntil.get(name);
          if (state !== 'running' || until === undefined) return false;
          return Math.min(now - until, sinceStartMs) > STUCK_MS;
        })
        .map(({ name }) => name);
    },
  };
}
