/**
 * Costs of a queue of held deliveries: 10,000 of them under the shipped rules. First one value of a
 * list changes, which makes every hundredth of them an accept; then a stock pull changes 100,000
 * rows. How many entries the journal gets, what CPU that takes, how long 20 deliveries wait that
 * are packed meanwhile, and how long the longest step is for which everything else waits.
 *
 * `node bench/pending.ts [deliveries] [lines] [changes]`, from 100 deliveries on
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { sql } from 'kysely';
import { createDecider } from '../src/decisions/decider.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { STOCK_VARIANT } from '../src/mirror/catalog/variant.ts';
import { upsertRows } from '../src/mirror/entity.ts';
import { writeOrders } from '../src/mirror/sales-order.ts';
import { loadRules } from '../src/rules/load.ts';
import { openStore } from '../src/store/store.ts';
import { lower, tell } from './support/figures.ts';
import { writeDeliveries } from './support/moved.ts';

const DELIVERIES = Number(process.argv[2] ?? 10_000);
const LINES = Number(process.argv[3] ?? 10);
const CHANGES = Number(process.argv[4] ?? 100_000);
const VARIANTS = 100_000;
const BATCH = 500;
/** Packed meanwhile, at most. */
const PACKED = 20;
const QUIET_MS = 1_500;
/** Share of the deliveries that is in each pass. */
const HELD = 0.98;
const GOAL = { lateMs: 1_000, cpuSeconds: 20, bytes: 3_000 };

const clock = systemClock();
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = join(folder, 'mirror.db');
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);

/** The shipped rules, with other usual countries. */
function rulesWith(countries: string) {
  const files = ['settings.yaml', 'deliveries.yaml'].map((name) => {
    const text = readFileSync(new URL(`../config/rules/${name}`, import.meta.url), 'utf8');
    return {
      path: name,
      text: text.replace('usual_countries: [', `usual_countries: [${countries}`),
    };
  });
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  return { ruleSet: loaded.ruleSet, files };
}

let rules = rulesWith('');
let seq = 0;
const provenance = () => ({ source: 'run:1', readSeq: ++seq, at: clock.now() });
const barcode = (index: number) => `57${String(index % VARIANTS).padStart(11, '0')}`;
/** Every hundredth delivery is in stock, and goes to a country that is not usual. */
const isFar = (id: number) => id % 100 === 0;

async function writeStock(first: number, count: number, quantity: number): Promise<void> {
  for (let from = first; from < first + count; from += BATCH) {
    const size = Math.min(BATCH, first + count - from);
    const records = Array.from({ length: size }, (_, index) => ({
      barcode: barcode(from + index),
      quantity,
    }));
    const rows = records.map(STOCK_VARIANT.toRow);
    await store.transaction((tx) => upsertRows(tx, STOCK_VARIANT, rows, provenance()));
    await new Promise(setImmediate);
  }
}

/** Deliveries of their own orders; each line wants 5 pieces. */
async function pack(first: number, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  const linesOf = (id: number) =>
    Array.from({ length: LINES }, (_, line) => ({
      barcode: isFar(id) ? `far-${id}-${line}` : barcode(id * 17 + line * 1_009),
      price: 100,
    }));
  const orders = ids.map((id) => ({
    orderId: id,
    orderNo: `SO-${id}`,
    reference: `PO-${id}`,
    status: 'pending',
    completed: false,
    currency: 'DKK',
    shippingAddress: {
      address: 'Havnegade 1',
      city: 'Aarhus',
      zip: '8000',
      countryCode: isFar(id) ? 'AE' : 'DK',
      accountNo: `C-${id % 500}`,
    },
    orderLineItems: linesOf(id).map((line) => ({ ...line, quantity: 5 })),
  }));
  const deliveries = ids.map((id) => ({
    orderDeliveryId: id,
    orderId: id,
    status: 'pending',
    fulfilledLineItems: linesOf(id).map((line) => ({ ...line, fulfilledQuantity: 5 })),
  }));
  const far = ids.filter(isFar).flatMap((id) => linesOf(id));
  const rows = far.map((line) => STOCK_VARIANT.toRow({ barcode: line.barcode, quantity: 9 }));
  await store.transaction(async (tx) => {
    if (rows.length > 0) await upsertRows(tx, STOCK_VARIANT, rows, provenance());
    await writeOrders(tx, orders, provenance());
    await writeDeliveries(tx, deliveries, provenance());
  });
}

/** Evaluations, each of which asks for the rules. */
let evaluated = 0;
let evaluatedAt = 0;
const decidedAt = new Map<number, number>();
let decided = 0;
const decider = createDecider({
  store,
  clock,
  log: silentLogger(),
  rules: () => {
    evaluated += 1;
    evaluatedAt = performance.now();
    return rules;
  },
  mode: () => 'live',
  settleMs: 0,
  freshness: {},
  reconsiderMs: 900_000,
  onPush: () => undefined,
  onDecided({ orderDeliveryId }) {
    decided += 1;
    decidedAt.set(orderDeliveryId, performance.now());
  },
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await clock.sleep(20);
}

/** Waits until so many were evaluated since then, and it is quiet again. */
async function untilQuiet(since: number, count: number): Promise<void> {
  const isQuiet = () => performance.now() - evaluatedAt > QUIET_MS;
  await until(() => evaluated - since >= count && isQuiet());
}

const met = (isMet: boolean) => (isMet ? 'met' : 'missed');
const entries = async () => {
  const row = store.db.selectFrom('decision').select((eb) => eb.fn.countAll<number>().as('n'));
  return Number((await row.executeTakeFirstOrThrow()).n);
};

let late = 1_000_001;
/** Packs one after the other until the change is worked off; gives how long each waited. */
async function packMeanwhile(everyMs: number, isOver: () => boolean): Promise<readonly number[]> {
  const waits: number[] = [];
  for (let count = 0; count < PACKED && !isOver(); count += 1) {
    const id = late++;
    await pack(id, 1);
    const from = performance.now();
    decider.wake();
    await until(() => decidedAt.has(id));
    waits.push((decidedAt.get(id) ?? 0) - from);
    await clock.sleep(everyMs);
  }
  return waits.toSorted((a, b) => a - b);
}

const delay = monitorEventLoopDelay({ resolution: 5 });
/** Measures a change, and how long what is packed meanwhile waits. */
async function measured(what: string, change: () => Promise<readonly number[]>): Promise<void> {
  const before = await entries();
  const [cpu, from] = [process.cpuUsage(), performance.now()];
  delay.reset();
  delay.enable();
  const waits = await change();
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = (user + system) / 1e6;
  const journaled = (await entries()) - before - waits.length;
  console.log(
    `${what}: ${journaled} entries, CPU ${cpuSeconds.toFixed(1)} s in ` +
      `${((performance.now() - from) / 1_000).toFixed(1)} s ` +
      `(goal ${GOAL.cpuSeconds} s: ${met(cpuSeconds <= GOAL.cpuSeconds)}); others waited ` +
      `${(delay.percentile(99) / 1e6).toFixed(0)} ms (p99), ` +
      `${(delay.max / 1e6).toFixed(0)} ms at most`,
  );
  tell(
    lower(`${what}: CPU, s`, cpuSeconds),
    lower(`${what}: entries`, journaled),
    lower(`${what}: others waited, p99 ms`, delay.percentile(99) / 1e6),
    lower(`${what}: others waited, max ms`, delay.max / 1e6),
    lower(`${what}: packed meanwhile, p50 ms`, waits[waits.length >> 1] ?? Number.NaN),
    lower(`${what}: packed meanwhile, p99 ms`, waits.at(-1) ?? Number.NaN),
  );
  sayWaits(waits);
}

function sayWaits(waits: readonly number[]): void {
  const [p50 = 0, last = 0] = [waits[waits.length >> 1], waits.at(-1)];
  console.log(
    `  ${waits.length} packed meanwhile were decided after ${p50.toFixed(0)} ms (p50), ` +
      `${last.toFixed(0)} ms (p99) (goal ${GOAL.lateMs} ms: ${met(last <= GOAL.lateMs)})`,
  );
}

await writeStock(0, VARIANTS, 1);
const read = { stream: 'stock', complete_at: clock.now(), due_at: clock.now(), last_run_id: null };
await store.db
  .insertInto('stream_state')
  .values({ ...read, complete_rows: 1, last_error: null })
  .execute();
for (let id = 1; id <= DELIVERIES; id += BATCH) {
  await pack(id, Math.min(BATCH, DELIVERIES + 1 - id));
}
const stop = new AbortController();
const begun = performance.now();
const cpuBegun = process.cpuUsage();
const running = decider.run(stop.signal);
await until(() => decided === DELIVERIES);
const cpuFirst = process.cpuUsage(cpuBegun);
tell(lower('first decision of each: CPU, s', (cpuFirst.user + cpuFirst.system) / 1e6));
const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
console.log(`${DELIVERIES} deliveries with ${LINES} lines decided in ${seconds} s`);
// The pass after the start.
await untilQuiet(evaluated, 0);

const last = DELIVERIES - (DELIVERIES % 100);
await measured(`one value of a list that decides ${Math.floor(DELIVERIES / 100)}`, async () => {
  rules = rulesWith('AE, ');
  decidedAt.delete(last);
  decider.wake();
  const waits = await packMeanwhile(200, () => decidedAt.has(last));
  await until(() => decidedAt.has(last));
  return waits;
});
await measured(`${CHANGES} changes of the stock`, async () => {
  const since = evaluated;
  await writeStock(0, CHANGES, 2);
  const waits = await packMeanwhile(1_000, () => false);
  // The pass begins after a pause, which is as long as the pass before it asks for.
  await untilQuiet(since, HELD * DELIVERIES);
  return waits;
});

const sizes = sql<{ readonly evaluation: number; readonly facts: number; readonly rest: number }>`
  select avg(length(d.evaluation)) evaluation, avg(length(f.facts)) facts,
    avg(length(d.trigger || d.actor || d.rule_set_hash || d.facts_digest || d.mode || d.outcome
      || d.reason || d.rules || d.shadow || d.said || d.matched || d.lapsed || d.previous_hash
      || d.hash || f.digest)) rest
  from decision d join fact_snapshot f on f.digest = d.facts_digest`;
const [size = { evaluation: 0, facts: 0, rest: 0 }] = (await sizes.execute(store.db)).rows;
const bytes = size.evaluation + size.facts + size.rest;
tell(lower('bytes of an entry', bytes));
console.log(
  `${bytes.toFixed(0)} bytes of an entry (goal ${GOAL.bytes}: ${met(bytes <= GOAL.bytes)}): ` +
    `evaluation ${size.evaluation.toFixed(0)}, facts ${size.facts.toFixed(0)}, ` +
    `the rest ${size.rest.toFixed(0)}`,
);
stop.abort();
await running;
await store.close();
rmSync(folder, { recursive: true });
