/**
 * Injected time. Nothing outside this file sets a timer or reads the wall clock, so that tests step
 * time instead of sleeping and the reference service can run days in seconds. `now` is wall time in
 * epoch ms and may jump; `monotonic` never goes back and measures deadlines and leases.
 */
import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RetryLaterError } from './errors.ts';

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in epoch ms, UTC. */
  now(): number;
  /** Milliseconds since an arbitrary start, for measuring; never decreases. */
  monotonic(): number;
  /** Runs `task` once after `ms`. The timer does not keep the process alive. */
  after(ms: number, task: () => void): Timer;
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface ManualClock extends Clock {
  /**
   * Advances time by these milliseconds and runs due tasks in order, letting promises settle in
   * between.
   */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock only, as an administrator does who sets it. */
  step(ms: number): void;
  /** Number of pending timers; a test that leaves one behind has a leak. */
  pending(): number;
}

/**
 * Maximum milliseconds of a timer; above (2^31 - 1, about 24.8 days) Node's timers fire at once.
 */
const TIMER_MS_MAX = 2_147_483_647;

function sleepWith(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Resolves when the signal aborts; at once if it already has. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export function systemClock(): Clock {
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(ms, task) {
      const handle = setTimeout(task, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
      handle.unref();
      return { cancel: () => clearTimeout(handle) };
    },
    // Sleeping keeps the process alive, because a worker waits for the end. A second timer does
    // that, and must not end first.
    sleep(ms, signal) {
      const keepAlive = setInterval(() => undefined, TIMER_MS_MAX);
      return sleepWith(clock, ms, signal).finally(() => clearInterval(keepAlive));
    },
  };
  return clock;
}

/**
 * Milliseconds since the machine was started. It has whole seconds only, and unlike the monotonic
 * time it goes on while the machine is suspended.
 */
export function systemUptime(): number {
  return uptime() * 1_000;
}

/** Makes a clock that runs `factor` times as fast as `base`, from now on. */
export function scaledClock(base: Clock, factor: number): Clock {
  const startsAt = base.now();
  const origin = base.monotonic();
  const elapsed = (): number => (base.monotonic() - origin) * factor;
  return {
    now: () => Math.floor(startsAt + elapsed()),
    monotonic: elapsed,
    after: (ms, task) => base.after(ms / factor, task),
    sleep: (ms, signal) => base.sleep(ms / factor, signal),
  };
}

/** Epoch ms before which the wall clock cannot be set right: this program did not exist yet. */
export const CLOCK_MS_MIN = Date.UTC(2026, 0, 1);

/** Refuses to run on an unset clock, by which all stored timestamps would lie in the future. */
export function requireSetClock(clock: Pick<Clock, 'now'>): void {
  const now = clock.now();
  if (now >= CLOCK_MS_MIN) return;
  const message = `the clock is not set: it says ${new Date(now).toISOString()}`;
  throw new RetryLaterError('clock.not_set', message, {
    hint: '"timedatectl" tells why; once it is set, the daemon starts (systemd tries again)',
  });
}

/** Lets every ready promise run to its next wait, I/O callbacks included. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn();
  }
}

/** Makes a clock for tests that stands still until it is advanced. */
export function manualClock(startsAt = Date.UTC(2026, 0, 5, 8)): ManualClock {
  let elapsed = 0;
  let stepped = 0;
  let order = 0;
  const waiting: { due: number; order: number; task: () => void }[] = [];

  const takeDue = (until: number): (() => void) | undefined => {
    let first: (typeof waiting)[number] | undefined;
    for (const entry of waiting) {
      if (entry.due > until) continue;
      if (!first || entry.due < first.due || (entry.due === first.due && entry.order < first.order))
        first = entry;
    }
    if (!first) return undefined;
    waiting.splice(waiting.indexOf(first), 1);
    elapsed = Math.max(elapsed, first.due);
    return first.task;
  };

  const clock: ManualClock = {
    now: () => startsAt + stepped + elapsed,
    monotonic: () => elapsed,
    step(ms) {
      stepped += ms;
    },
    pending: () => waiting.length,
    after(ms, task) {
      order += 1;
      const entry = { due: elapsed + Math.max(ms, 0), order, task };
      waiting.push(entry);
      return {
        cancel: () => {
          const index = waiting.indexOf(entry);
          if (index >= 0) waiting.splice(index, 1);
        },
      };
    },
    sleep: (ms, signal) => sleepWith(clock, ms, signal),
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (let task = takeDue(until); task; task = takeDue(until)) {
        task();
        await settle();
      }
      elapsed = until;
      await settle();
    },
  };
  return clock;
}
