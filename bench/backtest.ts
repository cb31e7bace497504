/**
 * Cost of a backtest over 30 days under 50 rules, of which some read facts that no rule read then:
 * these are found in the change feed and the journal. The days are decided by a real decider, and
 * goods, orders and refunds change meanwhile.
 *
 * `node bench/backtest.ts [deliveries a day]`; the median of three.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDecider } from '../src/decisions/decider.ts';
import { backtest } from '../src/decisions/simulation/backtest.ts';
import { type ManualClock, manualClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { STOCK_VARIANT } from '../src/mirror/catalog/variant.ts';
import { upsertRows } from '../src/mirror/entity.ts';
import { writeRefunds } from '../src/mirror/refund.ts';
import { writeOrders } from '../src/mirror/sales-order.ts';
import { loadRules } from '../src/rules/load.ts';
import { openStore, type SqliteStore } from '../src/store/store.ts';
import { lower, tell } from './support/figures.ts';
import { writeDeliveries } from './support/moved.ts';

const A_DAY = Number(process.argv[2] ?? 150);
const DAYS = 30;
const DAY_MS = 86_400_000;
const ACCOUNTS = 100;
const VARIANTS = 400;
const LINES = 8;
const ROUNDS = 3;

const CONDITIONS = [
  'delivery.quantity > 70',
  'order.country == "NO"',
  'delivery.lines.exists(line, line.missing > 0)',
  'delivery.lines.exists(line, line.price_diff_pct > 5)',
  'order.comment.contains("wait")',
  'order.currency == "DKK" && delivery.amount > 9000',
  'order.age > days(20)',
  'order.other_pending > 1',
];
const COSTLY = [
  'customer.orders_before < 1',
  'has(order.similar_within) && order.similar_within < days(1)',
  'has(order.repeated_within) && order.repeated_within < days(9)',
  'customer.refunds_90d > 5',
  'customer.accepted_today > 4',
  'today.accepted > 900',
  'delivery.weight > 90000',
  'clock.now - customer.first_order_at < days(1)',
];

function rulesOf(conditions: readonly string[], count: number) {
  const rules = Array.from({ length: count }, (_, at) => {
    const action = at % 10 === 0 ? 'reject' : 'hold';
    const when = conditions[at % conditions.length];
    return `  - { id: r${at}, title: R, action: ${action}, mode: live, when: [ '${when}' ] }`;
  });
  const accept =
    "  - { id: a, title: A, action: accept, mode: live, when: [ 'delivery.quantity > 0' ] }";
  const files = [
    { path: 'settings.yaml', text: 'version: 1\n' },
    { path: 'r.yaml', text: `rules:\n${accept}\n${rules.join('\n')}\n` },
  ];
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  return { ruleSet: loaded.ruleSet, files };
}

const barcodeOf = (at: number): string => `57${String(at % VARIANTS).padStart(11, '0')}`;

function linesOf(id: number) {
  return Array.from({ length: LINES }, (_, at) => ({
    ...{ barcode: barcodeOf(id * 7 + at * 13), quantity: 1 + ((id + at) % 6), price: 100 },
  }));
}

function orderOf(id: number, at: number, status = 'pending') {
  const shippingAddress = { countryCode: 'DK', accountNo: `C-${id % ACCOUNTS}` };
  return {
    ...{ orderId: id, reference: `PO-${id}`, orderNo: `SO-${id}`, status, completed: false },
    ...{ createdAt: new Date(at).toISOString(), currency: 'DKK', comment: 'none', shippingAddress },
    orderLineItems: linesOf(id),
  };
}

/** Everything that the mirror is told on a day. */
async function tellDay(store: SqliteStore, clock: ManualClock, day: number): Promise<void> {
  const at = clock.now();
  const by = { at, readSeq: day + 1, source: `run:${day + 1}` };
  const ids = Array.from({ length: A_DAY }, (_, index) => day * A_DAY + index + 1);
  const variants = Array.from({ length: VARIANTS }, (_, index) => {
    const details = { weight: 100 + ((index * 31 + (index % 40 === day ? 5 : 0)) % 700) };
    return STOCK_VARIANT.toRow({ barcode: barcodeOf(index), quantity: 9_000 - day, details });
  });
  const over = ids.map((id) => id - 3 * A_DAY).filter((id) => id > 0);
  await store.transaction(async (tx) => {
    await upsertRows(tx, STOCK_VARIANT, variants, by);
    await writeOrders(
      tx,
      [
        ...ids.map((id) => orderOf(id, at)),
        ...over.map((id) => orderOf(id, at - 3 * DAY_MS, id % 20 === 0 ? 'canceled' : 'fulfilled')),
      ],
      by,
    );
    const deliveries = ids.map((id) => ({
      ...{ orderDeliveryId: id, orderId: id, status: 'pending' },
      fulfilledLineItems: linesOf(id).map(({ quantity, ...line }) => {
        return { ...line, fulfilledQuantity: quantity };
      }),
    }));
    await writeDeliveries(tx, deliveries, by);
    const returned = over.filter((id) => id % 12 === 0);
    const refunds = returned.map((id) => {
      return { orderRefundId: id, orderId: id, status: 'pending', refundedLineItems: [] };
    });
    await writeRefunds(tx, refunds, by);
  });
  const state = { complete_at: at, due_at: at };
  const rest = { last_run_id: null, complete_rows: 1, last_error: null };
  await store.db
    .insertInto('stream_state')
    .values({ stream: 'stock', ...state, ...rest })
    .onConflict((conflict) => conflict.column('stream').doUpdateSet(state))
    .execute();
}

async function decideAll(store: SqliteStore, clock: ManualClock, until: number): Promise<void> {
  const rules = rulesOf(CONDITIONS, 8);
  const nothing = () => undefined;
  let decided = 0;
  const decider = createDecider({
    ...{ store, clock, log: silentLogger(), settleMs: 0, reconsiderMs: DAY_MS },
    ...{ freshness: { stock: DAY_MS }, rules: () => rules, mode: () => 'live', onPush: nothing },
    onDecided: () => {
      decided += 1;
    },
  });
  const stop = new AbortController();
  const done = decider.run(stop.signal);
  while (decided < until) await nextTurn();
  stop.abort();
  await done;
  await store.db
    .updateTable('outbox')
    .set({ state: 'confirmed', ended_at: clock.now() })
    .where('ended_at', 'is', null)
    .execute();
  await store.db.updateTable('delivery').set({ status: 'accepted' }).execute();
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const clock = manualClock();
const path = join(folder, 'mirror.db');
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
const since = clock.now();
for (let day = 0; day < DAYS; day += 1) {
  await tellDay(store, clock, day);
  await clock.advance(60_000);
  await decideAll(store, clock, A_DAY);
  await clock.advance(DAY_MS - 60_000);
}
const period = { since, until: clock.now() };
const fifty = rulesOf([...CONDITIONS, ...CONDITIONS, ...CONDITIONS, ...COSTLY], 50).ruleSet;
const costs: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const cpu = process.cpuUsage();
  const report = await backtest(store.db, period, { rules: fifty });
  const { user, system } = process.cpuUsage(cpu);
  costs.push((user + system) / 1e6);
  const kinds = report.agreement.map(({ outcome, deliveries }) => `${outcome} ${deliveries}`);
  console.log(`${report.deliveries} deliveries: ${kinds.join(', ')}`);
}
const median = costs.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
console.log(`backtest of ${DAYS} days under 50 rules: ${median.toFixed(2)} s of CPU`);
tell(lower(`backtest of ${DAYS} days, 50 rules, CPU s`, median));
await store.close();
rmSync(folder, { recursive: true });
