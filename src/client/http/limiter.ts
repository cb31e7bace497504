/**
 * Decides how fast and how concurrently requests go out, and in which order. Decisions and pushes
 * overtake reads, reads overtake pulls; within a priority, first come, first served. A slot or two
 * stays free for higher priorities, so that long pulls cannot take all. Nobody starves: waiting
 * reads and pulls each get a fifth of the starts. A person's single request waits for at most two
 * others.
 */
import type { Clock } from '../../lib/clock.ts';

// Decides when the next request may start: at most as often as the configuration allows, and less
// often while the service answers "too fast" (429). `Retry-After` also pauses all requests.
//
// The service's limit is undocumented, may differ per key and is shared with other programs of the
// account, so it is learned and unlearned. A refusal lowers the rate, much if nothing is taken in
// between. Then the rate rests, doubles every few seconds up to the known limit, and climbs above
// it, by time alone: without requests there is no evidence against it. Refusals at once say nothing
// about the limit, because nothing was asked too fast; one after taken requests shows it. A limit
// that climbs confirm is tried less and less often; one that others may have lowered is tried
// within a minute of each refusal. Nothing of it outlives the process.

export interface PaceFigures {
  /** Requests per second allowed at present; undefined: no limit. */
  readonly perSecond: number | undefined;
  /** Requests per second allowed by the configuration. */
  readonly perSecondMax: number | undefined;
  /** Milliseconds in total that requests waited only because of the rate. */
  readonly heldMs: number;
}

export interface PaceDeps {
  readonly clock: Clock;
  /** Called when a refusal has lowered the rate, and when it is the configured one again. */
  readonly onPace?: ((figures: PaceFigures) => void) | undefined;
}

/** Milliseconds that a late start may catch up, because timers fire a little late. */
const CATCH_UP_MS_MIN = 20;

/**
 * Maximum milliseconds of a pause: a longer one would look like a hang, so the service is asked
 * again.
 */
const PAUSE_MS_MAX = 10_000;

/** Lowest requests per second: one in ten seconds; only `Retry-After` delays further. */
const PER_SECOND_MIN = 0.1;
/** Number of requests taken since a refusal from which the next one tells of the limit. */
const TELLING_TAKEN = 3;
/** Share of the limit that is asked for, and while the service recovers from a burst. */
const BELOW = 0.96;
const RESTING = 0.85;
/** Factor of the rate after a refusal that follows another: the service may take nothing. */
const MUCH_SLOWER = 0.4;

/**
 * Milliseconds after a refusal until the rate rises; each refusal that follows another doubles
 * them, up to the maximum. Then the rate doubles in `DOUBLE_MS`, up to the limit.
 */
const REST_MS = 4_000;
const REST_MS_MAX = 25_000;
const DOUBLE_MS = 2_500;

/** Milliseconds after a refusal until the rate climbs above a new limit, and a confirmed one. */
const SOON_MS = 10_000;
const HOLD_MS = 30_000;
/** Milliseconds after a refusal until such a climb is at the configured rate. */
const BACK_MS = 54_000;
/** Number of climbs that may confirm a limit before each one is put off longer than the last. */
const CLIMBS_AT_ONCE = 3;
const LONGER = 1.3;
const HOLD_MS_MAX = 200_000;

/** Factor between two limits within which they count as the same. */
const SAME_LIMIT = 1.3;
/** Factor between a limit and a rate that was taken from which it may be the work of others. */
const MUCH_HIGHER = 1.5;
/** Milliseconds for which a rate that was taken is remembered. */
const REMEMBERED_MS = 1_800_000;
/** Milliseconds over which taken requests are averaged, and their number, at the least. */
const MEASURED_MS = 3_000;
const MEASURED_REQUESTS = 8;

/** Measures how many requests per second the service takes, and remembers the highest figure. */
function createMeter() {
  let perSecond = 0;
  let at = Number.NEGATIVE_INFINITY;
  let highest = { perSecond: 0, at };
  let overMs = MEASURED_MS;
  const measured = (now: number): number => perSecond * Math.exp((at - now) / overMs);
  return {
    measured,
    highest: (now: number): number => (now - highest.at < REMEMBERED_MS ? highest.perSecond : 0),
    taken(now: number, asked: number): void {
      const next = Math.max(MEASURED_MS, (MEASURED_REQUESTS * 1_000) / asked);
      perSecond = measured(now) + 1_000 / next;
      overMs = next;
      at = now;
      const isHigher = perSecond >= highest.perSecond || now - highest.at >= REMEMBERED_MS;
      if (isHigher) highest = { perSecond, at };
      else if (perSecond * SAME_LIMIT >= highest.perSecond) highest = { ...highest, at };
    },
  };
}

/** Learns the rate between the lowest and the configured one from refusals and time. */
function createLearnedRate(perSecondMax: number) {
  const meter = createMeter();
  /** Requests per second that the service takes, as far as is known. */
  let good = perSecondMax;
  /** Number of climbs in a row that have confirmed it. */
  let climbs = 0;
  /** Rate that holds for `restMs` after the last refusal, which was at `slowedAt`. */
  let kept = perSecondMax;
  let restMs = REST_MS;
  let slowedAt = Number.NEGATIVE_INFINITY;
  /** Number of requests that the service has taken since. */
  let taken = 0;
  const holdMs = (now: number): number => {
    if (climbs === 0) return SOON_MS;
    if (good * MUCH_HIGHER < meter.highest(now)) return HOLD_MS;
    return Math.min(HOLD_MS * LONGER ** Math.max(0, climbs - CLIMBS_AT_ONCE), HOLD_MS_MAX);
  };
  const rate = (now: number): number => {
    const sinceMs = now - slowedAt;
    if (sinceMs < restMs) return kept;
    const climbFrom = holdMs(now);
    const share = (sinceMs - climbFrom) / Math.max(BACK_MS - climbFrom, BACK_MS - HOLD_MS);
    // A power would miss it by a rounding error.
    if (share >= 1) return perSecondMax;
    const climbed = good * (perSecondMax / good) ** Math.max(share, 0);
    return Math.min(climbed, kept * 2 ** ((sinceMs - restMs) / DOUBLE_MS));
  };
  /** Learns from a refusal of this rate, after requests enough were taken. */
  const learn = (refused: number, now: number): void => {
    const shown = Math.max(Math.min(meter.measured(now), refused), refused / 2) * BELOW;
    // A climb that is refused says that the limit is still there, and at most that it is higher.
    const next = refused > good ? Math.max(shown, good) : shown;
    const isSame = next <= good * SAME_LIMIT && next * SAME_LIMIT >= good;
    climbs = isSame ? climbs + 1 : 0;
    good = next;
  };
  return {
    rate,
    taken(now: number): void {
      taken += 1;
      meter.taken(now, rate(now));
    },
    /** Lowers the rate after a request that started at this time; false: it says nothing new. */
    refused(startedAt: number, now: number): boolean {
      // A refused request that was already in progress says nothing about the new rate.
      if (startedAt <= slowedAt) return false;
      const refused = rate(now);
      if (taken >= TELLING_TAKEN && now - slowedAt >= restMs) {
        learn(refused, now);
        kept = good * RESTING;
        restMs = REST_MS;
      } else {
        kept = Math.min(kept, refused) * MUCH_SLOWER;
        restMs = Math.min(restMs * 2, REST_MS_MAX);
      }
      kept = Math.max(kept, Math.min(PER_SECOND_MIN, perSecondMax));
      slowedAt = now;
      taken = 0;
      return true;
    },
  };
}

function createPace(perSecondMax: number | undefined, deps: PaceDeps) {
  const { clock, onPace } = deps;
  const learned = perSecondMax === undefined ? undefined : createLearnedRate(perSecondMax);
  let nextAt = clock.monotonic();
  let asleep: AbortController | undefined;
  let heldMs = 0;
  let isSlowed = false;
  const figures = (): PaceFigures => {
    return { perSecond: learned?.rate(clock.monotonic()), perSecondMax, heldMs };
  };
  return {
    figures,
    /**
     * Whether the next request may start. Else sleeps until it may and runs the task once; the
     * sleep keeps the process alive.
     */
    isDue(task: () => void): boolean {
      const since = clock.monotonic();
      if (asleep || nextAt <= since) return !asleep;
      const own = new AbortController();
      asleep = own;
      const wake = (): void => {
        heldMs += clock.monotonic() - since;
        asleep = undefined;
        task();
      };
      void clock.sleep(nextAt - since, own.signal).then(wake, () => undefined);
      return false;
    },
    take(): void {
      const now = clock.monotonic();
      const rate = learned?.rate(now);
      const intervalMs = rate === undefined ? 0 : 1_000 / rate;
      const catchUpMs = Math.max(intervalMs, CATCH_UP_MS_MIN);
      nextAt = Math.max(nextAt, now - catchUpMs) + intervalMs;
    },
    pause(ms: number): void {
      nextAt = Math.max(nextAt, clock.monotonic() + Math.min(ms, PAUSE_MS_MAX));
    },
    /** Learns from a 429 to a request that started at this time (monotonic ms). */
    tooFast(startedAt: number): void {
      if (!learned) return;
      if (!learned.refused(startedAt, clock.monotonic())) return;
      isSlowed = true;
      onPace?.(figures());
    },
    /** Learns from any answer other than a 429. */
    taken(): void {
      if (!learned) return;
      const now = clock.monotonic();
      learned.taken(now);
      if (!isSlowed || learned.rate(now) !== perSecondMax) return;
      isSlowed = false;
      onPace?.(figures());
    },
    /** Cancels the sleep, because no request waits any more. */
    wake(): void {
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
  tooFast: ReturnType<typeof createPace>['tooFast'];
  taken: ReturnType<typeof createPace>['taken'];
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
    /** Takes a slot for the priority whose turn it is; undefined: none may have one. */
    take(): Priority | undefined {
      const priority =
        OVERTAKEN.find(isOverdue) ??
        PRIORITIES.find((one) => waits(one) && total() < placesOf(one));
      if (priority === undefined) return undefined;
      active[priority] += 1;
      for (const other of PRIORITIES) {
        overtaken[other] = other !== priority && waits(other) ? overtaken[other] + 1 : 0;
      }
      return priority;
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
    while (!nobodyWaits() && pace.isDue(pump)) {
      const priority = turns.take();
      const waiter = priority && queues[priority].shift();
      if (!waiter) return;
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
