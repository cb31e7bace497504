/**
 * How fast and how wide we talk to the service: requests per second, requests at the same time,
 * and who goes first. Decisions and pushes overtake reads, reads overtake pulls; inside one
 * priority it is first come, first served. A slot or two stays free for the hasty, so that long
 * pulls cannot fill every place.
 */
import type { Clock, Timer } from '../../lib/clock.ts';

/** Highest first. */
const PRIORITIES = ['push', 'read', 'pull'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface LimiterOptions {
  /** Undefined: no limit of our own. */
  readonly requestsPerSecond: number | undefined;
  readonly concurrencyMax: number;
}

export interface Limiter {
  /** Waits for a place; the returned function gives it back (calling it twice is harmless). */
  acquire(priority: Priority, signal?: AbortSignal): Promise<() => void>;
  /** Nobody starts before this many milliseconds have passed (the service said "too fast"). */
  pause(ms: number): void;
  waiting(): Readonly<Record<Priority, number>>;
  active(): number;
}

/** How many places a priority leaves free for those above it. */
const RESERVED: Readonly<Record<Priority, number>> = { push: 0, read: 1, pull: 2 };

/** Timers wake a little late; this much lateness is caught up instead of lost. */
const CATCH_UP_MS_MIN = 20;

/** A very long pause would look like a hang; after this the service is simply asked again. */
const PAUSE_MS_MAX = 10_000;

interface Waiter {
  readonly grant: () => void;
}

/** When the next request may start. */
interface Pace {
  /** Milliseconds until then; 0 or less: now. */
  waitMs(): number;
  take(): void;
  pause(ms: number): void;
}

function createPace(requestsPerSecond: number | undefined, clock: Clock): Pace {
  const intervalMs = requestsPerSecond ? 1_000 / requestsPerSecond : 0;
  const catchUpMs = Math.max(intervalMs, CATCH_UP_MS_MIN);
  let nextAt = clock.monotonic();
  return {
    waitMs: () => nextAt - clock.monotonic(),
    take() {
      nextAt = Math.max(nextAt, clock.monotonic() - catchUpMs) + intervalMs;
    },
    pause(ms) {
      nextAt = Math.max(nextAt, clock.monotonic() + Math.min(ms, PAUSE_MS_MAX));
    },
  };
}

export function createLimiter(options: LimiterOptions, clock: Clock): Limiter {
  const pace = createPace(options.requestsPerSecond, clock);
  const queues: Record<Priority, Waiter[]> = { push: [], read: [], pull: [] };
  let active = 0;
  let timer: Timer | undefined;

  const nextWaiter = (): Waiter | undefined => {
    for (const priority of PRIORITIES) {
      const places = Math.max(1, options.concurrencyMax - RESERVED[priority]);
      if (queues[priority].length > 0 && active < places) return queues[priority].shift();
    }
    return undefined;
  };
  const pump = (): void => {
    while (!timer) {
      const waitMs = pace.waitMs();
      if (waitMs > 0) {
        if (PRIORITIES.every((priority) => queues[priority].length === 0)) return;
        timer = clock.after(waitMs, () => {
          timer = undefined;
          pump();
        });
        return;
      }
      const waiter = nextWaiter();
      if (!waiter) return;
      active += 1;
      pace.take();
      waiter.grant();
    }
  };
  const place = (): (() => void) => {
    let held = true;
    return () => {
      if (held) active -= 1;
      held = false;
      pump();
    };
  };

  return {
    acquire: (priority, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        const onAbort = (): void => {
          queues[priority].splice(queues[priority].indexOf(waiter), 1);
          reject(signal?.reason);
        };
        const waiter: Waiter = {
          grant: () => {
            signal?.removeEventListener('abort', onAbort);
            resolve(place());
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        queues[priority].push(waiter);
        pump();
      }),
    pause: pace.pause,
    waiting: () => ({
      push: queues.push.length,
      read: queues.read.length,
      pull: queues.pull.length,
    }),
    active: () => active,
  };
}
