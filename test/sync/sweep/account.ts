/**
 * An account with a season's book of pre-orders, in this process: its orders and their deliveries,
 * what happens to them, and the calls of the client, each of which takes its part of the limit.
 */
import { deliverySchema, salesOrderSchema } from '../../../src/client/v1/schemas.ts';
import type { Random } from '../../../src/lib/random.ts';
import type { OrderReaderDeps } from '../../../src/sync/read-order.ts';
import type { OrdersDeps } from '../../../src/sync/streams/orders.ts';
import type { LeapingClock } from './clock.ts';

export const SEASON = 'SS27';
/** Delivery windows of the season; only the first one has begun. */
export const WINDOWS = 12;
const PAGE = 50;
const LINES = 3;
const FIRST_ID = 100_001;

type DeliveryStatus = 'pending' | 'accepted';

export interface Packed {
  readonly orderDeliveryId: number;
  status: DeliveryStatus;
  tracking: readonly string[];
}

export interface Order {
  readonly orderId: number;
  readonly window: number;
  readonly createdAt: string;
  status: 'pending' | 'fulfilled' | 'canceled';
  completed: boolean;
  comment: string;
  packed: Packed | undefined;
}

/** Requests by who made them. */
export interface Requests {
  pages: number;
  looks: number;
  reads: number;
}

export function createAccount(clock: LeapingClock, random: Random, perSecond: number) {
  const orders: Order[] = [];
  const requests: Requests = { pages: 0, looks: 0, reads: 0 };
  const take = (kind: keyof Requests): number => {
    requests[kind] += 1;
    clock.spend(1_000 / perSecond);
    return clock.now();
  };
  const kindOf = (call?: { readonly priority?: string | undefined }): 'looks' | 'reads' =>
    call?.priority === 'pull' ? 'looks' : 'reads';
  const byId = (orderId: number): Order => {
    const order = orders[orderId - FIRST_ID];
    if (!order) throw new Error(`there is no order ${orderId}`);
    return order;
  };
  const shown = (order: Order) =>
    salesOrderSchema.parse({
      ...{ orderId: order.orderId, reference: `R-${order.orderId}`, status: order.status },
      ...{ completed: order.completed, comment: order.comment, SeasonName: SEASON },
      createdAt: order.createdAt,
      orderLineItems: Array.from({ length: LINES }, (_, line) => ({
        ...{ barcode: `570000000${line}`, quantity: 4, price: 10, season: SEASON },
        ...{ fulfilledQuantity: order.packed ? 4 : 0, delivery: `W${order.window}` },
      })),
    });
  const shownDelivery = (order: Order, { orderDeliveryId, status, tracking }: Packed) =>
    deliverySchema.parse({
      ...{ orderDeliveryId, orderId: order.orderId, status },
      fulfilledLineItems: [{ barcode: '5700000000', fulfilledQuantity: 4, price: 10 }],
      trackAndTrace: { trackingNumbers: tracking, trackingLinks: [] },
    });
  const listOf = <T>(rows: readonly T[], startedAt: number) => ({
    ...{ rows: [...rows], rejects: [], count: undefined, startedAt },
  });
  const never = (): Promise<never> => Promise.reject(new Error('nothing is gone here'));
  const v1: OrderReaderDeps['v1'] & OrdersDeps['v1'] = {
    async orders(before = Number.MAX_SAFE_INTEGER) {
      const startedAt = take('pages');
      const end = Math.max(0, Math.min(orders.length, before - FIRST_ID));
      const page = orders.slice(Math.max(0, end - PAGE), end).reverse();
      const rows = page.map(shown);
      return { ...listOf(rows, startedAt), raws: rows };
    },
    async order(orderId, call) {
      const startedAt = take(kindOf(call));
      return { value: shown(byId(orderId)), startedAt };
    },
    async deliveries(orderId, call) {
      const startedAt = take(kindOf(call));
      const order = byId(orderId);
      return listOf(order.packed ? [shownDelivery(order, order.packed)] : [], startedAt);
    },
    async refunds(_orderId, call) {
      return listOf([], take(kindOf(call)));
    },
    async pendingRefunds(_orderId, call) {
      return listOf([], take(kindOf(call)));
    },
    ...{ delivery: never, refund: never, pendingRefund: never },
  };
  return {
    ...{ v1, orders, requests, byId },
    place(): Order {
      const window = 1 + Math.floor(random.next() * WINDOWS);
      const head = { orderId: FIRST_ID + orders.length, window };
      const createdAt = new Date(clock.now()).toISOString();
      const rest = { status: 'pending', completed: false, comment: '', packed: undefined } as const;
      const order: Order = { ...head, createdAt, ...rest };
      orders.push(order);
      return order;
    },
    pack(order: Order): Packed {
      const packed: Packed = { orderDeliveryId: order.orderId, status: 'pending', tracking: [] };
      order.packed = packed;
      return packed;
    },
  };
}

export type Account = ReturnType<typeof createAccount>;
