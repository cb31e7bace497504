import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { EXCHANGE_VIEWS, VIEWS } from '../../src/report/views.ts';
import { openExchange } from '../../src/store/exchange/exchange.ts';
import { foreignRows, openInOldSqlite } from '../support/foreign-sql.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

/** The path of a mirror with the rows of mirror.sql. */
async function filledMirror(): Promise<string> {
  const store = await temporaryStore();
  const database = new Database(store.path);
  database.exec(readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8'));
  database.close();
  return store.path;
}

describe('the views', () => {
  it('have the columns that their description names, in that order', async () => {
    const { path } = await temporaryStore();
    const database = new Database(path, { readonly: true });
    const names = database
      .prepare<[], string>("select name from sqlite_schema where name glob 'v_*' order by name")
      .pluck()
      .all();
    expect(VIEWS.map(({ name }) => name).sort()).toEqual(names);
    for (const { name, columns } of VIEWS) {
      const found = database.prepare(`select * from ${name}`).columns();
      expect(found.map((column) => column.name)).toEqual(Object.keys(columns));
    }
    database.close();
  });

  it('of the exchange have the columns of their description, and answer their examples', () => {
    const path = join(temporaryFolder(), 'exchange.db');
    openExchange(path, manualClock())[Symbol.dispose]();
    const views = "select name from sqlite_schema where type = 'view' order by name";
    expect(foreignRows(path, views)).toEqual([{ name: 'v_document' }]);
    for (const { name, columns, example } of EXCHANGE_VIEWS) {
      const found = foreignRows(path, `select name from pragma_table_info('${name}')`);
      expect(found.map((column) => column.name)).toEqual(Object.keys(columns));
      foreignRows(path, example);
    }
  });

  it('answer their examples with the SQLite of the system', async () => {
    const path = await filledMirror();
    for (const { name, example } of VIEWS) {
      expect(foreignRows(path, `select count(*) as n from ${name}`), name).not.toEqual([{ n: 0 }]);
      foreignRows(path, example);
    }
  });

  it('say what the rows below them say', async () => {
    const path = await filledMirror();
    const one = (sql: string) => foreignRows(path, sql)[0];
    expect(one('select * from v_held_delivery')).toMatchObject({
      ...{ delivery_no: 'D-11', company: 'Nordic Shops', pieces: 2, amount: 160 },
      ...{ packed_at: '2026-01-05T12:00:00Z', decided: 'hold', reason: 'over the limit' },
    });
    expect(one("select amount from v_delivery where delivery_no = 'D-13'")).toEqual({
      amount: null,
    });
    expect(one("select price from v_stock where barcode = '100'")).toEqual({ price: 199.95 });
    expect(one('select min(on_order) as least, max(on_order) as most from v_stock')).toEqual({
      ...{ least: 0, most: 1 },
    });
    expect(one("select * from v_stock_grid where color_code = '01'")).toMatchObject({
      ...{ quantity: 5, sizes: 2, by_size: '{"S":5,"M":0}' },
    });
    expect(one('select * from v_availability')).toMatchObject({
      ...{ in_stock: 5, pending: 2, accepted: 4, free: -1 },
    });
    expect(one('select * from v_preorder_book')).toMatchObject({
      ...{ orders: 1, pieces: 21, fulfilled: 4, amount: 1600, lines_without_price: 1 },
    });
    expect(one("select * from v_season_cover where barcode = '100'")).toMatchObject({
      ...{ open_preorders: 16, in_stock: 5, missing: 11, cover_percent: 31.3 },
      ...{ style_no: 'S-1', style_name: 'Coat', color_name: 'black', size: 'S' },
    });
    expect(one("select * from v_decision_day where outcome = 'no_rule'")).toMatchObject({
      ...{ day: '2026-01-05', rule: '(no rule)', decisions: 1 },
    });
    expect(foreignRows(path, 'select delivery_no, rules_said, done_by from v_agreement')).toEqual([
      { delivery_no: 'D-12', rules_said: 'accept', done_by: 'the rules' },
      { delivery_no: 'D-13', rules_said: 'no_rule', done_by: 'people' },
    ]);
    expect(one('select order_id, order_no from v_order_pushed')).toMatchObject({ order_no: 'O-9' });
    expect(one('select * from v_refund_pending where pending_refund_id = 31')).toMatchObject({
      ...{ pieces: 1, order_refund_id: 21, refund_status: 'accepted' },
    });
    expect(one('select seconds from v_sync_run')).toEqual({ seconds: 2.5 });
    expect(foreignRows(path, 'select entity, key from v_orphan')).toEqual([
      { entity: 'delivery', key: '13' },
      { entity: 'stock_variant', key: '999' },
    ]);
    expect(one('select entity, member, rows from v_drift')).toEqual({
      ...{ entity: 'stock_variant', member: 'careLabelWash', rows: 1 },
    });
  });

  it('answer the everyday questions of the documents in any SQLite since 3.39', async () => {
    const path = await filledMirror();
    const pages = ['docs/everyday-sql.md', 'docs/reporting.md'];
    const page = pages.map((name) => readFileSync(join(repositoryRoot, name), 'utf8')).join('');
    const asked = [...page.matchAll(/```sql (?:everyday|since)\n([^`]*)```/g)].map(
      ([, sql = '']) => sql,
    );
    expect(asked.length).toBeGreaterThan(10);
    const old = await openInOldSqlite(path);
    for (const sql of asked) {
      const first = sql.replaceAll('S-1001', 'S-1');
      expect(() => old.exec(first), first).not.toThrow();
      foreignRows(path, first.replace(/;\s*$/, ''));
    }
    old.close();
  });

  it('can be read with SQLite 3.39, which programs of others still bring', async () => {
    const old = await openInOldSqlite(await filledMirror());
    expect(old.exec('select sqlite_version()')[0]?.values).toEqual([['3.39.3']]);
    for (const { name } of VIEWS) {
      expect(() => old.exec(`select * from ${name}`), name).not.toThrow();
    }
    old.close();
  });
});
