/**
 * Packed deliveries that are accepted in a second where the service takes 20 requests a second, as
 * the reference's account does. Orders are placed and read first; then all of them are packed at
 * once, and the daemon, a process of its own, reads, accepts and confirms them.
 *
 * `node bench/accepts.ts [deliveries]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { startCalmService, until, watchMirror } from './support/accepting.ts';
import { startDaemon } from './support/daemon-process.ts';
import { higher, lower, tell } from './support/figures.ts';

const DELIVERIES = Number(process.argv[2] ?? 100);
const LIMIT = 20;
const GOAL_PER_SECOND = 4;
const GOAL_REQUESTS = 4;
const clock = systemClock();

const { reference, wish, place } = await startCalmService(LIMIT);
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const daemon = await startDaemon(folder, reference, wish);
const mirror = watchMirror(join(folder, 'data', 'mirror.db'));
place(DELIVERIES);
await until('the orders in the mirror', () => mirror.isRead(DELIVERIES));
reference.edge.journal.clear();
const { orders, deliveries } = reference.world.book;
const packedAt = clock.now();
const cpuBefore = daemon.cpuSeconds();
for (const order of orders.all) reference.world.trade.packAll(order);
await until('all pushes', () => mirror.isConfirmed(DELIVERIES));
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
