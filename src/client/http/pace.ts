/**
 * Decides when the next request may start: at most as often as the configuration allows, and less
 * often while the service answers "too fast" (429). `Retry-After` also pauses all requests.
 *
 * The service's limit is undocumented, may differ per key and is shared with other programs of the
 * account, so it is learned and unlearned. A refusal lowers the rate. The rate then holds for half
 * a minute and climbs to the configured one within another, by time alone: without requests there
 * is no evidence against it. A climb that is refused in full use shows the limit; while it stays
 * the same, it is tried less and less often.
 */

import type { Clock } from '../../lib/clock.ts';

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

/** Milliseconds without a refusal after which the rate climbs, and how long the climb takes. */
const HOLD_MS = 30_000;
const CLIMB_MS = 25_000;
/**
 * Number of climbs in a row that may show the same limit before each further one is put off longer,
 * up to the maximum: a limit that has stood for minutes is seldom gone.
 */
const CLIMBS_AT_ONCE = 8;
const LONGER = 1.25;
const HOLD_MS_MAX = 180_000;

/** A limit that was shown so few times is a rough one, and is tried again sooner. */
const ROUGH_TIMES = 2;
const ROUGH_HOLD_MS = 12_000;

/** Milliseconds of a climb from which its average shows the limit. */
const SHOWN_MS_MIN = 2_000;
/** Share of a climb in which requests must have waited for the rate, so that it was in full use. */
const FULL_USE = 0.5;
/** Milliseconds' worth of requests that a service takes at once on top of its limit. */
const BURST_MS = 1_000;
/** Factor between two shown limits within which they count as the same. */
const SAME_LIMIT = 1.3;
/** Factor of a limit that is shown again, since a climb of seconds says that it may be higher. */
const HIGHER = 1.02;
/** Share of the shown limit that is asked for. */
const BELOW = 0.97;
/** Share of that for the first seconds, in which the service recovers from the burst. */
const REST = 0.9;

/** Remembers for each recent answer whether it was a refusal. */
function createLastAnswers() {
  const answers: boolean[] = [];
  return {
    note(isRefused: boolean): void {
      answers.push(isRefused);
      if (answers.length > LAST_ANSWERS) answers.shift();
    },
    areFewRefused: () => answers.filter(Boolean).length < FEW_REFUSED,
    areAllTaken: () => answers.length === LAST_ANSWERS && !answers.includes(true),
  };
}

/** The requests of a climb, from the time when the rate was half of the present one, or less. */
interface Climb {
  readonly since: number;
  readonly rate: number;
  readonly heldMsBefore: number;
  taken: number;
  /** The requests before, from the time when the rate was half of that. */
  readonly earlier?: Climb | undefined;
}

/** The limit that climbs in full use have shown. */
interface ShownLimit {
  readonly perSecond: number;
  /** Number of climbs in a row that have shown it. */
  readonly times: number;
}

/** Tells the limit that a refused climb shows, beside what was known; undefined: nothing. */
function limitShownBy(
  climb: Climb,
  known: ShownLimit | undefined,
  { now, heldMs }: { readonly now: number; readonly heldMs: number },
): ShownLimit | undefined {
  const { earlier } = climb;
  if (now - climb.since < SHOWN_MS_MIN && earlier) {
    const both = { ...earlier, taken: earlier.taken + climb.taken, earlier: undefined };
    return limitShownBy(both, known, { now, heldMs });
  }
  const ms = now - climb.since;
  const isInFullUse = heldMs - climb.heldMsBefore >= FULL_USE * ms;
  if (ms < SHOWN_MS_MIN || !isInFullUse) return undefined;
  // The service may have taken a burst on top of its limit, or have taken that before.
  const least = (climb.taken * 1_000) / (ms + BURST_MS);
  // A climb from far below has asked for less than it might for most of its time.
  const isNear = climb.rate * SAME_LIMIT >= (known?.perSecond ?? 0);
  const most = isNear ? (climb.taken * 1_000) / ms : Number.POSITIVE_INFINITY;
  if (!known) return { perSecond: least, times: 1 };
  const perSecond = Math.min(Math.max(known.perSecond * HIGHER, least), most);
  const ratio = perSecond / known.perSecond;
  const isSame = ratio < SAME_LIMIT && ratio > 1 / SAME_LIMIT;
  return { perSecond, times: isSame ? known.times + 1 : ROUGH_TIMES + 1 };
}

/** Learns the rate between the lowest and the configured one from refusals and time. */
function createLearnedRate(perSecondMax: number) {
  const answers = createLastAnswers();
  /** Rate that holds after the last refusal, which was at `slowedAt`. */
  let kept = perSecondMax;
  let slowedAt = Number.NEGATIVE_INFINITY;
  let climb: Climb | undefined;
  let limit: ShownLimit | undefined;
  /** The limit before a burst of refusals, which may be right again after it. */
  let doubted: ShownLimit | undefined;
  const holdMs = (): number => {
    if (limit && limit.times <= ROUGH_TIMES) return ROUGH_HOLD_MS;
    const later = Math.max(0, (limit?.times ?? 0) - CLIMBS_AT_ONCE);
    return Math.min(HOLD_MS * LONGER ** later, HOLD_MS_MAX);
  };
  const rate = (now: number): number => {
    const sinceMs = now - slowedAt;
    if (limit && sinceMs < AGAIN_MS) return kept * REST;
    // Slow at first, because the limit is most probably near.
    const share = Math.min((sinceMs - holdMs()) / CLIMB_MS, 1);
    return share <= 0 ? kept : kept * (perSecondMax / kept) ** (share * share);
  };
  const lowest = (): number => {
    if (!answers.areFewRefused()) return PER_SECOND_MIN;
    const share = Math.min(perSecondMax * KEPT_SHARE, (limit?.perSecond ?? perSecondMax) * BELOW);
    return Math.max(share, PER_SECOND_MIN);
  };
  const lowered = (from: number, now: number, heldMs: number): number => {
    if (now - slowedAt < AGAIN_MS) {
      if (limit && from <= limit.perSecond) [doubted, limit] = [{ ...limit, times: 0 }, undefined];
      return from * MUCH_SLOWER;
    }
    const again = doubted && doubted.perSecond < from ? doubted : undefined;
    if (climb) limit = limitShownBy(climb, limit ?? again, { now, heldMs }) ?? limit;
    else if (limit) limit = { ...limit, perSecond: Math.min(limit.perSecond, from) };
    return limit ? Math.min(from, limit.perSecond) * BELOW : from * SLOWER;
  };
  return {
    rate,
    note: answers.note,
    isBack: (now: number) => rate(now) === perSecondMax && answers.areAllTaken(),
    started(now: number, heldMs: number): void {
      if (now - slowedAt <= holdMs()) return;
      const current = rate(now);
      if (climb && current < climb.rate * 2) return;
      const earlier = climb && { ...climb, earlier: undefined };
      climb = { since: now, rate: current, heldMsBefore: heldMs, taken: 0, earlier };
    },
    taken(): void {
      if (climb) climb.taken += 1;
    },
    /** Lowers the rate after a request that started at this time; false: it says nothing new. */
    refused(startedAt: number, now: number, heldMs: number): boolean {
      // A refused request that was already in progress says nothing about the new rate.
      if (startedAt <= slowedAt) return false;
      const from = rate(now);
      kept = Math.max(lowered(from, now, heldMs), Math.min(lowest(), from));
      slowedAt = now;
      climb = undefined;
      return true;
    },
  };
}

export function createPace(perSecondMax: number | undefined, deps: PaceDeps): Pace {
  const { clock, onPace } = deps;
  const learned = perSecondMax === undefined ? undefined : createLearnedRate(perSecondMax);
  let nextAt = clock.monotonic();
  let asleep: AbortController | undefined;
  let heldMs = 0;
  let isSlowed = false;
  const perSecond = (): number | undefined => learned?.rate(clock.monotonic());
  const figures = (): PaceFigures => ({ perSecond: perSecond(), perSecondMax, heldMs });
  return {
    figures,
    waitMs: () => nextAt - clock.monotonic(),
    take() {
      const now = clock.monotonic();
      const rate = perSecond();
      const intervalMs = rate === undefined ? 0 : 1_000 / rate;
      const catchUpMs = Math.max(intervalMs, CATCH_UP_MS_MIN);
      nextAt = Math.max(nextAt, now - catchUpMs) + intervalMs;
      learned?.started(now, heldMs);
    },
    pause(ms) {
      nextAt = Math.max(nextAt, clock.monotonic() + Math.min(ms, PAUSE_MS_MAX));
    },
    tooFast(startedAt) {
      if (!learned) return;
      learned.note(true);
      if (!learned.refused(startedAt, clock.monotonic(), heldMs)) return;
      isSlowed = true;
      onPace?.(figures());
    },
    taken() {
      if (!learned) return;
      learned.note(false);
      learned.taken();
      if (!isSlowed || !learned.isBack(clock.monotonic())) return;
      isSlowed = false;
      onPace?.(figures());
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
