/** A service that changes everything at once: people are told, until the rows are as they were. */
import { describe, expect, it } from 'vitest';
import type { SqliteStore } from '../../src/store/store.ts';
import { deleteOldRuns } from '../../src/sync/upkeep.ts';
import { manyRows, type Row, startList, stockIn } from './list-server.ts';

const ASKER = { actor: 'anna', reason: 'a new price list' };

/** Rows of two brands, by default 150 and 250. */
function goods(count = 400): Row[] {
  return Array.from({ length: count }, (_, at) => ({
    barcode: `b${String(at).padStart(4, '0')}`,
    quantity: 8,
    seasonName: 'SS27',
    priceOriginal: 90,
    details: {
      ...{ styleNo: `S${at % 40}`, brandName: at < 150 ? 'Fjord' : 'Hede', currency: 'EUR' },
      ...{ price: 90, wspPrice: 45, size: 'M', styleName: 'Coat', colorName: 'Sand' },
    },
  }));
}

function withDetails(row: Row, more: object): Row {
  return { ...row, details: { ...Object(row.details), ...more } };
}

async function openOf({ db }: SqliteStore): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('incident')
    .select('key')
    .where('kind', '=', 'mass_change')
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ key }) => key);
}

/** A mirror of the list, by a second run as well: the first one is compared with nothing. */
async function startGoods(rows = goods()) {
  const pull = await startList('stream');
  pull.list.rows = rows;
  await pull.run();
  await pull.run();
  const pulled = async (now: readonly Row[]) => {
    pull.list.rows = now;
    return pull.run();
  };
  return { ...pull, rows, pulled };
}

const NAMELESS = { styleName: null, colorName: null, size: null };

const FAULTS: readonly (readonly [string, (row: Row) => Row, RegExp])[] = [
  ['euros for cents', (row) => withDetails(row, { price: 0.9, wspPrice: 0.45 }), /ten times/],
  ['quantities below nothing', (row) => ({ ...row, quantity: -8 }), /fell to nothing/],
  ['a quantity that is a limit', (row) => ({ ...row, quantity: 9_999 }), /grew tenfold/],
  ['prices that are ten times as high', (row) => withDetails(row, { price: 900 }), /ten times/],
  ['ten times as many', (row) => ({ ...row, quantity: 80 }), /grew tenfold/],
  ['quantities that cannot be read', (row) => ({ ...row, quantity: 1.5 }), /fell to nothing/],
  ['another currency', (row) => withDetails(row, { currency: 'SEK' }), /another currency/],
  ['no brand', (row) => withDetails(row, { brandName: null }), /details are gone/],
  ['no names and sizes', (row) => withDetails(row, NAMELESS), /details are gone/],
  ['no wholesale price', (row) => withDetails(row, { wspPrice: null }), /details are gone/],
];

describe('a list in which most rows change at once', () => {
  it.each(FAULTS)('is told: %s', async (_what, fault, words) => {
    const { rows, pulled, store, lastRun } = await startGoods();
    const { outcome, reason } = await pulled(rows.map(fault));
    expect(outcome).toBe('complete');
    expect(reason).toMatch(/^400 of 400 rows changed at once \(/);
    expect(reason).toMatch(words);
    expect(reason).toMatch(/selvedge sync release 3$/);
    expect(await openOf(store)).toEqual(['3']);
    expect(await lastRun('stock')).toMatchObject({ rows_drastic: 400, change_guard: 'open' });
    // A later run does not make it one that upkeep deletes once it is old.
    await store.db.updateTable('stream_state').set({ last_run_id: null }).execute();
    await store.transaction((tx) => deleteOldRuns(tx, Number.MAX_SAFE_INTEGER));
    const left = store.db
      .selectFrom('sync_run')
      .select('change_guard')
      .where('stream', '=', 'stock');
    expect(await left.execute()).toEqual([{ change_guard: 'open' }]);
    // Bringing the rows back is as drastic, and is no news.
    expect(await pulled(rows)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await openOf(store)).toEqual([]);
  });

  it('is told when it is most of one brand', async () => {
    const { rows, pulled, store } = await startGoods();
    const { reason } = await pulled(
      rows.map((row, at) => (at < 140 ? { barcode: row.barcode, quantity: 8 } : row)),
    );
    expect(reason).toMatch(/^140 of 150 rows with the brand_name Fjord changed at once/);
    expect(await openOf(store)).toEqual(['3']);
    await pulled(rows);
    expect(await openOf(store)).toEqual([]);
  });

  it('is told of one season that can be ordered ahead', async () => {
    const { list, season, store, runOf } = await startList('stream');
    list.seasons = { SS27: goods(120), AW27: goods(400) };
    await runOf(season);
    await runOf(season);
    list.seasons = { ...list.seasons, SS27: goods(120).map((row) => ({ ...row, quantity: 0 })) };
    expect((await runOf(season)).reason).toMatch(/^120 of 120 rows with the season_name SS27/);
    expect(await openOf(store)).toEqual(['3']);
  });

  it.each([
    ['half of them', 400, 75, 125],
    ['all of few', 100, 100, 0],
  ])('is not told when it is %s', async (_what, count, ofFirst, ofSecond) => {
    const { rows, pulled, store } = await startGoods(goods(count));
    const isHit = (at: number): boolean => at < ofFirst || (at >= 150 && at < 150 + ofSecond);
    const now = rows.map((row, at) => (isHit(at) ? { ...row, quantity: 0 } : row));
    expect(await pulled(now)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await openOf(store)).toEqual([]);
  });

  it('is told whatever comes new beside it, which is compared with nothing', async () => {
    const { pulled, store } = await startGoods(manyRows(200));
    const empty = manyRows(200).map((row) => ({ ...row, quantity: 0 }));
    const { reason } = await pulled([...empty, ...manyRows(600).slice(200)]);
    expect(reason).toMatch(/^200 of 200 rows changed at once/);
    expect(await openOf(store)).toEqual(['3']);
  });

  it('is told of barcodes that are listed once for each season', async () => {
    const twice = (quantity: number) =>
      ['SS27', 'AW27'].flatMap((seasonName) =>
        manyRows(200).map((row) => ({ ...row, quantity, seasonName })),
      );
    const { pulled, store } = await startGoods(twice(4));
    expect((await pulled(twice(0))).reason).toMatch(/^200 of 200 rows with the season_name AW27/);
    expect(await openOf(store)).toEqual(['3']);
  });

  it.each([
    ['one detail is gone', (row: Row) => withDetails(row, { size: null })],
    ['prices are nine times as high', (row: Row) => withDetails(row, { price: 810 })],
  ])('is not told when of all of them %s', async (_what, change) => {
    const { rows, pulled, store } = await startGoods();
    expect(await pulled(rows.map(change))).toMatchObject({ outcome: 'complete', reason: null });
    expect(await openOf(store)).toEqual([]);
  });

  it('is not told of rows that come back after they were gone', async () => {
    const { rows, pulled, store } = await startGoods(goods(300));
    await pulled(rows.slice(0, 100));
    const back = rows.map((row, at) => (at < 100 ? row : { ...row, quantity: 0 }));
    expect(await pulled(back)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await openOf(store)).toEqual([]);
  });

  it('is over when nearly all of it is gone from the list', async () => {
    const { rows, pulled, store } = await startGoods();
    await pulled(rows.map((row) => ({ ...row, quantity: 0 })));
    await pulled(rows.map((row) => ({ ...row, quantity: 0 })).slice(0, 40));
    expect(await openOf(store)).toEqual([]);
  });

  it('is over when nearly all of it is as it was, and not before', async () => {
    const { rows, pulled, store } = await startGoods();
    const upTo = (count: number) =>
      rows.map((row, at) => (at % 10 < count ? { ...row, quantity: 0 } : row));
    await pulled(upTo(10));
    await pulled(upTo(7));
    expect(await openOf(store)).toEqual(['3']);
    // A part of the list restores its own rows alone.
    await pulled(upTo(4));
    expect(await openOf(store)).toEqual(['3']);
    await pulled(upTo(1));
    expect(await openOf(store)).toEqual([]);
  });

  it('waits for both when another fault follows before the first is over', async () => {
    const { rows, pulled, store } = await startGoods();
    await pulled(rows.map((row) => ({ ...row, quantity: 0 })));
    await pulled(rows.map((row) => withDetails({ ...row, quantity: 0 }, { wspPrice: 4500 })));
    expect(await openOf(store)).toEqual(['3', '4']);
    await pulled(rows.map((row) => withDetails(row, { wspPrice: 4500 })));
    expect(await openOf(store)).toEqual(['3', '4']);
    await pulled(rows);
    expect(await openOf(store)).toEqual([]);
  });

  it.each([
    ['beside another currency', (row: Row) => withDetails(row, { currency: 'SEK' }), 1],
    ['that stays', (row: Row) => withDetails(row, { currency: 'SEK' }), 2],
    ['beside a season that is sold out', (row: Row) => ({ ...row, quantity: 0 }), 1],
  ])('does not take a fault for the truth that was gone once, %s', async (_what, other, times) => {
    const { rows, pulled, store } = await startGoods();
    const cents = (row: Row) => withDetails(row, { price: 0.9, wspPrice: 0.45 });
    await pulled(rows.map(cents));
    for (let time = 0; time < times; time += 1) await pulled(rows.map(other));
    expect(await openOf(store)).toEqual(['3', '4']);
    expect((await pulled(rows.map((row) => cents(other(row))))).reason).toMatch(
      /^400 of 400 rows changed at once \(400 prices moved by ten times/,
    );
    await pulled(rows);
    expect(await openOf(store)).toEqual([]);
  });
});

describe('a short list', () => {
  const priceless = (row: Row) => withDetails(row, { wspPrice: null });
  const empty = (row: Row): Row => ({ ...row, quantity: 0 });
  const soldOut = (row: Row): Row => priceless(empty(row));
  const dear = (row: Row) => withDetails(row, { price: 9_000 });
  const foreign = (row: Row) => withDetails(row, { currency: 'SEK' });

  it.each([
    ['all but one lose their prices', 12, 7, priceless, /^7 of 12 rows changed/],
    ['its only row loses its price', 1, 1, priceless, /^1 of 1 rows changed/],
    ['prices come in cents', 5, 3, dear, /^3 of 5 rows changed/],
    ['most have another currency', 20, 20, foreign, /^20 of 20 rows changed/],
    ['what is sold out has no price either', 90, 90, soldOut, /^90 of 90 rows changed/],
    ['half of its rows lose their prices', 12, 6, priceless, undefined],
    ['its last pieces are sold', 12, 12, empty, undefined],
    ['a season of ten in a long list has no prices', 390, 10, priceless, undefined],
    ['a season of eleven in a long list has no prices', 390, 11, priceless, /^11 of 11 rows with/],
  ])('is told of what no day brings: %s', async (_what, count, changed, change, words) => {
    const rows = goods(count).map((row, at) =>
      count < 100 || at >= changed ? row : { ...row, seasonName: 'AW27' },
    );
    const { pulled, store } = await startGoods(rows);
    const { reason } = await pulled(rows.map((row, at) => (at < changed ? change(row) : row)));
    if (words) expect(reason).toMatch(words);
    expect(await openOf(store)).toEqual(words ? ['3'] : []);
    await pulled(rows);
    expect(await openOf(store)).toEqual([]);
  });
});

describe('a fault that comes while another is taken back', () => {
  const priceless = (row: Row) => withDetails(row, { wspPrice: null });
  const colored = (row: Row): Row => ({ ...row, colorCode: 'c7' });

  it.each([
    ['gone prices are back without colors', priceless, (row: Row) => row, /400 .* are gone/],
    [
      'no pieces are back as pieces without brands',
      (row: Row) => ({ ...row, quantity: 0 }),
      (row: Row) => withDetails(colored(row), { brandName: null }),
      /400 .* are gone/,
    ],
    [
      'prices in cents are back as a hundredth',
      (row: Row) => withDetails(colored(row), { wspPrice: 4_500 }),
      (row: Row) => withDetails(colored(row), { wspPrice: 0.45 }),
      /400 prices moved/,
    ],
    [
      'another currency is back as a third one',
      (row: Row) => withDetails(colored(row), { currency: 'SEK' }),
      (row: Row) => withDetails(colored(row), { currency: 'DKK' }),
      /400 have another currency/,
    ],
  ])('is told: %s', async (_what, first, second, words) => {
    const whole = goods().map(colored);
    const { pulled, store } = await startGoods(whole);
    await pulled(whole.map(first));
    expect(await openOf(store)).toEqual(['3']);
    expect((await pulled(goods().map(second))).reason).toMatch(words);
    expect(await openOf(store)).toContain('4');
    await pulled(whole);
    expect(await openOf(store)).toEqual([]);
  });

  it('is not over while a whole brand is still as it came', async () => {
    const rows = goods(1_300);
    const whole = rows.map((row, at) =>
      withDetails(row, { brandName: at < 120 ? 'Fjord' : 'Hede' }),
    );
    const { pulled, store } = await startGoods(whole);
    await pulled(whole.map((row) => ({ ...row, quantity: 0 })));
    await pulled(whole.map((row, at) => (at < 120 ? { ...row, quantity: 0 } : row)));
    expect(await openOf(store)).toEqual(['3']);
    await pulled(whole);
    expect(await openOf(store)).toEqual([]);
  });
});

describe('the first run that reads otherwise', () => {
  it('may find everything changed, and the next one may not', async () => {
    const { list, rows, stock, runOf, store, lastRun } = await startGoods();
    const upgraded = { ...stock, reading: 'another program' };
    list.rows = rows.map((row) => ({ ...row, quantity: 0 }));
    expect(await runOf(upgraded)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await lastRun('stock')).toMatchObject({ change_guard: 'off', rows_drastic: 400 });
    list.rows = rows;
    await runOf(upgraded);
    list.rows = rows.map((row) => ({ ...row, quantity: 0 }));
    await runOf(upgraded);
    expect(await openOf(store)).toEqual(['5']);
  });

  it.each([
    ['at another level', { level: { detailed: true } }],
    ['with other members', { members: 'others' }],
  ])('is the one %s', async (_what, options) => {
    const { list, rows, stock, runOf, store, lastRun } = await startGoods();
    const other = { ...stock, options: { ...stock.options, ...options } };
    list.rows = rows.map((row) => ({ ...row, quantity: 0 }));
    expect(await runOf(other)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await lastRun('stock')).toMatchObject({ change_guard: 'off', rows_drastic: 400 });
    expect(await openOf(store)).toEqual([]);
  });

  it('is still the first when one before it broke off', async () => {
    const { list, rows, stock, runOf, store } = await startGoods();
    const upgraded = { ...stock, reading: 'another program' };
    list.beforePage = () => false;
    for (let times = 0; times < 6; times += 1) await runOf(upgraded);
    list.beforePage = () => true;
    list.rows = rows.map((row) => ({ ...row, quantity: 0 }));
    expect(await runOf(upgraded)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await openOf(store)).toEqual([]);
  });
});

describe('a run that is cut off', () => {
  it('counts what it had changed by then', async () => {
    const { list, run, store } = await startList('pages');
    list.rows = goods();
    await run();
    await run();
    list.rows = goods().map((row) => ({ ...row, quantity: 0 }));
    list.beforePage = (page) => page < 8;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    list.beforePage = () => true;
    expect((await run()).reason).toMatch(/^400 of 400 rows changed at once/);
    expect(await openOf(store)).toEqual(['3']);
  });

  it('is told when it has failed for good', async () => {
    const { list, run, store } = await startList('pages');
    list.rows = goods();
    await run();
    await run();
    list.rows = goods().map((row) => ({ ...row, quantity: 0 }));
    list.beforePage = (page) => page < 8;
    for (let times = 0; times < 6; times += 1) await run();
    expect(await openOf(store)).toEqual(['3']);
    list.beforePage = () => true;
    list.rows = goods();
    await run();
    expect(await openOf(store)).toEqual([]);
  });

  it('is over once a whole run shows that it was told of a few rows', async () => {
    const { list, run, store } = await startList('pages');
    list.rows = goods();
    await run();
    await run();
    const dear = (row: Row) => withDetails(row, { price: 900 });
    list.rows = goods().map((row, at) => (at < 20 ? dear(row) : row));
    list.beforePage = (page) => page < 2;
    for (let times = 0; times < 6; times += 1) await run();
    expect(await openOf(store)).toEqual(['3']);
    list.beforePage = (page) => page < 4;
    for (let times = 0; times < 6; times += 1) await run();
    expect(await openOf(store)).toEqual(['3']);
    list.beforePage = () => true;
    expect(await run()).toMatchObject({ outcome: 'complete', reason: null });
    expect(await openOf(store)).toEqual([]);
  });

  it('is not over by the whole run that changes the other half', async () => {
    const { list, run, store } = await startList('pages');
    const rows = goods(384).map((row, at) => withDetails(row, { brandName: `${at % 2}` }));
    list.rows = rows;
    await run();
    await run();
    list.rows = rows.map((row) => ({ ...row, quantity: 0 }));
    list.beforePage = (page) => page < 7;
    for (let times = 0; times < 6; times += 1) await run();
    list.beforePage = () => true;
    for (let times = 0; times < 2; times += 1) {
      expect(await run()).toMatchObject({ outcome: 'complete', reason: null });
      expect(await openOf(store)).toEqual(['3']);
    }
  });

  it('counts what it had changed before it was started over', async () => {
    const { list, run, store } = await startList('pages');
    list.rows = goods();
    await run();
    await run();
    list.rows = goods().map((row) => ({ ...row, quantity: 0 }));
    list.beforePage = (page) => page < 12;
    await run();
    await store.db.updateTable('stream_state').set({ requested: 'full' }).execute();
    list.beforePage = () => true;
    expect((await run()).reason).toMatch(/^400 of 400 rows changed at once/);
  });
});

describe('a person who accepts what a run changed', () => {
  it('ends all that waited so far, once, and it is audited', async () => {
    const { rows, stock, pulled, store, operations } = await startGoods();
    const { release } = operations([stock]);
    await pulled(rows.map((row) => ({ ...row, quantity: 0 })));
    await pulled(rows.map((row) => withDetails({ ...row, quantity: 0 }, { wspPrice: 4500 })));
    await expect(release(2, ASKER)).rejects.toThrow(/run 2 is complete, not suspicious/);
    const accepted = { stream: 'stock', changedRuns: [3, 4], released: false };
    expect(await release(4, ASKER)).toMatchObject(accepted);
    expect(await openOf(store)).toEqual([]);
    await expect(release(4, ASKER)).rejects.toThrow(/not suspicious/);
    await expect(release(99, ASKER)).rejects.toThrow(/there is no run 99/);
    const audited = await store.db.selectFrom('audit').select(['action', 'reason']).execute();
    expect(audited).toEqual([{ action: 'sync.accept_change', reason: 'a new price list' }]);
    expect(Object.values(await stockIn(store))).toEqual(rows.map(() => 0));
    // Taking the change back is news again.
    expect((await pulled(rows)).reason).toMatch(/400 prices moved by ten times/);
  });

  it('accepts nothing of another stream', async () => {
    const { list, rows, stock, season, pulled, runOf, store, operations } = await startGoods();
    list.seasons = { SS27: goods(200) };
    await runOf(season);
    await runOf(season);
    list.seasons = { SS27: goods(200).map((row) => ({ ...row, quantity: 0 })) };
    await runOf(season);
    await pulled(rows.map((row) => ({ ...row, quantity: 0 })));
    expect(await openOf(store)).toEqual(['5', '6']);
    const { release } = operations([stock, season]);
    expect(await release(6, ASKER)).toMatchObject({ stream: 'stock', changedRuns: [6] });
    expect(await openOf(store)).toEqual(['5']);
  });

  it('waits for the end of the run', async () => {
    const { list, rows, stock, run, operations } = await startGoods();
    list.rows = rows.map((row) => ({ ...row, quantity: 0 }));
    list.beforePage = () => false;
    await run();
    const { release } = operations([stock]);
    await expect(release(3, ASKER)).rejects.toThrow(/run 3 is running/);
  });
});
