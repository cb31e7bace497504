/** Access to the service besides its client: a fresh reader of orders, and what errors mean. */
import { isNotFound } from '../client/http/answer.ts';
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrder, SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Capability } from '../config/level.ts';
import {
  ConflictError,
  LoginAgainError,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../lib/errors.ts';
import type { Problem } from './documents.ts';
import type { FlightProblem } from './item.ts';
import type { AttemptClass } from './queue.ts';

/** Reads an order with its deliveries from the service, and writes all of it into the mirror. */
export type ReadOrder = (
  orderId: number,
  request: {
    readonly cause: string;
    readonly priority: 'push' | 'read' | 'pull';
    readonly refunds?: boolean;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}>;

/** Capabilities of the account, by its level and by the service's answers. */
export interface Levels {
  readonly level: string;
  /** Returns why the account lacks a capability, for people; undefined: it has it. */
  whyNot(capability: Capability): string | undefined;
  /** Notes that the service answered for the object `about`, but lacks the capability for it. */
  missing(capability: Capability, error: Error, about: string): Promise<void>;
}

/** Problem of a document that the account does not support; undefined without a message. */
export function turnedOff(message: string | undefined, path = 'kind'): Problem | undefined {
  return message === undefined ? undefined : { path, message };
}

export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export const STATUS_UNREADABLE = 'outbox.status_unreadable';

/** Error for a status that cannot be read, and so cannot be compared before a new one is set. */
export function unreadableStatus(what: string): RetryLaterError {
  return new RetryLaterError(STATUS_UNREADABLE, `the status of ${what} cannot be read`, {
    hint: 'selvedge doctor names the member and what came',
  });
}

/** Whether a pending refund has become a refund; then it need not be listed any more. */
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

/** Error code: a delivery is missing in its list, and may be a row of it that cannot be read. */
export const DELIVERY_MISSING = 'outbox.delivery_missing';

/** Error code: the read that cleared a push became too old while the push waited for its slot. */
export const READ_TOO_OLD = 'outbox.read_too_old';

/**
 * Whether the service's answer proves neither that an object exists nor that it is absent; asking
 * again is of no use.
 */
export function isUnreadable(error: unknown): boolean {
  const isBroken = error instanceof SelvedgeError && error.code === 'transport.broken_answer';
  return isBroken || (error instanceof RefusedError && !isNotFound(error));
}

export function messageOf(error: unknown): string {
  return error instanceof RefusedError ? error.fullMessage : toError(error).message;
}

/** Parses the lines of the service's refusal (`path: what is wrong`) as problems. */
export function linesOf(error: unknown): FlightProblem[] {
  if (!(error instanceof RefusedError)) return [];
  const lines = error.lines.length > 0 ? error.lines : [error.message];
  return lines.map((line) => {
    const [, path = '', message = line] = /^([\w.[\]/]+): (.+)$/s.exec(line) ?? [];
    return { path, message, severity: 'error' };
  });
}
