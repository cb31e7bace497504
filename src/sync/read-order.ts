/**
 * Reads one order with its deliveries (and its refunds on request: each list is another request)
 * and writes all of it to the mirror in one transaction. Events, sweeps, decisions and pushes read
 * orders through here; a sweep's look may end with the deliveries (look-at-order.ts). The read's
 * sequence number is taken before the first request, so that a slow answer cannot overwrite a later
 * read.
 */

import type { Read } from '../client/calls.ts';
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
import { RefusedError } from '../lib/errors.ts';
import { clearResolvedQuarantine } from '../mirror/quarantine.ts';
import type { Look, RecentReads } from '../mirror/refetch-queue.ts';
import { PENDING_REFUND, REFUND, writePendingRefunds, writeRefunds } from '../mirror/refund.ts';
import type { Provenance } from '../mirror/rows/prepared.ts';
import { DELIVERY, noteDetailsRead, writeDeliveries, writeOrders } from '../mirror/sales-order.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
import type { LevelWatch } from './account-traits.ts';
import { lookAtDeliveries, mayHaveRefunds } from './look-at-order.ts';
import {
  asAsked,
  HAS_DELIVERIES,
  isForeign,
  keepList,
  oldestOf,
  requireAsked,
  rowsAsAsked,
  unlessForeign,
} from './order-answers.ts';
import type { OrderLooks } from './order-looks.ts';
import { readSeqAsOf } from './run/answer-age.ts';

interface OrderRequest {
  /** Cause of the read, e.g. `event:msg_1` or `outbox:17`. */
  readonly cause: string;
  readonly priority: 'push' | 'read' | 'pull';
  /** Whether refunds and pending refunds are read as well; default: no. */
  readonly refunds?: boolean;
  /**
   * Look of a sweep that the read counts as: refunds are read if the order may have any. Default:
   * none.
   */
  readonly look?: Look | undefined;
  /** Whether the lists below the order are asked for only once the order is there; default: no. */
  readonly orderFirst?: boolean;
  /** Called in the place of {@link OrderReaderDeps.onChanged}. */
  readonly onChanged?: OnChanged | undefined;
  /** Writes something else in the transaction that writes what was read, behind it. */
  readonly alsoWrite?: AlsoWrite | undefined;
  readonly signal: AbortSignal;
}

type AlsoWrite = (tx: Tx) => Promise<void>;

/** Called with the deliveries of which a read has changed the content, the status or the order. */
type OnChanged = (orderDeliveryIds: readonly number[]) => void;

interface OrderReading {
  readonly order: SalesOrder;
  readonly deliveries: readonly SalesOrderDelivery[];
}

/** A read that no sweep waits for, or does not wait for alone. */
type PlainRequest = OrderRequest & { readonly look?: undefined };

export type ReadOrder = (orderId: number, request: PlainRequest) => Promise<OrderReading>;

export interface LookAtOrder extends ReadOrder {
  /**
   * Looks at an order for a sweep; undefined: its deliveries are as the mirror has them, and
   * nothing else was read.
   */
  (orderId: number, request: OrderRequest): Promise<OrderReading | undefined>;
}

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
  readonly looks?: Pick<OrderLooks, 'compared' | 'isListProved' | 'spend'>;
  readonly onChanged?: OnChanged | undefined;
}

/** Lists below an order, as far as the account has them. */
interface Below {
  readonly deliveries: Listing<SalesOrderDelivery> | undefined;
  readonly refunds: Listing<SalesOrderRefund> | undefined;
  readonly pendingRefunds: Listing<PendingRefund> | undefined;
  /** Whether refunds and pending refunds were wanted, as far as the account has them. */
  readonly areRefundsWanted: boolean;
}

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
      const others = list.isUnknown ? await refunds : undefined;
      // Where the service answers both alike, its 404 is an empty list: then it is there, too.
      if (!list.isUnknown || (list.isOwn && others?.isOwn)) await levels.answered('pendingRefunds');
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
  wanted: (deliveries: Promise<Listing<SalesOrderDelivery> | undefined>) => Promise<boolean>,
): Promise<Below> {
  const { also } = deps;
  const parts = createPartReader(deps, orderId, call);
  const listing = parts.deliveries();
  const wanting = wanted(listing);
  const ifWanted = async <T>(read: () => Promise<T>): Promise<T | undefined> =>
    (await wanting) ? read() : undefined;
  const reading = also.refunds ? ifWanted(parts.refunds) : Promise.resolve(undefined);
  const [deliveries, refunds, pendingRefunds, areRefundsWanted] = await Promise.all([
    listing,
    reading,
    also.pendingRefunds ? ifWanted(() => parts.pendingRefunds(reading)) : undefined,
    wanting,
  ]);
  return { deliveries, refunds, pendingRefunds, areRefundsWanted };
}

/**
 * Whether refunds are read: if that was requested, and for a sweep also if the order may have any.
 */
async function wantsRefunds(
  deps: OrderReaderDeps,
  orderId: number,
  { refunds = false, look }: OrderRequest,
  order: Promise<Read<SalesOrder>>,
  deliveries: Promise<Listing<SalesOrderDelivery> | undefined>,
): Promise<boolean> {
  if (refunds || look === undefined) return refunds;
  // Without a first answer nobody would learn that the level is set too high.
  if (deps.also.pendingRefunds && !deps.levels.isSettled('pendingRefunds')) return true;
  const [{ value }, list] = await Promise.all([order, deliveries]);
  const rows = list?.rows ?? [];
  // Its deliveries are not shown, but there are some.
  if (rows.length === 0 && HAS_DELIVERIES.test(value.status ?? '')) return true;
  return mayHaveRefunds(deps, orderId, rows);
}

/** Read number of the mirrored order; undefined: the mirror does not have it. */
async function readSeqOf(tx: Tx, orderId: number): Promise<number | undefined> {
  const query = tx.selectFrom('sales_order').select('read_seq').where('order_id', '=', orderId);
  return (await query.executeTakeFirst())?.read_seq;
}

/**
 * Writes an order, and tells whether it is new or has changed; a look at one that a list has shown
 * tells how good the list is.
 */
async function keepOrder(
  { looks }: OrderReaderDeps,
  tx: Tx,
  order: SalesOrder,
  provenance: Provenance,
  isCompared: boolean,
): Promise<boolean> {
  const before = isCompared ? await readSeqOf(tx, order.orderId) : undefined;
  const { inserted, changed, unchanged } = await writeOrders(tx, [order], provenance);
  if (before !== undefined && changed + unchanged > 0) looks?.compared(before, changed > 0);
  // Keeps rows that were quarantined at this very time.
  const wholeRead = { source: '', startedAt: provenance.at, orderId: order.orderId };
  await clearResolvedQuarantine(tx, 'sales_order', wholeRead);
  return inserted + changed > 0;
}

const DELIVERIES = {
  definition: DELIVERY,
  write: writeDeliveries,
  numberOf: (row: SalesOrderDelivery): number => row.orderDeliveryId,
};
const REFUNDS = {
  definition: REFUND,
  write: writeRefunds,
  numberOf: (row: SalesOrderRefund): number => row.orderRefundId,
};
const PENDING_REFUNDS = {
  definition: PENDING_REFUND,
  write: writePendingRefunds,
  numberOf: (row: PendingRefund): number => row.pendingRefundId,
};

/** Reads the order and its lists and writes them. */
async function readWhole(
  deps: OrderReaderDeps,
  orderId: number,
  request: OrderRequest,
  isCompared: boolean,
): Promise<OrderReading> {
  const { store, v1, sequence, clock, looks } = deps;
  const { cause, priority, signal, look } = request;
  const startedAt = clock.now();
  const start = deps.recentReads?.begin();
  let sentAt: number | undefined;
  const readSeq = await sequence.next();
  const beforeSend = (): void => {
    sentAt ??= clock.monotonic();
    if (look !== undefined) looks?.spend(1);
  };
  const call = { priority, signal, beforeSend };
  const reading = v1.order(orderId, call).catch(unlessForeign);
  if (request.orderFirst) await reading;
  const wanted = (list: Promise<Listing<SalesOrderDelivery> | undefined>): Promise<boolean> =>
    wantsRefunds(deps, orderId, request, reading, list);
  const [order, below] = await Promise.all([
    reading,
    readBelow(deps, orderId, { ...call, order: reading }, wanted),
  ]);
  // Answers from a cache date the read back by their age; too old ones are refused.
  const { refunds, pendingRefunds, areRefundsWanted } = below;
  const oldest = oldestOf(orderId, startedAt, [order, below.deliveries, refunds, pendingRefunds]);
  const asOf = oldest < startedAt ? await readSeqAsOf(store.db, oldest) : readSeq;
  const { own, deliveries, changed } = await store.transaction(async (tx) => {
    const provenance = { source: `refresh:${cause}`, readSeq: asOf, at: clock.now() };
    const own = await asAsked(tx, orderId, order.value);
    const isChanged = await keepOrder(deps, tx, own, provenance, isCompared);
    const ofOwn = <T extends { readonly orderId: number | null }>(list: Listing<T> | undefined) =>
      rowsAsAsked(list, own, order.value);
    const deliveries = ofOwn(below.deliveries);
    const written = await keepList(tx, orderId, deliveries, DELIVERIES, provenance);
    await keepList(tx, orderId, ofOwn(refunds), REFUNDS, provenance);
    await keepList(tx, orderId, ofOwn(pendingRefunds), PENDING_REFUNDS, provenance);
    // The order counts as read at the start of the read, because a slow answer is no newer and a
    // sweep must not rely on it.
    if (areRefundsWanted || look !== undefined) await noteDetailsRead(tx, orderId, oldest);
    await request.alsoWrite?.(tx);
    // A changed order changes what each of its deliveries is decided on.
    const all = deliveries?.rows ?? [];
    return {
      own,
      deliveries,
      changed: isChanged ? all.map(DELIVERIES.numberOf) : written.map(Number),
    };
  });
  const at = (sentAt ?? start?.at ?? 0) - (startedAt - oldest);
  if (start) deps.recentReads?.note(orderId, { ...start, at });
  if (changed.length > 0) (request.onChanged ?? deps.onChanged)?.(changed);
  return { order: own, deliveries: deliveries?.rows ?? [] };
}

export function createOrderReader(deps: OrderReaderDeps): LookAtOrder {
  function readOrder(orderId: number, request: PlainRequest): Promise<OrderReading>;
  function readOrder(orderId: number, request: OrderRequest): Promise<OrderReading | undefined>;
  async function readOrder(
    orderId: number,
    request: OrderRequest,
  ): Promise<OrderReading | undefined> {
    const { look } = request;
    const found = look === 'deliveries' ? await lookAtDeliveries(deps, orderId, request) : look;
    if (found === 'alike') return undefined;
    // What a delivery has changed meanwhile tells nothing about the list of orders.
    return readWhole(deps, orderId, request, found === 'whole');
  }
  return readOrder;
}

export function createDeliveryReader(
  deps: Pick<OrderReaderDeps, 'store' | 'sequence' | 'clock' | 'onChanged'> & {
    readonly v1: Pick<V1Client, 'delivery'>;
  },
): ReadDelivery {
  const { store, v1, sequence, clock } = deps;
  return async (orderId, orderDeliveryId, { cause, onChanged, alsoWrite, ...call }) => {
    const startedAt = clock.now();
    const readSeq = await sequence.next();
    const read = await v1.delivery(orderId, orderDeliveryId, call).catch(unlessForeign);
    requireAsked(orderId, orderDeliveryId, read.value);
    const oldest = oldestOf(orderId, startedAt, [read]);
    const asOf = oldest < startedAt ? await readSeqAsOf(store.db, oldest) : readSeq;
    const written = await store.transaction(async (tx) => {
      const provenance = { source: `refresh:${cause}`, readSeq: asOf, at: clock.now() };
      const { written } = await writeDeliveries(tx, [read.value], provenance);
      await alsoWrite?.(tx);
      return written;
    });
    if (written.length > 0) (onChanged ?? deps.onChanged)?.(written.map(Number));
    return read.value;
  };
}
