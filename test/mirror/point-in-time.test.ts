import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import {
  leftStyleSince,
  rowAsOf,
  stockKnownSince,
  stockWords,
} from '../../src/mirror/point-in-time.ts';
import { selectByKeys } from '../../src/store/bulk.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

const read = (readSeq: number) => ({ source: `run:${readSeq}`, readSeq, at: 1_000 * readSeq });

/** Seen at 1 s with 3, at 2 s with 5, sold out at 3 s, back with 7 at 4 s, never seen: `late`. */
async function aLife() {
  const store = await temporaryStore();
  const write = (quantity: number, seq: number, barcode = 'a') =>
    store.transaction((tx) => writeStockVariants(tx, [{ barcode, quantity }], read(seq)));
  await write(3, 1);
  await write(5, 2);
  await store.transaction((tx) => markDeleted(tx, STOCK_VARIANT, ['a'], read(3)));
  await write(7, 4);
  await write(1, 5, 'late');
  return store;
}

/** A statement of docs/reporting.md. */
function manualSql(name: string): string {
  const page = readFileSync(new URL('../../docs/reporting.md', import.meta.url), 'utf8');
  const after = page.split(`\`\`\`sql ${name}\n`)[1] ?? '';
  return after.slice(0, after.indexOf('```'));
}

const EXPECTED = [
  [500, undefined],
  [1_000, 3],
  [1_999, 3],
  [2_500, 5],
  [3_500, undefined],
  [4_000, 7],
] as const;

describe('the mirror in the past', () => {
  it('undoes what has changed since', async () => {
    const store = await aLife();
    const [row] = await selectByKeys(store.db, 'stock_variant', 'barcode', ['a']);
    const changes = await store.db
      .selectFrom('change')
      .select(['at', 'op', 'diff'])
      .where('key', '=', 'a')
      .orderBy('seq')
      .execute();
    for (const [at, quantity] of EXPECTED) {
      expect({ at, quantity: rowAsOf(row ?? {}, changes, at)?.quantity }).toEqual({ at, quantity });
    }
  });

  it('does not go through the whole feed for a style or for its beginning', async () => {
    const planned = notePlans(await aLife());
    await leftStyleSince(planned.store.db, 'S-1', 0);
    await stockKnownSince(planned.store.db);
    expect(await planned.steps(/style_no/)).toEqual([
      'SEARCH change USING INDEX change_style_left (<expr>=?)',
    ]);
    expect(await planned.steps(/order by/)).toEqual(['SCAN change']);
  });

  it('is what the SQL of docs/reporting.md says from another program', async () => {
    const store = await aLife();
    const sql = manualSql('as-of');
    expect(sql).toContain('stock_variant');
    for (const [at, quantity] of EXPECTED) {
      const query = sql.replaceAll(':at', String(at));
      const out = foreignSql(store.path, query, { readOnly: true });
      expect({ at, out }).toEqual({ at, out: quantity === undefined ? '' : `a|${quantity}\n` });
    }
  });

  it('goes through the feed once in the SQL of all variants, not once for each', async () => {
    const { path } = await aLife();
    const query = `explain query plan ${manualSql('as-of').replaceAll(':at', '2500')}`;
    const plan = foreignSql(path, query, { readOnly: true });
    expect(plan).not.toContain('CORRELATED');
    expect(plan).not.toContain('change_entity_key');
  });

  it('knows in SQL that there was no price, and nothing of what is no longer kept', async () => {
    const store = await aLife();
    const details = (price: number | null) => ({ barcode: 'p', quantity: 1, details: { price } });
    const write = (price: number | null, seq: number) =>
      store.transaction((tx) => writeStockVariants(tx, [details(price)], read(seq)));
    await write(null, 6);
    await write(199.95, 7);
    const sql = manualSql('as-of');
    const ask = (query: string, at: number) =>
      foreignSql(store.path, query.replaceAll(':at', String(at)), { readOnly: true });
    const prices = sql.replaceAll('quantity', 'price');
    expect(ask(prices, 6_500)).toContain('p|\n');
    expect(ask(prices, 7_000)).toContain('p|1999500\n');
    await store.transaction((tx) => tx.deleteFrom('change').where('at', '<', 4_000).execute());
    expect(ask(sql, 4_500)).toBe('a|7\n');
    expect(ask(sql, 2_500)).toBe('');
  });

  it('tells what is sold out and back, also of what is listed because it is on order', async () => {
    const store = await aLife();
    const write = (quantity: number, seq: number) =>
      store.transaction((tx) => writeStockVariants(tx, [{ barcode: 'a', quantity }], read(seq)));
    await write(0, 6);
    await write(2, 7);
    await write(-1, 8);
    await write(0, 9);
    await store.transaction((tx) => markDeleted(tx, STOCK_VARIANT, ['a'], read(10)));
    await write(-2, 11);
    await write(3, 12);
    const changes = await store.db
      .selectFrom('change')
      .select(['at', 'op', 'diff'])
      .where('key', '=', 'a')
      .orderBy('seq')
      .execute();
    const words = ['first seen', 'changed', 'sold out', 'back', 'sold out', 'back'];
    const [row = {}] = await selectByKeys(store.db, 'stock_variant', 'barcode', ['a']);
    expect(stockWords(row, changes)).toEqual([
      ...words,
      'sold out',
      'changed',
      'not listed',
      'listed',
      'back',
    ]);
    const told = foreignSql(store.path, manualSql('sold-out'), { readOnly: true });
    expect(told.trim().split('\n')).toEqual([
      '1970-01-01 00:00:03|a|sold out',
      '1970-01-01 00:00:04|a|back in stock',
      '1970-01-01 00:00:06|a|sold out',
      '1970-01-01 00:00:07|a|back in stock',
      '1970-01-01 00:00:08|a|sold out',
      '1970-01-01 00:00:10|a|sold out',
      '1970-01-01 00:00:11|a|sold out',
      '1970-01-01 00:00:12|a|back in stock',
    ]);
  });
});
