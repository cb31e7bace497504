/**
 * Costs of a console page with many held deliveries: its thread's time, and bytes on the wire.
 *
 * `node bench/console.ts [deliveries]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { gzipSync } from 'node:zlib';
import { createEntrance } from '../src/console/access/entrance.ts';
import { createConsoleApp } from '../src/console/server.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { systemRandom } from '../src/lib/random.ts';
import { openReadOnlyStore, openStore } from '../src/store/store.ts';
import { CONSOLE_SETTINGS } from '../test/console/made-up.ts';
import { lower, tell } from './support/figures.ts';
import { fillHeldDeliveries } from './support/held-deliveries.ts';

const DELIVERIES = Number(process.argv[2] ?? 10_000);
const LOOKS = 30;
const GOAL = { pageMs: 30, kilobytes: 50, requests: 10 };

const clock = systemClock();
const log = silentLogger();
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const options = { path: join(folder, 'mirror.db'), busyTimeoutMs: 5_000 };
const { store } = await openStore(options, clock);
await fillHeldDeliveries(store, clock, DELIVERIES);

const random = systemRandom();
const people = { operators: [], proxyRole: null };
const lasts = { sessionMs: 9e6, sessionIdleMs: 9e6 };
const entrance = createEntrance({ store, clock, random, people, ...lasts });
const { key } = await entrance.byLink(entrance.mintLink('bench', 'operator').key, null);
const reader = await openReadOnlyStore(options);
const ask = () => Promise.resolve({ value: {} });
const app = createConsoleApp({
  db: reader.db,
  snapshot: (read) => reader.snapshot(read),
  clock,
  log,
  settings: CONSOLE_SETTINGS,
  ask,
  daemonSeenAt: clock.monotonic,
  rulesMode: () => 'live',
  beats: () => [],
});
const headers = { host: '127.0.0.1', cookie: `selvedge=${key}` };

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

let slowest = 0;
for (const path of [
  '/review',
  '/review?country=DK',
  '/review?sort=value&descending=1',
  '/review?q=Shop+12',
  '/',
  `/deliveries/${DELIVERIES}`,
  ...['/outbox', '/pulls', '/events', '/rules/trial', '/stock', '/reports'],
  '/changes.json',
]) {
  const took: number[] = [];
  const before = process.cpuUsage();
  let body = '';
  for (let look = 0; look < LOOKS; look += 1) {
    const startedAt = performance.now();
    const answer = await app.inject({ url: path, headers });
    took.push(performance.now() - startedAt);
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${answer.body}`);
    body = answer.body;
  }
  took.sort((a, b) => a - b);
  const median = quantile(took, 0.5);
  if (path === '/review') slowest = median;
  const { user, system } = process.cpuUsage(before);
  tell(lower(`${path}, ms`, median), lower(`${path}, CPU ms`, (user + system) / 1_000 / LOOKS));
  const size = (gzipSync(body).length / 1_000).toFixed(1);
  console.log(
    `${path}: ${median.toFixed(1)} ms (p95 ${quantile(took, 0.95).toFixed(1)}), ${size} kB`,
  );
}
const page = (await app.inject({ url: '/review', headers })).body;
const assets = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
let bytes = gzipSync(page).length;
for (const url of assets) {
  const answer = await app.inject({ url, headers: { ...headers, 'accept-encoding': 'gzip' } });
  bytes += answer.rawPayload.length;
}
const kilobytes = bytes / 1_000;
console.log(
  `first load: ${assets.length + 1} requests, ${kilobytes.toFixed(1)} kB ` +
    `(goals: ${GOAL.requests}, ${GOAL.kilobytes} kB)`,
);
console.log(`/review with ${DELIVERIES} held: ${slowest.toFixed(1)} ms (goal ${GOAL.pageMs} ms)`);
tell(lower('first load, requests', assets.length + 1), lower('first load, kB', kilobytes));
const isMet =
  slowest <= GOAL.pageMs && kilobytes <= GOAL.kilobytes && assets.length < GOAL.requests;
await app.close();
await reader.close();
await store.close();
rmSync(folder, { recursive: true });
process.exitCode = isMet ? 0 : 1;
