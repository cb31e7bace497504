/**
 * Makes the service's history before its start: orders of the last weeks, most of them shipped,
 * some refunded, the newest not packed yet. No events are published for them.
 */
import { createAgenda } from '../world/trade/agenda.ts';
import type { Order } from '../world/trade/orders.ts';
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
export function writeHistory(world: World, deps: WorldDeps): void {
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
  for (let nth = 0; nth < size.orders; nth += 1) {
    const at = start - (size.orders - nth) * SPACING_MS;
    setTime(at);
    const orderId = book.orders.nextId();
    const { preOrderShare } = life;
    const order = trade.place(drawOrder(world, { seed: size.seed, orderId, preOrderShare }));
    if (nth < size.orders - unpacked) complete(trade, order, setTime, at);
    else agenda.add(start + life.packAfter, { kind: 'pack', orderId });
  }
}
