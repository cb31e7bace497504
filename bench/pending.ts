/**
 * What a queue of pending deliveries costs when the stock moves: 10,000 held deliveries with 40
 * lines each, then a stock pull that changes 100,000 rows. How long the longest step is for which
 * everything else waits, and how long a delivery that is packed in the middle of it waits.
 *
 * `node bench/pending.ts [deliveries] [changes]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { createDecider } from '../src/decisions/decider.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { STOCK_VARIANT } from '../src/mirror/catalog/variant.ts';
import { writeDeliveries } from '../src/mirror/delivery.ts';
import { writeRows } from '../src/mirror/entity.ts';
import { writeOrders } from '../src/mirror/sales-order.ts';
import { loadRules } from '../src/rules/load.ts';
import { openStore } from '../src/store/store.ts';

const DELIVERIES = Number(process.argv[2] ?? 10_000);
const CHANGES = Number(process.argv[3] ?? 100_000);
const LINES = 40;
const VARIANTS = 100_000;
const BATCH = 500;
const text = `rules:
  - id: hold-short
    title: Not in stock
    action: hold
    mode: live
    when: [ 'delivery.lines.exists(line, line.missing > 0)' ]
  - id: accept-covered
    title: In stock
    action: accept
    mode: live
    when: [ 'delivery.lines.all(line, line.missing == 0)', 'delivery.lines.size() > 0' ]
`;

const clock = systemClock();
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = join(folder, 'mirror.db');
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
const loaded = loadRules([{ path: 'r.yaml', text }]);
if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
const rules = { ruleSet: loaded.ruleSet, files: [{ path: 'r.yaml', text }] };
let seq = 0;
const provenance = () => ({ source: 'run:1', readSeq: ++seq, at: clock.now() });
const barcode = (index: number) => `57${String(index % VARIANTS).padStart(11, '0')}`;

async function writeStock(count: number, quantity: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, count - first) }, (_, index) => ({
      ...{ barcode: barcode(first + index), quantity },
    }));
    const rows = records.map(STOCK_VARIANT.toRow);
    await store.transaction((tx) => writeRows(tx, STOCK_VARIANT, rows, provenance()));
    await new Promise(setImmediate);
  }
}

/** A delivery of its own order; each line wants 5 pieces. */
async function pack(first: number, count: number, lineCount: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  const orders = ids.map((orderId) => ({
    ...{ orderId, orderNo: `SO-${orderId}`, reference: `PO-${orderId}`, status: 'pending' },
    ...{ completed: false, currency: 'DKK', orderLineItems: [] },
  }));
  const deliveries = ids.map((id) => ({
    ...{ orderDeliveryId: id, orderId: id, status: 'pending' },
    fulfilledLineItems: Array.from({ length: lineCount }, (_, line) => ({
      ...{ barcode: barcode(id * 17 + line * 1_009), fulfilledQuantity: 5, price: 100 },
    })),
  }));
  await store.transaction(async (tx) => {
    await writeOrders(tx, orders, provenance());
    await writeDeliveries(tx, deliveries, provenance());
  });
}

let decided = 0;
const latest = new Map<number, number>();
const decider = createDecider({
  ...{ store, clock, log: silentLogger(), rules: () => rules, mode: () => 'live' },
  ...{ settleMs: 0, reconsiderMs: 900_000, onPush: () => undefined },
  onDecided({ orderDeliveryId }) {
    decided += 1;
    latest.set(orderDeliveryId, performance.now());
  },
});

/** Until the decider has decided nothing for a while. */
async function settled(): Promise<void> {
  for (let before = -1; before < decided; ) {
    before = decided;
    await clock.sleep(3_000);
  }
}

const seconds = (from: number) => ((performance.now() - from) / 1_000).toFixed(1);
const delay = monitorEventLoopDelay({ resolution: 5 });
await writeStock(VARIANTS, 1);
for (let id = 1; id <= DELIVERIES; id += BATCH) {
  await pack(id, Math.min(BATCH, DELIVERIES + 1 - id), LINES);
}
const stop = new AbortController();
const from = performance.now();
const running = decider.run(stop.signal);
await settled();
console.log(`${decided} deliveries with ${LINES} lines decided in ${seconds(from)} s`);
decided = 0;
delay.enable();
const moved = performance.now();
await writeStock(CHANGES, 2);
console.log(`${CHANGES} changes of the stock written in ${seconds(moved)} s`);
decider.nudge();
await clock.sleep(200);
const late = 1_000_000;
const packed = performance.now();
await pack(late, 1, 3);
decider.nudge();
while (!latest.has(late)) await clock.sleep(5);
console.log(`a delivery packed meanwhile was decided after ${seconds(packed)} s`);
await settled();
delay.disable();
console.log(`${decided} decided anew within ${seconds(moved)} s of the first change`);
const p99 = (delay.percentile(99) / 1e6).toFixed(0);
console.log(`others waited at most ${(delay.max / 1e6).toFixed(0)} ms, p99 ${p99} ms`);
stop.abort();
await running;
await store.close();
rmSync(folder, { recursive: true });
