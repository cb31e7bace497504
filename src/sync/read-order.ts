/**
 * Reads one order with its deliveries (and its refunds on request: each list is another request)
 * and writes all of it to the mirror in one transaction. Events, sweeps, decisions and pushes read
 * orders through here. The read's sequence number is taken before the first request, so that a slow
 * answer cannot overwrite a later read.
 */

import type { Read } from '../client/calls.ts';
import { NO_SUCH_PAGE, NOT_FOUND_BARE } from '../client/http/answer.ts';
import type { BelowOptions, Listing } from '../client/v1/calls.ts';
import type { V1Client } from '../client/v1/client.ts';
import type {
  PendingRefund,
  SalesOrder,
  SalesOrderDelivery,
  SalesOrderRefund,
} from '../client/v1/schemas.ts';
import type { Capability } from '../config/level.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { DELIVERY, writeDeliveries } from '../mirror/delivery.ts';
import { clearResolvedQuarantine, quarantineRows } from '../mirror/quarantine.ts';
import type { RecentReads } from '../mirror/refetch-queue.ts';
import { PENDING_REFUND, REFUND, writePendingRefunds, writeRefunds } from '../mirror/refund.ts';
import type { EntityDefinition, Provenance } from '../mirror/rows/prepared.ts';
import { noteDetailsRead, writeOrders } from '../mirror/sales-order.ts';
import { forgetShared } from '../mirror/shared-number.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
import type { LevelWatch } from './account-traits.ts';
import { readSeqAsOf } from './run/answer-age.ts';

interface OrderRequest {
  /** Cause of the read, e.g. `event:msg_1` or `outbox:17`. */
  readonly cause: string;
  readonly priority: 'push' | 'read' | 'pull';
  /** Whether refunds and pending refunds are read as well; default: no. */
  readonly refunds?: boolean;
  readonly signal: AbortSignal;
}

interface OrderReading {
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}

export type ReadOrder = (orderId: number, request: OrderRequest) => Promise<OrderReading>;

/** Reads one delivery of an order into the mirror, and nothing else of the order. */
export type ReadDelivery = (
  orderId: number,
  orderDeliveryId: number,
  request: Omit<OrderRequest, 'refunds'>,
) => Promise<SalesOrderDelivery>;

/** Lists that are read with an order besides its deliveries. */
export interface ReadAlso {
  readonly refunds: boolean;
  readonly pendingRefunds: boolean;
}

export interface OrderReaderDeps {
  readonly store: Store;
  readonly v1: Pick<V1Client, 'order' | 'deliveries' | 'refunds' | 'pendingRefunds'>;
  readonly also: ReadAlso;
  readonly levels: LevelWatch;
  readonly sequence: ReadSequence;
  readonly clock: Clock;
  readonly recentReads?: Pick<RecentReads, 'begin' | 'note'>;
}

const FOREIGN: ReadonlySet<string> = new Set([NO_SUCH_PAGE, NOT_FOUND_BARE]);

function isForeign(error: unknown): error is RefusedError {
  return error instanceof RefusedError && FOREIGN.has(error.code);
}

/**
 * Turns an intermediary's error page into an error that is retried, because it does not refuse the
 * order.
 */
function unlessForeign(error: unknown): never {
  if (!isForeign(error)) throw error;
  throw new RetryLaterError(error.code, error.message, { cause: error });
}

/** Lists below an order, as far as the account has them. */
interface Below {
  readonly deliveries: Listing<SalesOrderDelivery> | undefined;
  readonly refunds: Listing<SalesOrderRefund> | undefined;
  readonly pendingRefunds: Listing<PendingRefund> | undefined;
}

/** Statuses of an order that must have deliveries. */
const HAS_DELIVERIES = /^(partially_)?fulfilled$/;

const UNKNOWN = 'HTTP 404 in place of the list';

/** Reads the three lists below an order, each as long as the account seems to have it. */
function createPartReader(
  { v1, levels }: OrderReaderDeps,
  orderId: number,
  call: BelowOptions & { readonly order: Promise<Read<SalesOrder>> },
) {
  /**
   * Notes that the account lacks a list below orders, once the order itself was answered: only that
   * makes the missing list evidence.
   */
  const missing = async (capability: Capability, error: Error): Promise<undefined> => {
    await call.order;
    await levels.missing(capability, error, String(orderId));
  };
  /**
   * Takes a 404 in place of a list as an empty list, unless the order's status says that it has
   * rows.
   */
  const unlessMissing = async <T>(list: Listing<T>): Promise<Listing<T> | undefined> => {
    if (!list.isUnknown) await levels.answered('orderParts');
    else if (HAS_DELIVERIES.test((await call.order).value.status ?? '')) {
      await missing('orderParts', new Error(UNKNOWN));
      return levels.isThere('orderParts') ? list : undefined;
    }
    return list;
  };
  const part = async <T>(read: () => Promise<Listing<T>>): Promise<Listing<T> | undefined> => {
    if (!levels.isThere('orderParts')) return undefined;
    try {
      return await read();
    } catch (error) {
      if (!isForeign(error)) throw error;
      await missing('orderParts', error);
      return levels.isThere('orderParts') ? unlessForeign(error) : undefined;
    }
  };
  return {
    deliveries: async () => {
      const list = await part(() => v1.deliveries(orderId, call));
      return list && unlessMissing(list);
    },
    refunds: () => part(() => v1.refunds(orderId, call)),
    /**
     * Reads the pending refunds. They count as missing when they are answered with a 404 while an
     * empty list of refunds is not.
     */
    async pendingRefunds(refunds: Promise<Listing<unknown> | undefined>) {
      if (!levels.isThere('pendingRefunds')) return undefined;
      const list = await v1.pendingRefunds(orderId, call).catch((error: unknown) => {
        if (error instanceof RefusedError) return error;
        throw error;
      });
      if (list instanceof RefusedError) return missing('pendingRefunds', list);
      if (!list.isUnknown) await levels.answered('pendingRefunds');
      const others = list.isUnknown ? await refunds : undefined;
      if (!others || others.isUnknown || others.rows.length > 0) return list;
      return missing('pendingRefunds', new Error(UNKNOWN));
    },
  };
}

/**
 * Reads the lists of an order. An account without such a list does not block the order: the lack is
 * noted, and once it is certain the list counts as not read.
 */
async function readBelow(
  deps: OrderReaderDeps,
  orderId: number,
  call: BelowOptions & { readonly order: Promise<Read<SalesOrder>> },
  wanted: boolean,
): Promise<Below> {
  const { also } = deps;
  const parts = createPartReader(deps, orderId, call);
  const reading = also.refunds && wanted ? parts.refunds() : Promise.resolve(undefined);
  const [deliveries, refunds, pendingRefunds] = await Promise.all([
    parts.deliveries(),
    reading,
    also.pendingRefunds && wanted ? parts.pendingRefunds(reading) : undefined,
  ]);
  return { deliveries, refunds, pendingRefunds };
}

/**
 * Maximum age in milliseconds of an answer from a cache; an older one does not count as a reading.
 */
const AGE_MS_MAX = 60_000;

/** Time at which all answers of the read were true; throws when that is too long ago. */
function oldestOf(
  orderId: number,
  startedAt: number,
  reads: readonly ({ readonly startedAt: number } | undefined)[],
): number {
  const oldest = Math.min(startedAt, ...reads.map((read) => read?.startedAt ?? startedAt));
  if (startedAt - oldest <= AGE_MS_MAX) return oldest;
  const age = formatDuration(startedAt - oldest);
  const text = `order ${orderId} came out of a cache and is ${age} old (Age)`;
  const hint = 'its operator must leave the service out: requests say no-cache';
  throw new RetryLaterError('sync.cached_answer', text, { hint });
}

export function createOrderReader(deps: OrderReaderDeps): ReadOrder {
  const { store, v1, sequence, clock } = deps;
  return async (orderId, { cause, priority, signal, refunds: wanted = false }) => {
    const startedAt = clock.now();
    const start = deps.recentReads?.begin();
    let sentAt: number | undefined;
    const readSeq = await sequence.next();
    const beforeSend = (): void => {
      sentAt ??= clock.monotonic();
    };
    const call = { priority, signal, beforeSend };
    const reading = v1.order(orderId, call).catch(unlessForeign);
    const [order, { deliveries, refunds, pendingRefunds }] = await Promise.all([
      reading,
      readBelow(deps, orderId, { ...call, order: reading }, wanted),
    ]);
    // Answers from a cache date the read back by their age; too old ones were refused above.
    const oldest = oldestOf(orderId, startedAt, [order, deliveries, refunds, pendingRefunds]);
    const asOf = oldest < startedAt ? await readSeqAsOf(store.db, oldest) : readSeq;
    await store.transaction(async (tx) => {
      const provenance = { source: `refresh:${cause}`, readSeq: asOf, at: clock.now() };
      // `clearResolvedQuarantine` keeps rows that were quarantined at this very time.
      const wholeRead = { source: '', startedAt: provenance.at, orderId };
      const keep = async <T>(
        definition: EntityDefinition,
        list: Listing<T> | undefined,
        write: (tx: Tx, rows: readonly T[], from: Provenance) => Promise<unknown>,
        numberOf: (row: T) => number,
      ): Promise<void> => {
        if (!list) return;
        const { entity } = definition;
        await write(tx, list.rows, provenance);
        await quarantineRows(tx, entity, list.rejects, provenance);
        await clearResolvedQuarantine(tx, entity, wholeRead);
        if (list.rejects.length > 0) return;
        await forgetShared(tx, definition, orderId, list.rows.map(numberOf));
      };
      await writeOrders(tx, [order.value], provenance);
      await clearResolvedQuarantine(tx, 'sales_order', wholeRead);
      await keep(DELIVERY, deliveries, writeDeliveries, (row) => row.orderDeliveryId);
      await keep(REFUND, refunds, writeRefunds, (row) => row.orderRefundId);
      const pendingIdOf = (row: PendingRefund) => row.pendingRefundId;
      await keep(PENDING_REFUND, pendingRefunds, writePendingRefunds, pendingIdOf);
      // The order counts as read at the start of the read, because a slow answer is no newer and a
      // sweep must not rely on it.
      if (wanted) await noteDetailsRead(tx, orderId, oldest);
    });
    const at = (sentAt ?? start?.at ?? 0) - (startedAt - oldest);
    if (start) deps.recentReads?.note(orderId, { ...start, at });
    return { order: order.value, deliveries: deliveries?.rows ?? [] };
  };
}

export function createDeliveryReader(
  deps: Pick<OrderReaderDeps, 'store' | 'sequence' | 'clock'> & {
    readonly v1: Pick<V1Client, 'delivery'>;
  },
): ReadDelivery {
  const { store, v1, sequence, clock } = deps;
  return async (orderId, orderDeliveryId, { cause, ...call }) => {
    const startedAt = clock.now();
    const readSeq = await sequence.next();
    const read = await v1.delivery(orderId, orderDeliveryId, call).catch(unlessForeign);
    const oldest = oldestOf(orderId, startedAt, [read]);
    const asOf = oldest < startedAt ? await readSeqAsOf(store.db, oldest) : readSeq;
    await store.transaction(async (tx) => {
      const provenance = { source: `refresh:${cause}`, readSeq: asOf, at: clock.now() };
      await writeDeliveries(tx, [read.value], provenance);
    });
    return read.value;
  };
}
