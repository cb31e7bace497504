/**
 * Actions on orders and deliveries, for all callers: a client over HTTP, life on its clock, an
 * operator through the control API. Each action changes the book, puts its consequences on the
 * agenda and publishes the change as an event, in this order and without waiting in between.
 */
import { keptLines, spelledReference } from '../../dialect/orders.ts';
import { hashAt } from '../catalog/hash.ts';
import { referencesOf, type TradeDeps } from './deps.ts';
import type {
  DecisionStatus,
  Delivery,
  DeliveryLine,
  NewOrder,
  Order,
  PendingRefund,
  Refund,
} from './orders.ts';
import {
  askRefund,
  confirmRefund,
  dropRefund,
  moveRefund,
  type PendingRefundInput,
  returnDelivery,
} from './refunds.ts';
import { deliveryShape, orderShape } from './shapes.ts';
import { judgeMove, type Moved } from './transitions.ts';

const SALT = { jitter: 60, split: 61, cancel: 62, give: 63 } as const;

/** Random share in [0, 1), always the same for the same record of the same world. */
function shareOf(deps: TradeDeps, id: number, salt: number): number {
  return hashAt(deps.catalog.size.seed, id, salt) / 2 ** 32;
}

function remaining(order: Order): DeliveryLine[] {
  return order.lines.flatMap(({ quantity, packed }, line) =>
    quantity > packed ? [{ line, quantity: quantity - packed }] : [],
  );
}

/** First of several deliveries of an order: half of the lines, or half of the only one. */
function firstPart(lines: readonly DeliveryLine[]): DeliveryLine[] {
  const [only] = lines;
  if (lines.length === 1 && only) return [{ ...only, quantity: Math.ceil(only.quantity / 2) }];
  return lines.slice(0, Math.ceil(lines.length / 2));
}

function publishOrder(deps: TradeDeps, name: string, order: Order): void {
  const data = { salesOrder: orderShape(order) };
  deps.events.publish(`sales_order.${name}`, data, referencesOf(deps, order), order.account);
}

function publishDelivery(deps: TradeDeps, name: string, order: Order, delivery: Delivery): void {
  const data = { salesOrderDelivery: deliveryShape(order, delivery) };
  deps.events.publish(`sales_order.${name}`, data, referencesOf(deps, order), order.account);
}

export type Trade = ReturnType<typeof createTrade>;

export function createTrade(deps: TradeDeps) {
  return {
    place: (input: NewOrder): Order => placeOrder(deps, input),
    /** Packs all that is left of the order in one delivery; undefined: nothing is left. */
    packAll: (order: Order): Delivery | undefined => pack(deps, order, remaining(order)),
    /** Packs as a warehouse does by itself: sometimes one half now and the rest later. */
    packSome: (order: Order): Delivery | undefined => packSome(deps, order),
    moveDelivery: (delivery: Delivery, to: DecisionStatus): Moved =>
      moveDelivery(deps, delivery, to),
    ship: (delivery: Delivery): boolean => ship(deps, delivery),
    askRefund: (order: Order, input: PendingRefundInput) => askRefund(deps, order, input),
    confirmRefund: (pending: PendingRefund) => confirmRefund(deps, pending),
    dropRefund,
    returnDelivery: (delivery: Delivery) => returnDelivery(deps, delivery),
    moveRefund: (refund: Refund, to: DecisionStatus): Moved => moveRefund(deps, refund, to),
  };
}

function placeOrder(deps: TradeDeps, input: NewOrder): Order {
  const { book, catalog, stock, clock, agenda } = deps;
  const orderId = book.orders.nextId();
  const now = clock.now();
  const { made, ...rest } = input;
  const { references, orderLines } = deps.knobs().dialect;
  const order: Order = {
    ...rest,
    orderId,
    orderNo: `SO-${orderId}`,
    status: 'pending',
    completed: false,
    earlier: [],
    createdAt: now,
    reference: spelledReference(input.reference, references),
    lines: keptLines(input.lines, orderLines).map((line) => {
      const { style, row } = catalog.place(line.variant);
      const pieces = catalog.pieces(catalog.style(style), row);
      return { ...line, pieces, packed: 0, fulfilled: 0 };
    }),
  };
  book.orders.add(order);
  if (made !== undefined) book.made.set(made, orderId);
  if (order.season !== undefined) {
    for (const line of order.lines) stock.takePreOrder(line.variant, line.quantity);
  }
  publishOrder(deps, 'order_created', order);
  agenda.add(now + packingTime(deps, orderId), { kind: 'pack', orderId });
  return order;
}

function packingTime(deps: TradeDeps, orderId: number): number {
  const { packAfter, packJitter } = deps.knobs().life;
  const swing = (shareOf(deps, orderId, SALT.jitter) * 2 - 1) * packJitter;
  return Math.round(packAfter * (1 + swing));
}

function packSome(deps: TradeDeps, order: Order): Delivery | undefined {
  const { life } = deps.knobs();
  const lines = remaining(order);
  const units = lines.reduce((sum, line) => sum + line.quantity, 0);
  const splits =
    units > 1 &&
    deps.book.deliveries.ofOrder(order.orderId).length === 0 &&
    shareOf(deps, order.orderId, SALT.split) < life.splitShare;
  const delivery = pack(deps, order, splits ? firstPart(lines) : lines);
  if (splits) {
    deps.agenda.add(deps.clock.now() + life.packAfter, { kind: 'pack', orderId: order.orderId });
  }
  return delivery;
}

/** Number of the order's next delivery, where deliveries are numbered per order. */
function shownId({ book, knobs }: TradeDeps, { orderId }: Order): { shownId?: number } {
  if (knobs().dialect.deliveryNumbers === 'global') return {};
  return { shownId: book.deliveries.ofOrder(orderId).length + 1 };
}

function pack(deps: TradeDeps, order: Order, lines: readonly DeliveryLine[]): Delivery | undefined {
  if (order.completed || lines.length === 0) return undefined;
  const { book, clock, agenda } = deps;
  const { life } = deps.knobs();
  const id = book.deliveries.nextId();
  const now = clock.now();
  const delivery: Delivery = {
    orderDeliveryId: id,
    ...shownId(deps, order),
    deliveryNo: `DN-${id}`,
    orderId: order.orderId,
    status: 'pending',
    earlier: [],
    lines,
    createdAt: now,
  };
  for (const { line: index, quantity } of lines) {
    const line = order.lines[index];
    if (line) line.packed += quantity;
  }
  book.deliveries.add(delivery);
  publishDelivery(deps, 'delivery_created', order, delivery);
  if (shareOf(deps, id, SALT.cancel) < life.cancelShare) {
    agenda.add(now + life.cancelAfter, { kind: 'cancel', orderDeliveryId: id });
  }
  return delivery;
}

function moveDelivery(deps: TradeDeps, delivery: Delivery, to: DecisionStatus): Moved {
  const { book, clock, agenda } = deps;
  const { life, orders } = deps.knobs();
  const order = book.orders.get(delivery.orderId);
  const moved = judgeMove({
    from: delivery.status,
    to,
    shipped: delivery.shippedAt !== undefined,
    rejectFromAccepted: orders.rejectFromAccepted,
  });
  if (moved !== 'moved' || !order) return moved;
  const now = clock.now();
  delivery.earlier.push({ status: delivery.status, until: now });
  delivery.status = to;
  if (to === 'accepted') delivery.acceptedAt = now;
  else delete delivery.acceptedAt;
  if (to === 'rejected') unpack(order, delivery);
  const name = to === 'canceled' ? 'delivery_canceled' : 'delivery_updated';
  publishDelivery(deps, name, order, delivery);
  if (to === 'accepted') {
    const { orderDeliveryId } = delivery;
    agenda.add(now + life.shipAfter, { kind: 'ship', orderDeliveryId, acceptedAt: now });
  }
  if (to === 'rejected') {
    agenda.add(now + life.repackAfter, { kind: 'pack', orderId: order.orderId });
  }
  if (to !== 'canceled') return moved;
  keepEarlier(deps, order);
  settle(deps, order);
  return moved;
}

function unpack(order: Order, delivery: Delivery): void {
  for (const { line: index, quantity } of delivery.lines) {
    const line = order.lines[index];
    if (line) line.packed -= quantity;
  }
}

/** Keeps the order as it is, for reads that are behind. */
function keepEarlier({ clock }: TradeDeps, order: Order): void {
  const { status, completed, lines } = order;
  const fulfilled = lines.map((line) => line.fulfilled);
  order.earlier.push({ status, completed, fulfilled, until: clock.now() });
}

/**
 * Completes the order when nothing is left to pack, to decide or to ship. Units that the service
 * canceled are not packed again, so the order ends without them.
 */
function settle(deps: TradeDeps, order: Order): void {
  const isOpen = deps.book.deliveries
    .ofOrder(order.orderId)
    .some(({ status, shippedAt }) => status === 'pending' || (status === 'accepted' && !shippedAt));
  const { lines } = order;
  const isDone = !isOpen && lines.every(({ packed, quantity }) => packed >= quantity);
  const isWhole = lines.every(({ fulfilled, quantity }) => fulfilled >= quantity);
  if (isWhole) order.status = 'fulfilled';
  else if (lines.some(({ fulfilled }) => fulfilled > 0)) order.status = 'partially_fulfilled';
  else if (isDone) order.status = 'canceled';
  if (!isDone || order.completed) return;
  order.completed = true;
  publishOrder(deps, 'order_completed', order);
}

function ship(deps: TradeDeps, delivery: Delivery): boolean {
  const { book, stock, clock, agenda } = deps;
  const order = book.orders.get(delivery.orderId);
  if (!order || delivery.status !== 'accepted' || delivery.shippedAt !== undefined) return false;
  const { life } = deps.knobs();
  const { orderDeliveryId: id } = delivery;
  delivery.shippedAt = clock.now();
  keepEarlier(deps, order);
  delivery.trackingNumber = `TT${String(id).padStart(10, '0')}DK`;
  for (const { line: index, quantity } of delivery.lines) {
    const line = order.lines[index];
    if (!line) continue;
    line.fulfilled += quantity;
    stock.set(line.variant, Math.max(0, stock.of(line.variant) - quantity));
  }
  publishDelivery(deps, 'delivery_updated', order, delivery);
  settle(deps, order);
  if (shareOf(deps, id, SALT.give) < life.refundShare) {
    agenda.add(clock.now() + life.refundAfter, { kind: 'return', orderDeliveryId: id });
  }
  return true;
}
