/**
 * How long the way through takes: from a packed delivery at the service to its accept there, and
 * to the read that confirms it. The daemon is a process of its own; the reference service runs
 * in this one and its journal has the times. Rate limits are off on both sides; the stock is
 * pulled every second meanwhile.
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
import { startDaemon } from './support/daemon-process.ts';
import { type Figure, lower, tell } from './support/figures.ts';

const DELIVERIES = Number(process.argv[2] ?? 200);
const PER_SECOND = Number(process.argv[3] ?? 10);
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

/** Prints the percentiles of these milliseconds, and gives them. */
function report(name: string, values: readonly number[]): readonly Figure[] {
  const known = values.filter((value) => !Number.isNaN(value));
  const [p50, p99] = [percentile(known, 0.5), percentile(known, 0.99)];
  const met = p50 <= GOAL_MS.p50 && p99 <= GOAL_MS.p99 ? 'met' : 'missed';
  console.log(
    `${name}: p50 ${p50} ms, p99 ${p99} ms, max ${Math.max(...known)} ms of ${known.length} ` +
      `(goal p50 ${GOAL_MS.p50} ms, p99 ${GOAL_MS.p99} ms: ${met})`,
  );
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
for (let index = 0; index < DELIVERIES; index += 1) {
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  await clock.sleep(1_000 / PER_SECOND);
}
const deadline = clock.monotonic() + 60_000;
const { deliveries } = world.book;
const open = () =>
  deliveries.all.length < DELIVERIES || deliveries.all.some(({ status }) => status === 'pending');
while (open() && clock.monotonic() < deadline) await clock.sleep(50);
await clock.sleep(500);
const accepted = deliveries.all.flatMap(({ orderId, createdAt, acceptedAt }) =>
  acceptedAt === undefined
    ? []
    : [
        {
          accept: acceptedAt - createdAt,
          readBack: readBackAt(reference, orderId, acceptedAt) - createdAt,
        },
      ],
);
console.log(`${accepted.length} of ${DELIVERIES} deliveries accepted, ${PER_SECOND} a second`);
tell(
  ...report(
    'packed → accepted',
    accepted.map(({ accept }) => accept),
  ),
  ...report(
    'packed → accepted → read back',
    accepted.map(({ readBack }) => readBack),
  ),
);
await daemon.stop();
await reference.close();
rmSync(folder, { recursive: true, force: true });
