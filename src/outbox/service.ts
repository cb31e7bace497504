/** What the kinds need of the service, besides its client: a reader that feeds the mirror. */
import type { SalesOrder, SalesOrderDelivery } from '../client/v1/schemas.ts';
import { RefusedError } from '../lib/errors.ts';

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

/** Codes by which the service says that it has no such thing. */
const GONE = new Set(['service.not_found', 'service.gone']);

function isGone(error: unknown): boolean {
  return error instanceof RefusedError && GONE.has(error.code);
}

/** The result, or undefined when the service has no such thing. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
