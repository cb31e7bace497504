/**
 * Decides how fast (pace.ts) and how concurrently requests go out, and in which order. Decisions
 * and pushes overtake reads, reads overtake pulls; within a priority, first come, first served. A
 * slot or two stays free for higher priorities, so that long pulls cannot take all. Nobody starves:
 * waiting reads and pulls each get a fifth of the starts. A person's single request waits for at
 * most two others.
 */

import type { Clock } from '../../lib/clock.ts';

// Request rate: at most the configured one, and lower while the service answers "too fast" (429).
// Its limit is undocumented and may differ per key, so it is learned: a refusal of a request
// started after the last step lowers the rate, accepted requests raise it slowly. `Retry-After`
// also pauses all requests.

export interface PaceFigures {
  /** Rate in force; undefined: no limit. */
  readonly perSecond: number | undefined;
  /** Configured rate. */
  readonly perSecondMax: number | undefined;
  /** Total time that requests waited for the rate alone, ms. */
  readonly heldMs: number;
}

/** Time of the next start. */
export interface Pace {
  /** Milliseconds until then; 0 or less: now. */
  waitMs(): number;
  take(): void;
  pause(ms: number): void;
  /** Reports a 429 to a request that started then (monotonic ms). */
  tooFast(startedAt: number): void;
  /** Reports any other answer. */
  taken(): void;
  sleeps(): boolean;
  /** Sleeps until then and runs the task once. Waiting keeps the process alive. */
  sleep(task: () => void): void;
  /** Cancels the sleep, because nobody waits any more. */
  wake(): void;
  figures(): PaceFigures;
}

export interface PaceDeps {
  readonly clock: Clock;
  /** Called when the rate has changed. */
  readonly onPace?: ((figures: PaceFigures) => void) | undefined;
}

/** Timers fire a little late; this much is caught up instead of lost. */
const CATCH_UP_MS_MIN = 20;

/** A very long pause would look like a hang, so the service is asked again after this. */
const PAUSE_MS_MAX = 10_000;

/** Factor after a single refusal, which may be chance or somebody else's burst. */
const SLOWER = 0.85;
/** Factor when refused again soon. */
const MUCH_SLOWER = 0.5;
const AGAIN_MS = 10_000;
/** Lowest rate: one request in ten seconds; only `Retry-After` delays further. */
const PER_SECOND_MIN = 0.1;
/**
 * Keeps a share of the configured rate while few recent answers were refusals, so that random
 * refusals do not slow us down forever.
 */
const LAST_ANSWERS = 20;
const FEW_REFUSED = 6;
const KEPT_SHARE = 0.1;

/**
 * Factor and minimum interval upwards: near the true limit one request in a few hundred is refused.
 */
const FASTER = 1.05;
const FASTER_MS = 30_000;
/** Without a refusal for this long, the true limit is far away or gone. */
const LONG_MS = 300_000;
const MUCH_FASTER = 1.25;
/** Returns quickly to just below the last refused rate, after several steps down. */
const BACK = 1.1;
const BACK_MS = 10_000;
/** Only a rate used to at least this share counts as accepted. */
const USED_SHARE = 0.5;

/** Remembers for each recent answer whether it was a refusal. */
function createLastAnswers() {
  const answers: boolean[] = [];
  return {
    note(isRefused: boolean): void {
      answers.push(isRefused);
      if (answers.length > LAST_ANSWERS) answers.shift();
    },
    areFewRefused: () => answers.filter(Boolean).length < FEW_REFUSED,
  };
}

export function createPace(perSecondMax: number | undefined, deps: PaceDeps): Pace {
  const { clock, onPace } = deps;
  let perSecond = perSecondMax;
  let nextAt = clock.monotonic();
  let asleep: AbortController | undefined;
  let heldMs = 0;
  let slowedAt = Number.NEGATIVE_INFINITY;
  /** Last refused rate; slightly less may be right. */
  let refused = 0;
  let changedAt = clock.monotonic();
  let takenSince = 0;
  const answers = createLastAnswers();
  const lowest = (): number =>
    answers.areFewRefused() ? (perSecondMax ?? 0) * KEPT_SHARE : PER_SECOND_MIN;
  const figures = (): PaceFigures => ({ perSecond, perSecondMax, heldMs });
  const change = (wanted: number): void => {
    perSecond = wanted;
    changedAt = clock.monotonic();
    takenSince = 0;
    onPace?.(figures());
  };
  return {
    figures,
    waitMs: () => nextAt - clock.monotonic(),
    take() {
      const intervalMs = perSecond === undefined ? 0 : 1_000 / perSecond;
      const catchUpMs = Math.max(intervalMs, CATCH_UP_MS_MIN);
      nextAt = Math.max(nextAt, clock.monotonic() - catchUpMs) + intervalMs;
    },
    pause(ms) {
      nextAt = Math.max(nextAt, clock.monotonic() + Math.min(ms, PAUSE_MS_MAX));
    },
    tooFast(startedAt) {
      // Requests already in progress say nothing about the new rate.
      if (perSecond === undefined) return;
      answers.note(true);
      if (startedAt <= slowedAt) return;
      const now = clock.monotonic();
      const factor = now - slowedAt < AGAIN_MS ? MUCH_SLOWER : SLOWER;
      slowedAt = now;
      refused = perSecond;
      change(Math.max(perSecond * factor, Math.min(lowest(), perSecond)));
    },
    taken() {
      answers.note(false);
      if (perSecond === undefined || perSecond === perSecondMax) return;
      takenSince += 1;
      const sinceMs = clock.monotonic() - changedAt;
      const isUsed = takenSince * 1_000 >= USED_SHARE * perSecond * sinceMs;
      const nearly = Math.min(refused * SLOWER, perSecondMax ?? perSecond);
      const isFarBelow = perSecond < nearly;
      if (!isUsed || sinceMs < (isFarBelow ? BACK_MS : FASTER_MS)) return;
      const isLong = clock.monotonic() - slowedAt >= LONG_MS;
      const faster = perSecond * (isLong ? MUCH_FASTER : FASTER);
      const wanted = isFarBelow ? Math.min(perSecond * BACK, nearly) : faster;
      change(Math.min(wanted, perSecondMax ?? perSecond));
    },
    sleeps: () => asleep !== undefined,
    sleep(task) {
      const own = new AbortController();
      asleep = own;
      const since = clock.monotonic();
      const wake = (): void => {
        heldMs += clock.monotonic() - since;
        asleep = undefined;
        task();
      };
      void clock.sleep(nextAt - since, own.signal).then(wake, () => undefined);
    },
    wake() {
      asleep?.abort();
      asleep = undefined;
    },
  };
}

/** Highest first. */
const PRIORITIES = ['push', 'read', 'pull', 'person'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface LimiterOptions {
  /** Undefined: no limit of our own. */
  readonly requestsPerSecond: number | undefined;
  readonly concurrencyMax: number;
}

export interface Limiter {
  /** Waits for a slot; the returned function releases it (calling it twice is harmless). */
  acquire(priority: Priority, signal?: AbortSignal): Promise<() => void>;
  /** Starts nothing for this many milliseconds (after "too fast"). */
  pause(ms: number): void;
  /** Both report answers to the pace, which adapts to them. */
  tooFast: Pace['tooFast'];
  taken: Pace['taken'];
  pace(): PaceFigures;
  waiting(): Readonly<Record<Priority, number>>;
  active(): number;
}

/** Slots that a priority leaves free for higher ones. */
const RESERVED: Readonly<Record<Priority, number>> = { push: 0, read: 1, pull: 2, person: 0 };

/** A request overtaken this often goes next; decisions and pushes are otherwise never overtaken. */
const PATIENCE: Readonly<Record<Priority, number>> = {
  push: Infinity,
  read: 4,
  pull: 4,
  person: 2,
};

/** Lowest first, because it was overtaken by more others. */
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
  /** Overtaken often enough to take any free slot, as long as its own priority leaves some. */
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
        // Usually a slot is free at once, and no listener is needed.
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
