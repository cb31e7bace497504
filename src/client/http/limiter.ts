/**
 * Decides how fast and how concurrently requests go out, and in which order. Decisions and pushes
 * overtake reads, reads overtake pulls; within a priority, first come, first served. A slot or two
 * stays free for higher priorities, so that long pulls cannot take all. Nobody starves: waiting
 * reads and pulls each get a fifth of the starts. A person's single request waits for at most two
 * others.
 */

import type { Clock } from '../../lib/clock.ts';

// Request rate: at most the configured one, and lower while the service answers "too fast" (429).
// Its limit is undocumented and may differ per key, so it is learned: a refusal of a request
// started after the last step lowers the rate, accepted requests raise it slowly. `Retry-After`
// also pauses all requests.

export interface PaceFigures {
  /** Requests per second allowed at present; undefined: no limit. */
  readonly perSecond: number | undefined;
  /** Requests per second allowed by the configuration. */
  readonly perSecondMax: number | undefined;
  /** Milliseconds in total that requests waited only because of the rate. */
  readonly heldMs: number;
}

/** Decides when the next request may start. */
export interface Pace {
  /** Milliseconds until the next request may start; 0 or less: now. */
  waitMs(): number;
  take(): void;
  pause(ms: number): void;
  /** Reports a 429 to a request that started at this time (monotonic ms). */
  tooFast(startedAt: number): void;
  /** Reports any answer other than a 429. */
  taken(): void;
  sleeps(): boolean;
  /**
   * Sleeps until the next start is allowed and runs the task once; the sleep keeps the process
   * alive.
   */
  sleep(task: () => void): void;
  /** Cancels the sleep, because no request waits any more. */
  wake(): void;
  figures(): PaceFigures;
}

export interface PaceDeps {
  readonly clock: Clock;
  /** Called when the allowed request rate has changed. */
  readonly onPace?: ((figures: PaceFigures) => void) | undefined;
}

/** Milliseconds that a late start may catch up, because timers fire a little late. */
const CATCH_UP_MS_MIN = 20;

/**
 * Maximum milliseconds of a pause: a longer one would look like a hang, so the service is asked
 * again.
 */
const PAUSE_MS_MAX = 10_000;

/**
 * Factor of the rate after a single refusal (429), which may be chance or somebody else's burst.
 */
const SLOWER = 0.85;
/** Factor of the rate when the service refuses again soon after a refusal. */
const MUCH_SLOWER = 0.5;
const AGAIN_MS = 10_000;
/** Lowest requests per second: one in ten seconds; only `Retry-After` delays further. */
const PER_SECOND_MIN = 0.1;
/**
 * Number of recent answers that are remembered. While few of them were refusals, the rate keeps a
 * share of the configured one, so that random refusals do not slow us down forever.
 */
const LAST_ANSWERS = 20;
const FEW_REFUSED = 6;
const KEPT_SHARE = 0.1;

/**
 * Factor and minimum interval of a rise of the rate: near the true limit one request in a few
 * hundred is refused.
 */
const FASTER = 1.05;
const FASTER_MS = 30_000;
/** Milliseconds without a refusal after which the true limit must be far away or gone. */
const LONG_MS = 300_000;
const MUCH_FASTER = 1.25;
/**
 * Factor by which the rate returns quickly to just below the last refused one, after several steps
 * down.
 */
const BACK = 1.1;
const BACK_MS = 10_000;
/** Share of the rate that requests must have used for it to count as accepted by the service. */
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
  /** Requests per second that the service refused last; slightly less may be right. */
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
      // A refused request that was already in progress says nothing about the new rate.
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
