/**
 * How long the way through takes: from a packed delivery at the service to its accept there, and
 * to the read that confirms it. The daemon is a process of its own; the reference service runs
 * in this one and its journal has the times. Rate limits are off on both sides; the stock is
 * pulled every second meanwhile.
 *
 * The first deliveries and those after the first pull are told by themselves, too: the first ones
 * meet a daemon, and a service, that run each step for the first time, while an empty database gets
 * all that can be pulled. The goal is for all.
 *
 * `node bench/decide.ts [deliveries] [per second]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { parseKnobs } from '../src/reference/control/knob-store.ts';
import { drawOrder } from '../src/reference/life/arrivals.ts';
import { type Reference, startReference } from '../src/reference/reference.ts';
import { until } from './support/accepting.ts';
import { startDaemon } from './support/daemon-process.ts';
import { type Figure, lower, tell } from './support/figures.ts';

const DELIVERIES = Number(process.argv[2] ?? 200);
const PER_SECOND = Number(process.argv[3] ?? 10);
/** Deliveries among them that are packed at the start of an empty daemon. */
const AT_START = 20;
const GOAL_MS = { p50: 15, p99: 60 };
const clock = systemClock();

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** When a delivery of this order, or their list, was first answered after the accept. */
function readBackAt({ edge }: Reference, orderId: number, acceptedAt: number): number {
  const path = `/api/v1/orders/${orderId}/deliveries`;
  const reads = edge.journal
    .list({ method: 'GET', status: 200, limit: 100_000 })
    .filter((one) => one.path.startsWith(path));
  const first = reads.find(({ at }) => Date.parse(at) >= acceptedAt);
  return first ? Date.parse(first.at) + (first.durationMs ?? 0) : Number.NaN;
}

/** Prints the percentiles of these milliseconds, with a verdict where a goal is set. */
function report(name: string, values: readonly number[], goal?: typeof GOAL_MS): readonly Figure[] {
  const known = values.filter((value) => !Number.isNaN(value));
  const [p50, p99] = [percentile(known, 0.5), percentile(known, 0.99)];
  const isMet = goal && p50 <= goal.p50 && p99 <= goal.p99;
  const verdict = goal
    ? ` (goal p50 ${goal.p50} ms, p99 ${goal.p99} ms: ${isMet ? 'met' : 'missed'})`
    : '';
  const most = Math.max(...known);
  console.log(`${name}: p50 ${p50} ms, p99 ${p99} ms, max ${most} ms of ${known.length}${verdict}`);
  return [lower(`${name}, p50 ms`, p50), lower(`${name}, p99 ms`, p99)];
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const reference = await startReference({
  host: '127.0.0.1',
  ports: { service: 0, relay: 0, control: 0 },
  knobs: parseKnobs({
    world: { orders: 0 },
    life: { ordersPerMinute: 0, packAfter: '1s', shipAfter: '1h', cancelShare: 0, splitShare: 0 },
    rates: { perSecond: 0 },
    journal: { size: 100_000 },
  }),
  clock,
  log: silentLogger(),
});
const daemon = await startDaemon(folder, reference, {
  requestsPerSecond: 5_000,
  // Pulled all the time, as fast as it goes.
  streams: ["stock: { schedule: '* * * * * *', jitter: 0s }"],
});
const { world } = reference;
const { deliveries } = world.book;

/** Times that the daemon has begun to pull the stock. */
function pullsOfStock(): number {
  const lists = reference.edge.journal.list({ method: 'GET', limit: 100_000 });
  return lists.filter(({ path }) => path.endsWith('/variants/stock')).length;
}

/** Has these many packed, evenly spread, and waits until all that was packed so far is decided. */
async function pack(count: number): Promise<void> {
  const total = deliveries.all.length + count;
  for (let index = 0; index < count; index += 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
    await clock.sleep(1_000 / PER_SECOND);
  }
  const isOver = (): boolean => deliveries.all.every(({ status }) => status !== 'pending');
  await until('the accepts', () => deliveries.all.length === total && isOver());
}

await pack(AT_START);
// The second pull begins only once the first one has ended.
await until('the first pull', () => pullsOfStock() > 1);
const pullsBefore = pullsOfStock();
await pack(DELIVERIES - AT_START);
const pulls = pullsOfStock() - pullsBefore;
// The last ones are still to be read back.
await clock.sleep(500);
const ways = deliveries.all.map(({ orderId, createdAt, acceptedAt = Number.NaN }) => ({
  accept: acceptedAt - createdAt,
  readBack: readBackAt(reference, orderId, acceptedAt) - createdAt,
}));
const accepted = ways.filter(({ accept }) => !Number.isNaN(accept)).length;
console.log(
  `${accepted} of ${DELIVERIES} deliveries accepted, ${PER_SECOND} a second, ` +
    `beside ${pulls} pulls of the stock`,
);
const accepts = ways.map(({ accept }) => accept);
const readBacks = ways.map(({ readBack }) => readBack);
tell(
  ...report('packed → accepted', accepts, GOAL_MS),
  ...report('packed → accepted → read back', readBacks, GOAL_MS),
  ...report('packed → accepted, after the first pull', accepts.slice(AT_START)),
  ...report(`packed → accepted, the first ${AT_START}`, accepts.slice(0, AT_START)),
);
await daemon.stop();
await reference.close();
rmSync(folder, { recursive: true, force: true });
