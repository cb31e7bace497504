/** The event types of the wire contract, for the portal's choice and for examples. */
import type { JsonObject } from '../../lib/json.ts';

export interface EventType {
  readonly name: string;
  readonly description: string;
  /** The `data` of a made-up event. */
  readonly example: JsonObject;
}

const salesOrder: JsonObject = {
  orderId: 1001,
  orderNo: 'SO-1001',
  reference: 'EXAMPLE-1',
  status: 'confirmed',
};

const salesOrderDelivery: JsonObject = {
  orderDeliveryId: 2001,
  deliveryNo: 'D-2001',
  orderId: 1001,
  reference: 'EXAMPLE-1',
  orderNo: 'SO-1001',
  status: 'pending',
  fulfilledLineItems: [],
};

const salesOrderRefund: JsonObject = {
  orderRefundId: 3001,
  refundNo: 'R-3001',
  orderId: 1001,
  reference: 'EXAMPLE-1',
  orderNo: 'SO-1001',
  status: 'pending',
  refundedLineItems: [],
};

const order = { salesOrder };
const delivery = { salesOrderDelivery };
const refund = { salesOrderRefund };

export const EVENT_TYPES: readonly EventType[] = [
  { name: 'ping', description: 'A trial message.', example: { ping: true } },
  { name: 'sales_order.order_created', description: 'An order was placed.', example: order },
  { name: 'sales_order.order_completed', description: 'An order is complete.', example: order },
  {
    name: 'sales_order.delivery_created',
    description: 'A delivery was packed and awaits acceptance.',
    example: delivery,
  },
  {
    name: 'sales_order.delivery_updated',
    description: 'The status of a delivery changed.',
    example: delivery,
  },
  {
    name: 'sales_order.delivery_canceled',
    description: 'The service canceled a delivery.',
    example: delivery,
  },
  { name: 'sales_order.refund_created', description: 'A refund was made.', example: refund },
  {
    name: 'sales_order.refund_updated',
    description: 'The status of a refund changed.',
    example: refund,
  },
  {
    name: 'sales_order.refund_canceled',
    description: 'The service canceled a refund.',
    example: refund,
  },
];
