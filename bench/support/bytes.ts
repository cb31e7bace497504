/**
 * Bytes that the life of one order leaves in the feed and the journal: 40 lines, packed in 10
 * parts, each accepted, under a set of many rules. Nothing of it is deleted before years are over.
 *
 * `node bench/support/bytes.ts [rules]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { createDecider } from '../../src/decisions/decider.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { loadRules } from '../../src/rules/load.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { writeDeliveries } from './moved.ts';

const LINES = 40;
const PARTS = 10;
const PIECES = 12;

/** Rules as people write them: each looks at some facts and holds what is odd. */
function manyRules(count: number): string {
  const rules = Array.from(
    { length: count - 1 },
    (_, at) => `  - id: hold-${at}
    title: Deliveries of more than ${1_000 + at} pieces to a country that is not usual for us
    action: hold
    mode: live
    when:
      - delivery.quantity > ${1_000 + at}
      - '!(order.country in ["DK", "SE", "NO"])'
      - delivery.lines.all(line, line.quantity > ${at})
    message: '{{delivery.quantity}} pieces for {{order.company}}'
`,
  );
  return `rules:
  - { id: accept-rest, title: The rest, action: accept, mode: live, when: [delivery.quantity > 0] }
${rules.join('')}`;
}

function orderWith(packed: number) {
  const begun = packed === 0 ? 'pending' : 'partially_fulfilled';
  return {
    orderId: 1,
    orderNo: 'SO-1',
    reference: 'PO-1',
    status: packed === LINES ? 'fulfilled' : begun,
    completed: packed === LINES,
    createdAt: '2026-01-05T08:00:00Z',
    currency: 'DKK',
    shippingAddress: { company: 'Shop 1', countryCode: 'DK', accountNo: 'C-1' },
    orderLineItems: Array.from({ length: LINES }, (_, line) => ({
      barcode: String(5_701_234_000_000 + line),
      quantity: PIECES,
      fulfilledQuantity: line < packed ? PIECES : 0,
      price: 249.5,
      season: 'Autumn 2026',
      delivery: 'Delivery 1',
    })),
  };
}

function deliveryOf(part: number, status: string) {
  const size = LINES / PARTS;
  return {
    orderDeliveryId: part,
    orderId: 1,
    deliveryNo: `DN-${part}`,
    status,
    createdAt: '2026-01-06T08:00:00Z',
    fulfilledLineItems: Array.from({ length: size }, (_, line) => ({
      barcode: String(5_701_234_000_000 + (part - 1) * size + line),
      fulfilledQuantity: PIECES,
      price: 249.5,
      season: 'Autumn 2026',
      delivery: 'Delivery 1',
    })),
  };
}

async function bytesIn({ db }: Store) {
  const { rows } = await sql<{ readonly feed: number; readonly records: number }>`
    select (select sum(length(diff) + length(key) + length(entity) + length(cause) + 16)
        from change) feed,
      (select sum(length(evaluation) + length(reason) + length(rules) + length(shadow))
        from decision)
        + (select sum(length(facts)) from fact_snapshot) records`.execute(db);
  const { feed = 0, records = 0 } = rows[0] ?? {};
  return { feed, records, total: feed + records };
}

/** Lets the order live; what the rule set itself stores once is not counted. */
export async function bytesOfOneOrder(rules: number) {
  const clock = systemClock();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const { store } = await openStore(
    { path: join(folder, 'mirror.db'), busyTimeoutMs: 5_000 },
    clock,
  );
  const files = [{ path: 'rules.yaml', text: manyRules(rules) }];
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  const { ruleSet } = loaded;
  let seq = 0;
  const provenance = () => ({ source: 'refresh:event:1', readSeq: ++seq, at: clock.now() });
  let decided = 0;
  const decider = createDecider({
    ...{ store, clock, log: silentLogger(), settleMs: 0, freshness: {}, reconsiderMs: 900_000 },
    ...{ rules: () => ({ ruleSet, files }), mode: () => 'live', onPush: () => undefined },
    onDecided: () => {
      decided += 1;
    },
  });
  const stop = new AbortController();
  await store.transaction((tx) => writeOrders(tx, [orderWith(0)], provenance()));
  const running = decider.run(stop.signal);
  for (let part = 1; part <= PARTS; part += 1) {
    await store.transaction(async (tx) => {
      await writeOrders(tx, [orderWith((part * LINES) / PARTS)], provenance());
      await writeDeliveries(tx, [deliveryOf(part, 'pending')], provenance());
    });
    decider.wake();
    while (decided < part) await nextTurn();
    const accepted = deliveryOf(part, 'accepted');
    await store.transaction((tx) => writeDeliveries(tx, [accepted], provenance()));
  }
  stop.abort();
  await running;
  const bytes = await bytesIn(store);
  await store.close();
  rmSync(folder, { recursive: true });
  return bytes;
}

if (import.meta.filename === process.argv[1]) {
  console.log(JSON.stringify(await bytesOfOneOrder(Number(process.argv[2] ?? 200))));
}
