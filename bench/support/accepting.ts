/**
 * The way from a packed delivery to its confirmed accept: a reference service of few goods, where
 * orders are placed and packed when a benchmark says so, and what a daemon beside it has reached.
 */
import Database from 'better-sqlite3';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import type { DaemonWish } from './daemon-process.ts';

const WAIT_MS_MAX = 300_000;
const OFF = ['stock', 'season', 'brands', 'freight', 'seasons', 'ordersFull'];

export interface CalmService {
  readonly reference: Reference;
  /** Wishes for a daemon that decides by the orders alone. */
  readonly wish: DaemonWish;
  /** Places orders, as many as named. */
  place(orders: number): void;
}

/** Starts a service that takes this many requests a second, and where nothing happens by itself. */
export async function startCalmService(
  perSecond: number,
  clock: Clock = systemClock(),
): Promise<CalmService> {
  const life = { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '30d', shipAfter: '30d' };
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      world: { styles: 50, orders: 0 },
      life: { ...life, cancelShare: 0, splitShare: 0 },
      auth: { loginSpacing: 0 },
      rates: { perSecond },
      journal: { size: 100_000 },
    }),
    clock,
    log: silentLogger(),
  });
  const { world } = reference;
  const streams = OFF.map((name) => `${name}: { enabled: false }`);
  return {
    reference,
    wish: { requestsPerSecond: perSecond, streams },
    place(orders) {
      for (let left = orders; left > 0; left -= 1) {
        const orderId = world.book.orders.nextId();
        world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
      }
    },
  };
}

/** State of a daemon, by its database. */
export function watchMirror(path: string) {
  const mirror = new Database(path, { readonly: true });
  const count = (query: string) => mirror.prepare<[], number>(query).pluck();
  const orders = count('select count(*) from sales_order');
  const toRead = count('select count(*) from refresh');
  const confirmed = count("select count(*) from outbox where state = 'confirmed'");
  return {
    /** Whether all that was placed was read, and nothing is left to read. */
    isRead: (placed: number) => orders.get() === placed && toRead.get() === 0,
    isConfirmed: (pushes: number) => confirmed.get() === pushes && toRead.get() === 0,
    close: () => mirror.close(),
  };
}

/** Waits until something is so, for five minutes at most. */
export async function until(
  what: string,
  isSo: () => boolean,
  clock: Clock = systemClock(),
): Promise<void> {
  const deadline = clock.monotonic() + WAIT_MS_MAX;
  while (!isSo()) {
    if (clock.monotonic() > deadline) throw new Error(`waited in vain for ${what}`);
    await clock.sleep(5);
  }
}
