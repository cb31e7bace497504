/**
 * When something in doubt is looked for, and when looks that fail mean that it never will be found.
 * Soon and often at first, because most effects are there at once; then at a steady pace; and
 * exactly when the quiet time is over, because only then an absence begins to prove something.
 */
import type { Clock } from '../lib/clock.ts';
import { LoginAgainError, RetryLaterError } from '../lib/errors.ts';
import type { OutboxItem } from './item.ts';
import { DELIVERY_MISSING, STATUS_UNREADABLE } from './service.ts';

const FIRST_LOOKS_MS = [2_000, 10_000, 30_000];

export interface LookPace {
  /** An absence proves nothing before this long after the doubt began. */
  readonly quietMs: number;
  /** The steady pace, and the least time between the two looks that prove an absence. */
  readonly everyMs: number;
}

/**
 * The first time of the schedule after `now`; all are epoch milliseconds. A doubt that seems to
 * begin later, because the clock was set back, is looked for at the steady pace meanwhile.
 */
export function nextLookAt(since: number, { quietMs, everyMs }: LookPace, now: number): number {
  const age = Math.max(0, now - since);
  const first = FIRST_LOOKS_MS.filter((after) => after < everyMs);
  const last = first.at(-1) ?? 0;
  const stepped = last + everyMs * (Math.floor(Math.max(0, age - last) / everyMs) + 1);
  const planned = [...first, quietMs, quietMs + everyMs, stepped];
  const next = since + Math.min(...planned.filter((after) => after > age));
  return Math.min(next, now + everyMs);
}

const UNREADABLE = new Set(['transport.broken_answer', DELIVERY_MISSING, STATUS_UNREADABLE]);

function asksForPatience(error: unknown): boolean {
  return error instanceof RetryLaterError && error.retryAfterMs !== undefined;
}

/** Whether a look failed as in an outage, which ends by itself; what cannot be read does not. */
export function isPassing(error: unknown): boolean {
  if (error instanceof LoginAgainError) return true;
  return error instanceof RetryLaterError && !UNREADABLE.has(error.code);
}

/** Where others are found for so long, and one never, it is no outage that comes and goes. */
const ALONE_MS = 21_600_000;

interface Failed {
  readonly inARow: number;
  /** How many others of its kind had been seen at the service by then. */
  readonly others: number;
  /** Since when (monotonic) its answers are odd. */
  readonly oddSince: number | undefined;
  /** Since when (monotonic) those are seen between its failures. */
  readonly aloneSince: number | undefined;
}

type Looked = Pick<OutboxItem, 'outboxId' | 'kind'>;

/** Looks that failed; forgotten with the process, which costs a short wait. */
export interface FailedLooks {
  /**
   * `isHopeless`: it has failed twice, some time apart, in a way that no outage explains. Without
   * an error the look could not see all that there is.
   */
  add(item: Looked, error?: unknown): { readonly before: number; readonly isHopeless: boolean };
  /** It could be looked for. `isThere`: the service has it, and has answered. */
  end(item: Looked, isThere: boolean): void;
}

/** `apartMs`: between two odd answers that mean something. */
export function createFailedLooks(clock: Pick<Clock, 'monotonic'>, apartMs: number): FailedLooks {
  const failed = new Map<number, Failed>();
  // Of one kind: what answers for another one may be there while nothing of this one can be read.
  const seen = new Map<string, number>();
  return {
    add({ outboxId, kind }, error) {
      const now = clock.monotonic();
      const others = seen.get(kind) ?? 0;
      const last = failed.get(outboxId);
      const before = last?.inARow ?? 0;
      let { oddSince, aloneSince } = last ?? {};
      let isHopeless = false;
      if (!isPassing(error)) {
        oddSince ??= now;
        isHopeless = now - oddSince >= apartMs;
      } else if (last && last.others !== others && !asksForPatience(error)) {
        aloneSince ??= now;
        isHopeless = now - aloneSince >= ALONE_MS;
      }
      const inARow = error === undefined ? 0 : before + 1;
      failed.set(outboxId, { inARow, others, oddSince, aloneSince });
      return { before, isHopeless };
    },
    end({ outboxId, kind }, isThere) {
      failed.delete(outboxId);
      if (isThere) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    },
  };
}
