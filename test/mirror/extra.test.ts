import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STOCK_VARIANT, seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { insertAll, upsertPrepared } from '../../src/mirror/entity.ts';
import { createRowEncoder, type MirrorRow, rowsOf } from '../../src/mirror/rows/prepared.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { sharedExtraFaults } from '../support/shared-extra.ts';
import { temporaryStore } from '../support/store.ts';

interface Size {
  readonly barcode: string;
  readonly quantity: number;
  readonly care: string;
}

const read = (readSeq: number) => ({ source: `run:${readSeq}`, readSeq, at: 1_000 * readSeq });

const rowOf = ({ barcode, quantity, care }: Size): MirrorRow =>
  STOCK_VARIANT.toRow({ barcode, quantity, colorCode: '01', care });

/** A page of the list, as the stream writes it. */
async function writeSizes(store: SqliteStore, sizes: readonly Size[], seq: number) {
  const encoder = createRowEncoder(STOCK_VARIANT, 100);
  const keys = sizes.map((size) => encoder.add(rowOf(size)));
  const page = { groups: { keys, ...encoder.end() } };
  return store.transaction(
    async (tx) =>
      (await insertAll(tx, STOCK_VARIANT, page, read(seq))) ??
      (await upsertPrepared(tx, STOCK_VARIANT, rowsOf(page), read(seq))),
  );
}

async function entries({ db }: SqliteStore) {
  const rows = await db.selectFrom('variant_extra').selectAll().orderBy('extra_id').execute();
  return rows.map(({ extra, uses }) => `${extra} ${uses}`);
}

async function cares({ db }: SqliteStore): Promise<Record<string, string>> {
  const rows = await db.selectFrom('stock_variant').select(['barcode', 'extra']).execute();
  return Object.fromEntries(rows.map(({ barcode, extra }) => [barcode, JSON.parse(extra).care]));
}

const size = (barcode: string, care = 'wool', quantity = 1): Size => ({ barcode, care, quantity });

describe('members of variants without a column', () => {
  it('are kept once for the sizes that share them, and read with each', async () => {
    const store = await temporaryStore();
    await writeSizes(store, [size('1'), size('2'), size('3', 'silk'), size('4')], 1);
    const extra = (care: string) => JSON.stringify({ care });
    expect(await entries(store)).toEqual([
      `${extra('wool')} 2`,
      `${extra('silk')} 1`,
      `${extra('wool')} 1`,
    ]);
    expect(await cares(store)).toEqual({ 1: 'wool', 2: 'wool', 3: 'silk', 4: 'wool' });
  });

  it('stay where they are when a row changes otherwise', async () => {
    const store = await temporaryStore();
    await writeSizes(store, [size('1'), size('2')], 1);
    const before = await entries(store);
    expect(await writeSizes(store, [size('1', 'wool', 7), size('2')], 2)).toMatchObject({
      changed: 1,
      unchanged: 1,
    });
    expect(await entries(store)).toEqual(before);
  });

  it('are left by a row that says otherwise, and go with the last one', async () => {
    const store = await temporaryStore();
    await writeSizes(store, [size('1'), size('2')], 1);
    await writeSizes(store, [size('1', 'silk'), size('2')], 2);
    expect(await entries(store)).toEqual(['{"care":"wool"} 1', '{"care":"silk"} 1']);
    await writeSizes(store, [size('1', 'silk'), size('2', 'silk')], 3);
    expect(await entries(store)).toEqual(['{"care":"silk"} 1', '{"care":"silk"} 1']);
    expect(await cares(store)).toEqual({ 1: 'silk', 2: 'silk' });
    const [, , first] = await store.db.selectFrom('change').select('diff').execute();
    expect(JSON.parse(first?.diff ?? '')).toEqual({
      extra: ['{"care":"wool"}', '{"care":"silk"}'],
    });
  });

  it('are those of rows from before until these change', async () => {
    const store = await temporaryStore();
    await writeSizes(store, [size('1'), size('2')], 1);
    await store.db
      .updateTable('stock_variant_row')
      .set({ extra_id: null, extra: '{"care":"wool"}' })
      .execute();
    await store.db.deleteFrom('variant_extra').execute();
    expect(await cares(store)).toEqual({ 1: 'wool', 2: 'wool' });
    await writeSizes(store, [size('1', 'wool', 7), size('2')], 2);
    expect(await entries(store)).toEqual(['{"care":"wool"} 1']);
    expect(await cares(store)).toEqual({ 1: 'wool', 2: 'wool' });
    const diffs = await store.db.selectFrom('change').select('diff').execute();
    expect(diffs.at(-1)?.diff).toBe('{"quantity":[1,7]}');
  });

  it('are told apart for the stock and for a season', async () => {
    const store = await temporaryStore();
    await writeSizes(store, [size('1')], 1);
    const season = seasonVariants('AW26');
    const encoder = createRowEncoder(season, 100);
    const keys = [encoder.add(season.toRow({ barcode: '1', quantity: 0, care: 'linen' }))];
    const page = { groups: { keys, ...encoder.end() } };
    await store.transaction((tx) => insertAll(tx, season, page, read(2)));
    const { extra } = await store.db
      .selectFrom('season_variant')
      .select('extra')
      .executeTakeFirstOrThrow();
    expect(extra).toBe('{"care":"linen"}');
    expect(await cares(store)).toEqual({ 1: 'wool' });
  });

  it('count their rows, whatever comes in which order', async () => {
    const one = fc.record({
      barcode: fc.constantFrom('1', '2', '3', '4', '5', '6'),
      care: fc.constantFrom('wool', 'silk', 'a,b]', '"}'),
      quantity: fc.integer({ min: 0, max: 2 }),
    });
    const pages = fc.array(fc.array(one, { minLength: 1, maxLength: 8 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(pages, async (all) => {
        await using store = await temporaryStore();
        const expected: Record<string, string> = {};
        for (const [at, sizes] of all.entries()) {
          await writeSizes(store, sizes, at + 1);
          for (const { barcode, care } of sizes) expected[barcode] = care;
          expect(await sharedExtraFaults(store)).toEqual([]);
        }
        expect(await cares(store)).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });
});
