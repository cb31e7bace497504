/** Barcodes that are listed once for each season or brand, and names once for each brand. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { FREIGHT_OPTION, SEASON } from '../../src/mirror/catalog/names.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { type Row, startList, stockIn } from './list-server.ts';
import { DELETION_GUARD } from './pull.ts';

const MODES = ['stream', 'pages'] as const;
const ASKER = { actor: 'anna', reason: 'two warehouses' };

function row(barcode: string, quantity: number, season: string, brandName = 'Fjord'): Row {
  return { barcode, quantity, seasonName: season, details: { brandName, styleNo: 'S1' } };
}

/** Rows around those that a test is about, so that they are in different chunks. */
function filler(count: number, from = 0): Row[] {
  return Array.from({ length: count }, (_, at) => row(`f${from + at}`, 1, 'SS27'));
}

/** The pieces of all places that differ in season or brand; of those that do not, the last. */
function summed(rows: readonly Row[]): Record<string, number> {
  const kinds = new Map<string, Map<string, number>>();
  for (const { barcode, quantity, seasonName, details } of rows) {
    const kind = JSON.stringify([seasonName, Object(details).brandName]);
    kinds.set(barcode, (kinds.get(barcode) ?? new Map()).set(kind, quantity));
  }
  const sum = (of: Map<string, number>) => [...of.values()].reduce((a, b) => a + b, 0);
  return Object.fromEntries([...kinds].map(([barcode, of]) => [barcode, sum(of)]));
}

async function rowIn({ db }: SqliteStore, barcode: string) {
  const of = db.selectFrom('stock_variant').select(['quantity', 'season_name', 'brand_name']);
  return of.where('barcode', '=', barcode).executeTakeFirst();
}

describe.each(MODES)('a barcode that is listed once for each season, mode %s', (mode) => {
  const LISTED = [
    row('x', 3, 'SS27'),
    ...filler(70),
    row('x', 10, 'AW26'),
    ...filler(70, 100),
    row('x', 5, 'SS27', 'Hede'),
  ];

  it('has the pieces of all, and the members of the first season by name', async () => {
    const { list, run, store } = await startList(mode);
    list.rows = LISTED;
    await run();
    expect(await run()).toMatchObject({ outcome: 'complete', reason: null });
    const members = { season_name: 'AW26', brand_name: 'Fjord' };
    expect(await rowIn(store, 'x')).toEqual({ quantity: 18, ...members });
    // Whatever their order.
    list.rows = LISTED.toReversed();
    expect(await run()).toMatchObject({ outcome: 'complete', changed: 0 });
    expect(await rowIn(store, 'x')).toEqual({ quantity: 18, ...members });
  });

  it('has the new sum when one of its places changes, or goes', async () => {
    const { list, run, store, lastRun } = await startList(mode);
    list.rows = LISTED;
    await run();
    await run();
    list.rows = LISTED.with(71, row('x', 4, 'AW26'));
    expect(await run()).toMatchObject({ outcome: 'complete', changed: 1 });
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: 12 });
    list.rows = list.rows.slice(0, -1);
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: 7 });
    list.rows = list.rows.slice(1);
    await run();
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: 4, season_name: 'AW26' });
    // The barcode is like any other by now.
    const places = await store.db.selectFrom('key_place').select('key').execute();
    const twice = await store.db.selectFrom('duplicate_key').select('key').execute();
    expect([places, twice]).toEqual([[], []]);
    list.rows = list.rows.map((one) => (one.barcode === 'x' ? row('x', 9, 'AW26') : one));
    await run();
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: 9 });
    expect(await lastRun('stock')).toMatchObject({ rows_changed: 1 });
  });

  it('is gone when none of its places is left, and comes back', async () => {
    const { list, run, store } = await startList(mode);
    list.rows = LISTED;
    await run();
    await run();
    list.rows = filler(70);
    for (let times = 0; times < 2; times += 1) await run();
    expect(await stockIn(store)).not.toHaveProperty('x');
    list.rows = LISTED;
    await run();
    await run();
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: 18 });
  });

  it.each([1])('is what the list says after any changes: seed %d', async (seed) => {
    const random = seededRandom(seed);
    const upTo = (n: number) => Math.floor(random.next() * n);
    const { list, run, store } = await startList(mode);
    const fresh = () => row(`k${upTo(40)}`, upTo(9), `S${upTo(2)}`, `B${upTo(2)}`);
    // A place each: nothing but season and brand tells them apart.
    const distinct = (rows: readonly Row[]): Row[] => [
      ...new Map(
        rows.map((one) => [
          JSON.stringify([one.barcode, one.seasonName, Object(one.details).brandName]),
          one,
        ]),
      ).values(),
    ];
    list.rows = distinct(Array.from({ length: 90 }, fresh));
    for (let times = 0; times < 12; times += 1) {
      await run();
      const { outcome } = await run();
      expect(outcome).toBe('complete');
      if (mode === 'pages') await run();
      expect(await stockIn(store)).toEqual(summed(list.rows));
      const at = upTo(list.rows.length);
      const changed = list.rows.toSpliced(at, upTo(4), ...Array.from({ length: upTo(4) }, fresh));
      list.rows = distinct(changed);
    }
  });
});

describe('a barcode that stands in several places', () => {
  it('never counts in its old place and in its new one while the list is read', async () => {
    const { list, run, store } = await startList('pages');
    const rows = [row('x', 3, 'SS27'), ...filler(62), row('x', 10, 'AW26'), ...filler(40, 100)];
    list.rows = rows;
    await run();
    await run();
    const seen = new Set<number | null | undefined>();
    list.rows = [row('new', 1, 'SS27'), ...rows];
    list.beforePage = (page) => {
      if (page > 1) void stockIn(store).then((stock) => seen.add(stock.x));
      return true;
    };
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect([...seen, (await stockIn(store)).x]).toEqual([13, 13]);
  });

  it('keeps its sum when a run is cut off, and has the new one when it goes on', async () => {
    const { list, run, store } = await startList('pages');
    list.rows = [row('x', 3, 'SS27'), ...filler(100), row('x', 10, 'AW26')];
    await run();
    await run();
    list.rows = list.rows.with(0, row('x', 1, 'SS27'));
    list.beforePage = (page) => page < 3;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    expect(await stockIn(store)).toMatchObject({ x: 13 });
    list.beforePage = () => true;
    await run();
    expect(await stockIn(store)).toMatchObject({ x: 11 });
  });

  it('that agree in season and brand is doubted until a person says that it may', async () => {
    const { list, run, stock, store, operations } = await startList('stream');
    list.rows = [row('x', 3, 'SS27'), ...filler(60), row('x', 10, 'SS27')];
    for (let times = 0; times < 3; times += 1) {
      expect(await run()).toMatchObject({ outcome: 'partial' });
    }
    const told = /^1 rows came twice, such as x: .*; if it always has: selvedge sync release/;
    expect((await run()).reason).toMatch(told);
    const { acceptedCount } = await operations([stock]).release('stock', ASKER);
    expect(acceptedCount).toBe('1 rows come twice');
    expect(await run()).toMatchObject({ outcome: 'complete', reason: null });
    expect(await stockIn(store)).toMatchObject({ x: 10 });
    list.rows = [...list.rows, row('f1', 1, 'SS27')];
    expect(await run()).toMatchObject({ outcome: 'partial' });
  });

  it('is summed in a season that can be ordered ahead as well, once for each brand', async () => {
    const { list, season, runOf, store } = await startList('stream');
    list.seasons = {
      SS27: [row('x', 3, 'SS27', 'Hede'), ...filler(40), row('x', 10, 'SS27', 'Fjord')],
      AW27: [row('x', 7, 'AW27')],
    };
    await runOf(season);
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    const rows = store.db.selectFrom('season_variant').select(['season_name', 'quantity']);
    const found = await rows.where('barcode', '=', 'x').orderBy('season_name').execute();
    expect(found).toEqual([
      { season_name: 'AW27', quantity: 7 },
      { season_name: 'SS27', quantity: 13 },
    ]);
    list.seasons = { AW27: list.seasons.AW27 ?? [] };
    await runOf(season);
    const places = await store.db.selectFrom('key_place').select('key').execute();
    expect(places).toEqual([]);
  });

  it('has an unknown number of pieces when those of one place cannot be read', async () => {
    const { list, run, store } = await startList('stream');
    list.rows = [row('x', 3, 'SS27'), ...filler(60), row('x', 10, 'AW26')];
    await run();
    await run();
    list.rows = list.rows.with(61, { ...row('x', 10, 'AW26'), quantity: 1.5 });
    await run();
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: null });
    list.rows = list.rows.with(61, row('x', 9, 'AW26'));
    await run();
    expect(await rowIn(store, 'x')).toMatchObject({ quantity: 12 });
  });
});

describe('a short list that has a name more than once', () => {
  const stream = (entity: typeof SEASON, rows: readonly object[]) =>
    createShortListStream({
      ...{ name: 'seasons', entity, deletionGuard: DELETION_GUARD },
      read: async () => ({ rows, rejects: [], count: rows.length, startedAt: 0 }),
    });

  it('is whole, with the delivery names of a season together', async () => {
    const { runOf, store } = await startList('stream');
    const seasons = [
      { seasonName: 'AW27', brandName: 'Fjord', deliveryNames: ['Early', 'Main'] },
      { seasonName: 'SS28', deliveryNames: ['Late'] },
      { seasonName: 'AW27', brandName: 'Hede', deliveryNames: ['Main', 'Late'] },
      { seasonName: 'AW27' },
    ];
    expect(await runOf(stream(SEASON, seasons))).toMatchObject({ outcome: 'complete', rows: 4 });
    const names = store.db.selectFrom('season_delivery').select(['season_name', 'delivery_name']);
    const found = await names.orderBy('season_name').orderBy('line_no').execute();
    expect(found.map((one) => `${one.season_name} ${one.delivery_name}`)).toEqual([
      'AW27 Early',
      'AW27 Main',
      'AW27 Late',
      'SS28 Late',
    ]);
    expect(await runOf(stream(SEASON, seasons))).toMatchObject({ outcome: 'complete', changed: 0 });
  });

  it('is whole, with the first of each name', async () => {
    const { runOf, store } = await startList('stream');
    const ways = [
      { freightType: 'Parcel', warehouseCode: 'N' },
      { freightType: 'Parcel', warehouseCode: 'S' },
    ];
    expect(await runOf(stream(FREIGHT_OPTION, ways))).toMatchObject({ outcome: 'complete' });
    const rows = await store.db.selectFrom('freight_option').select('extra').execute();
    expect(rows).toEqual([{ extra: '{"warehouseCode":"N"}' }]);
  });
});
