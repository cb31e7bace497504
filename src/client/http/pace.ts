/**
 * Request rate: at most the configured one, and lower while the service answers "too fast" (429).
 * Its limit is undocumented and may differ per key, so it is learned: a refusal of a request
 * started after the last step lowers the rate, accepted requests raise it slowly. `Retry-After`
 * also pauses all requests.
 */
import type { Clock } from '../../lib/clock.ts';

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
