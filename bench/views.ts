/**
 * How long the everyday question of each view takes: on 1,000,000 variants, 3,000,000 changes of
 * stock in 30 days, and 200,000 orders with a delivery and a decision each.
 *
 * `node bench/views.ts [--thousands 1000] [--keep FILE]`: thousands of variants, the rest in
 * proportion; a kept file is used again by the next run. Medians of five in one connection; what
 * SQLite takes, without the start of a process. CPU says more on a machine that is busy.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import { openReader, openWriter } from '../src/store/connection.ts';
import { openStore } from '../src/store/store.ts';
import { fillMirror } from './support/large-mirror.ts';
import { cell, median, report, table } from './support/results.ts';

const { values } = parseArgs({
  options: { thousands: { type: 'string', default: '1000' }, keep: { type: 'string' } },
});
const VARIANTS = Number(values.thousands) * 1_000;
const SIZE = { variants: VARIANTS, changes: VARIANTS * 3, orders: VARIANTS / 5, days: 30 };
const ROUNDS = 5;
const BUSY = { busyTimeoutMs: 5_000 };

/** Reads the whole feed, and is asked once. */
const WITHOUT_HOURS = 'v_change since yesterday, without it';

const ASKED: readonly (readonly [name: string, sql: string])[] = [
  ['v_recent_change, by kind', 'select entity, op, count(*) from v_recent_change group by 1, 2'],
  [
    'v_change since yesterday, by v_change_hour',
    `select entity, op, count(*) from v_change
     where seq >= (select min(first_seq) from v_change_hour
         where hour >= strftime('%Y-%m-%dT%H:00:00Z', 'now', '-1 day'))
       and at >= strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 day')
     group by 1, 2`,
  ],
  [WITHOUT_HOURS, "select count(*) from v_change where at >= date('now', '-1 day')"],
  ['v_order, one', 'select * from v_order where order_id = 777'],
  ['v_order, of a customer', "select * from v_order where account_no = 'A-7'"],
  ['v_order, open', 'select order_no, open_pieces, open_amount from v_order where completed = 0'],
  [
    'v_order, value by country of a year',
    'select country_code, currency, count(*), sum(amount) from v_order group by 1, 2',
  ],
  ['v_order_line, of a style', "select * from v_order_line where style_no = 'S-100'"],
  ['v_order_line, of an order', 'select * from v_order_line where order_id = 777'],
  [
    'v_delivery_line, sold in a week by style',
    `select style_no, sum(pieces), sum(amount) from v_delivery_line
     where packed_at >= date('now', '-7 days') and status = 'accepted' group by 1 order by 2 desc`,
  ],
  ['v_delivery_line, of a style', "select * from v_delivery_line where style_no = 'S-100'"],
  ['v_customer, one', "select * from v_customer where account_no = 'A-7'"],
  [
    'v_customer, over the limit',
    'select account_no, credit_left from v_customer where credit_left < 0',
  ],
  [
    'v_customer, open of all',
    'select account_no, open_orders, open_amount from v_customer where open_orders > 0',
  ],
  ['v_customer, value of all', 'select account_no, orders, amount from v_customer'],
  ['v_customer, held share of all', 'select account_no, held, held_percent from v_customer'],
  ['v_refund, of a customer', "select * from v_refund where account_no = 'A-7'"],
  ['v_refund, all', 'select currency, sum(pieces), sum(amount) from v_refund group by 1'],
  ['v_season', 'select * from v_season'],
  ['v_style, one', "select * from v_style where style_no = 'S-100'"],
  ['v_style, pieces of all', 'select style_no, quantity from v_style'],
  ['v_size', 'select * from v_size order by rank'],
  [
    'v_stock_day, value by brand',
    "select brand_name, sum(wsp_value) from v_stock_day where day = date('now') group by 1",
  ],
  ['v_stock_day, all', 'select day, sum(pieces) from v_stock_day group by 1'],
  [
    'v_style_stock_day, a style on a day',
    "select * from v_style_stock_day where style_no = 'S-100' and day = date('now', '-10 days')",
  ],
  [
    'v_style_stock_day, a style on all days',
    "select day, sum(quantity) from v_style_stock_day where style_no = 'S-100' group by 1",
  ],
  ['v_ats, of a style', "select * from v_ats where style_no = 'S-100'"],
  ['v_to_pack, all', 'select season_name, sum(to_pack) from v_to_pack group by 1'],
  ['v_oversold, all', 'select count(*), sum(missing) from v_oversold'],
  ['v_stock_grid, of a style', "select * from v_stock_grid where style_no = 'S-100'"],
  ['v_preorder_book', 'select * from v_preorder_book'],
  ['v_decision_hour, all', 'select hour, sum(decisions) from v_decision_hour group by 1'],
  ['v_held_delivery', 'select reason, count(*), sum(amount) from v_held_delivery group by 1'],
];

async function prepare(path: string): Promise<void> {
  if (existsSync(path)) return;
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.close();
  const from = performance.now();
  const writer = openWriter(path, BUSY);
  fillMirror(writer, SIZE);
  writer.close();
  console.log(`filled in ${((performance.now() - from) / 1_000).toFixed(0)} s`);
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = values.keep ?? join(folder, 'mirror.db');
try {
  await prepare(path);
  const reader = openReader(path, BUSY);
  const lines = ASKED.map(([name, sql]) => {
    const statement = reader.prepare(sql);
    let rows = 0;
    const times: number[] = [];
    const cpu: number[] = [];
    const rounds = name === WITHOUT_HOURS ? 1 : ROUNDS;
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      const before = process.cpuUsage();
      rows = statement.all().length;
      const { user, system } = process.cpuUsage(before);
      times.push(performance.now() - start);
      cpu.push((user + system) / 1_000);
    }
    console.log(`${name}: ${cell(median(times), 1)} ms, CPU ${cell(median(cpu), 1)} ms`);
    return [name, cell(median(times), 0), cell(median(cpu), 0), String(rows)];
  });
  reader.close();
  const counts = `${SIZE.variants} variants, ${SIZE.changes} changes, ${SIZE.orders} orders`;
  const goal = 'Goal: 1 s of CPU each, 0.3 s for what changed since yesterday.';
  const intro = `Median of ${ROUNDS} on a mirror of ${counts}. ${goal}`;
  const titles = ['question', 'ms', 'CPU ms', 'rows'];
  report('Views on a large mirror', `${intro}\n\n${table(titles, lines)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
