import { HttpError } from './http.mjs';
import {
  deliveryReferences,
  orderOf,
  orderReference,
  renderDelivery,
  renderOrder,
  renderRefund,
} from './render.mjs';
import { priceFor, variantBy } from './world.mjs';

// Life of a record, whoever asks: the interface, the back office (control functions) or the clock.
// Every change that the outside may know about is published from here.

const DEAD = ['rejected', 'canceled'];

export const refuse = (text) => new HttpError(422, text, { invalid: [text] });

function later(app, wait, work) {
  if (wait === null || wait === undefined) return;
  const timer = setTimeout(() => {
    app.timers.delete(timer);
    try {
      work();
    } catch (error) {
      // Somebody was faster (canceled, shipped by hand): the timer has nothing left to do.
      if (!(error instanceof HttpError)) throw error;
    }
  }, wait);
  app.timers.add(timer);
}

const publishOrder = (app, kind, order) =>
  app.relay.publish(`sales_order.${kind}`, {
    data: { salesOrder: renderOrder(app, order) },
    references: deliveryReferences(app, order.orderId),
  });

const publishDelivery = (app, kind, delivery) =>
  app.relay.publish(`sales_order.${kind}`, {
    data: { salesOrderDelivery: renderDelivery(app, delivery) },
    references: orderReference(app, delivery.orderId),
  });

const publishRefund = (app, kind, refund) =>
  app.relay.publish(`sales_order.${kind}`, {
    data: { salesOrderRefund: renderRefund(app, refund) },
    references: orderReference(app, refund.orderId),
  });

// --- orders

export function createOrder(app, customer, input) {
  const { counters } = app.state;
  counters.order += app.random.int(1, 4); // other customers use the same sequence
  counters.orderNo += 1;
  const lines = input.lines.map((line) => {
    const variant = variantBy(app.state, line.barcode);
    const preorder = Boolean(input.seasonName);
    if (!preorder) variant.stock -= line.quantity;
    return {
      barcode: variant.barcode,
      quantity: line.quantity,
      pieces: variant.pieces,
      fulfilled: 0,
      price: line.price ?? priceFor(app.state, customer, variant, preorder).discounted,
      season: input.seasonName ?? null,
      delivery: preorder ? line.deliveryName : null,
    };
  });
  const order = {
    orderId: counters.order,
    orderNo: String(counters.orderNo),
    customerId: customer.id,
    reference: input.reference,
    comment: input.comment,
    status: 'pending',
    completed: false,
    lines,
    shippingAddress: input.shippingAddress ?? customer.address,
    freight: input.freight,
  };
  app.state.orders.push(order);
  publishOrder(app, 'order_created', order);
  if (app.opts.syncDelivery && !input.seasonName) packOrder(app, order.orderId);
  else later(app, app.opts.packAfter, () => packOrder(app, order.orderId));
  return order;
}

function mustFind(list, key, id, what) {
  const row = list.find((item) => item[key] === Number(id));
  if (!row) throw new HttpError(404, `${what} not found`);
  return row;
}

// Pieces of a line that are neither shipped nor in a delivery that is still alive.
export function openQuantity(app, order, line) {
  let open = line.quantity;
  for (const delivery of app.state.deliveries) {
    if (delivery.orderId !== order.orderId || DEAD.includes(delivery.status)) continue;
    for (const packed of delivery.lines) {
      if (packed.lineNo === order.lines.indexOf(line)) open -= packed.quantity;
    }
  }
  return open;
}

// Packs one delivery per call. A pre-order is packed drop by drop: the earliest open one comes
// first.
export function packOrder(app, orderId, { lines: wanted = null, deliveryName = null } = {}) {
  const order = mustFind(app.state.orders, 'orderId', orderId, 'Order');
  if (order.completed) throw refuse('The order is completed.');
  const open = order.lines
    .map((line, lineNo) => ({ line, lineNo, left: openQuantity(app, order, line) }))
    .filter((entry) => entry.left > 0);
  const drop = deliveryName ?? earliest(app, open);
  const packed = [];
  const rest = wanted ? wanted.map((want) => ({ ...want })) : null;
  for (const { line, lineNo, left } of open) {
    if (drop && line.delivery !== drop) continue;
    const want = rest ? rest.find((w) => w.barcode === line.barcode) : { quantity: left };
    const quantity = Math.min(left, want?.quantity ?? 0);
    if (rest && want) want.quantity -= quantity;
    if (quantity > 0) packed.push({ ...line, lineNo, quantity });
  }
  if (packed.length === 0) throw refuse('There is nothing left to pack.');
  return addDelivery(app, order, packed);
}

function earliest(app, open) {
  const names = app.state.seasons.flatMap((s) => s.deliveries.map((d) => [s.seasonName, d]));
  const hit = names
    .filter(([s, d]) =>
      open.some(({ line }) => line.season === s && line.delivery === d.deliveryName),
    )
    .sort((a, b) => a[1].from.localeCompare(b[1].from))[0];
  return hit?.[1].deliveryName ?? null;
}

function addDelivery(app, order, packed) {
  app.state.counters.delivery += app.random.int(1, 3);
  const count = app.state.deliveries.filter((d) => d.orderId === order.orderId).length;
  const delivery = {
    orderDeliveryId: app.state.counters.delivery,
    deliveryNo: `${order.orderNo}-${count + 1}`,
    orderId: order.orderId,
    reference: order.reference,
    status: 'pending',
    lines: packed,
    trackAndTrace: null,
    shipped: false,
    visibleFrom: app.now() + app.opts.lag,
  };
  app.state.deliveries.push(delivery);
  publishDelivery(app, 'delivery_created', delivery);
  return delivery;
}

// --- deliveries

const MOVES = {
  pending: ['accepted', 'rejected'],
  accepted: ['pending'], // a rejection has to go through pending: the table knows no other way
  rejected: [],
  canceled: [],
};

export function setDeliveryStatus(app, delivery, status) {
  if (DEAD.includes(delivery.status)) {
    throw refuse(`Delivery is ${delivery.status} and cannot be changed.`);
  }
  if (delivery.shipped) throw refuse('Delivery has been shipped and cannot be changed.');
  if (delivery.status === status) return; // nothing was changed, so nothing is published
  if (!MOVES[delivery.status].includes(status)) {
    throw refuse(`Delivery cannot be changed from ${delivery.status} to ${status}.`);
  }
  delivery.status = status;
  publishDelivery(app, status === 'rejected' ? 'delivery_canceled' : 'delivery_updated', delivery);
  if (status === 'accepted') {
    later(app, app.opts.shipAfter, () => shipDelivery(app, delivery.orderDeliveryId));
  }
}

export function cancelDelivery(app, id) {
  const delivery = mustFind(app.state.deliveries, 'orderDeliveryId', id, 'Delivery');
  if (delivery.shipped || DEAD.includes(delivery.status)) throw refuse('Delivery is locked.');
  delivery.status = 'canceled';
  publishDelivery(app, 'delivery_canceled', delivery);
  return delivery;
}

// There is no status for it: a shipped delivery stays accepted and gets its tracking data.
export function shipDelivery(app, id) {
  const delivery = mustFind(app.state.deliveries, 'orderDeliveryId', id, 'Delivery');
  if (delivery.status !== 'accepted') throw refuse('Only accepted deliveries can be shipped.');
  if (delivery.shipped) throw refuse('Delivery has been shipped already.');
  const number = `00${app.random.text(16, '0123456789')}`;
  delivery.shipped = true;
  delivery.trackAndTrace = {
    trackingNumbers: [number],
    trackingLinks: [`https://track.example/parcel/${number}`],
  };
  const order = orderOf(app, delivery.orderId);
  for (const packed of delivery.lines) order.lines[packed.lineNo].fulfilled += packed.quantity;
  const done = order.lines.every((line) => line.fulfilled >= line.quantity);
  order.status = done ? 'fulfilled' : 'partially_fulfilled';
  publishDelivery(app, 'delivery_updated', delivery);
  if (done) complete(app, order);
  return delivery;
}

function complete(app, order) {
  order.completed = true;
  publishOrder(app, 'order_completed', order);
}

// The back office ends an order: canceled when nothing was sent, else closed as it is.
export function endOrder(app, orderId) {
  const order = mustFind(app.state.orders, 'orderId', orderId, 'Order');
  if (order.completed) throw refuse('The order is completed.');
  for (const delivery of app.state.deliveries) {
    const alive = delivery.orderId === order.orderId && !delivery.shipped;
    if (alive && !DEAD.includes(delivery.status)) cancelDelivery(app, delivery.orderDeliveryId);
  }
  for (const line of order.lines) {
    if (!line.season) variantBy(app.state, line.barcode).stock += line.quantity - line.fulfilled;
  }
  if (order.status === 'pending') order.status = 'canceled';
  complete(app, order);
  return order;
}

// --- refunds

export function refundable(app, order, barcode) {
  const sum = (rows) =>
    rows
      .flatMap((row) => row.lines)
      .filter((line) => line.barcode === barcode)
      .reduce((n, line) => n + line.quantity, 0);
  const mine = (row) => row.orderId === order.orderId;
  const shipped = order.lines
    .filter((line) => line.barcode === barcode)
    .reduce((n, line) => n + line.fulfilled, 0);
  const refunds = app.state.refunds.filter((r) => mine(r) && !DEAD.includes(r.status));
  const waiting = app.state.pendingRefunds.filter((r) => mine(r) && r.status === 'pending');
  return shipped - sum(refunds) - sum(waiting);
}

export function createPendingRefund(app, order, lines, comment) {
  app.state.counters.pendingRefund += 1;
  const pending = {
    pendingRefundId: app.state.counters.pendingRefund,
    orderId: order.orderId,
    status: 'pending',
    comment,
    lines,
  };
  app.state.pendingRefunds.push(pending);
  later(app, app.opts.refundAfter, () => confirmRefund(app, pending.pendingRefundId));
  return pending;
}

// The warehouse has counted the parcel; it may confirm less than was announced.
export function confirmRefund(app, pendingRefundId, { lines: counted = null } = {}) {
  const list = app.state.pendingRefunds;
  const pending = mustFind(list, 'pendingRefundId', pendingRefundId, 'Pending refund');
  if (pending.status !== 'pending') throw refuse('Pending refund is closed.');
  const lines = pending.lines
    .map((line) => {
      const hit = counted?.find((c) => c.barcode === line.barcode);
      const quantity = counted ? Math.min(line.quantity, hit?.quantity ?? 0) : line.quantity;
      return { ...line, quantity };
    })
    .filter((line) => line.quantity > 0);
  if (lines.length === 0) throw refuse('There is nothing to refund.');
  pending.status = 'confirmed';
  return addRefund(app, pending.orderId, lines, pending.pendingRefundId);
}

export function cancelPendingRefund(app, pendingRefundId) {
  const list = app.state.pendingRefunds;
  const pending = mustFind(list, 'pendingRefundId', pendingRefundId, 'Pending refund');
  if (pending.status !== 'pending') throw refuse('Pending refund is closed.');
  pending.status = 'canceled';
  return pending;
}

// A refund the back office makes by itself: no pending refund, hence no pendingRefundId.
export function createRefund(app, orderId, lines) {
  const order = mustFind(app.state.orders, 'orderId', orderId, 'Order');
  const full = lines.map(({ barcode, quantity }) => {
    const line = order.lines.find((l) => l.barcode === barcode);
    if (!line || quantity > refundable(app, order, barcode)) throw refuse('Too much refunded.');
    const { pieces, price } = line;
    return { barcode, quantity, pieces, price, restock: true, refundType: 'return' };
  });
  return addRefund(app, order.orderId, full, null);
}

function addRefund(app, orderId, lines, pendingRefundId) {
  const { counters } = app.state;
  counters.refund += app.random.int(1, 2);
  counters.refundNo += 1;
  const refund = {
    orderRefundId: counters.refund,
    refundNo: `K${counters.refundNo}`,
    orderId,
    lines,
    status: 'pending',
    pendingRefundId,
    visibleFrom: app.now() + app.opts.lag,
  };
  app.state.refunds.push(refund);
  publishRefund(app, 'refund_created', refund);
  return refund;
}

// The same rules as for deliveries, except that an accepted refund is booked and stays so.
export function setRefundStatus(app, refund, status) {
  if (refund.status === status) return;
  if (refund.status !== 'pending' || status === 'pending') {
    throw refuse(`Refund cannot be changed from ${refund.status} to ${status}.`);
  }
  refund.status = status;
  if (status === 'accepted') restock(app, refund);
  publishRefund(app, status === 'accepted' ? 'refund_updated' : 'refund_canceled', refund);
}

function restock(app, refund) {
  for (const line of refund.lines) {
    if (line.restock) variantBy(app.state, line.barcode).stock += line.quantity;
  }
}

export function cancelRefund(app, orderRefundId) {
  const refund = mustFind(app.state.refunds, 'orderRefundId', orderRefundId, 'Refund');
  if (refund.status !== 'pending') throw refuse('Refund is closed.');
  refund.status = 'canceled';
  publishRefund(app, 'refund_canceled', refund);
  return refund;
}
