/**
 * How fast requests start: at most as fast as the configuration says, and slower while the service
 * says "too fast" (429). Its own limit is not documented and may be another for each key, so it is
 * learned: down by a step with each refusal of a request that started since the last step, up again
 * slowly while requests are taken. `Retry-After` holds everybody up besides.
 */
import type { Clock } from '../../lib/clock.ts';

export interface PaceFigures {
  /** In force; undefined: no limit. */
  readonly perSecond: number | undefined;
  /** The configured one. */
  readonly perSecondMax: number | undefined;
  /** For how long in all somebody has waited for nothing but the pace, ms. */
  readonly heldMs: number;
}

/** When the next request may start. */
export interface Pace {
  /** Milliseconds until then; 0 or less: now. */
  waitMs(): number;
  take(): void;
  pause(ms: number): void;
  /** "Too fast" was the answer to a request that started then (monotonic ms). */
  tooFast(startedAt: number): void;
  /** Another answer came. */
  taken(): void;
  sleeps(): boolean;
  /** Sleeps until then and does it, once. Whoever waits for his turn keeps the process alive. */
  sleep(task: () => void): void;
  /** Nobody waits any more. */
  wake(): void;
  figures(): PaceFigures;
}

export interface PaceDeps {
  readonly clock: Clock;
  /** Told when the pace has become another. */
  readonly onPace?: ((figures: PaceFigures) => void) | undefined;
}

/** Timers wake a little late; this much lateness is caught up instead of lost. */
const CATCH_UP_MS_MIN = 20;

/** A very long pause would look like a hang; after this the service is simply asked again. */
const PAUSE_MS_MAX = 10_000;

/** A single refusal may be chance, or the burst of somebody else. */
const SLOWER = 0.85;
/** Refused again so soon: it is far too fast. */
const MUCH_SLOWER = 0.5;
const AGAIN_MS = 10_000;
/** A request in ten seconds is always tried; `Retry-After` alone holds it back further. */
const PER_SECOND_MIN = 0.1;
/**
 * A service that refuses some requests by chance would be met ever more slowly: while few of the
 * last answers are refusals, the pace stays above a share of the configured one.
 */
const LAST_ANSWERS = 20;
const FEW_REFUSED = 6;
const KEPT_SHARE = 0.1;

/** Up so much, at most so often: near the true limit one request in a few hundred is refused. */
const FASTER = 1.05;
const FASTER_MS = 30_000;
/** Never refused for so long: the true limit is far away, or is no more. */
const LONG_MS = 300_000;
const MUCH_FASTER = 1.25;
/** Several steps down lead too far: quickly back to just below the pace that was last refused. */
const BACK = 1.1;
const BACK_MS = 10_000;
/** Only a pace that was used says that it is not too fast: half of what it allows. */
const USED_SHARE = 0.5;

/** Remembers whether each of the last answers was a refusal. */
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
  /** The pace that was the last to be refused: a little less may be right. */
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
      // Those that were on their way already say nothing about the pace since.
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
