/**
 * Times of the outbox: the delay after a failed attempt, the schedule of lookups, and the point at
 * which failing lookups mean that a person must decide. Lookups are frequent at first, because most
 * effects show at once, then steady, and exact at the end of the settlement delay, because only
 * then an absence begins to prove something.
 */

import type { Clock } from '../lib/clock.ts';
import { LoginAgainError, RetryLaterError } from '../lib/errors.ts';
import type { Random } from '../lib/random.ts';
import type { OutboxItem } from './item.ts';
import { DELIVERY_MISSING, STATUS_UNREADABLE } from './service.ts';

const FIRST_LOOKUPS_MS = [2_000, 10_000, 30_000];

export interface RetryDeps {
  readonly random: Random;
  readonly limits: { readonly retryMsMin: number; readonly retryMsMax: number };
}

/**
 * Milliseconds until the next try: doubles with each failure, from `retryMsMin` up to `retryMsMax`;
 * a random part adds up to 20 %.
 */
export function retryDelay(
  { random, limits }: RetryDeps,
  failures: number,
  error?: unknown,
): number {
  const asked = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
  const backOff = Math.min(limits.retryMsMax, limits.retryMsMin * 2 ** Math.min(failures, 20));
  return Math.max(asked, Math.round(backOff * (1 + random.next() * 0.2)));
}

export interface LookupPace {
  /**
   * Settlement delay in milliseconds: an absence proves nothing until this long after the outcome
   * became unknown.
   */
  readonly reconcileAfterMs: number;
  /**
   * Milliseconds between steady lookups, and at least between the two lookups that prove an
   * absence.
   */
  readonly everyMs: number;
}

/**
 * First time of the lookup schedule after `now` (epoch ms). A `since` in the future was written
 * before the clock was set back; until it is reached, lookups go on at the steady pace.
 */
export function nextLookupAt(
  since: number,
  { reconcileAfterMs, everyMs }: LookupPace,
  now: number,
): number {
  const age = Math.max(0, now - since);
  const first = FIRST_LOOKUPS_MS.filter((after) => after < everyMs);
  const last = first.at(-1) ?? 0;
  const stepped = last + everyMs * (Math.floor(Math.max(0, age - last) / everyMs) + 1);
  const planned = [...first, reconcileAfterMs, reconcileAfterMs + everyMs, stepped];
  const next = since + Math.min(...planned.filter((after) => after > age));
  return Math.min(next, now + everyMs);
}

const UNREADABLE = new Set(['transport.broken_answer', DELIVERY_MISSING, STATUS_UNREADABLE]);

/**
 * Whether a lookup failed as in an outage, which ends by itself; an unreadable answer is no outage.
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof LoginAgainError) return true;
  return error instanceof RetryLaterError && !UNREADABLE.has(error.code);
}

/**
 * Milliseconds after which a failure is specific to its row, if lookups of the same kind succeed
 * meanwhile.
 */
const ROW_SPECIFIC_MS = 21_600_000;

interface Failed {
  readonly inARow: number;
  /** Number of other rows of the same kind that were matched by the time of the last failure. */
  readonly others: number;
  /** Monotonic time since when the row's answers cannot be used; undefined: they can. */
  readonly unusableSince: number | undefined;
  /** Monotonic time since when other rows are matched between the row's failures. */
  readonly specificSince: number | undefined;
}

type LookedUp = Pick<OutboxItem, 'outboxId' | 'kind'>;

/** Counts failed lookups by row; lost with the process, which only costs a short wait. */
export interface FailedLookups {
  /**
   * Counts a failure; without an error, the lookup could not see everything. `isHopeless`: the row
   * has failed twice, some time apart, in a way that no outage explains.
   */
  add(item: LookedUp, error?: unknown): { readonly before: number; readonly isHopeless: boolean };
  /**
   * Forgets the failures of a row that could be looked up. `isMatched`: the service answered and
   * has it.
   */
  end(item: LookedUp, isMatched: boolean): void;
}

/**
 * Makes a counter of failed lookups.
 * @param apartMs least milliseconds between two unusable answers of a row that count.
 */
export function createFailedLookups(
  clock: Pick<Clock, 'monotonic'>,
  apartMs: number,
): FailedLookups {
  const failed = new Map<number, Failed>();
  // Matched rows are counted per kind: an answer about one kind says nothing about another.
  const matched = new Map<string, number>();
  return {
    add({ outboxId, kind }, error) {
      const now = clock.monotonic();
      const others = matched.get(kind) ?? 0;
      const last = failed.get(outboxId);
      const before = last?.inARow ?? 0;
      let { unusableSince, specificSince } = last ?? {};
      let isHopeless = false;
      const isAsked = error instanceof RetryLaterError && error.retryAfterMs !== undefined;
      if (!isPassing(error)) {
        unusableSince ??= now;
        isHopeless = now - unusableSince >= apartMs;
      } else if (last && last.others !== others && !isAsked) {
        specificSince ??= now;
        isHopeless = now - specificSince >= ROW_SPECIFIC_MS;
      }
      const inARow = error === undefined ? 0 : before + 1;
      failed.set(outboxId, { inARow, others, unusableSince, specificSince });
      return { before, isHopeless };
    },
    end({ outboxId, kind }, isMatched) {
      failed.delete(outboxId);
      if (isMatched) matched.set(kind, (matched.get(kind) ?? 0) + 1);
    },
  };
}
