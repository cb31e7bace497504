/**
 * Sweeping open orders under the limit of requests: the sweep (one run of the stream `orders`: the
 * walk, then a first look at each order) should make little more than one request for each order
 * and take the time that the limit dictates, and what an event tells meanwhile should not wait.
 * The daemon is a process of its own; the reference service runs in this one, keeps to the same
 * limit, and its journal and its world have the times. Figures go to results.md.
 *
 * `node bench/sweep.ts [orders] [requests per second]` (200 and 20; the goal is for 2000 and 20,
 * which take two minutes). Exits 1 when a goal is missed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { parseKnobs } from '../src/reference/control/knob-store.ts';
import { drawOrder } from '../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../src/reference/reference.ts';
import { openReadOnlyStore, type SqliteStore } from '../src/store/store.ts';
import { startDaemon } from './support/daemon-process.ts';
import { lower, tell } from './support/figures.ts';
import { report } from './support/results.ts';

const ORDERS = Number(process.argv[2] ?? 200);
const PER_SECOND = Number(process.argv[3] ?? 20);
const GOAL = { perOrder: 1.2, share: 0.05, decidedMs: 2_000 };
/** Deliveries that are packed while the sweep goes on. */
const EVENTS = 12;
const REQUESTS_PER_ORDER = 1;
const clock = systemClock();

/** Nothing is pulled but the orders, once. */
const STREAMS = [
  'orders: { schedule: "0 0 1 1 *" }',
  ...['brands', 'freight', 'seasons', 'stock', 'season', 'ordersFull'].map(
    (name) => `${name}: { enabled: false }`,
  ),
];

async function sweepOf({ db }: SqliteStore) {
  return db.selectFrom('sync_run').selectAll().where('stream', '=', 'orders').executeTakeFirst();
}

/** Packs a delivery now and then until the sweep has ended; gives the run. */
async function watchSweep(store: SqliteStore, { world }: Reference) {
  const everyMs = (ORDERS * REQUESTS_PER_ORDER * 1_000) / PER_SECOND / (EVENTS + 1);
  let nextAt = clock.monotonic() + everyMs;
  for (let packed = 0; ; ) {
    const run = await sweepOf(store);
    if (run && run.outcome !== 'running') return run;
    if (packed < EVENTS && clock.monotonic() >= nextAt) {
      const order = world.book.orders.all[Math.floor((packed * ORDERS) / EVENTS)];
      if (order) world.trade.packAll(order);
      packed += 1;
      nextAt += everyMs;
    }
    await clock.sleep(50);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const reference = await startReference({
  host: '127.0.0.1',
  ports: { service: 0, relay: 0, control: 0 },
  knobs: parseKnobs({
    world: { styles: 20, orders: 0 },
    life: { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1000h', cancelShare: 0 },
    // A little above ours: requests that were sent in time may arrive together.
    rates: { perSecond: PER_SECOND * 1.2 },
    journal: { size: 1_000_000 },
  }),
  clock,
  log: silentLogger(),
});
const { world } = reference;
for (let index = 0; index < ORDERS; index += 1) {
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
}
const wish = { requestsPerSecond: PER_SECOND, streams: STREAMS };
const daemon = await startDaemon(folder, reference, wish);
const path = join(folder, 'data', 'mirror.db');
const store = await openReadOnlyStore({ path, busyTimeoutMs: 5_000 });
const run = await watchSweep(store, reference);
await clock.sleep(GOAL.decidedMs);
await store.close();
await daemon.stop();

const entries = reference.edge.journal.list({ path: '/api/v1/orders*' });
const times = entries.map(({ at }) => Date.parse(at));
// The log-in comes before the first of them.
const [from, to] = [Math.min(...times), run.ended_at ?? Number.NaN];
const requests = times.filter((at) => at <= to).length;
const refused = entries.filter(({ status }) => status === 429).length;
const seconds = (to - from) / 1_000;
const ratio = seconds / (requests / PER_SECOND);
const decided = world.book.deliveries.all.map(({ createdAt, acceptedAt }) =>
  acceptedAt === undefined ? Number.POSITIVE_INFINITY : acceptedAt - createdAt,
);
const slowest = Math.max(...decided);
tell(
  lower('requests of the sweep', requests),
  lower('sweep, s', seconds),
  lower('slowest accept meanwhile, ms', slowest),
);
const isMet =
  // A first page, and the orders that prove the list, weigh more where there are few.
  (requests <= GOAL.perOrder * ORDERS || ORDERS < 1_000) &&
  Math.abs(ratio - 1) <= GOAL.share &&
  decided.length >= EVENTS &&
  slowest <= GOAL.decidedMs &&
  run.outcome === 'complete';
const met = isMet ? 'met' : 'missed';
report(
  'The sweep of open orders',
  [
    `${ORDERS} open orders, ${PER_SECOND} requests a second: ${run.outcome}, ${requests} requests`,
    `in ${seconds.toFixed(1)} s, ${ratio.toFixed(3)} × what the limit dictates (${refused} refused`,
    `as too fast); ${decided.length} deliveries packed meanwhile, accepted after`,
    `${decided.toSorted((a, b) => a - b).join(', ')} ms.`,
    `Goal: ${GOAL.perOrder} requests an order, within ${GOAL.share * 100} %, and ` +
      `${GOAL.decidedMs} ms: ${met}.`,
  ].join('\n'),
);
await reference.close();
rmSync(folder, { recursive: true, force: true });
process.exitCode = isMet ? 0 : 1;
