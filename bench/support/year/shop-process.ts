/**
 * A reference service in a process of its own, whose orders are numbered from after those of a
 * large mirror and want its goods. Tells its parent where it is; then does what it is asked, and
 * tells the ids of the orders: `{place: 3}`, `{pack: ids}`, `{ship: ids}`; `{listener, secret}`
 * names the daemon that gets its events.
 */
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { drawOrder } from '../../../src/reference/life/arrivals.ts';
import { startReference } from '../../../src/reference/reference.ts';
import type { Asked } from './shop.ts';

const [variants, lastOrderId] = [Number(process.argv[2]), Number(process.argv[3])];
const reference = await startReference({
  host: '127.0.0.1',
  ports: { service: 0, relay: 0, control: 0 },
  knobs: parseKnobs({
    world: { styles: 50, orders: 0 },
    life: {
      ...{ ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '30d', shipAfter: '30d' },
      ...{ cancelShare: 0, splitShare: 0, preOrderShare: 0 },
    },
    auth: { loginSpacing: 0 },
    rates: { perSecond: 0 },
    journal: { size: 100 },
  }),
  clock: systemClock(),
  log: silentLogger(),
});
const { v1Url, credentials, world, relay } = reference;

function place(): number {
  const orderId = world.book.orders.nextId();
  const drawn = drawOrder(world, { seed: 7, orderId, preOrderShare: 0 });
  const lines = drawn.lines.map((line, index) => {
    // Evenly spread over what is there in dozens: every fortieth has 39 pieces in stock.
    const nth = ((orderId * 7 + index) * 1_009) % Math.floor(variants / 40);
    const barcode = String(5_700_000_000_000 + nth * 40 + 39);
    return { ...line, barcode, quantity: 1, price: 8_000 };
  });
  // The first ten of thirty customers in a row are not long overdue.
  const accountNo = `A-${(orderId % 25) * 30 + (orderId % 10)}`;
  const address = { ...drawn.address, accountNo, countryCode: 'DK' };
  world.trade.place({ ...drawn, lines, address, currency: 'DKK' });
  return orderId;
}

/** Takes the numbers up to this one, without a word to anybody. */
function skipTo(orderId: number): void {
  const first = drawOrder(world, { seed: 7, orderId: 1, preOrderShare: 0 });
  const filler = world.trade.place(first);
  const count = Math.max(1, orderId - filler.orderId + 1);
  world.book.orders.replace(Array.from({ length: count }, () => filler));
}

function ship(orderIds: readonly number[]): void {
  for (const id of orderIds) {
    for (const delivery of world.book.deliveries.ofOrder(id)) world.trade.ship(delivery);
  }
}

function pack(orderIds: readonly number[]): void {
  for (const id of orderIds) {
    const order = world.book.orders.get(id);
    if (order) world.trade.packAll(order);
  }
}

skipTo(lastOrderId);
process.on('message', (asked: Asked) => {
  if ('place' in asked) process.send?.(Array.from({ length: asked.place }, place));
  else if ('pack' in asked) {
    pack(asked.pack);
    process.send?.(asked.pack);
  } else if ('ship' in asked) {
    ship(asked.ship);
    process.send?.(asked.ship);
  } else {
    for (const { id } of relay.listEndpoints()) relay.deleteEndpoint(id);
    relay.createEndpoint({ url: asked.listener, secret: asked.secret });
    process.send?.([]);
  }
});
process.on('disconnect', () => process.exit(0));
process.send?.({ v1Url, credentials: Object.values(credentials)[0] });
