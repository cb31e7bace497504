/**
 * When a failed attempt is tried again (the wire contract, "Events: relay and portal"). Pure, so
 * that the table can be tested to the millisecond.
 */
import type { Random } from '../../../lib/random.ts';

/** The wait after the first, second, … failed attempt, in milliseconds; then the message failed. */
export const RETRY_DELAYS_MS = [
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  10 * 3_600_000,
] as const;

/** Each wait is multiplied by 1 ± this. */
const RETRY_JITTER = 0.2;

/** After a timeout or a 429 the receiver is left alone at least this long. */
const OVERLOAD_DELAY_MS_MIN = 60_000;

/** `Retry-After` may stretch a wait up to this factor, and never shortens it. */
const RETRY_AFTER_FACTOR_MAX = 2;

/** An endpoint is given up after failing this long without one success. */
export const FAILING_MS_MAX = 120 * 3_600_000;

export interface FailedAttempt {
  /** 0 for the first attempt of the message. */
  readonly number: number;
  readonly timedOut: boolean;
  readonly responseStatus: number;
  readonly retryAfterMs: number | undefined;
}

/** Milliseconds to the next attempt, or undefined when this was the last. */
export function retryDelayMs(failed: FailedAttempt, random: Random): number | undefined {
  const base = RETRY_DELAYS_MS[failed.number];
  if (base === undefined) return undefined;
  const jittered = Math.round(base * (1 + RETRY_JITTER * (random.next() * 2 - 1)));
  const overloaded = failed.timedOut || failed.responseStatus === 429;
  const delay = overloaded ? Math.max(jittered, OVERLOAD_DELAY_MS_MIN) : jittered;
  if (failed.retryAfterMs === undefined) return delay;
  return Math.min(Math.max(failed.retryAfterMs, delay), delay * RETRY_AFTER_FACTOR_MAX);
}

/** The milliseconds a `Retry-After` header asks for: seconds or an HTTP date; else undefined. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
