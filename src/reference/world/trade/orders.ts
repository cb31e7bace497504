/**
 * The order book: orders with their deliveries, refunds and pending refunds, as plain records that
 * only `world/` and `life/` change. No record is ever removed; ids ascend without gaps.
 */
import type { ShippingAddress } from '../accounts.ts';
import type { Currency } from '../catalog/words.ts';

type OrderStatus = 'pending' | 'fulfilled' | 'partially_fulfilled' | 'canceled';
/** Status of a delivery or a refund. */
export type DecisionStatus = 'pending' | 'accepted' | 'rejected' | 'canceled';

/**
 * Line of an order. Amounts are hundredths of the order's currency, with a fraction where an
 * account has more decimals. Times are epoch milliseconds.
 */
interface OrderLine {
  readonly barcode: string;
  readonly variant: number;
  /** Number of single pieces in one unit of the variant. */
  readonly pieces: number;
  readonly quantity: number;
  readonly price: number;
  readonly season?: string;
  readonly delivery?: string;
  /**
   * Units in deliveries that were not rejected; canceled ones count, because they are not packed
   * again.
   */
  packed: number;
  /** Units of the line that have shipped. */
  fulfilled: number;
}

export interface Freight {
  readonly amount: number;
  readonly type?: string;
  readonly parcelShopId?: string;
  readonly warehouseCode?: string;
}

export interface Order {
  readonly orderId: number;
  readonly reference: string;
  readonly orderNo: string;
  status: OrderStatus;
  completed: boolean;
  /** Earlier values of the order, each with the time until which it was so. */
  readonly earlier: {
    readonly status: OrderStatus;
    readonly completed: boolean;
    /** Units that had shipped, by line. */
    readonly fulfilled: readonly number[];
    readonly until: number;
  }[];
  readonly comment: string;
  readonly lines: readonly OrderLine[];
  readonly address: ShippingAddress;
  readonly freight: Freight;
  /** Whether the request had no address or freight, and the account therefore shows none. */
  readonly hides?: { readonly address: boolean; readonly freight: boolean };
  readonly createdAt: number;
  readonly currency: Currency;
  readonly season?: string;
  readonly account: number;
  /** Name of the key that created the order; absent: the order arrived by itself. */
  readonly key?: string;
}

export interface DeliveryLine {
  /** Index of the line among the order's lines. */
  readonly line: number;
  readonly quantity: number;
}

export interface Delivery {
  readonly orderDeliveryId: number;
  /** Number that clients see, where deliveries are numbered per order. */
  readonly shownId?: number;
  readonly deliveryNo: string;
  readonly orderId: number;
  status: DecisionStatus;
  /** Earlier statuses of the delivery, each with the time until which it had them. */
  readonly earlier: { readonly status: DecisionStatus; readonly until: number }[];
  readonly lines: readonly DeliveryLine[];
  readonly createdAt: number;
  acceptedAt?: number;
  shippedAt?: number;
  trackingNumber?: string;
}

export interface RefundLine {
  readonly barcode: string;
  readonly pieces: number;
  readonly quantity: number;
  readonly price: number;
  readonly restock: boolean;
  readonly refundType?: string;
}

export interface Refund {
  readonly orderRefundId: number;
  /** Number that clients see, where refunds are numbered per order. */
  readonly shownId?: number;
  readonly refundNo: string;
  readonly orderId: number;
  status: DecisionStatus;
  /** Earlier statuses of the refund, each with the time until which it had them. */
  readonly earlier: { readonly status: DecisionStatus; readonly until: number }[];
  readonly createdAt: number;
  readonly lines: readonly RefundLine[];
  readonly pendingRefundId?: number;
}

export interface PendingRefund {
  readonly pendingRefundId: number;
  readonly orderId: number;
  readonly reference: string;
  status: 'pending' | 'confirmed' | 'canceled';
  readonly comment?: string;
  readonly createdAt: number;
  readonly lines: readonly (Omit<RefundLine, 'price' | 'restock'> & {
    readonly price?: number;
    readonly restock?: boolean;
  })[];
}

/** Records in the order of their ascending ids, which are found by id and by order. */
interface Shelf<T> {
  readonly all: readonly T[];
  nextId(): number;
  add(record: T): void;
  get(id: number): T | undefined;
  ofOrder(orderId: number): readonly T[];
  replace(records: readonly T[]): void;
}

function createShelf<T extends { readonly orderId: number }>(firstId: number): Shelf<T> {
  const all: T[] = [];
  const byOrder = new Map<number, T[]>();
  const add = (record: T): void => {
    all.push(record);
    const list = byOrder.get(record.orderId);
    if (list) list.push(record);
    else byOrder.set(record.orderId, [record]);
  };
  return {
    all,
    nextId: () => firstId + all.length,
    add,
    get: (id) => all[id - firstId],
    ofOrder: (orderId) => byOrder.get(orderId) ?? [],
    replace(records) {
      all.length = 0;
      byOrder.clear();
      for (const record of records) add(record);
    },
  };
}

/** An order as it is placed, before the book numbers it. */
export interface NewOrder {
  readonly reference: string;
  readonly comment: string;
  readonly lines: readonly Omit<OrderLine, 'packed' | 'fulfilled' | 'pieces'>[];
  readonly address: ShippingAddress;
  readonly freight: Freight;
  readonly hides?: NonNullable<Order['hides']>;
  readonly currency: Currency;
  readonly account: number;
  readonly season?: string;
  readonly key?: string;
  /** Key under which a repeated request finds this order again. */
  readonly made?: string;
}

export interface OrderBook {
  readonly orders: Shelf<Order>;
  readonly deliveries: Shelf<Delivery>;
  readonly refunds: Shelf<Refund>;
  readonly pendingRefunds: Shelf<PendingRefund>;
  /** Order ids by their `Idempotency-Key`, where the account honours that header. */
  readonly made: Map<string, number>;
  /** Number of requests to create an order so far, refused ones included. */
  posts: number;
}

export function createOrderBook(): OrderBook {
  return {
    orders: createShelf(100_001),
    deliveries: createShelf(500_001),
    refunds: createShelf(700_001),
    pendingRefunds: createShelf(800_001),
    made: new Map(),
    posts: 0,
  };
}
