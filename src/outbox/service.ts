/** What the outbox needs of the service besides its client: a reader, and what errors mean. */
import { isNotFound } from '../client/http/answer.ts';
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrder, SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import {
  ConflictError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../lib/errors.ts';
import { sharedReason } from '../lib/log/outages.ts';
import type { FlightProblem, OutboxItem } from './item.ts';
import type { AttemptClass } from './ledger.ts';

/** Reads an order with what belongs to it, fresh, writes all of it into the mirror and gives it. */
export type ReadOrder = (
  orderId: number,
  request: {
    readonly cause: string;
    readonly priority: 'push' | 'read';
    /** Whether its refunds and pending refunds are read as well. */
    readonly refunds?: boolean;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}>;

/** The result, or undefined when the service has no such thing. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether a refund has come of it: then the pending one need not be shown any more. */
export async function isRefunded(
  v1: Pick<V1Client, 'refunds'>,
  orderId: number,
  pendingRefundId: number,
  signal: AbortSignal,
): Promise<boolean> {
  const refunds = await unlessGone(v1.refunds(orderId, { priority: 'push', signal }));
  return refunds?.rows.some((one) => one.pendingRefundId === pendingRefundId) ?? false;
}

export function classOf(error: unknown): AttemptClass {
  if (error instanceof RetryLaterError || error instanceof LoginAgainError) return 'not_processed';
  if (error instanceof ConflictError) return 'conflict';
  return error instanceof RefusedError ? 'refused' : 'ambiguous';
}

/** A delivery that is not shown may be a row that cannot be read. */
export const DELIVERY_MISSING = 'outbox.delivery_missing';
const UNREADABLE = new Set(['transport.broken_answer', DELIVERY_MISSING]);

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

export function wordsOf(error: unknown): string {
  return error instanceof RefusedError ? error.words : toError(error).message;
}

/** The service's own lines (`path: what is wrong`) as problems. */
export function linesOf(error: unknown): FlightProblem[] {
  if (!(error instanceof RefusedError)) return [];
  const lines = error.lines.length > 0 ? error.lines : [error.message];
  return lines.map((line) => {
    const [, path = '', message = line] = /^([\w.[\]/]+): (.+)$/s.exec(line) ?? [];
    return { path, message, severity: 'error' };
  });
}

/**
 * What a push was put off for, in the log: that of the service is shared by many, our own is about
 * this one.
 */
export function putOffBy(item: OutboxItem, error: unknown): string {
  const isOurs = error instanceof SelvedgeError && error.code.startsWith('outbox.');
  return isOurs ? `${item.kind} ${item.reference}: ${error.message}` : sharedReason(toError(error));
}
