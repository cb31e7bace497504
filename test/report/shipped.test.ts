/** The reports that come along: against the everyday SQL of the documents, and against loops. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { createStockCounter } from '../../src/mirror/stock-count.ts';
import { bindParameters } from '../../src/report/parameters.ts';
import { readReports } from '../../src/report/report-file.ts';
import { declaredKind } from '../../src/report/words/columns.ts';
import { openStore } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import {
  startTestDaemon,
  startTestReference,
  testConfig,
  until,
  withStreams,
} from '../support/house.ts';
import { placeDatabase, temporaryStore } from '../support/store.ts';
import { everydayQuestions, pick, type Row, sorted, sums } from './rows.ts';
import { ats, wantedAts } from './trade/expected.ts';
import { insertSeasonOfTrade } from './trade/season.ts';
import { COMMON, insertRow, makeWorld, mirrorOf, NOTHING } from './trade/world.ts';

type Given = Readonly<Record<string, string>>;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A report's SQL with its parameters, of which the others have their defaults. */
function queryOf(name: string, given: Given = {}) {
  const report = readReports('').reports.find((one) => one.name === name);
  if (!report) throw new Error(`there is no report ${name}`);
  return { sql: report.sql, values: bindParameters(report, given, systemClock()) };
}

/** The statement below the question that begins so. */
function everyday(question: string): string {
  const found = everydayQuestions().find((one) => one.question.startsWith(question));
  if (!found) throw new Error(`the page does not ask: ${question}`);
  return found.sql;
}

describe('an everyday question', () => {
  const now = systemClock().now();
  const dayOf = (ago: number): string => new Date(now - ago * DAY).toISOString().slice(0, 10);
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'));
  const path = join(folder, 'data', 'mirror.db');
  const config = join(folder, 'selvedge.yaml');

  beforeAll(async () => {
    placeDatabase(path);
    const database = new Database(path);
    insertSeasonOfTrade(database, now);
    database.close();
    const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
    const counter = createStockCounter({
      store,
      clock: systemClock(),
      sizeOrder: [],
      timeZone: () => 'UTC',
    });
    await counter(new AbortController().signal);
    await store.close();
    const service = 'service: { v1: { baseUrl: http://127.0.0.1:9/api/v1, apiKey: { env: KEY } } }';
    writeFileSync(config, `dataDir: ${join(folder, 'data')}\n${service}\n`);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function asked(question: string, change = (sql: string): string => sql): Row[] {
    const database = new Database(path, { readonly: true });
    const sql = change(everyday(question)).replaceAll('S-1001', 'S-1');
    const rows = database.prepare<[], Row>(sql).all();
    database.close();
    expect(rows.length, question).toBeGreaterThan(0);
    return rows;
  }

  async function reported(name: string, given: Given = {}): Promise<Row[]> {
    const params = Object.entries(given).flatMap(([key, value]) => ['--param', `${key}=${value}`]);
    const args = ['report', 'run', name, ...params, '--format', 'json', '--config', config];
    const { stdout, stderr, code } = await selvedge(args, { KEY: 'key-4711' });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const rows: Row[] = JSON.parse(stdout);
    return rows;
  }

  /** The rows without the command line, which takes a second. */
  function direct(name: string, given: Given): Row[] {
    const database = new Database(path, { readonly: true });
    const { sql: text, values } = queryOf(name, given);
    const rows = database.prepare<[typeof values], Row>(text).all(values);
    database.close();
    return rows;
  }

  it('for the stock of a style has the cells of stock-grid', async () => {
    const rows = await reported('stock-grid', { style: 'S-1', show: 'in stock' });
    // The M is off the list, and has a column in the report because it is wanted.
    expect(pick(rows, 'color_name', 'S', 'M', 'L')).toEqual([
      ['black', 5, 0, null],
      ['red', 9, null, 4],
    ]);
    const grid = rows.map(({ color_name, total, S, L }) => [color_name, { S, L }, total]);
    const told = asked('The stock of a style').map(({ color_name, by_size, quantity }) => {
      const sizes = JSON.parse(String(by_size));
      return [color_name, { S: sizes.S ?? null, L: sizes.L ?? null }, quantity];
    });
    expect(grid).toEqual(told);
  });

  it('for what sold last week has the rows of best-sellers', async () => {
    const names = ['style_no', 'style_name', 'pieces', 'amount', 'currency'];
    const rows = pick(await reported('best-sellers', { since: '7d' }), ...names);
    expect(rows).toEqual(pick(asked('What sold last week'), ...names));
    expect(rows).toContainEqual(['S-2', 'Style S-2', 4, 238.5, 'EUR']);
  });

  it('for what is held has the sums of held-deliveries and of held-ageing', async () => {
    const list = (await reported('held-deliveries')).map((row) => ({ ...row, deliveries: 1 }));
    const sql = asked('What is held');
    const wanted = sorted(pick(sql, 'reason', 'currency', 'deliveries', 'amount'));
    expect(sorted(sums(list, ['reason', 'currency'], 'deliveries', 'amount'))).toEqual(wanted);
    const ages = await reported('held-ageing');
    expect(sorted(sums(ages, ['currency'], 'deliveries', 'amount'))).toEqual(
      sorted(sums(sql, ['currency'], 'deliveries', 'amount')),
    );
    expect(pick(ages, 'waits', 'held_by', 'deliveries')).toEqual([
      ['under a day', 'hold-credit', 1],
      ['3 to 7 days', 'hold-credit, hold-large', 1],
      ['a week or more', 'hold-stock', 1],
    ]);
  });

  it('for the order book by window has the rows of order-book', async () => {
    const rows = await reported('order-book', { by: 'window' });
    const names = ['season_name', 'delivery_name', 'from_day', 'orders'];
    expect(pick(rows, ...names, 'ordered', 'shipped', 'amount', 'currency')).toEqual(
      pick(asked('The order book'), ...names, 'pieces', 'fulfilled', 'amount', 'currency'),
    );
    expect(pick(rows, 'delivery_name', 'ordered', 'shipped', 'open', 'open_amount')).toEqual([
      ['August', 36, 4, 32, 2880],
      ['September', 25, 0, 25, 2250],
      [null, 3, 0, 3, 120],
    ]);
    for (const by of ['customer', 'country', 'brand', 'style']) {
      const parts = direct('order-book', { by });
      const sum = (all: readonly Row[]) =>
        sorted(
          sums(all, ['season_name', 'delivery_name', 'currency'], 'ordered', 'open', 'amount'),
        );
      expect(sum(parts), by).toEqual(sum(rows));
    }
    const brands = direct('order-book', { by: 'brand', season: 'SS27' });
    expect(pick(brands, 'name', 'ordered')).toEqual([['Nord', 3]]);
  });

  it('for the changes since yesterday has the counts of changed-since', async () => {
    const rows = await reported('changed-since', { since: dayOf(1) });
    expect(sorted(sums(rows, ['entity', 'op'], 'changes'))).toEqual(
      sorted(pick(asked('What has changed'), 'entity', 'op', 'changes')),
    );
    expect(pick(rows, 'changed')).toContainEqual(['wsp_price, quantity']);
  });

  it('for the stock on a past day has the quantities of stock-as-of', async () => {
    const day = dayOf(6);
    const rows = await reported('stock-as-of', { style: 'S-1', at: `${day}T23:59:59Z` });
    const told = asked('The stock of a style on a past day', (sql) =>
      sql.replace('2026-03-31', dayOf(5)),
    );
    expect(told.length).toBeGreaterThan(3);
    const at = { style: 'S-1', at: `${dayOf(5)}T23:59:59Z` };
    const names = ['color_name', 'size', 'quantity'];
    expect(pick(await reported('stock-as-of', at), ...names)).toEqual(pick(told, ...names));
    // The M went from 3 to 0 between the two days.
    expect(pick(rows, 'barcode', 'quantity')).toContainEqual(['101', 3]);
  });

  it('for the credit limit has the customers of customers', async () => {
    const names = ['account_no', 'company', 'credit_limit', 'balance', 'open_amount'];
    const rows = pick(await reported('customers', { only: 'over-limit' }), ...names);
    expect(rows).toEqual(pick(asked('Customers over'), ...names));
    expect(rows.map(([account]) => account)).toEqual(['A-1']);
  });

  it('for what is oversold has the negative ends of ats', async () => {
    const rows = await reported('ats', { show: 'oversold' });
    const names = ['style_no', 'color_name', 'size', 'season_name'];
    const ends = Map.groupBy(rows, (row) => JSON.stringify(pick([row], ...names)[0]));
    const missing = [...ends].map(([key, all]) => [
      ...JSON.parse(key),
      -Math.min(...all.map((row) => Number(row.ats))),
    ]);
    const told = pick(asked('What is sold beyond'), ...names, 'missing');
    expect(sorted(missing)).toEqual(sorted(told));
    expect(told).toContainEqual(['S-1', 'black', 'S', 'AW26', 1]);
  });

  it('for open orders has the rows of open-orders', async () => {
    const names = ['company', 'account_no', 'orders', 'pieces', 'amount', 'currency'];
    const rows = pick(await reported('open-orders'), ...names);
    expect(sorted(rows)).toEqual(sorted(pick(asked('Open orders'), ...names)));
    expect(rows).toContainEqual(['Shop A-1', 'A-1', 1, 1, 15, 'EUR']);
  });

  it('for the value of the stock has the rows of stock-value', async () => {
    const sql = pick(asked('The value of'), 'brand_name', 'pieces', 'wholesale_value', 'currency');
    const rows = await reported('stock-value');
    expect(pick(rows, 'brand_name', 'pieces', 'wholesale_value', 'currency')).toEqual(sql);
    expect(sql).toEqual([
      ['Fold', 18, 1800, 'DKK'],
      ['Nord', 15, 900, 'EUR'],
    ]);
  });

  it('for what is left to sell has the rows of ats for a style', async () => {
    const names = ['color_name', 'size', 'season_name', 'delivery_name', 'ats'];
    const told = sorted(pick(asked('What is left to sell of a style'), ...names));
    // The report also has what is off the list and still wanted.
    const gone = JSON.stringify(['black', 'M', null, null, -3]);
    const rows = pick(await reported('ats', { style: 'S-1' }), ...names);
    expect(sorted(rows)).toEqual([...told, gone].sort());
  });
});

describe('other reports', () => {
  it('say of the same weeks what people work out by hand', async () => {
    const store = await temporaryStore();
    const database = new Database(store.path);
    insertSeasonOfTrade(database, systemClock().now());
    const counter = createStockCounter({
      store,
      clock: systemClock(),
      sizeOrder: [],
      timeZone: () => 'UTC',
    });
    await counter(new AbortController().signal);
    const ask = (name: string, given: Given = {}) => {
      const { sql: text, values } = queryOf(name, given);
      return database.prepare<[typeof values], Row>(text).all(values);
    };
    expect(ask('fill-rate').map((row) => Object.values(row))).toEqual([
      ['A-2', 'Shop A-2', 1, 0, 4, 3, 1, 75, 0],
    ]);
    const prices = ['style_no', 'pieces', 'list_price', 'difference_percent', 'amount', 'currency'];
    // Nothing is compared across currencies, and a season's list comes before that of the stock.
    expect(pick(ask('price-differences', { percent: '0' }), ...prices)).toEqual([
      ['S-2', 3, 60, -33.3, -60, 'EUR'],
      ['S-2', 4, 60, -0.8, -2, 'EUR'],
    ]);
    expect(pick(ask('price-differences'), 'amount')).toEqual([[-60]]);
    const back = ['style_no', 'size', 'reason', 'refunds', 'pieces', 'restocked', 'amount'];
    expect(pick(ask('returns'), ...back)).toEqual([['S-1', 'S', 'return/credit', 1, 1, 1, 100]]);
    const ages = ['not_sold_for', 'name', 'pieces', 'wholesale_value', 'currency'];
    expect(pick(ask('stock-ageing'), ...ages)).toEqual([
      ['under 30 days', 'Nord', 12, 720, 'EUR'],
      ['under 30 days', 'Fold', 5, 500, 'DKK'],
      ['30 to 90 days', 'Fold', 13, 1300, 'DKK'],
      ['30 to 90 days', 'Nord', 3, 180, 'EUR'],
    ]);
    const agreed = sums(ask('agreement'), ['decided_by', 'became'], 'deliveries');
    expect(agreed).toEqual([['the rules', 'accepted', 4]]);
    const only = (name: string) => pick(ask('customers', { only: name }), 'account_no').flat();
    expect([only('open').sort(), only('held').sort()]).toEqual([
      ['A-1', 'A-2', 'A-3'],
      ['A-1', 'A-2'],
    ]);
    database.close();
  });
});

describe('the report ats', () => {
  it.each([1, 2, 3, 4, 5, 6])('says of made-up world %i what loops say', async (seed) => {
    const world = makeWorld(seed);
    const says = { stock: seed % 3 === 0 ? 'free' : 'onHand', season: 'onHand' };
    using mirror = await mirrorOf(world, says);
    const names = 'barcode, season_name, delivery_name, quantity, packed, to_pack, ats';
    const ask = (given: Given): unknown[] => {
      const { sql: text, values } = queryOf('ats', given);
      return mirror.ask(`select ${names} from (${text.replace(/;\s*$/, '')})`, values);
    };
    const all = ask({});
    expect(sorted(all)).toEqual(sorted(wantedAts(world, says)));
    const left = mirror.ask(
      `select ats from (${queryOf('ats').sql.replace(/;\s*$/, '')})`,
      queryOf('ats').values,
    );
    expect(left.flat()).toEqual(left.flat().toSorted((a, b) => Number(a) - Number(b)));
    const ofStyle = ask({ style: 'S-0' }).map((row) => JSON.stringify(row));
    const even = ats(world, says).filter(([barcode]) => Number(String(barcode).slice(1)) % 2 === 0);
    for (const row of even) expect(ofStyle).toContain(JSON.stringify(row));
  });
});

/** History of a variant, by days from a Monday: its quantity then, or null: off the list. */
type History = readonly (readonly [day: number, quantity: number | null])[];

const MONDAY = Date.UTC(2026, 0, 5);

const HISTORIES: Readonly<Record<string, readonly [style: string, history: History]>> = {
  a: [
    'S-1',
    [
      [0.1, 20],
      [2, 17],
      [8, 12],
      [16, 40],
      [20, 31],
    ],
  ],
  b: [
    'S-1',
    [
      [0.1, 5],
      [6.9, 4],
      [7.1, null],
      [15, 9],
    ],
  ],
  c: [
    'S-2',
    [
      [9, 7],
      [10, 6],
      [22, null],
    ],
  ],
  d: ['S-3', [[0.1, 3]]],
};

/** Accepted deliveries: day, and pieces of variants. */
const SOLD: readonly (readonly [day: number, pieces: Readonly<Record<string, number>>])[] = [
  [1, { a: 3 }],
  [6.5, { b: 1 }],
  [9, { a: 5, c: 1 }],
  [19, { a: 9 }],
  [22, { d: 2, c: 4 }],
];

describe('the report sell-through', () => {
  it('has the stock that each week ended with, as a diary of the stock has it', async () => {
    const { path } = await temporaryStore();
    const database = new Database(path);
    const entries = Object.entries(HISTORIES).flatMap(([barcode, [, history]]) =>
      history.map(([day, quantity], at) => ({ barcode, day, quantity, was: history[at - 1]?.[1] })),
    );
    for (const { barcode, day, quantity, was } of entries.sort((a, b) => a.day - b.day)) {
      const at = MONDAY + day * DAY;
      const feed = (op: string, diff: object): void =>
        insertRow(database, 'change', {
          ...{ at, entity: 'stock_variant', key: barcode, op, cause: 'run:1' },
          diff: JSON.stringify(diff),
        });
      if (was === undefined) feed('insert', {});
      else if (quantity === null) feed('delete', {});
      // The variant comes back with the number that it had, and then another one.
      else if (was === null) {
        feed('restore', {});
        feed('update', { quantity: [4, quantity] });
      } else feed('update', { quantity: [was, quantity] });
    }
    database.exec(`insert into change_hour (hour, first_seq)
      select at / 3600000, min(seq) from change group by 1`);
    for (const [barcode, [style_no, history]] of Object.entries(HISTORIES)) {
      const last = history.findLast(([, quantity]) => quantity !== null)?.[1] ?? 0;
      insertRow(database, 'stock_variant_row', {
        ...{ ...COMMON, barcode, style_no, size: barcode, quantity: last },
        first_seen_at: MONDAY + (history[0]?.[0] ?? 0) * DAY,
        deleted_at: history.at(-1)?.[1] === null ? 1 : null,
      });
    }
    for (const [id, [day, pieces]] of SOLD.entries()) {
      insertRow(database, 'delivery', {
        ...{ ...COMMON, order_delivery_id: id + 1, order_id: 1, status: 'accepted' },
        ...{ created_at: MONDAY + day * DAY, tracking_numbers: '[]', tracking_links: '[]' },
      });
      for (const [at, [barcode, count]] of Object.entries(pieces).entries()) {
        insertRow(database, 'delivery_line', {
          ...{ order_delivery_id: id + 1, line_no: at + 1, barcode, fulfilled_quantity: count },
          extra: '{}',
        });
      }
    }
    const { sql: text, values } = queryOf('sell-through', { since: '2026-01-07' });
    const rows = database.prepare<[Given], Row>(text).all(values as Given);
    database.close();

    const styles = new Map(Object.entries(HISTORIES).map(([key, [style]]) => [key, style]));
    const stockAt = (barcode: string, day: number): number =>
      HISTORIES[barcode]?.[1].findLast(([since]) => since < day)?.[1] ?? 0;
    const expected = [0, 1, 2, 3].flatMap((week) =>
      ['S-1', 'S-2', 'S-3'].flatMap((style) => {
        const variants = Object.keys(HISTORIES).filter((key) => styles.get(key) === style);
        const inWeek = SOLD.filter(([day]) => Math.floor(day / 7) === week);
        const sold = inWeek.reduce(
          (sum, [, pieces]) => sum + variants.reduce((all, key) => all + (pieces[key] ?? 0), 0),
          0,
        );
        const left = variants.reduce((sum, key) => sum + stockAt(key, (week + 1) * 7), 0);
        const monday = new Date(MONDAY + week * 7 * DAY).toISOString().slice(0, 10);
        const percent = Math.round((1_000 * sold) / (sold + left)) / 10;
        const cover = Math.round((10 * left) / sold) / 10;
        return sold === 0 ? [] : [[monday, style, sold, left, percent, cover]];
      }),
    );
    expect(expected).toContainEqual(['2026-01-05', 'S-1', 4, 21, 16, 5.3]);
    const names = ['week', 'style_no', 'sold', 'in_stock', 'sell_through_percent', 'cover_weeks'];
    expect(sorted(pick(rows, ...names))).toEqual(sorted(expected));
  });
});

describe('the report changed-since', () => {
  it('has what changed in the rest of the hour that it begins in', async () => {
    const { path } = await temporaryStore();
    const database = new Database(path);
    for (const minute of [10, 40, 70]) {
      const change = {
        entity: 'brand',
        key: `b${minute}`,
        op: 'insert',
        diff: '{}',
        cause: 'run:1',
      };
      insertRow(database, 'change', { at: MONDAY + minute * 60_000, ...change });
    }
    database.exec(`insert into change_hour (hour, first_seq)
      select at / 3600000, min(seq) from change group by 1`);
    const { sql: text, values } = queryOf('changed-since', { since: '2026-01-05T00:30:00Z' });
    const rows = database.prepare<[typeof values], Row>(text).all(values);
    database.close();
    expect(pick(rows, 'entity', 'changes', 'latest_key')).toEqual([['brand', 2, 'b70']]);
  });
});

describe('the report stock-grid', () => {
  it('lays out letters, numbers, waist and length, and assortments in their order', async () => {
    const store = await temporaryStore(manualClock());
    const sizes = ['XS', 'S', 'M', 'XL', '3XL', '36', '104', '31/32', '31/34', '32/32', 'ONE SIZE'];
    const assortment = 'Assortment 12 pcs';
    const database = new Database(store.path);
    for (const [at, size] of [assortment, ...sizes.toReversed()].entries()) {
      insertRow(database, 'stock_variant_row', {
        ...{ ...COMMON, barcode: `b${at}`, style_no: 'S-1', color_name: 'black', size },
        quantity: at,
      });
    }
    database.close();
    await createStockCounter({ store, clock: manualClock(), sizeOrder: [], timeZone: () => 'UTC' })(
      new AbortController().signal,
    );
    const reader = new Database(store.path, { readonly: true });
    const { sql: text, values } = queryOf('stock-grid', { style: 'S-1', show: 'in stock' });
    const rows = reader.prepare<[Given], Row>(text).all(values as Given);
    reader.close();
    const shown = rows.toSorted((a, b) => Number(a.size_rank) - Number(b.size_rank));
    expect(shown.map(({ size }) => size)).toEqual([
      ...['XS', 'S', 'M', 'XL', '3XL', '31/32', '31/34', '32/32', '36', '104', 'ONE SIZE'],
      assortment,
    ]);
    expect(rows.map(({ size }) => size)).toEqual(shown.map(({ size }) => size));
  });
});

describe('the report lead-time', () => {
  it('has the percentiles that sorting the deliveries of a day gives', async () => {
    const { path } = await temporaryStore();
    const database = new Database(path);
    const minutes = Array.from({ length: 23 }, (_, at) => ((at * 7) % 23) * 10 + 1);
    for (const [at, took] of minutes.entries()) {
      const id = at + 1;
      const packedAt = MONDAY + at * 60_000;
      insertRow(database, 'delivery', {
        ...{ ...COMMON, order_delivery_id: id, order_id: id, status: 'accepted' },
        ...{ created_at: packedAt, tracking_numbers: '["T"]', tracking_links: '[]' },
      });
      const decidedAt = packedAt + took * 60_000;
      insertRow(database, 'decision', {
        ...{ decision_id: id, order_delivery_id: id, order_id: id, at: decidedAt, trigger: 'new' },
        ...{ actor: 'daemon', rule_set_hash: 'r', facts_digest: 'f', mode: 'live' },
        ...{ outcome: 'accept', reason: '', rules: at < 20 ? '["plain"]' : '["plain", "vip"]' },
        ...{ shadow: '{}', said: 'accept', matched: '[]', lapsed: '[]', evaluation: NOTHING },
        ...{ previous_hash: '', hash: String(id) },
      });
      insertRow(database, 'outbox', {
        ...{ kind: 'delivery_status', ordering_key: `d/${id}`, reference: `d/${id}`, body: '{}' },
        ...{ body_hash: 'h', state: 'confirmed', due_at: 0, created_at: decidedAt, cause: 'd' },
        ...{ ended_at: decidedAt + took * 1_000, order_delivery_id: id, decision_id: id },
      });
      // Two are not shipped yet, as far as the feed tells.
      if (at < 2) continue;
      insertRow(database, 'change', {
        ...{ at: decidedAt + took * 1_000 + took * HOUR, entity: 'delivery', key: String(id) },
        ...{ op: 'update', diff: '{"tracking_numbers":["[]","[\\"T\\"]"]}', cause: 'run:1' },
      });
    }
    const { sql: text, values } = queryOf('lead-time', { since: '2026-01-05' });
    const rows = database.prepare<[Given], Row>(text).all(values as Given);
    database.close();
    const nearest = (all: readonly number[], share: number): number =>
      all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1] ?? Number.NaN;
    const shipped = minutes.slice(2);
    const seconds = (value: number): number => Math.round((100 * value) / 60) / 100;
    const vip = minutes.slice(20);
    const parts = (decided: readonly number[], sent: readonly number[]) => [
      ...[decided.length, nearest(decided, 0.5), nearest(decided, 0.95)],
      ...[seconds(nearest(decided, 0.5)), seconds(nearest(decided, 0.95))],
      ...[nearest(sent, 0.5), nearest(sent, 0.95)],
    ];
    expect(rows.map((row) => Object.values(row))).toEqual([
      ['2026-01-05', 'plain', ...parts(minutes, shipped)],
      ['2026-01-05', 'vip', ...parts(vip, vip)],
    ]);
  });
});

describe('the reports that come along', () => {
  it('answer on the mirror of a running daemon, those of orders and stock with rows', async () => {
    const reference = await startTestReference({
      world: { styles: 4, orders: 12 },
      life: { ordersPerMinute: 60, packAfter: '1s', shipAfter: '1s' },
    });
    const config = testConfig(reference, { overrides: withStreams('stock', 'season') });
    const { store } = await startTestDaemon(reference, config);
    await until('stock, orders, an accepted delivery and its tracking number', async () => {
      const { rows } = await sql<{ n: number }>`select count(*) as n from stream_state
        where stream in ('stock', 'season') and complete_at is not null`.execute(store.db);
      const accepted = await sql`select 1 from outbox
        where kind = 'delivery_status' and state = 'confirmed'`.execute(store.db);
      const shipped = await sql`select 1 from delivery
        where status = 'accepted' and tracking_numbers <> '[]'`.execute(store.db);
      const has = accepted.rows.length > 0 && shipped.rows.length > 0;
      return (rows[0]?.n === 2 && has) || undefined;
    });
    // What comes from here on stays open.
    reference.knobs.patch({ life: { packAfter: '30d' } });
    const { orders } = reference.world.book;
    const before = orders.all.at(-1)?.orderId ?? 0;
    await until('an order that is not packed', async () => {
      const { rows } = await sql`select 1 from sales_order
        where order_id > ${before} and completed = 0`.execute(store.db);
      return rows.length > 0 || undefined;
    });
    const counter = createStockCounter({
      store,
      clock: systemClock(),
      sizeOrder: [],
      timeZone: () => 'UTC',
    });
    await counter(new AbortController().signal);
    const database = new Database(store.path, { readonly: true });
    const style = database
      .prepare<[], string>("select style_no from stock_variant where style_no <> '' limit 1")
      .pluck()
      .get();
    const found = new Map<string, number>();
    for (const report of readReports('').reports) {
      const wanted = { style: style ?? '', season: 'AW26' };
      const given = Object.entries(wanted).filter(([name]) => name in report.params);
      const values = bindParameters(report, Object.fromEntries(given), systemClock());
      const statement = database.prepare(report.sql);
      found.set(report.name, statement.all(values).length);
      const amounts = statement.columns().map(({ name }) => name);
      for (const name of amounts.filter((one) => /(?:amount|price|value|balance)$/.test(one))) {
        expect(declaredKind(report, name), `${report.name}: ${name}`).toBe('amount');
      }
    }
    database.close();
    const full = ['best-sellers', 'customers', 'lead-time', 'open-orders', 'sell-through'];
    full.push('stock-ageing', 'stock-grid', 'stock-as-of', 'changed-since', 'ats');
    full.push('shipments', 'customs');
    expect(full.filter((name) => !found.get(name))).toEqual([]);
  });
});
