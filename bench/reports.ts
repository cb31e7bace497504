/**
 * How long every report takes on a large mirror while a writer works: 1,000,000 variants,
 * 10,000,000 changes of stock, 200,000 orders with a delivery and a decision each.
 *
 * `node bench/reports.ts [thousands of variants]` (default 1000; the rest in proportion). Medians
 * of five; what SQLite takes, without the start of a process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import { systemClock } from '../src/lib/clock.ts';
import { bindParameters } from '../src/report/parameters.ts';
import { readReports } from '../src/report/report-file.ts';
import { openReader, openWriter } from '../src/store/connection.ts';
import { openStore } from '../src/store/store.ts';
import { cell, median, report as record, table } from './support/results.ts';

const VARIANTS = Number(process.argv[2] ?? 1_000) * 1_000;
const CHANGES = VARIANTS * 10;
const ORDERS = VARIANTS / 5;
const LINES = 4;
const ROUNDS = 5;
const BUSY = { busyTimeoutMs: 5_000 };
const DAY = 86_400_000;

const NUMBERS = 'with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 <';
const BARCODE = '5700000000000 +';

/** A year of trade up to now, by arithmetic: the same rows each time. */
function fill(database: Database.Database): void {
  const now = Date.now();
  const at = (share: string): string => `${now - 365 * DAY} + cast(${share} * ${365 * DAY} as int)`;
  const run = (sql: string): void => {
    database.transaction(() => database.exec(sql)).immediate();
  };
  run(`${NUMBERS} ${VARIANTS}) insert into stock_variant_row (barcode, quantity, season_name,
      style_no, style_name, brand_name, color_code, color_name, size, currency, price, wsp_price,
      extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select ${BARCODE} i, i % 40, 'AW26', 'S-' || (i / 30), 'Style ' || (i / 30),
      'Brand ' || (i / 30 % 20), printf('%02d', i / 6 % 5), 'color ' || (i / 6 % 5),
      json_extract('["XS","S","M","L","XL","XXL"]', '$[' || (i % 6) || ']'), 'DKK', 19995, 8000,
      '{"careLabelWash":"30","customsTariffNumber":"6204430000","images":["https://img/' || i ||
        '/1.jpg","https://img/' || i || '/2.jpg"],"styleDescription":"A coat of wool and more"}',
      'hash', ${now - 365 * DAY}, ${now}, 1, 'run:1' from n`);
  for (let first = 0; first < CHANGES; first += 500_000) {
    const count = Math.min(500_000, CHANGES - first);
    run(`${NUMBERS} ${count}) insert into change (at, entity, key, op, diff, cause)
      select ${at(`((i + ${first}.0) / ${CHANGES})`)}, 'stock_variant',
        ${BARCODE} ((i + ${first}) * 7919 % ${VARIANTS}), 'update',
        '{"quantity":[' || (i % 40) || ',' || (i % 37) || ']}', 'run:1' from n`);
  }
  const old = `i < ${ORDERS} * 0.98`;
  run(`${NUMBERS} ${ORDERS}) insert into sales_order (order_id, reference, order_no, status,
      completed, created_at, currency, country_code, company, account_no, shipping_address, extra,
      content_hash, first_seen_at, changed_at, read_seq, source)
    select i + 1, 'PO-' || i, 'O-' || i, iif(${old}, 'fulfilled', 'pending'), ${old},
      ${at(`(i * 1.0 / ${ORDERS})`)}, 'DKK', 'DK', 'Shop ' || (i % 900), 'A-' || (i % 900), '{}',
      '{}', 'h', 0, 0, 1, 'run:1' from n`);
  run(`${NUMBERS} ${ORDERS * LINES}) insert into sales_order_line (order_id, line_no, barcode,
      quantity, fulfilled_quantity, price, season_name, delivery_name, extra)
    select i / ${LINES} + 1, i % ${LINES}, ${BARCODE} (i * 31 % ${VARIANTS}), 2,
      iif(i / ${LINES} < ${ORDERS} * 0.98, 2, 1), 8000, iif(i / ${LINES} % 4 = 0, 'AW26', null),
      iif(i / ${LINES} % 4 = 0, 'August', null), '{}' from n`);
  run(`${NUMBERS} ${ORDERS}) insert into delivery (order_delivery_id, delivery_no, order_id, status,
      created_at, tracking_numbers, tracking_links, extra, content_hash, first_seen_at, changed_at,
      read_seq, source)
    select i + 1, 'D-' || i, i + 1, iif(i < ${ORDERS} * 0.995, 'accepted', 'pending'),
      ${at(`(i * 1.0 / ${ORDERS})`)}, '[]', '[]', '{}', 'h', 0, 0, 1, 'run:1' from n`);
  run(`insert into delivery_line (order_delivery_id, line_no, barcode, fulfilled_quantity, price,
      extra)
    select order_id, line_no, barcode, 2, price, '{}' from sales_order_line`);
  run(`${NUMBERS} ${ORDERS}) insert into decision (decision_id, order_delivery_id, order_id, at,
      trigger, actor, rule_set_hash, facts_digest, mode, outcome, reason, rules, shadow, said,
      matched, lapsed, evaluation, previous_hash, hash)
    select i + 1, i + 1, i + 1, ${at(`(i * 1.0 / ${ORDERS})`)}, 'new', 'daemon', 'r', 'f', 'live',
      iif(i % 9 = 0 or i >= ${ORDERS} * 0.995, 'hold', 'accept'), 'why', '["rule-' || (i % 8) ||
      '"]', '{}', 'accept', '[]', '[]', cast(printf('%01000d', i) as blob), '',
      'h' || i from n`);
  run(`insert into evaluation (order_delivery_id, decision_id, delivery_hash, order_hash, rules_key,
      evaluated_at)
    select order_delivery_id, decision_id, 'h', 'h', 'r', at from decision`);
  run(`insert into outbox
      (kind, ordering_key, reference, body, body_hash, state, due_at, created_at, ended_at,
      cause, order_delivery_id, decision_id)
    select 'delivery_status', 'delivery/' || order_delivery_id,
      'delivery/' || order_delivery_id || '/decision/' || decision_id, '{"status":"accepted"}', 'h',
      'confirmed', at, at, at, 'decision:' || decision_id, order_delivery_id, decision_id
    from decision where outcome = 'accept'`);
  run(`${NUMBERS} ${ORDERS / 10}) insert into outbox
      (kind, ordering_key, reference, body, body_hash, state, due_at, created_at, ended_at,
      cause, result)
    select 'order', 'order/' || i, 'ERP-' || i, '{}', 'h', 'confirmed', 0,
      ${at(`(i * 10.0 / ${ORDERS})`)}, 1, 'intake:1', '{"orderId":1}' from n`);
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = join(folder, 'mirror.db');
try {
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.close();
  const from = performance.now();
  const writer = openWriter(path, BUSY);
  fill(writer);
  writer.close();
  console.log(`filled in ${((performance.now() - from) / 1_000).toFixed(0)} s`);
  const other = fork(join(import.meta.dirname, 'support/report-writer.ts'), [
    path,
    String(VARIANTS),
  ]);
  // Else small mirrors would be read before anything is written.
  await once(other, 'message');
  const reader = openReader(path, BUSY);
  const given: Record<string, string> = { style: 'S-1', season: 'AW26', at: '90d' };
  const lines: string[][] = [];
  for (const report of readReports('').reports) {
    const names = Object.keys(report.params).filter((name) => given[name] !== undefined);
    const chosen = Object.fromEntries(names.map((name) => [name, given[name] ?? '']));
    const values = bindParameters(report, chosen, systemClock());
    const statement = reader.prepare(report.sql);
    let rows = 0;
    const times = Array.from({ length: ROUNDS }, () => {
      const start = performance.now();
      rows = 0;
      for (const _ of statement.iterate(values)) {
        rows += 1;
        if (rows === 10_000) break;
      }
      return performance.now() - start;
    });
    const [first = 0] = times;
    lines.push([report.name, cell(median(times), 0), cell(first, 0), String(rows)]);
  }
  reader.close();
  other.disconnect();
  const counts = `${VARIANTS} variants, ${CHANGES} changes of stock, ${ORDERS} orders`;
  const intro = `Median of ${ROUNDS} on a mirror of ${counts}, while a writer works.`;
  const titles = ['report', 'ms', 'first, ms', 'rows'];
  record('Reports on a large mirror', `${intro}\n\n${table(titles, lines)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
