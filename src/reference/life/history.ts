/**
 * What happened before the service was started: orders of the last weeks, most of them shipped and
 * complete, some refunded, the newest still waiting to be packed. Nobody is told of it.
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
/** Of the newest orders, one in this many is not packed yet. */
const UNPACKED_SHARE = 10;
/** Of the completed orders, one in this many came back in part. */
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
    ...{ catalog, book, knobs: deps.knobs },
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
