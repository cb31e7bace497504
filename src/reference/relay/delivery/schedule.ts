/**
 * Decides when a failed attempt is repeated (wire contract, "Events: relay and portal"). Without
 * side effects, so that the table can be tested to the millisecond.
 */
import type { Random } from '../../../lib/random.ts';

/**
 * Milliseconds to wait after the first, second, … failed attempt; after the last one the message
 * has failed.
 */
export const RETRY_DELAYS_MS = [
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  10 * 3_600_000,
] as const;

/** Share by which each wait is randomly lengthened or shortened. */
const RETRY_JITTER = 0.2;

/** Minimum milliseconds to wait after a timeout or a 429, so that the receiver can recover. */
const OVERLOAD_DELAY_MS_MIN = 60_000;

/** Maximum factor by which `Retry-After` lengthens a wait; it never shortens one. */
const RETRY_AFTER_FACTOR_MAX = 2;

/** Milliseconds for which an endpoint must fail, without one success, to be disabled. */
export const FAILING_MS_MAX = 120 * 3_600_000;

export interface FailedAttempt {
  /** Number of the attempt; 0 for the message's first. */
  readonly number: number;
  readonly timedOut: boolean;
  readonly responseStatus: number;
  readonly retryAfterMs: number | undefined;
}

/** Milliseconds to the next attempt; undefined: this was the last. */
export function retryDelayMs(failed: FailedAttempt, random: Random): number | undefined {
  const base = RETRY_DELAYS_MS[failed.number];
  if (base === undefined) return undefined;
  const jittered = Math.round(base * (1 + RETRY_JITTER * (random.next() * 2 - 1)));
  const overloaded = failed.timedOut || failed.responseStatus === 429;
  const delay = overloaded ? Math.max(jittered, OVERLOAD_DELAY_MS_MIN) : jittered;
  if (failed.retryAfterMs === undefined) return delay;
  return Math.min(Math.max(failed.retryAfterMs, delay), delay * RETRY_AFTER_FACTOR_MAX);
}

/**
 * Milliseconds that a `Retry-After` header asks for, as seconds or an HTTP date; undefined: it is
 * neither.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
