/**
 * Decides how fast and how concurrently requests go out, and in which order. Decisions and pushes
 * overtake reads, reads overtake pulls; within a priority, first come, first served. A slot or two
 * stays free for higher priorities, so that long pulls cannot take all. Nobody starves: waiting
 * reads and pulls each get a fifth of the starts. A person's single request waits for at most two
 * others.
 */

import type { Clock } from '../../lib/clock.ts';
import { createPace, type Pace, type PaceDeps, type PaceFigures } from './pace.ts';

/** Priorities of requests, the highest first. */
const PRIORITIES = ['push', 'read', 'pull', 'person'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface LimiterOptions {
  /** Requests per second allowed by the configuration; undefined: no limit of our own. */
  readonly requestsPerSecond: number | undefined;
  readonly concurrencyMax: number;
}

export interface Limiter {
  /** Waits for a slot to send a request; the returned function releases it (twice is harmless). */
  acquire(priority: Priority, signal?: AbortSignal): Promise<() => void>;
  /** Starts no request for this many milliseconds (after a 429). */
  pause(ms: number): void;
  /** Reports a 429 to the pace, as `taken` does other answers; the rate adapts to both. */
  tooFast: Pace['tooFast'];
  taken: Pace['taken'];
  pace(): PaceFigures;
  waiting(): Readonly<Record<Priority, number>>;
  active(): number;
}

/** Number of slots that requests of a priority leave free for higher ones. */
const RESERVED: Readonly<Record<Priority, number>> = { push: 0, read: 1, pull: 2, person: 0 };

/**
 * Number of times that a priority is overtaken before its next request goes first; pushes, and so
 * decisions, have the highest priority and need none.
 */
const PATIENCE: Readonly<Record<Priority, number>> = {
  push: Infinity,
  read: 4,
  pull: 4,
  person: 2,
};

/** Priorities from the lowest up, because low ones are overtaken most. */
const OVERTAKEN = PRIORITIES.toReversed();

interface Waiter {
  readonly grant: () => void;
}

/** Tracks slots in use, and how often waiting priorities were overtaken. */
function createTurns(concurrencyMax: number, waits: (priority: Priority) => boolean) {
  const active: Record<Priority, number> = { push: 0, read: 0, pull: 0, person: 0 };
  const overtaken: Record<Priority, number> = { push: 0, read: 0, pull: 0, person: 0 };
  const total = (): number => active.push + active.read + active.pull + active.person;
  const placesOf = (priority: Priority): number => Math.max(1, concurrencyMax - RESERVED[priority]);
  /**
   * Whether a priority was overtaken often enough to take any free slot, except those that it must
   * leave to higher ones.
   */
  const isOverdue = (priority: Priority): boolean =>
    waits(priority) &&
    overtaken[priority] >= PATIENCE[priority] &&
    total() < concurrencyMax &&
    active[priority] < placesOf(priority);
  return {
    total,
    next: (): Priority | undefined =>
      OVERTAKEN.find(isOverdue) ??
      PRIORITIES.find((priority) => waits(priority) && total() < placesOf(priority)),
    take(priority: Priority): void {
      active[priority] += 1;
      for (const other of PRIORITIES) {
        overtaken[other] = other !== priority && waits(other) ? overtaken[other] + 1 : 0;
      }
    },
    giveBack(priority: Priority): void {
      active[priority] -= 1;
    },
  };
}

export function createLimiter(
  options: LimiterOptions,
  clock: Clock,
  onPace?: PaceDeps['onPace'],
): Limiter {
  const pace = createPace(options.requestsPerSecond, { clock, onPace });
  const queues: Record<Priority, Waiter[]> = { push: [], read: [], pull: [], person: [] };
  const turns = createTurns(options.concurrencyMax, (priority) => queues[priority].length > 0);
  const nobodyWaits = (): boolean => PRIORITIES.every((priority) => queues[priority].length === 0);

  const pump = (): void => {
    while (!pace.sleeps()) {
      if (pace.waitMs() > 0) {
        if (nobodyWaits()) return;
        pace.sleep(pump);
        return;
      }
      const priority = turns.next();
      const waiter = priority && queues[priority].shift();
      if (!waiter) return;
      turns.take(priority);
      pace.take();
      waiter.grant();
    }
  };
  const place = (priority: Priority): (() => void) => {
    let held = true;
    return () => {
      if (held) turns.giveBack(priority);
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
        let granted = false;
        const onAbort = (): void => {
          queues[priority].splice(queues[priority].indexOf(waiter), 1);
          if (nobodyWaits()) pace.wake();
          reject(signal?.reason);
        };
        const waiter: Waiter = {
          grant: () => {
            granted = true;
            signal?.removeEventListener('abort', onAbort);
            resolve(place(priority));
          },
        };
        queues[priority].push(waiter);
        pump();
        // Waiting needs an abort listener; usually a slot is free at once.
        if (!granted) signal?.addEventListener('abort', onAbort, { once: true });
      }),
    pause: pace.pause,
    tooFast: pace.tooFast,
    taken: pace.taken,
    pace: pace.figures,
    waiting: () => ({
      push: queues.push.length,
      read: queues.read.length,
      pull: queues.pull.length,
      person: queues.person.length,
    }),
    active: turns.total,
  };
}
