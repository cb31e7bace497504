/**
 * The page of everyday SQL and the reports, on a mirror as the demo makes it: pulled from the
 * reference service over two days, with deliveries that rules decided. Both are asked of one file.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createStockCounter } from '../../src/mirror/stock-count.ts';
import { exchangeFile } from '../../src/store/exchange/exchange.ts';
import { openStore } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import {
  startTestDaemon,
  startTestReference,
  testConfig,
  until,
  withStreams,
} from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { everydayQuestions, pick, type Row, sorted, sums } from './rows.ts';

const DAY = 86_400_000;
const LISTS = withStreams('brands', 'seasons', 'stock', 'season');

interface Answer {
  readonly report: readonly [name: string, given?: Readonly<Record<string, string>>];
  /** Columns that a statement and its report share; compared without order. */
  told(rows: readonly Row[]): unknown[];
  found(rows: readonly Row[]): unknown[];
}

/** Columns that both have by the same names. */
function columns(...names: string[]): Pick<Answer, 'told' | 'found'> {
  const picked = (rows: readonly Row[]) => pick(rows, ...names);
  return { told: picked, found: picked };
}

/** Sizes with pieces; a report's column of a size that a color lacks is empty. */
function cellsOf(color: unknown, sizes: object): unknown[] {
  const known = Object.entries(sizes).filter(([, pieces]) => pieces !== null);
  return known.map(([size, pieces]) => [color, size, pieces]);
}

/** Columns of stock-grid beside those of the sizes. */
const NO_SIZES = ['brand_name', 'style_no', 'style_name', 'color_code', 'color_name'];

function sizesOf(row: Row): Row {
  const no = [...NO_SIZES, 'figure', 'total'];
  return Object.fromEntries(Object.entries(row).filter(([name]) => !no.includes(name)));
}

/** The least that is left of a variant in a season, over its windows. */
function ends(rows: readonly Row[]): unknown[] {
  const names = ['style_no', 'color_name', 'size', 'season_name'];
  const groups = Map.groupBy(rows, (row) => JSON.stringify(pick([row], ...names)[0]));
  return [...groups.values()].flatMap((all) => {
    const missing = -Math.min(...all.map(({ ats }) => Number(ats)));
    return pick([{ ...all[0], missing }], ...names, 'missing');
  });
}

/** By the beginning of the page's question: the report that answers it. */
function answersOn(style: string, now: number): Readonly<Record<string, Answer>> {
  const yesterday = new Date(now - DAY).toISOString().slice(0, 10);
  const book = ['season_name', 'delivery_name', 'from_day', 'orders'];
  const stockAt = { style, at: `${yesterday}T23:59:59Z` };
  return {
    'The stock of a style as a grid': {
      report: ['stock-grid', { style, show: 'in stock' }],
      told: (rows) =>
        rows.flatMap((row) => cellsOf(row.color_name, JSON.parse(String(row.by_size)))),
      found: (rows) => rows.flatMap((row) => cellsOf(row.color_name, sizesOf(row))),
    },
    'What sold last week': {
      report: ['best-sellers', { since: '7d', top: '5000' }],
      ...columns('style_no', 'style_name', 'pieces', 'amount', 'currency'),
    },
    'What is held': {
      report: ['held-deliveries'],
      told: (rows) => pick(rows, 'reason', 'currency', 'deliveries', 'amount'),
      found: (rows) =>
        sums(
          rows.map((row) => ({ ...row, deliveries: 1 })),
          ['reason', 'currency'],
          ...['deliveries', 'amount'],
        ),
    },
    'The order book': {
      report: ['order-book', { by: 'window' }],
      told: (rows) => pick(rows, ...book, 'pieces', 'fulfilled', 'amount', 'currency'),
      found: (rows) => pick(rows, ...book, 'ordered', 'shipped', 'amount', 'currency'),
    },
    'What has changed since yesterday': {
      report: ['changed-since', { since: yesterday }],
      told: (rows) => pick(rows, 'entity', 'op', 'changes'),
      found: (rows) => sums(rows, ['entity', 'op'], 'changes'),
    },
    'The stock of a style on a past day': {
      report: ['stock-as-of', stockAt],
      ...columns('color_name', 'size', 'quantity'),
    },
    'Customers over their credit limit': {
      report: ['customers', { only: 'over-limit' }],
      ...columns('account_no', 'company', 'credit_limit', 'balance', 'open_amount'),
    },
    'What is sold beyond': {
      report: ['ats', { show: 'oversold' }],
      told: (rows) => pick(rows, 'style_no', 'color_name', 'size', 'season_name', 'missing'),
      found: ends,
    },
    'Open orders by customer': {
      report: ['open-orders'],
      ...columns('company', 'account_no', 'orders', 'pieces', 'amount', 'currency'),
    },
    'The value of the stock': {
      report: ['stock-value'],
      ...columns('brand_name', 'pieces', 'wholesale_value', 'currency'),
    },
    'What is left to sell of a style': {
      report: ['ats', { style }],
      ...columns('color_name', 'size', 'season_name', 'delivery_name', 'ats'),
    },
  };
}

/** Moves what the mirror has into the past, as days without the daemon do. */
function age(path: string, days: number): void {
  const database = new Database(path);
  const ms = days * DAY;
  database.exec(`update change set at = at - ${ms};
    update change_hour set hour = hour - ${days * 24};
    update stock_variant_row set first_seen_at = first_seen_at - ${ms}`);
  database.close();
}

it('asked by the SQL of the page has the answer of its report, on a pulled mirror', async () => {
  const clock = systemClock();
  const reference = await startTestReference({
    world: { styles: 60, brands: 3, orders: 30 },
    life: { ordersPerMinute: 60, packAfter: '1s', preOrderShare: 0.3, refundShare: 0 },
  });
  const folder = temporaryFolder();
  const config = testConfig(reference, { folder, overrides: LISTS });
  const path = join(config.dataDir, 'mirror.db');
  const ask = (sql: string): Row[] => {
    const database = new Database(path, { readonly: true });
    const rows = database.prepare<[], Row>(sql).all();
    database.close();
    return rows;
  };
  const earlier = await startTestDaemon(reference, config);
  await until('the lists, a delivery that the rules accepted, and one that they hold', () => {
    const pulled = ask(`select 1 from stream_state
      where stream in ('stock', 'season', 'ordersFull') and complete_at is not null`);
    const sold = ask("select 1 from v_delivery_line where status = 'accepted' limit 1");
    const held = ask('select 1 from v_held_delivery limit 1');
    return (pulled.length === 3 && sold.length > 0 && held.length > 0) || undefined;
  });
  await earlier.stop();
  age(path, 1);

  const [packed] = ask(`select style_no, account_no from v_delivery_line
    where style_no in (select style_no from v_stock) and status = 'pending' and account_no <> ''`);
  const style = String(packed?.style_no);
  const moved = ask(`select barcode, quantity from v_stock where style_no = '${style}'`);
  const { catalog, stock } = reference.world;
  for (const [at, { barcode }] of moved.entries()) {
    stock.set(catalog.variantOf(String(barcode)) ?? -1, 100 + at);
  }
  foreignSql(
    exchangeFile(config),
    `insert into erp_customer (account_no, credit_limit, balance, currency)
     values ('${packed?.account_no}', 100, 250.5, 'EUR')`,
  );
  const questions = everydayQuestions().map(({ question, sql }) => {
    const yesterday = new Date(clock.now() - DAY).toISOString().slice(0, 10);
    const own = sql.replaceAll('S-1001', style).replaceAll('2026-03-31', yesterday);
    return { question, isLine: !sql.includes('\n'), sql: own };
  });
  const daemon = await startTestDaemon(reference, config);
  await until('the stock as it was moved, and something to answer to each question', () => {
    const changed = ask(`select 1 from v_recent_change where entity = 'stock_variant'`);
    return (changed.length > 0 && questions.every(({ sql }) => ask(sql).length > 0)) || undefined;
  });
  await daemon.stop();
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  await createStockCounter({ store, clock, sizeOrder: [], timeZone: () => 'UTC' })(
    new AbortController().signal,
  );
  await store.close();

  const file = join(folder, 'selvedge.yaml');
  const service = 'service: { v1: { baseUrl: http://127.0.0.1:9/api/v1, apiKey: { env: KEY } } }';
  writeFileSync(file, `dataDir: ${config.dataDir}\n${service}\n`);
  const answers = answersOn(style, clock.now());
  expect(questions.map(({ isLine }) => isLine)).not.toContain(false);
  for (const { question, sql } of questions) {
    const key = Object.keys(answers).find((one) => question.startsWith(one));
    const answer = answers[key ?? ''];
    if (!answer) throw new Error(`no report is compared with: ${question}`);
    const [name, given = {}] = answer.report;
    const parts = Object.entries(given).flatMap(([one, value]) => ['--param', `${one}=${value}`]);
    const args = ['report', 'run', name, ...parts, '--format', 'json', '--config', file];
    const { stdout, stderr, code } = await selvedge(args, { KEY: 'key-4711' });
    expect({ code, stderr }, question).toMatchObject({ code: 0 });
    const told = sorted(answer.told(ask(sql)));
    expect(told.length, question).toBeGreaterThan(0);
    expect(sorted(answer.found(JSON.parse(stdout))), question).toEqual(told);
  }
  expect(questions).toHaveLength(Object.keys(answers).length);
  // The past day is not today: what was moved since then counts there as it was.
  const before = questions.find(({ question }) => question.includes('past day'));
  expect(sorted(pick(ask(before?.sql ?? ''), 'quantity'))).toEqual(sorted(pick(moved, 'quantity')));
});
