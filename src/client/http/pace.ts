/**
 * Decides when the next request may start: at most as often as the configuration allows, and less
 * often while the service answers "too fast" (429). `Retry-After` also pauses all requests.
 *
 * The service's limit is undocumented, may differ per key and is shared with other programs of the
 * account, so it is learned and unlearned. A refusal lowers the rate, much if nothing is taken in
 * between. Then the rate doubles every few seconds up to the known limit, and climbs above it, by
 * time alone: without requests there is no evidence against it. Refusals at once say nothing about
 * the limit, because nothing was asked too fast; those of a stretch in full use show it. A limit
 * that climbs confirm is tried less and less often; one that others may have lowered is tried
 * within a minute of each refusal. Nothing of it outlives the process.
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

/** Factor of the rate after a refusal that may be chance. */
const SLOWER = 0.9;
/** Factor after a refusal that follows another: the service takes far less now, or nothing. */
const MUCH_SLOWER = 0.4;
/** Lowest requests per second: one in ten seconds; only `Retry-After` delays further. */
const PER_SECOND_MIN = 0.1;
/**
 * Numbers of requests taken between two refusals, from which the second tells of the limit, and
 * from which it may be chance.
 */
const LEARNED_TAKEN = 2;
const CHANCE_TAKEN = 15;

/**
 * Milliseconds after a refusal until the rate rises: if the service has taken a request meanwhile,
 * and by time alone. Then it doubles in `DOUBLE_MS`, up to the limit.
 */
const REST_MS = 5_000;
const IDLE_REST_MS = 12_000;
const DOUBLE_MS = 2_500;

/** Milliseconds after a refusal until the rate climbs above a limit that is in doubt. */
const SOON_MS = 8_000;
/** Milliseconds after a refusal until such a climb is at the configured rate. */
const BACK_MS = 50_000;
/** Milliseconds until the rate climbs above a limit that is confirmed, and of that climb. */
const HOLD_MS = 30_000;
const CLIMB_MS = 25_000;
/**
 * Number of climbs in a row that may confirm a limit before each further one is put off longer, up
 * to the maximum: a limit that has stood for minutes is seldom gone.
 */
const CLIMBS_AT_ONCE = 8;
const LONGER = 1.25;
const HOLD_MS_MAX = 180_000;
/**
 * Milliseconds for which a higher limit is remembered: no climb is put off longer meanwhile,
 * because a lower one may be the work of others.
 */
const REMEMBERED_MS = 1_800_000;

/** Milliseconds of a stretch from which its average shows the limit, and from which it is sure. */
const SHOWN_MS_MIN = 2_000;
const SURE_MS = 10_000;
/** Share of a stretch in which requests must have waited for the rate: it was in full use. */
const FULL_USE = 0.5;
/** Milliseconds' worth of requests that a service takes at once on top of its limit. */
const BURST_MS = 1_000;
/** Factor between two limits within which they count as the same. */
const SAME_LIMIT = 1.3;
/** Factor of a limit that a climb has confirmed, since a climb says that it may be higher. */
const HIGHER = 1.01;
/** Milliseconds after a refusal in which another shows no climb, whatever the rate. */
const EARLY_MS = 12_000;
/** Least factors of a limit that was not reached: after few taken requests, and after many. */
const MUCH_LOWER = 0.5;
const LOWER = 0.93;
/** Share of the limit that is asked for. */
const BELOW = 0.97;
/** Share of that until the rate rises, in which the service recovers from the burst. */
const REST = 0.9;

/** Requests since the rate was half of the present one, or since a climb began. */
interface Stretch {
  readonly since: number;
  readonly rate: number;
  readonly isClimb: boolean;
  readonly heldMsBefore: number;
  taken: number;
  /** The requests before, from the time when the rate was half of that. */
  readonly earlier?: Stretch | undefined;
}

/** Requests per second that a refused stretch shows: at least, and at most. */
interface Shown {
  readonly least: number;
  readonly most: number;
  /** Whether the stretch was so long that the service certainly took as much. */
  readonly isSure: boolean;
}

/** Tells what a refused stretch shows; undefined: it was too short, or not in full use. */
function shownBy(stretch: Stretch | undefined, now: number, heldMs: number): Shown | undefined {
  if (!stretch) return undefined;
  const { earlier, taken } = stretch;
  const ms = now - stretch.since;
  if (ms < SHOWN_MS_MIN && earlier) {
    return shownBy({ ...earlier, taken: earlier.taken + taken, earlier: undefined }, now, heldMs);
  }
  const isInFullUse = heldMs - stretch.heldMsBefore >= FULL_USE * ms;
  if (ms < SHOWN_MS_MIN || !isInFullUse) return undefined;
  // The service may have taken a burst on top of its limit, or have taken that before.
  return {
    least: (taken * 1_000) / (ms + BURST_MS),
    most: (taken * 1_000) / ms,
    isSure: ms >= SURE_MS,
  };
}

/** A refusal that tells of the limit. */
interface Refusal {
  /** Requests per second asked for at that time. */
  readonly rate: number;
  readonly now: number;
  /** Milliseconds since the refusal before, and number of requests taken since. */
  readonly sinceMs: number;
  readonly taken: number;
  readonly shown: Shown | undefined;
}

/** Learns the service's limit from refusals. */
function createLimit(perSecondMax: number) {
  let perSecond: number | undefined;
  /** Number of climbs in a row that have confirmed it; 0: it is in doubt. */
  let times = 0;
  /** Whether the last refusal was below it. */
  let isLow = false;
  let highest = { perSecond: 0, at: Number.NEGATIVE_INFINITY };
  const become = (next: number, { now, shown }: Refusal): void => {
    const ratio = next / (perSecond ?? 0);
    if (ratio >= SAME_LIMIT || ratio <= 1 / SAME_LIMIT) times = 0;
    perSecond = next;
    const isForgotten = now - highest.at >= REMEMBERED_MS;
    const isHighest = isForgotten || next * SAME_LIMIT > highest.perSecond;
    if (shown?.isSure === true && isHighest) highest = { perSecond: next, at: now };
  };
  const holdMs = (now: number): number => {
    if (times === 0) return SOON_MS;
    const known = now - highest.at < REMEMBERED_MS ? highest.perSecond : 0;
    const isLowered = (perSecond ?? 0) * SAME_LIMIT <= known;
    const later = isLowered ? 0 : Math.max(0, times - CLIMBS_AT_ONCE);
    return Math.min(HOLD_MS * LONGER ** later, HOLD_MS_MAX);
  };
  const asked = (): number => Math.min((perSecond ?? Infinity) * BELOW, perSecondMax);
  return {
    asked,
    holdMs,
    /** Rate that the limit allows at this time after a refusal, with the climb above it. */
    rate(now: number, sinceMs: number): number {
      const waitMs = holdMs(now);
      const climbMs = Math.max(CLIMB_MS, BACK_MS - waitMs);
      const share = Math.max((sinceMs - waitMs) / climbMs, 0);
      // A power would miss it by a rounding error.
      if (share >= 1) return perSecondMax;
      // Slow at first, where the limit is most probably near.
      return asked() * (perSecondMax / asked()) ** (times === 0 ? share : share ** 2);
    },
    doubt(): void {
      times = 0;
    },
    refused(refusal: Refusal): void {
      const { rate, sinceMs, taken, shown } = refusal;
      const least = shown?.least ?? rate * SLOWER;
      if (perSecond === undefined) {
        become(least, refusal);
      } else if (rate > perSecond && sinceMs >= EARLY_MS) {
        times += 1;
        isLow = false;
        const most = Math.min(perSecond * HIGHER, shown?.most ?? 0);
        become(Math.max(most, least, perSecond), refusal);
      } else {
        const isEarly = taken < CHANCE_TAKEN;
        if (isEarly || isLow) times = 0;
        isLow = true;
        const lowest = perSecond * (isEarly ? MUCH_LOWER : LOWER);
        become(Math.min(perSecond, Math.max(least, lowest)), refusal);
      }
    },
  };
}

/** Learns the rate between the lowest and the configured one from refusals and time. */
function createLearnedRate(perSecondMax: number) {
  const limit = createLimit(perSecondMax);
  /** Rate that holds after the last refusal, which was at `slowedAt`, until `risesAt`. */
  let kept = perSecondMax;
  let slowedAt = Number.NEGATIVE_INFINITY;
  let risesAt = slowedAt;
  /** Number of requests that the service has taken since. */
  let taken = CHANCE_TAKEN;
  let stretch: Stretch | undefined;
  const rate = (now: number): number => {
    if (now < risesAt) return kept;
    const risen = kept * 2 ** ((now - risesAt) / DOUBLE_MS);
    return Math.min(risen, limit.rate(now, now - slowedAt));
  };
  const lowered = (now: number, heldMs: number): number => {
    const [from, sinceMs] = [rate(now), now - slowedAt];
    if (taken >= LEARNED_TAKEN && sinceMs >= REST_MS) {
      const shown = shownBy(stretch, now, heldMs);
      limit.refused({ rate: from, now, sinceMs, taken, shown });
      return Math.min(from, limit.asked() * REST);
    }
    limit.doubt();
    if (taken >= CHANCE_TAKEN) return from * SLOWER;
    return (taken < LEARNED_TAKEN ? kept : from) * MUCH_SLOWER;
  };
  return {
    rate,
    started(now: number, heldMs: number): void {
      const sinceMs = now - slowedAt;
      if (sinceMs < REST_MS) return;
      const current = rate(now);
      const isClimb = sinceMs > limit.holdMs(now);
      if (stretch && current < stretch.rate * 2) {
        // The level before a climb would only lower its average.
        const isLevelOver = isClimb && !stretch.isClimb && now - stretch.since >= SHOWN_MS_MIN;
        if (!isLevelOver) return;
      }
      const earlier = stretch && { ...stretch, earlier: undefined };
      stretch = { since: now, rate: current, isClimb, heldMsBefore: heldMs, taken: 0, earlier };
    },
    taken(now: number): void {
      if (taken === 0) risesAt = Math.min(risesAt, Math.max(now, slowedAt + REST_MS));
      taken += 1;
      if (stretch) stretch.taken += 1;
    },
    /** Lowers the rate after a request that started at this time; false: it says nothing new. */
    refused(startedAt: number, now: number, heldMs: number): boolean {
      // A refused request that was already in progress says nothing about the new rate.
      if (startedAt <= slowedAt) return false;
      kept = Math.max(lowered(now, heldMs), PER_SECOND_MIN);
      slowedAt = now;
      risesAt = now + IDLE_REST_MS;
      stretch = undefined;
      taken = 0;
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
      if (!learned.refused(startedAt, clock.monotonic(), heldMs)) return;
      isSlowed = true;
      onPace?.(figures());
    },
    taken() {
      if (!learned) return;
      learned.taken(clock.monotonic());
      if (!isSlowed || perSecond() !== perSecondMax) return;
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
