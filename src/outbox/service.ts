/** What the outbox needs of the service besides its client: a reader, and what errors mean. */
import { isNotFound } from '../client/http/answer.ts';
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrder, SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Capability } from '../config/level.ts';
import {
  ConflictError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
  toError,
} from '../lib/errors.ts';
import type { Problem } from './documents.ts';
import type { FlightProblem } from './item.ts';
import type { AttemptClass } from './queue.ts';

/** Reads an order with what belongs to it, fresh, writes all of it into the mirror and gives it. */
export type ReadOrder = (
  orderId: number,
  request: {
    readonly cause: string;
    readonly priority: 'push' | 'read' | 'pull';
    /** Whether its refunds and pending refunds are read as well. */
    readonly refunds?: boolean;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}>;

/** What the account has of the interface, as far as its level and its answers tell. */
export interface Levels {
  /** `service.v1.level`. */
  readonly level: string;
  /** Why it is not there, in words for the one who wants it; undefined: it is. */
  whyNot(capability: Capability): string | undefined;
  /** The service has answered for `about`, and not for what belongs to it. */
  missing(capability: Capability, error: Error, about: string): Promise<void>;
}

/** What a document hears that the account cannot take. */
export function turnedOff(message: string | undefined, path = 'kind'): Problem | undefined {
  return message === undefined ? undefined : { path, message };
}

/** The result, or undefined when the service has no such thing. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export const STATUS_UNREADABLE = 'outbox.status_unreadable';

/** What is compared before it is written cannot be compared. */
export function unreadableStatus(what: string): RetryLaterError {
  return new RetryLaterError(STATUS_UNREADABLE, `the status of ${what} cannot be read`, {
    hint: 'selvedge doctor names the member and what came',
  });
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

/** What a push was cleared by has grown old while it waited for its turn. */
export const READ_TOO_OLD = 'outbox.read_too_old';

export function messageOf(error: unknown): string {
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
