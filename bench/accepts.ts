/**
 * How many packed deliveries a second are accepted where the service takes 20 requests a second, as
 * the reference's account does. Orders are placed and read first; then all of them are packed at
 * once, and the daemon, a process of its own, reads, accepts and confirms them.
 *
 * `node bench/accepts.ts [deliveries]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { parseKnobs } from '../src/reference/control/knob-store.ts';
import { drawOrder } from '../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../src/reference/reference.ts';
import { startDaemon } from './support/daemon-process.ts';
import { higher, lower, tell } from './support/figures.ts';

const DELIVERIES = Number(process.argv[2] ?? 100);
const LIMIT = 20;
const GOAL_PER_SECOND = 4;
const GOAL_REQUESTS = 4;
const WAIT_MS_MAX = 300_000;
const clock = systemClock();
const off = ['stock', 'season', 'brands', 'freight', 'seasons', 'ordersFull'];

function place({ world }: Reference): void {
  for (let left = DELIVERIES; left > 0; left -= 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  }
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const deadline = clock.monotonic() + WAIT_MS_MAX;
  while (!isSo()) {
    if (clock.monotonic() > deadline) throw new Error(`waited in vain for ${what}`);
    await clock.sleep(20);
  }
}

function openMirror(folder: string) {
  const mirror = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
  const count = (query: string) => mirror.prepare<[], number>(query).pluck();
  const orders = count('select count(*) from sales_order');
  const toRead = count('select count(*) from refresh');
  const confirmed = count("select count(*) from outbox where state = 'confirmed'");
  return {
    isRead: () => orders.get() === DELIVERIES && toRead.get() === 0,
    isDone: () => confirmed.get() === DELIVERIES && toRead.get() === 0,
    close: () => mirror.close(),
  };
}

const reference = await startReference({
  host: '127.0.0.1',
  ports: { service: 0, relay: 0, control: 0 },
  knobs: parseKnobs({
    world: { styles: 50, orders: 0 },
    life: {
      ...{ ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '30d', shipAfter: '30d' },
      ...{ cancelShare: 0, splitShare: 0 },
    },
    auth: { loginSpacing: 0 },
    rates: { perSecond: LIMIT },
    journal: { size: 100_000 },
  }),
  clock,
  log: silentLogger(),
});
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const daemon = await startDaemon(folder, reference, {
  requestsPerSecond: LIMIT,
  streams: off.map((name) => `${name}: { enabled: false }`),
});
const mirror = openMirror(folder);
place(reference);
await until('the orders in the mirror', mirror.isRead);
reference.edge.journal.clear();
const { orders, deliveries } = reference.world.book;
const packedAt = clock.now();
const cpuBefore = daemon.cpuSeconds();
for (const order of orders.all) reference.world.trade.packAll(order);
await until('all pushes', mirror.isDone);
const doneMs = clock.now() - packedAt;
const cpuMs = ((daemon.cpuSeconds() - cpuBefore) * 1_000) / DELIVERIES;
const acceptedMs = Math.max(...deliveries.all.map((one) => (one.acceptedAt ?? 0) - packedAt));
const requests = reference.edge.journal.list({ limit: 100_000 });
const refused = requests.filter(({ status }) => status === 429).length;
mirror.close();
await daemon.stop();
await reference.close();
rmSync(folder, { recursive: true, force: true });

const perSecond = DELIVERIES / (doneMs / 1_000);
const each = requests.length / DELIVERIES;
const accepted = DELIVERIES / (acceptedMs / 1_000);
console.log(
  `${DELIVERIES} accepted after ${(acceptedMs / 1_000).toFixed(1)} s: ${accepted.toFixed(2)}/s`,
);
console.log(`${each.toFixed(2)} requests for each, ${refused} of all answered 429`);
tell(
  higher('accepted, 1/s', accepted),
  higher('accepted and confirmed, 1/s', perSecond),
  lower('requests for each', each),
  lower('CPU of the daemon for each, ms', cpuMs),
);
const isMet = perSecond >= GOAL_PER_SECOND && each <= GOAL_REQUESTS + 0.5;
console.log(
  `accepted and confirmed: ${perSecond.toFixed(2)}/s under ${LIMIT} requests/s, ` +
    `goal ${GOAL_PER_SECOND} (${isMet ? 'met' : 'missed'})`,
);
if (!isMet) process.exitCode = 1;
