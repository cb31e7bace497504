/** V1's orders and their deliveries. */

import type { CallOptions, Read } from '../calls.ts';
import { get, type Listing, list, post, pull, type V1Wire } from './calls.ts';
import { ask } from './envelope.ts';
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

export interface OrderMethods {
  /** Newest first; only ids below `beforeOrderId`. */
  orders(beforeOrderId?: number, call?: CallOptions): Promise<Listing<SalesOrder>>;
  order(orderId: number, call?: CallOptions): Promise<Read<SalesOrder>>;
  /** `body` is the wire's own (order-body.ts); it is sent as it is. */
  createOrder(body: unknown, call?: CreateOrderOptions): Promise<Read<CreatedOrder>>;
  deliveries(orderId: number, call?: CallOptions): Promise<Listing<SalesOrderDelivery>>;
  delivery(
    orderId: number,
    orderDeliveryId: number,
    call?: CallOptions,
  ): Promise<Read<SalesOrderDelivery>>;
  setDeliveryStatus(
    orderId: number,
    orderDeliveryId: number,
    status: SettableStatus,
    call?: CallOptions,
  ): Promise<Read<SalesOrderDelivery>>;
}

function deliveryPath(orderId: number, orderDeliveryId: number): string {
  return `/orders/${orderId}/deliveries/${orderDeliveryId}`;
}

export function orderMethods(wire: V1Wire): OrderMethods {
  const { sender, options } = wire;
  return {
    orders: (beforeOrderId, call) =>
      list(sender, pull(wire, '/orders', call, { beforeOrderId }), 'orders', salesOrderSchema),
    order: (orderId, call) => ask(sender, get(wire, `/orders/${orderId}`, call), salesOrderSchema),
    createOrder(body, call) {
      const header = options.idempotencyHeader;
      const key = call?.idempotencyKey;
      const headers = header !== undefined && key !== undefined ? { [header]: key } : undefined;
      return ask(sender, { ...post(wire, '/orders', body, call), headers }, createdOrderSchema);
    },
    deliveries: (orderId, call) =>
      list(sender, get(wire, `/orders/${orderId}/deliveries`, call), 'deliveries', deliverySchema),
    delivery: (orderId, id, call) =>
      ask(sender, get(wire, deliveryPath(orderId, id), call), deliverySchema),
    setDeliveryStatus: (orderId, id, status, call) =>
      ask(sender, post(wire, deliveryPath(orderId, id), { status }, call), deliverySchema),
  };
}
