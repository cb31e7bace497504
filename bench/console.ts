/**
 * What a page of the console costs its thread with many held deliveries, and a browser on the wire.
 *
 * `node bench/console.ts [deliveries]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createEntrance } from '../src/console/access/entrance.ts';
import { createConsoleApp } from '../src/console/server.ts';
import { createDecider } from '../src/decisions/decider.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { systemRandom } from '../src/lib/random.ts';
import { writeDeliveries } from '../src/mirror/delivery.ts';
import { writeOrders } from '../src/mirror/sales-order.ts';
import { loadRules } from '../src/rules/load.ts';
import { openReadOnlyStore, openStore } from '../src/store/store.ts';
import { CONSOLE_SETTINGS } from '../test/console/made-up.ts';

const DELIVERIES = Number(process.argv[2] ?? 10_000);
const BATCH = 500;
const LINES = 6;
const LOOKS = 30;
const GOAL = { pageMs: 30, kilobytes: 50, requests: 10 };
const COUNTRIES = ['DK', 'SE', 'NO', 'DE', 'GB', 'FR'];

const clock = systemClock();
const log = silentLogger();
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const options = { path: join(folder, 'mirror.db'), busyTimeoutMs: 5_000 };
const { store } = await openStore(options, clock);
const text = `rules:
  - { id: hold-all, title: Held, action: hold, mode: live, when: [delivery.quantity > 0] }
  - { id: hold-large, title: Large, action: hold, mode: live, when: [delivery.quantity > 30] }
`;
const files = [{ path: 'rules.yaml', text }];
const loaded = loadRules(files);
if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
const { ruleSet } = loaded;
let seq = 0;
const provenance = () => ({ source: 'run:1', readSeq: ++seq, at: clock.now() });

for (let first = 1; first <= DELIVERIES; first += BATCH) {
  const ids = Array.from({ length: BATCH }, (_, index) => first + index);
  const lines = (id: number) =>
    Array.from({ length: LINES }, (_, line) => ({
      barcode: `b${(id * 17 + line) % 50_000}`,
      price: 99.5,
    }));
  await store.transaction(async (tx) => {
    const orders = ids.map((id) => ({
      orderId: id,
      orderNo: `SO-${id}`,
      reference: `PO-${id}`,
      status: 'pending',
      completed: false,
      currency: id % 3 === 0 ? 'EUR' : 'DKK',
      shippingAddress: {
        company: `Shop ${id % 700}`,
        countryCode: COUNTRIES[id % COUNTRIES.length],
        accountNo: `C-${id % 700}`,
      },
      orderLineItems: lines(id).map((line) => ({ ...line, quantity: 1 + (id % 9) })),
    }));
    const deliveries = ids.map((id) => ({
      orderDeliveryId: id,
      orderId: id,
      deliveryNo: `DN-${id}`,
      status: 'pending',
      createdAt: new Date(clock.now() - id * 1_000).toISOString(),
      fulfilledLineItems: lines(id).map((line) => ({ ...line, fulfilledQuantity: 1 + (id % 9) })),
    }));
    await writeOrders(tx, orders, provenance());
    await writeDeliveries(tx, deliveries, provenance());
  });
}
let decided = 0;
const decider = createDecider({
  store,
  clock,
  log,
  rules: () => ({ ruleSet, files }),
  mode: () => 'live',
  settleMs: 0,
  freshness: {},
  reconsiderMs: 900_000,
  onPush: () => undefined,
  onDecided: () => {
    decided += 1;
  },
});
const stop = new AbortController();
const running = decider.run(stop.signal);
while (decided < DELIVERIES) await nextTurn();
stop.abort();
await running;

const random = systemRandom();
const people = { operators: [], proxyRole: null };
const lasts = { sessionMs: 9e6, sessionIdleMs: 9e6 };
const entrance = createEntrance({ store, clock, random, people, ...lasts });
const { key } = await entrance.byLink(entrance.mintLink('bench', 'viewer').key, null);
const reader = await openReadOnlyStore(options);
const ask = () => Promise.resolve({ value: {} });
const app = createConsoleApp({
  db: reader.db,
  clock,
  log,
  settings: CONSOLE_SETTINGS,
  ask,
  daemonSeenAt: clock.now,
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
  '/changes.json',
]) {
  const took: number[] = [];
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
const isMet =
  slowest <= GOAL.pageMs && kilobytes <= GOAL.kilobytes && assets.length < GOAL.requests;
await app.close();
await reader.close();
await store.close();
rmSync(folder, { recursive: true });
process.exitCode = isMet ? 0 : 1;
