/** Methods of V1 for orders and their deliveries. */

import { isJsonObject } from '../../lib/json.ts';
import type { CallOptions, Read } from '../calls.ts';
import { isNotFound } from '../http/answer.ts';
import type { HttpRequest } from '../http/request.ts';
import { rowReader } from '../rows.ts';
import { readWhole } from '../tolerant/values.ts';
import {
  allIn,
  type BelowOptions,
  get,
  type Listing,
  listBelow,
  oneIn,
  post,
  pull,
  type RawListing,
  type V1Wire,
  wholeList,
} from './calls.ts';
import { ask, askStatus } from './envelope.ts';
import { isTooLarge, longList } from './long-list.ts';
import {
  type CreatedOrder,
  createdOrderSchema,
  deliverySchema,
  type SalesOrder,
  type SalesOrderDelivery,
  type SettableStatus,
  salesOrderSchema,
} from './schemas.ts';

interface CreateOrderOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined;
}

interface DeliverySet {
  readonly status: string;
  /** Delivery with its lines, if the answer shows it in the status that was set; else undefined. */
  readonly delivery: SalesOrderDelivery | undefined;
}

type OrderPage = RawListing<SalesOrder>;

export interface OrderMethods {
  /** Reads a page of orders, the newest first, with ids below `beforeOrderId` only. */
  orders(beforeOrderId?: number, call?: CallOptions): Promise<RawListing<SalesOrder>>;
  order(orderId: number, call?: CallOptions): Promise<Read<SalesOrder>>;
  /** Creates an order; `body` is sent unchanged (order-body.ts). */
  createOrder(body: unknown, call?: CreateOrderOptions): Promise<Read<CreatedOrder>>;
  deliveries(orderId: number, call?: BelowOptions): Promise<Listing<SalesOrderDelivery>>;
  delivery(
    orderId: number,
    orderDeliveryId: number,
    call?: CallOptions,
  ): Promise<Read<SalesOrderDelivery>>;
  /**
   * Sets a delivery's status; returns the one in the answer, or the requested one if it has none.
   */
  setDeliveryStatus(
    orderId: number,
    orderDeliveryId: number,
    status: SettableStatus,
    call?: CallOptions,
  ): Promise<Read<DeliverySet>>;
}

export const isOrderNumber = (id: unknown): id is number =>
  Number.isSafeInteger(id) && Number(id) > 0;

/** Number of the order in a received row, even if the rest of the row is unreadable. */
export function orderNumber(raw: unknown): number | undefined {
  const id = readWhole(isJsonObject(raw) ? raw.orderId : undefined);
  return isOrderNumber(id) ? id : undefined;
}

/** Position of a cursor walk down the list of orders. */
export interface WalkPlace {
  /** Cursor of the next page (ids below it); undefined: the first page. */
  readonly before?: number | undefined;
  /** Order that the next page must start with, because the previous page ended with it. */
  readonly last?: number | undefined;
}

export interface CursorStep {
  /**
   * Cursor of the next page, chosen so that no order between the cursors can be missing; undefined:
   * the list does not descend.
   */
  readonly to: number | undefined;
  /**
   * Last order number of the page, trusted only when the next page repeats it: it may be far too
   * low, and hide many.
   */
  readonly last: number | undefined;
  /**
   * An order number that is out of order, or beside such a one, or whose order changed its number.
   */
  readonly outOfOrder: number | undefined;
}

/** Longest decreasing run of order ids, with the highest possible nth number. */
function longestDecreasingRun(ids: readonly number[]): readonly number[] {
  const down: number[] = [];
  for (const id of ids) {
    const lowest = down.at(-1);
    const at = lowest === undefined || id < lowest ? down.length : down.findIndex((n) => n <= id);
    down[at] = id;
  }
  return down;
}

/**
 * Derives the next cursor from the ids on a page, on which the newest order comes first and all are
 * below the cursor.
 */
export function nextCursor(ids: readonly number[], { before, last }: WalkPlace): CursorStep {
  const all = [...new Set(ids)];
  const below = all.filter((id) => before === undefined || id < before);
  const down = longestDecreasingRun(below);
  const hasCome = last === undefined || all.includes(last);
  const inOrder = new Set(down);
  const outOfOrder = all.find((id) => !inOrder.has(id)) ?? (hasCome ? undefined : last);
  // Single wrong numbers are tolerated. If most are out of order, the list is sorted otherwise, and
  // only half of the page can be trusted.
  if (down.length * 2 < all.length) {
    const middle = below.sort((a, b) => b - a).at(Math.floor(below.length / 2));
    return { to: middle, last: undefined, outOfOrder };
  }
  const [low, lowest] = [down.at(-2), down.at(-1)];
  return { to: low ?? lowest, last: low === undefined ? undefined : lowest, outOfOrder };
}

function deliveryPath(orderId: number, orderDeliveryId: number): string {
  return `/orders/${orderId}/deliveries/${orderDeliveryId}`;
}

const DELIVERIES = { path: 'deliveries', member: 'deliveries' } as const;

export function orderMethods(wire: V1Wire): OrderMethods {
  const { sender, options, interpreter } = wire;
  const { order: ofOrder, created } = interpreter;
  const deliveryOf = (orderId: number) => (row: SalesOrderDelivery) =>
    interpreter.delivery(row, orderId);
  // A page that was too large as one body is followed by such pages.
  let isLong = false;
  const page = async (request: HttpRequest, mayBeAbsent = false): Promise<OrderPage> => {
    const wasLong = isLong;
    // An error in rows that are too much leaves it to the next call whether they still are.
    isLong = false;
    try {
      if (!wasLong)
        return await wholeList(sender, request, 'orders', salesOrderSchema, mayBeAbsent);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
    }
    const found = await longList(sender, request, 'orders', salesOrderSchema, true);
    isLong = found.isCut === true;
    return found;
  };
  const readDelivery = rowReader(deliverySchema, sender.decimals);
  return {
    async orders(beforeOrderId, call) {
      const request = pull(wire, '/orders', call, { beforeOrderId });
      const hasOrders = beforeOrderId !== undefined;
      try {
        return await allIn(page(request, hasOrders), ofOrder);
      } catch (error) {
        // A 404 below a cursor means the end of the list, if there are orders at all.
        if (!hasOrders || !isNotFound(error)) throw error;
        const newest = await page(pull(wire, '/orders', call));
        sender.note(request, 'orders=404 (behind the last)');
        return { ...newest, rows: [], rejects: [], raws: [] };
      }
    },
    order(orderId, call) {
      const request = get(wire, `/orders/${orderId}`, call);
      return oneIn(ask(sender, request, salesOrderSchema), ofOrder);
    },
    createOrder(body, call) {
      const header = options.idempotencyHeader;
      const key = call?.idempotencyKey;
      const headers = header !== undefined && key !== undefined ? { [header]: key } : undefined;
      const request = { ...post(wire, '/orders', body, call), headers };
      return oneIn(ask(sender, request, createdOrderSchema), created);
    },
    deliveries(orderId, call) {
      const rows = listBelow(wire, { orderId, ...DELIVERIES }, deliverySchema, call);
      return allIn(rows, deliveryOf(orderId));
    },
    delivery(orderId, id, call) {
      const request = get(wire, deliveryPath(orderId, id), call);
      return oneIn(ask(sender, request, deliverySchema), deliveryOf(orderId));
    },
    async setDeliveryStatus(orderId, id, status, call) {
      const request = post(wire, deliveryPath(orderId, id), { status }, call);
      const { value, startedAt } = await askStatus(sender, request, status);
      const read = readDelivery(value.shown);
      const isIt =
        'value' in read &&
        read.value.orderDeliveryId === id &&
        (read.value.orderId ?? orderId) === orderId &&
        read.value.fulfilledLineItems !== null;
      const shown = isIt ? deliveryOf(orderId)(read.value) : undefined;
      const delivery = shown?.status === status ? shown : undefined;
      return { value: { ...interpreter.setDelivery(value), delivery }, startedAt };
    },
  };
}
