/**
 * Makes the history of the service before its start: orders of the last weeks, most of them
 * shipped, some refunded, the newest not packed yet. It publishes no events.
 */
import { createAgenda } from '../world/trade/agenda.ts';
import type { Order } from '../world/trade/orders.ts';
import { createTrade, type Trade } from '../world/trade/trade.ts';
import type { World, WorldDeps } from '../world/world.ts';
import { drawOrder } from './arrivals.ts';

/** Time between two orders of the past. */
const SPACING_MS = 30 * 60_000;
const PACKED_AFTER_MS = 10 * 60_000;
const SHIPPED_AFTER_MS = 25 * 60_000;
/** Share of the newest orders that are not packed yet: one in this many. */
const UNPACKED_SHARE = 10;
/** Share of the completed orders that came back in part: one in this many. */
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

/** Fills the book of a new world; what is still to be packed goes on its agenda. */
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
    // The stock that the world begins with is what these orders have left.
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
