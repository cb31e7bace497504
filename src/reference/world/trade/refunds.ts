/**
 * Refunds: requested by a client (pending refund, which the service confirms or drops) or sent back
 * by the customer. A refund is accepted or rejected like a delivery.
 */
import { hashAt } from '../catalog/hash.ts';
import { referencesOf, type TradeDeps } from './deps.ts';
import type {
  DecisionStatus,
  Delivery,
  Order,
  PendingRefund,
  Refund,
  RefundLine,
} from './orders.ts';
import { refundShape } from './shapes.ts';
import { judgeMove, type Moved } from './transitions.ts';

export type PendingRefundInput = Pick<PendingRefund, 'lines' | 'comment'> & {
  readonly reference: string;
};

const SALT_RETURN = 64;
const RETURN_TYPES = ['claim/credit', 'return/credit', 'claim/price_reduction'] as const;

function linePrice(order: Order, barcode: string): number {
  return order.lines.find((line) => line.barcode === barcode)?.price ?? 0;
}

function openRefund(
  deps: TradeDeps,
  order: Order,
  lines: readonly RefundLine[],
  pendingRefundId?: number,
): Refund {
  const id = deps.book.refunds.nextId();
  const refund: Refund = {
    orderRefundId: id,
    ...(deps.knobs().dialect.refundNumbers === 'perOrder'
      ? { shownId: deps.book.refunds.ofOrder(order.orderId).length + 1 }
      : {}),
    refundNo: `RN-${id}`,
    orderId: order.orderId,
    status: 'pending',
    earlier: [],
    createdAt: deps.clock.now(),
    lines,
    ...(pendingRefundId === undefined ? {} : { pendingRefundId }),
  };
  deps.book.refunds.add(refund);
  publish(deps, 'refund_created', order, refund);
  return refund;
}

function publish(deps: TradeDeps, name: string, order: Order, refund: Refund): void {
  const data = { salesOrderRefund: refundShape(order, refund) };
  deps.events.publish(`sales_order.${name}`, data, referencesOf(deps, order), order.account);
}

/**
 * Makes a pending refund for a client's request; the service confirms it later, on the clock or by
 * hand.
 */
export function askRefund(deps: TradeDeps, order: Order, input: PendingRefundInput): PendingRefund {
  const pendingRefundId = deps.book.pendingRefunds.nextId();
  const now = deps.clock.now();
  const isOwn = deps.knobs().dialect.pendingRefundReference === 'own';
  const pending: PendingRefund = {
    ...input,
    reference: isOwn ? input.reference : order.reference,
    pendingRefundId,
    orderId: order.orderId,
    status: 'pending',
    createdAt: now,
  };
  deps.book.pendingRefunds.add(pending);
  const { confirmRefundAfter } = deps.knobs().life;
  if (confirmRefundAfter > 0) {
    deps.agenda.add(now + confirmRefundAfter, { kind: 'confirm', pendingRefundId });
  }
  return pending;
}

/** Makes the refund that a pending one becomes; undefined: it is no longer pending. */
export function confirmRefund(deps: TradeDeps, pending: PendingRefund): Refund | undefined {
  const order = deps.book.orders.get(pending.orderId);
  if (!order || pending.status !== 'pending') return undefined;
  pending.status = 'confirmed';
  const lines = pending.lines.map((line) => ({
    ...line,
    price: line.price ?? linePrice(order, line.barcode),
    restock: line.restock ?? false,
  }));
  return openRefund(deps, order, lines, pending.pendingRefundId);
}

export function dropRefund(pending: PendingRefund): boolean {
  if (pending.status !== 'pending') return false;
  pending.status = 'canceled';
  return true;
}

/** Makes the refund for a part of a shipped delivery that the customer sends back unasked. */
export function returnDelivery(deps: TradeDeps, delivery: Delivery): Refund | undefined {
  const order = deps.book.orders.get(delivery.orderId);
  const draw = hashAt(deps.catalog.size.seed, delivery.orderDeliveryId, SALT_RETURN);
  const chosen = delivery.lines[draw % delivery.lines.length];
  const line = chosen && order?.lines[chosen.line];
  if (!order || !chosen || !line || delivery.shippedAt === undefined) return undefined;
  const refundType = RETURN_TYPES[(draw >>> 8) % RETURN_TYPES.length];
  return openRefund(deps, order, [
    {
      barcode: line.barcode,
      pieces: line.pieces,
      quantity: 1 + ((draw >>> 16) % chosen.quantity),
      price: line.price,
      restock: refundType === 'return/credit',
      ...(refundType === undefined ? {} : { refundType }),
    },
  ]);
}

export function moveRefund(deps: TradeDeps, refund: Refund, to: DecisionStatus): Moved {
  const { rejectFromAccepted } = deps.knobs().orders;
  const order = deps.book.orders.get(refund.orderId);
  const { status: from } = refund;
  const moved = judgeMove({ from, to, shipped: false, rejectFromAccepted });
  if (moved !== 'moved' || !order) return moved;
  refund.earlier.push({ status: from, until: deps.clock.now() });
  refund.status = to;
  // Goods return to the stock when a refund is accepted, and leave it again when that is taken
  // back.
  const direction = Number(to === 'accepted') - Number(from === 'accepted');
  for (const line of refund.lines) {
    const variant = line.restock ? deps.catalog.variantOf(line.barcode) : undefined;
    if (variant === undefined || direction === 0) continue;
    deps.stock.set(variant, Math.max(0, deps.stock.of(variant) + direction * line.quantity));
  }
  publish(deps, to === 'canceled' ? 'refund_canceled' : 'refund_updated', order, refund);
  return moved;
}
