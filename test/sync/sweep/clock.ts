/**
 * A clock that stands still while the program computes: requests spend time, and where none is
 * made, it leaps to the next timer. Two days pass as fast as the program can work them off.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../../src/lib/clock.ts';

export interface LeapingClock extends Clock {
  /** Passes this time at once, as a request does that has the line for itself. */
  spend(ms: number): void;
  /** Runs timers and leaps until the work is done. */
  drive<T>(work: Promise<T>): Promise<T>;
}

/**
 * Turns of the event loop without a request after which nothing is under way: more than a sweep
 * takes, slice by slice, to choose its looks.
 */
const IDLE_TURNS = 500;

export function leapingClock(startAt: number): LeapingClock {
  let passed = 0;
  let spending = 0;
  const timers = new Set<{ readonly at: number; readonly task: () => void }>();
  const after = (ms: number, task: () => void): Timer => {
    const timer = { at: passed + Math.max(0, ms), task };
    timers.add(timer);
    return { cancel: () => timers.delete(timer) };
  };
  const runDue = (): void => {
    const due = [...timers].filter(({ at }) => at <= passed).sort((a, b) => a.at - b.at);
    for (const timer of due) if (timers.delete(timer)) timer.task();
  };
  const leap = (): void => {
    const next = Math.min(...[...timers].map(({ at }) => at));
    if (Number.isFinite(next)) passed = Math.max(passed, next);
  };
  return {
    now: () => startAt + Math.floor(passed),
    monotonic: () => passed,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = (): void => {
          timer.cancel();
          reject(signal?.reason);
        };
        const timer = after(ms, () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        });
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    spend(ms) {
      passed += ms;
      spending += 1;
    },
    async drive(work) {
      let isDone = false;
      const ended = work.finally(() => {
        isDone = true;
      });
      // Its failure is thrown below.
      ended.catch(() => undefined);
      let [spentBefore, idle] = [spending, 0];
      while (!isDone) {
        runDue();
        await nextTurn();
        idle = spending === spentBefore ? idle + 1 : 0;
        spentBefore = spending;
        if (idle < IDLE_TURNS) continue;
        idle = 0;
        leap();
      }
      return ended;
    },
  };
}
