/** Event types of the wire contract, for the portal's choice and for examples. */
import type { JsonObject } from '../../lib/json.ts';

export interface EventType {
  readonly name: string;
  readonly description: string;
  /** Member `data` of a made-up event of this type. */
  readonly example: JsonObject;
}

/** Members that an order shares with its deliveries and refunds. */
const names: JsonObject = { orderId: 1001, reference: 'EXAMPLE-1', orderNo: 'SO-1001' };

function order(status: string, completed: boolean): JsonObject {
  return { salesOrder: { ...names, status, completed } };
}

function delivery(status: string): JsonObject {
  const own = { orderDeliveryId: 2001, deliveryNo: 'D-2001', status, fulfilledLineItems: [] };
  return { salesOrderDelivery: { ...names, ...own } };
}

function refund(status: string): JsonObject {
  const own = { orderRefundId: 3001, refundNo: 'R-3001', status, refundedLineItems: [] };
  return { salesOrderRefund: { ...names, ...own } };
}

export const EVENT_TYPES: readonly EventType[] = [
  { name: 'ping', description: 'A trial message.', example: { ping: true } },
  {
    name: 'sales_order.order_created',
    description: 'An order was placed.',
    example: order('pending', false),
  },
  {
    name: 'sales_order.order_completed',
    description: 'An order is complete.',
    example: order('fulfilled', true),
  },
  {
    name: 'sales_order.delivery_created',
    description: 'A delivery was packed and awaits acceptance.',
    example: delivery('pending'),
  },
  {
    name: 'sales_order.delivery_updated',
    description: 'The status of a delivery changed.',
    example: delivery('accepted'),
  },
  {
    name: 'sales_order.delivery_canceled',
    description: 'The service canceled a delivery.',
    example: delivery('canceled'),
  },
  {
    name: 'sales_order.refund_created',
    description: 'A refund was made.',
    example: refund('pending'),
  },
  {
    name: 'sales_order.refund_updated',
    description: 'The status of a refund changed.',
    example: refund('accepted'),
  },
  {
    name: 'sales_order.refund_canceled',
    description: 'The service canceled a refund.',
    example: refund('canceled'),
  },
];
