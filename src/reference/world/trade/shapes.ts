/**
 * Records of the order book in the form of the wire contract, section 4, for answers and events.
 */

import type { JsonObject } from '../../../lib/json.ts';
import { isoTime } from '../../../lib/units.ts';
import { wireAmount } from '../catalog/prices.ts';
import type { Delivery, Freight, Order, PendingRefund, Refund } from './orders.ts';

function freightShape(freight: Freight): JsonObject {
  return {
    freightAmount: wireAmount(freight.amount),
    freightType: freight.type,
    parcelShopId: freight.parcelShopId,
    warehouseCode: freight.warehouseCode,
  };
}

export function orderShape(order: Order): JsonObject {
  const { freight, hides } = order;
  return {
    orderId: order.orderId,
    reference: order.reference,
    orderNo: order.orderNo,
    status: order.status,
    completed: order.completed,
    comment: order.comment,
    orderLineItems: order.lines.map((line) => ({
      barcode: line.barcode,
      quantity: line.quantity,
      fulfilledQuantity: line.fulfilled,
      sizeQuantity: line.quantity * line.pieces,
      fulfilledSizeQuantity: line.fulfilled * line.pieces,
      price: wireAmount(line.price),
      season: line.season,
      delivery: line.delivery,
    })),
    shippingAddress: hides?.address ? {} : { ...order.address },
    freight: hides?.freight ? {} : freightShape(freight),
    createdAt: isoTime(order.createdAt),
    currency: order.currency,
    SeasonName: order.season,
  };
}

function trackingLinks(trackingNumber: string): string[] {
  return [`https://track.example/${trackingNumber}`];
}

export function deliveryShape(order: Order, delivery: Delivery): JsonObject {
  const { trackingNumber } = delivery;
  return {
    orderDeliveryId: delivery.shownId ?? delivery.orderDeliveryId,
    deliveryNo: delivery.deliveryNo,
    orderId: order.orderId,
    reference: order.reference,
    orderNo: order.orderNo,
    status: delivery.status,
    fulfilledLineItems: delivery.lines.flatMap(({ line: index, quantity }) => {
      const line = order.lines[index];
      if (!line) return [];
      return [
        {
          barcode: line.barcode,
          fulfilledQuantity: quantity,
          fulfilledSizeQuantity: quantity * line.pieces,
          price: wireAmount(line.price),
          season: line.season,
          delivery: line.delivery,
        },
      ];
    }),
    trackAndTrace: {
      trackingNumbers: trackingNumber === undefined ? [] : [trackingNumber],
      trackingLinks: trackingNumber === undefined ? [] : trackingLinks(trackingNumber),
    },
    createdAt: isoTime(delivery.createdAt),
  };
}

export function refundShape(order: Order, refund: Refund): JsonObject {
  return {
    orderRefundId: refund.shownId ?? refund.orderRefundId,
    refundNo: refund.refundNo,
    orderId: order.orderId,
    reference: order.reference,
    orderNo: order.orderNo,
    status: refund.status,
    refundedLineItems: refund.lines.map((line) => ({
      barcode: line.barcode,
      refundedQuantity: line.quantity,
      refundedSizeQuantity: line.quantity * line.pieces,
      price: wireAmount(line.price),
      restock: line.restock,
      refundType: line.refundType,
    })),
    pendingRefundId: refund.pendingRefundId,
  };
}

export function pendingRefundShape(pending: PendingRefund): JsonObject {
  return {
    pendingRefundId: pending.pendingRefundId,
    orderId: pending.orderId,
    reference: pending.reference,
    status: pending.status,
    comment: pending.comment,
    createdAt: isoTime(pending.createdAt),
    refundLineItems: pending.lines.map((line) => ({
      barcode: line.barcode,
      quantity: line.quantity,
      price: line.price === undefined ? undefined : wireAmount(line.price),
      refundType: line.refundType,
      restock: line.restock,
    })),
  };
}
