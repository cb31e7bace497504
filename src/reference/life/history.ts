/**
 * Makes the service's history before its start: orders of the last weeks, most of them shipped,
 * some refunded, the newest not packed yet. No events are published for them.
 */
import { createAgenda } from '../world/trade/agenda.ts';
import type { Delivery, Order } from '../world/trade/orders.ts';
import { createTrade, type Trade } from '../world/trade/trade.ts';
import type { World, WorldDeps } from '../world/world.ts';
import { drawOrder } from './arrivals.ts';

/** Milliseconds between two orders of the history. */
const SPACING_MS = 30 * 60_000;
const PACKED_AFTER_MS = 10 * 60_000;
const SHIPPED_AFTER_MS = 25 * 60_000;
/** Share of the newest orders that are not packed yet: one in so many. */
const UNPACKED_SHARE = 10;
/** Share of the completed orders of which a part was sent back: one in so many. */
const RETURNED_SHARE = 8;

const SHIPPED_AFTER_DECISION_MS = 2 * 60 * 60_000;

/** End of a delivery of the past: when the client accepted it, or when it was canceled. */
interface Fate {
  readonly status: 'accepted' | 'canceled';
  readonly at: number;
}

/** Orders before those of every world, whose deliveries somebody else decides about. */
export interface Past {
  readonly orders: number;
  /** Milliseconds between two of them. */
  readonly spacingMs: number;
  /** Its end before the start of the service; undefined: it is pending still. */
  fateOf(world: World, order: Order, delivery: Delivery, start: number): Fate | undefined;
  /** Hears that a delivery got its tracking numbers. */
  shipped(delivery: Delivery, at: number): void;
}

function endAs(
  world: World,
  trade: Trade,
  order: Order,
  past: Past,
  { setTime, start }: { readonly setTime: (ms: number) => void; readonly start: number },
): void {
  setTime(order.createdAt + PACKED_AFTER_MS);
  const delivery = trade.packAll(order);
  if (!delivery) return;
  const fate = past.fateOf(world, order, delivery, start);
  if (!fate) return;
  const { status, at } = fate;
  setTime(at);
  trade.moveDelivery(delivery, status);
  if (status !== 'accepted') return;
  const shippedAt = Math.min(at + SHIPPED_AFTER_DECISION_MS, start);
  setTime(shippedAt);
  trade.ship(delivery);
  past.shipped(delivery, shippedAt);
}

function complete(trade: Trade, order: Order, setTime: (ms: number) => void, at: number): void {
  setTime(at + PACKED_AFTER_MS);
  const delivery = trade.packAll(order);
  if (!delivery) return;
  trade.moveDelivery(delivery, 'accepted');
  setTime(at + SHIPPED_AFTER_MS);
  trade.ship(delivery);
  if (order.orderId % RETURNED_SHARE !== 0) return;
  const refund = trade.returnDelivery(delivery);
  if (refund) trade.moveRefund(refund, 'accepted');
}

/**
 * Adds the history to the order book of a new world, and orders that are still to be packed to its
 * agenda.
 */
export function writeHistory(world: World, deps: WorldDeps, past?: Past): void {
  const { catalog, book, stock, agenda } = world;
  const { world: size, life } = deps.knobs();
  const start = deps.clock.now();
  const unpacked = Math.ceil(size.orders / UNPACKED_SHARE);
  let time = start;
  const trade = createTrade({
    catalog,
    book,
    knobs: deps.knobs,
    // The world's initial stock is what these orders have left, so packing them must not change it.
    stock: { ...stock, set: () => undefined },
    events: { publish: () => undefined },
    clock: { now: () => time },
    agenda: createAgenda(),
  });
  const setTime = (ms: number): void => {
    time = ms;
  };
  const { preOrderShare } = life;
  const place = (at: number): Order => {
    setTime(at);
    const orderId = book.orders.nextId();
    return trade.place(drawOrder(world, { seed: size.seed, orderId, preOrderShare }));
  };
  const first = start - size.orders * SPACING_MS;
  for (let left = past?.orders ?? 0; past && left > 0; left -= 1) {
    endAs(world, trade, place(first - left * past.spacingMs), past, { setTime, start });
  }
  for (let nth = 0; nth < size.orders; nth += 1) {
    const at = start - (size.orders - nth) * SPACING_MS;
    const order = place(at);
    const { orderId } = order;
    if (nth < size.orders - unpacked) complete(trade, order, setTime, at);
    else agenda.add(start + life.packAfter, { kind: 'pack', orderId });
  }
}
