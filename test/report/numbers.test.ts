/**
 * What the views and the reports say of awkward rows, asked of the system's own client. Each test
 * adds to the rows of mirror.sql, of which every number is known.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/source.ts';
import { temporaryStore } from '../support/store.ts';

type Row = Readonly<Record<string, string | number | null>>;

interface Mirror {
  add(table: string, row: Row): void;
  change(sql: string): void;
  /** A line a row, as text. */
  ask(sql: string): string[];
}

const PROVENANCE = {
  ...{ extra: '{}', content_hash: 'h', first_seen_at: 0, changed_at: 0 },
  ...{ read_seq: 1, source: 'run:1' },
};

async function filled(): Promise<Mirror> {
  const { path } = await temporaryStore();
  const run = (work: (database: Database.Database) => void): void => {
    const database = new Database(path);
    work(database);
    database.close();
  };
  run((database) =>
    database.exec(readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8')),
  );
  return {
    add: (table, row) =>
      run((database) => {
        const all = table.endsWith('_line') ? { extra: '{}', ...row } : { ...PROVENANCE, ...row };
        const names = Object.keys(all);
        const values = names.map((name) => `:${name}`);
        database.prepare(`insert into ${table} (${names}) values (${values})`).run(all);
      }),
    change: (sql) => run((database) => database.exec(sql)),
    ask: (sql) =>
      execFileSync('sqlite3', ['-readonly', path, sql], { encoding: 'utf8' }).trimEnd().split('\n'),
  };
}

describe('what is packed and not shipped', () => {
  it('takes what has shipped off the stock only until the stock was read without it', async () => {
    const { change, ask } = await filled();
    const sql = 'select in_stock, pending, accepted, free from v_availability';
    expect(ask(sql)).toEqual(['5|2|4|-1']);
    change(`update delivery set tracking_numbers = '["TT1"]' where order_delivery_id = 12`);
    expect(ask(sql)).toEqual(['5|2|0|3']);
    change('update delivery set changed_at = (select complete_at + 1 from stream_state)');
    expect(ask(sql)).toEqual(['5|2|4|-1']);
  });

  it('says what is sold out, and not only its barcode', async () => {
    const { change, ask } = await filled();
    change("update stock_variant set deleted_at = 1 where barcode = '100'");
    const sql = 'select barcode, style_no, color_name, size, in_stock, free from v_availability';
    expect(ask(sql)).toEqual(['100|S-1|black|S|0|-6']);
  });

  it('has the names of its season for what was never in stock', async () => {
    const { add, change, ask } = await filled();
    const names = { style_no: 'S-7', color_name: 'red', size: 'M' };
    for (const season of ['AW26', 'SS27']) {
      const row = { season_barcode: `${season}-700`, season_name: season, barcode: '700' };
      add('season_variant', { ...row, ...names, quantity: 0 });
    }
    change("update delivery_line set barcode = '700' where order_delivery_id = 12");
    const sql = `select style_no, color_name, size, in_stock, free from v_availability
      where barcode = '700'`;
    expect(ask(sql)).toEqual(['S-7|red|M|0|-4']);
  });
});

describe('stock by style and color', () => {
  const grid = 'select brand_name, color_name, sizes, quantity, by_size from v_stock_grid';

  it('adds up variants of one size, and has a place for those without', async () => {
    const { add, ask } = await filled();
    const of = { style_no: 'S-2', style_name: 'Bag', brand_name: 'Fold' };
    const bag = { ...of, color_code: '01', color_name: 'black' };
    add('stock_variant', { ...bag, barcode: '200', size: 'S', quantity: 5 });
    add('stock_variant', { ...bag, barcode: '201', size: 'S', quantity: 3 });
    add('stock_variant', { ...bag, barcode: '202', size: null, quantity: -1 });
    expect(ask(`${grid} where style_no = 'S-2'`)).toEqual(['Fold|black|2|7|{"":-1,"S":8}']);
    expect(ask("select sum(by_size ->> '$.S') from v_stock_grid")).toEqual(['22']);
  });

  it('keeps apart colors without a code, and brands that use the same number', async () => {
    const { add, ask } = await filled();
    const one = { style_no: 'S-3', style_name: 'Cap', size: 'S' };
    add('stock_variant', { ...one, barcode: '300', brand_name: 'Fold', quantity: 1 });
    const blue = { barcode: '301', brand_name: 'Fold', color_name: 'blue', quantity: 2 };
    add('stock_variant', { ...one, ...blue });
    add('stock_variant', { ...one, ...blue, barcode: '302', brand_name: 'Pleat', quantity: 4 });
    expect(ask(`${grid} where style_no = 'S-3' order by quantity`)).toEqual([
      'Fold||1|1|{"S":1}',
      'Fold|blue|1|2|{"S":2}',
      'Pleat|blue|1|4|{"S":4}',
    ]);
  });
});

describe('pre-orders', () => {
  const book = 'select season_name, delivery_name, orders, pieces, amount from v_preorder_book';
  const cover = `select open_preorders, in_stock, missing, cover_percent from v_season_cover
    where barcode = '100'`;
  const open = { status: 'pending', completed: 0, currency: 'DKK', shipping_address: '{}' };

  it('counts one that names its season in its head alone', async () => {
    const { add, ask } = await filled();
    add('sales_order', { ...open, order_id: 3, season_name: 'AW26' });
    const line = { order_id: 3, barcode: '100', delivery_name: 'August', price: 10_000 };
    add('sales_order_line', { ...line, line_no: 1, quantity: 7 });
    expect(ask(book)).toEqual(['AW26|August|2|28|2300.0']);
    expect(ask(cover)).toEqual(['23|5|18|21.7']);
  });

  it('takes what one order got too much off no other one', async () => {
    const { add, ask } = await filled();
    add('sales_order', { ...open, order_id: 3 });
    const line = { order_id: 3, barcode: '100', season_name: 'AW26', delivery_name: 'August' };
    add('sales_order_line', { ...line, line_no: 1, quantity: 1, fulfilled_quantity: 4 });
    expect(ask(cover)).toEqual(['16|5|11|31.3']);
  });

  it('covers nothing by a stock below zero', async () => {
    const { change, ask } = await filled();
    change("update stock_variant set quantity = -3 where barcode = '100'");
    expect(ask(cover)).toEqual(['16|-3|16|0.0']);
  });
});

describe('the stock of a style at some time', () => {
  it('asks an index for what has left the style since, not the whole feed', async () => {
    const { ask } = await filled();
    const sql = readFileSync(join(repositoryRoot, 'config/reports/stock-as-of.sql'), 'utf8');
    const plan = ask(`explain query plan ${sql}`).join('\n');
    expect(plan).toContain('SEARCH change USING INDEX change_style_left');
    expect(plan).not.toMatch(/SEARCH change USING \S+ \S+ \S+ \(entity=\?\)/);
  });
});
