/**
 * Views and reports on awkward rows, asked of the system's own client. Each test adds to the rows
 * of mirror.sql, of which every number is known.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { foreignSql } from '../support/foreign-sql.ts';
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
        const own = table.endsWith('_variant') ? `${table}_row` : table;
        database.prepare(`insert into ${own} (${names}) values (${values})`).run(all);
      }),
    change: (sql) => run((database) => database.exec(sql)),
    ask: (sql) => foreignSql(path, sql, { readOnly: true }).trimEnd().split('\n'),
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
    change("update stock_variant_row set deleted_at = 1 where barcode = '100'");
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

describe('a shipment', () => {
  const customs = (weight: number | null) =>
    JSON.stringify({
      details: { customsTariffNumber: '62034231', countryOfOrigin: 'PT', weight },
    });

  it('has its parcels, and says since when it is accepted and not shipped', async () => {
    const { add, change, ask } = await filled();
    const sql = `select status, accepted_at, shipped_at, tracking_numbers, shipped, to_ship,
      age_hours is not null from v_shipment order by order_delivery_id limit 2`;
    expect(ask(sql)).toEqual(['pending||||0|0|0', 'accepted|2026-01-05T12:10:00Z|||0|1|1']);
    change(`update delivery set tracking_numbers = '["TT1","TT2"]' where order_delivery_id = 12`);
    const diff = '{"tracking_numbers":["[]","[\\"TT1\\"]"]}';
    const at = Date.parse('2026-01-06T10:00:00Z');
    change(`insert into change (at, entity, key, op, diff, cause)
      values (${at}, 'delivery', '12', 'update', '${diff}', 'run:1')`);
    const shipped = 'accepted|2026-01-05T12:10:00Z|2026-01-06T10:00:00Z|TT1, TT2|1|0|0';
    expect(ask(sql)[1]).toBe(shipped);
    add('delivery', {
      ...{ order_delivery_id: 99, order_id: 1, status: 'accepted', deleted_at: 1 },
      ...{ tracking_numbers: '[]', tracking_links: '[]' },
    });
    const gone = 'select to_ship from v_shipment where order_delivery_id = 99';
    expect(ask(gone)).toEqual(['0']);
  });

  it('has tariff number, origin, weight and value, and counts lines without them', async () => {
    const { add, change, ask } = await filled();
    const sql = `select pieces, weight_kg, amount, currency, tariff_nos, origins,
      lines_without_customs from v_shipment where order_delivery_id = 12`;
    expect(ask(sql)).toEqual(['4||320.0|DKK|||1']);
    change(`update stock_variant_row set extra = '${customs(400)}' where barcode = '100'`);
    expect(ask(sql)).toEqual(['4|1.6|320.0|DKK|62034231|PT|0']);
    // Sizes of a colour share their members.
    change(`insert into variant_extra (extra_id, extra, uses) values (1, '${customs(null)}', 1)`);
    add('stock_variant', { barcode: '900', style_no: 'S-9', quantity: 1, extra_id: 1 });
    add('delivery_line', { order_delivery_id: 12, line_no: 2, barcode: '900', price: 10_000 });
    change('update delivery_line set fulfilled_quantity = 2 where line_no = 2');
    expect(ask(sql)).toEqual(['6||322.0|DKK|62034231|PT|1']);
    const lines = 'select barcode, tariff_no, origin, weight from v_delivery_line';
    expect(ask(`${lines} where order_delivery_id = 12 order by line_no`)).toEqual([
      ...['100|62034231|PT|400', '900|62034231|PT|'],
    ]);
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
    expect(ask(`${grid} where style_no = 'S-2'`)).toEqual(['Fold|black|2|7|{"S":8,"":-1}']);
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
    const line = { order_id: 3, barcode: '100', delivery_name: 'August', price: 100_0000 };
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
    change("update stock_variant_row set quantity = -3 where barcode = '100'");
    expect(ask(cover)).toEqual(['16|-3|16|0.0']);
  });
});

describe('a name that the service left empty', () => {
  const names = { style_name: '', brand_name: '', color_code: '', size: '', season_name: '' };

  it('is none, of a variant or of an order', async () => {
    const { add, change, ask } = await filled();
    add('stock_variant', { ...names, barcode: '400', style_no: 'S-4', quantity: 1 });
    const columns = ['style_name', 'brand_name', 'color_code', 'size', 'season_name'];
    const isNone = columns.map((column) => `${column} is null`).join(' and ');
    expect(ask(`select barcode from v_stock where ${isNone}`)).toEqual(['400']);
    change("update sales_order set country_code = '', currency = '', company = ''");
    // Else their variants would tell it.
    change('update stock_variant_row set currency = null');
    change('update season_variant_row set currency = null');
    const of = 'country_code is null, currency is null, company is null';
    expect(ask(`select ${of} from v_held_delivery`)).toEqual(['1|1|1']);
  });

  it('has rows searched by an account through their index all the same', async () => {
    const { ask } = await filled();
    const plan = ask("explain query plan select * from v_delivery where account_no = '7'");
    expect(plan.join('\n')).toContain('USING INDEX sales_order_account');
  });

  it('puts no stock order among the pre-orders, and hides no season of the head', async () => {
    const { add, change, ask } = await filled();
    change('update stock_variant_row set currency = null');
    change('update season_variant_row set currency = null');
    change("update sales_order_line set season_name = '', delivery_name = '' where order_id = 1");
    change("update sales_order set season_name = '' where order_id = 1");
    const open = { status: 'pending', completed: 0, shipping_address: '{}', season_name: 'AW26' };
    const line = { barcode: '100', season_name: '', price: 100_0000 };
    for (const [id, delivery_name, currency] of [
      [3, '', ''],
      [4, null, null],
    ] as const) {
      add('sales_order', { ...open, order_id: id, currency });
      add('sales_order_line', { ...line, order_id: id, line_no: 1, quantity: 7, delivery_name });
    }
    const book = 'season_name, delivery_name is null, currency is null, orders, pieces';
    expect(ask(`select ${book} from v_preorder_book order by pieces`)).toEqual([
      'AW26|1|1|2|14',
      'AW26|0|0|1|21',
    ]);
    const cover =
      'select season_name, barcode, open_preorders from v_season_cover order by barcode';
    expect(ask(cover)).toEqual(['AW26|100|30', 'AW26|999|1']);
  });

  it('adds up neither two colors without a code nor two styles without a number', async () => {
    const { add, change, ask } = await filled();
    const cap = { ...names, style_no: 'S-5', color_name: 'red', quantity: 1 };
    add('stock_variant', { ...cap, barcode: '500' });
    add('stock_variant', { ...cap, barcode: '501', color_code: null, size: null, quantity: 2 });
    add('stock_variant', { ...cap, barcode: '502', color_name: 'blue', quantity: 4 });
    change("update stock_variant_row set style_no = '' where style_no = 'S-1'");
    const grid = 'color_code is null, color_name, brand_name is null, sizes, quantity, by_size';
    expect(ask(`select ${grid} from v_stock_grid order by quantity`)).toEqual([
      '1|red|1|1|3|{"":3}',
      '1|blue|1|1|4|{"":4}',
    ]);
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
