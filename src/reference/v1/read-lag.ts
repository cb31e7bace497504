/**
 * Records as reads of an account show them that are behind its events and answers (knob
 * `dialect.readLag`): in an earlier state, or not at all yet. Lists of orders have a knob of their
 * own (`orders.listingLag`).
 */
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import type { Delivery, Order, PendingRefund, Refund } from '../world/trade/orders.ts';
import {
  deliveryShape,
  orderShape,
  pendingRefundShape,
  refundShape,
} from '../world/trade/shapes.ts';

interface LagDeps {
  readonly knobs: CurrentKnobs;
  readonly clock: Pick<Clock, 'now'>;
}

/** Time whose state reads show. */
function seenAt({ knobs, clock }: LagDeps): number {
  const { readLag } = knobs().dialect;
  return readLag === 0 ? Number.POSITIVE_INFINITY : clock.now() - readLag;
}

/** State of a record at a time: the first that lasted longer, else the present one. */
function stateAt<State>(
  earlier: readonly (NoInfer<State> & { readonly until: number })[],
  now: State,
  at: number,
): State {
  return earlier.find(({ until }) => until > at) ?? now;
}

export function isShown(deps: LagDeps, { createdAt }: { readonly createdAt: number }): boolean {
  return createdAt <= seenAt(deps);
}

export function readOrder(deps: LagDeps, order: Order): JsonObject {
  const { status, completed, lines, earlier } = order;
  const fulfilledNow: readonly number[] = lines.map((line) => line.fulfilled);
  const now = { status, completed, fulfilled: fulfilledNow };
  const { fulfilled, ...then } = stateAt(earlier, now, seenAt(deps));
  const shown = lines.map((line, index) => ({ ...line, fulfilled: fulfilled[index] ?? 0 }));
  return orderShape({ ...order, status: then.status, completed: then.completed, lines: shown });
}

/** Undefined: the delivery is not shown yet. */
export function readDelivery(
  deps: LagDeps,
  order: Order,
  delivery: Delivery,
): JsonObject | undefined {
  if (!isShown(deps, delivery)) return undefined;
  const at = seenAt(deps);
  const { shippedAt = at, trackingNumber, ...rest } = delivery;
  const { status } = stateAt(delivery.earlier, { status: delivery.status }, at);
  const tracking = shippedAt > at || trackingNumber === undefined ? {} : { trackingNumber };
  return deliveryShape(order, { ...rest, ...tracking, status });
}

/** Undefined: the refund is not shown yet. */
export function readRefund(deps: LagDeps, order: Order, refund: Refund): JsonObject | undefined {
  if (!isShown(deps, refund)) return undefined;
  const { status } = stateAt(refund.earlier, { status: refund.status }, seenAt(deps));
  return refundShape(order, { ...refund, status });
}

/** Undefined: the pending refund is not shown yet. */
export function readPendingRefund(deps: LagDeps, pending: PendingRefund): JsonObject | undefined {
  return isShown(deps, pending) ? pendingRefundShape(pending) : undefined;
}
