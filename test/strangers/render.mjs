import { flag, mapOf, money } from './php.mjs';
import { byId, styleColorOf, styleOf } from './world.mjs';

// How V1 shows its records; the webhook events carry the very same shapes.

export function renderOrder(app, order) {
  const { php } = app.opts;
  return {
    orderId: order.orderId,
    reference: order.reference,
    orderNo: order.orderNo,
    status: order.status,
    completed: flag(order.completed, php),
    comment: order.comment,
    orderLineItems: order.lines.map((line) => ({
      barcode: line.barcode,
      quantity: line.quantity,
      fulfilledQuantity: line.fulfilled,
      sizeQuantity: line.quantity * line.pieces,
      fulfilledSizeQuantity: line.fulfilled * line.pieces,
      price: money(line.price, php),
      season: line.season,
      delivery: line.delivery,
    })),
    shippingAddress: mapOf(order.shippingAddress, php),
    freight: renderFreight(order.freight, php),
  };
}

function renderFreight(freight, php) {
  if (!freight) return mapOf(null, php);
  return { ...freight, freightAmount: money(freight.freightAmount, php) };
}

export function renderDelivery(app, delivery) {
  const { php } = app.opts;
  const order = orderOf(app, delivery.orderId);
  return {
    orderDeliveryId: delivery.orderDeliveryId,
    deliveryNo: delivery.deliveryNo,
    orderId: delivery.orderId,
    reference: delivery.reference,
    orderNo: order.orderNo,
    status: delivery.status,
    fulfilledLineItems: delivery.lines.map((line) => ({
      barcode: line.barcode,
      fulfilledQuantity: line.quantity,
      fulfilledSizeQuantity: line.quantity * line.pieces,
      price: money(line.price, php),
      season: line.season,
      delivery: line.delivery,
    })),
    trackAndTrace: mapOf(delivery.trackAndTrace, php),
  };
}

function refundLines(lines, php) {
  return lines.map((line) => ({
    barcode: line.barcode,
    refundedQuantity: line.quantity,
    refundedSizeQuantity: line.quantity * line.pieces,
    price: money(line.price, php),
    restock: flag(line.restock, php),
    refundType: line.refundType,
  }));
}

export function renderRefund(app, refund) {
  const order = orderOf(app, refund.orderId);
  const shown = {
    orderRefundId: refund.orderRefundId,
    refundNo: refund.refundNo,
    orderId: refund.orderId,
    reference: order.reference,
    orderNo: order.orderNo,
    status: refund.status,
    refundedLineItems: refundLines(refund.lines, app.opts.php),
  };
  // Present only when there is one: a refund made in the back office has no such member at all.
  if (refund.pendingRefundId) shown.pendingRefundId = refund.pendingRefundId;
  return shown;
}

export function renderPendingRefund(app, pending) {
  const order = orderOf(app, pending.orderId);
  return {
    pendingRefundId: pending.pendingRefundId,
    orderId: pending.orderId,
    reference: order.reference,
    orderNo: order.orderNo,
    status: pending.status,
    comment: pending.comment,
    refundedLineItems: refundLines(pending.lines, app.opts.php),
  };
}

export function orderOf(app, orderId) {
  return app.state.orders.find((order) => order.orderId === orderId);
}

export function deliveryReferences(app, orderId) {
  const list = app.state.deliveries.filter((d) => d.orderId === orderId);
  if (list.length === 0) return mapOf(null, app.opts.php);
  const salesOrderDeliveries = list.map((d) => ({
    orderDeliveryId: d.orderDeliveryId,
    deliveryNo: d.deliveryNo,
  }));
  return { salesOrderDeliveries };
}

export function orderReference(app, orderId) {
  const { orderNo, reference } = orderOf(app, orderId);
  return { salesOrder: { orderId, orderNo, reference } };
}

export function renderDetails(app, variant, customer) {
  const {
    state,
    opts: { php },
  } = app;
  const styleColor = styleColorOf(state, variant);
  const style = styleOf(state, variant);
  const color = byId(state.colors, styleColor.colorId);
  return {
    styleNo: style.styleNo,
    brandName: byId(state.brands, style.brandId).brandName,
    styleName: style.styleName,
    styleDescription: style.description,
    designer: style.designer,
    colorName: color.colorName,
    colorCode: color.colorCode,
    size: variant.size,
    price: money(variant.sale ?? variant.price, php),
    priceOriginal: money(variant.price, php),
    b2cSalePrice: money(variant.sale, php),
    wspPrice: money(variant.wspPrice, php),
    currency: customer.currency,
    seasonName: style.noos ? 'NOOS' : style.seasonName,
    variantType: variant.variantType,
    wash: style.wash,
    category: style.category,
    quality: style.quality,
    type: byId(state.types, style.typeId).typeName,
    gender: style.gender,
    b2bHidden: flag(style.b2bHidden, php),
    colorActive: flag(styleColor.active, php),
    tags: style.tags,
    customsTariffNo: style.customsTariffNo,
    countryOfOrigin: style.countryOfOrigin,
    weight: php ? (style.weight / 1000).toFixed(3) : style.weight / 1000,
    careLabelWash: '30° gentle',
    careLabelIron: 'Low heat',
    careLabelDry: null,
    careLabelDryClean: null,
    careLabelBleach: 'Do not bleach',
  };
}
