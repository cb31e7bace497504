/**
 * Reads one order with its deliveries (and its refunds, when they are wanted: each list is a
 * request of its own), fresh, and writes all of it into the mirror in one transaction. Events,
 * sweeps, decisions and pushes all look at an order through here. The read's sequence is taken
 * before the first request leaves, so that a slow answer cannot overwrite what a later read has
 * found.
 */
import { NO_SUCH_PAGE, NOT_FOUND_BARE } from '../client/http/answer.ts';
import type { Listing } from '../client/v1/calls.ts';
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrder, SalesOrderDelivery } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { writeDeliveries } from '../mirror/delivery.ts';
import { forgetUnmet, quarantineRows } from '../mirror/quarantine.ts';
import { writePendingRefunds, writeRefunds } from '../mirror/refund.ts';
import type { Provenance } from '../mirror/rows/bulk.ts';
import { noteDetailsRead, writeOrders } from '../mirror/sales-order.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
import { readSeqAsOf } from './run/answer-age.ts';

interface OrderRequest {
  /** What asked for the read, e.g. `event:msg_1` or `outbox:17`. */
  readonly cause: string;
  readonly priority: 'push' | 'read' | 'pull';
  /** Whether refunds and pending refunds are read as well; default: they are not. */
  readonly refunds?: boolean;
  readonly signal: AbortSignal;
}

interface OrderReading {
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}

export type ReadOrder = (orderId: number, request: OrderRequest) => Promise<OrderReading>;

/** What is read with an order besides its deliveries. */
export interface ReadAlso {
  readonly refunds: boolean;
  readonly pendingRefunds: boolean;
}

export interface OrderReaderDeps {
  readonly store: Store;
  readonly v1: Pick<V1Client, 'order' | 'deliveries' | 'refunds' | 'pendingRefunds'>;
  readonly also: ReadAlso;
  readonly sequence: ReadSequence;
  readonly clock: Clock;
}

/** The contract has this list from nowhere (C): an account may do without it. */
function unlessUnknown(error: unknown): never {
  if (!(error instanceof RefusedError)) throw error;
  const { code, message, lines } = error;
  const hint = 'if every order is refused so, set streams.orders.pendingRefunds: false';
  throw new RefusedError(code, message, { cause: error, lines, hint });
}

const FOREIGN: ReadonlySet<string> = new Set([NO_SUCH_PAGE, NOT_FOUND_BARE]);

/** A page of what stands before the service, maybe for a moment, does not refuse the order. */
function unlessForeign(error: unknown): never {
  const isForeign = error instanceof RefusedError && FOREIGN.has(error.code);
  throw isForeign ? new RetryLaterError(error.code, error.message, { cause: error }) : error;
}

/** An answer that a cache has kept for longer is no reading of now. */
const AGE_MS_MAX = 60_000;

/** Since when what was read is so; throws when that is too long ago. */
function oldestOf(
  orderId: number,
  startedAt: number,
  reads: readonly ({ readonly startedAt: number } | undefined)[],
): number {
  const oldest = Math.min(startedAt, ...reads.map((read) => read?.startedAt ?? startedAt));
  if (startedAt - oldest <= AGE_MS_MAX) return oldest;
  const age = formatDuration(startedAt - oldest);
  const text = `order ${orderId} came out of a cache and is ${age} old (Age)`;
  const hint = 'whoever runs the cache must leave the service out: requests say no-cache';
  throw new RetryLaterError('sync.cached_answer', text, { hint });
}

export function createOrderReader(deps: OrderReaderDeps): ReadOrder {
  const { store, v1, sequence, clock, also } = deps;
  return async (orderId, { cause, priority, signal, refunds: wanted = false }) => {
    const startedAt = clock.now();
    const readSeq = await sequence.next();
    const call = { priority, signal };
    const reading = v1.order(orderId, call).catch(unlessForeign);
    const below = { ...call, order: reading };
    // Only while the order is answered for, a page may tell that there is no such list.
    const unlessAway = (error: unknown): Promise<never> => reading.then(() => unlessUnknown(error));
    const [order, deliveries, refunds, pendingRefunds] = await Promise.all([
      reading,
      v1.deliveries(orderId, below).catch(unlessForeign),
      also.refunds && wanted ? v1.refunds(orderId, below).catch(unlessForeign) : undefined,
      also.pendingRefunds && wanted
        ? v1.pendingRefunds(orderId, below).catch(unlessAway)
        : undefined,
    ]);
    // A little is made up for; what a cache has kept for long decides nothing.
    const oldest = oldestOf(orderId, startedAt, [order, deliveries, refunds, pendingRefunds]);
    const asOf = oldest < startedAt ? await readSeqAsOf(store.db, oldest) : readSeq;
    await store.transaction(async (tx) => {
      const provenance = { source: `refresh:${cause}`, readSeq: asOf, at: clock.now() };
      // What was met now was kept at this very time.
      const met = { source: '', startedAt: provenance.at, orderId };
      const keep = async <T>(
        entity: string,
        list: Listing<T> | undefined,
        write: (tx: Tx, rows: readonly T[], from: Provenance) => Promise<unknown>,
      ): Promise<void> => {
        if (!list) return;
        await write(tx, list.rows, provenance);
        await quarantineRows(tx, entity, list.rejects, provenance);
        await forgetUnmet(tx, entity, met);
      };
      await writeOrders(tx, [order.value], provenance);
      await forgetUnmet(tx, 'sales_order', met);
      await keep('delivery', deliveries, writeDeliveries);
      await keep('refund', refunds, writeRefunds);
      await keep('pending_refund', pendingRefunds, writePendingRefunds);
      // By its start: what a slow answer tells is no younger, and a sweep must not rest on it.
      if (wanted) await noteDetailsRead(tx, orderId, oldest);
    });
    return { order: order.value, deliveries: deliveries.rows };
  };
}
