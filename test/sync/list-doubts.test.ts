/** Doubts that keep a list from being complete, over stops and beside other streams. */
import { describe, expect, it } from 'vitest';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import { clearResolvedQuarantine, quarantineRows } from '../../src/mirror/quarantine.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { temporaryStore } from '../support/store.ts';
import { byBarcode, manyRows, startList, stockIn } from './list-server.ts';
import { DELETION_GUARD } from './pull.ts';

const ROWS = manyRows(64);
/** Bad rows: one that lost its key, and one that has a key but half a character in it. */
const KEYLESS = { barcode: '', quantity: 1 };
const BAD = { barcode: 'x\ud800', quantity: 1 };

async function aside(store: SqliteStore): Promise<number> {
  return (await store.db.selectFrom('quarantine').select('id').execute()).length;
}

/** Brands as the service tells them, in one answer. */
function brandsOf(names: readonly string[], count: number) {
  const rows = names.map((brandName) => ({ brandName }));
  const read = async () => ({ rows, rejects: [], count, startedAt: 0 });
  return createShortListStream({
    name: 'brands',
    entity: BRAND,
    deletionGuard: DELETION_GUARD,
    read,
  });
}

describe('a row without a key', () => {
  it('could be any of those that are missing: none is gone as long as it comes', async () => {
    const { list, store, run } = await startList('stream');
    list.rows = ROWS;
    await run();
    list.rows = ROWS.with(7, KEYLESS);
    const reason = '1 rows cannot be read: "selvedge report run quarantine"';
    expect(await run()).toMatchObject({ outcome: 'partial', reason });
    expect(await run()).toMatchObject({ outcome: 'partial', reason });
    expect(await stockIn(store)).toEqual(byBarcode(ROWS));
    list.rows = ROWS.toSpliced(7, 1);
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await stockIn(store)).toEqual(byBarcode(list.rows));
    expect(await aside(store)).toBe(0);
  });

  it('is not forgotten by a run that was cut off behind it', async () => {
    const { list, run } = await startList('pages');
    list.rows = ROWS.with(7, KEYLESS);
    await run();
    list.beforePage = (page) => page < 2;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    list.beforePage = () => true;
    expect(await run()).toMatchObject({ outcome: 'partial' });
  });
});

describe('a bad row', () => {
  const ODD = ROWS.with(7, BAD);
  const reason = expect.stringContaining('1 rows cannot be read');

  it('keeps each run from being complete that meets it, in one season or in two', async () => {
    const { list, season, runOf } = await startList('stream');
    for (const seasons of [
      { A: ODD, B: ODD },
      { A: ODD, B: ROWS },
    ]) {
      list.seasons = seasons;
      expect(await runOf(season)).toMatchObject({ outcome: 'partial', reason });
      expect(await runOf(season)).toMatchObject({ outcome: 'partial', reason });
    }
    list.seasons = { A: ROWS, B: ROWS };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
  });

  it('keeps one that was started over from it as well', async () => {
    const { list, store, run } = await startList('pages');
    list.rows = ODD;
    list.beforePage = (page) => page < 2;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    expect(await aside(store)).toBe(1);
    list.beforePage = () => true;
    await store.db.updateTable('stream_state').set({ requested: 'full' }).execute();
    expect(await run()).toMatchObject({ outcome: 'partial', reason });
    expect(await run()).toMatchObject({ outcome: 'partial', reason });
    list.rows = ROWS;
    expect(await run()).toMatchObject({ outcome: 'complete' });
  });
});

it('a quantity that cannot be read is unknown, and its row is not gone', async () => {
  const { list, store, season, run, runOf } = await startList('stream');
  const odd = ROWS.with(7, { barcode: 'b0007', quantity: 1.5 });
  list.rows = ROWS;
  list.seasons = { A: ROWS };
  await run();
  await runOf(season);
  list.rows = odd;
  list.seasons = { A: odd };
  for (const changed of [1, 0]) {
    expect(await run()).toMatchObject({ outcome: 'complete', changed });
    expect(await runOf(season)).toMatchObject({ outcome: 'complete', changed });
  }
  expect(await stockIn(store)).toMatchObject({ b0006: 1, b0007: null });
  const [row] = await store.db
    .selectFrom('stock_variant_row')
    .select(['unread', 'extra'])
    .where('barcode', '=', 'b0007')
    .execute();
  expect(row?.unread).toBe('["quantity"]');
  const gone = store.db.selectFrom('change').select(['entity', 'key']).where('op', '=', 'delete');
  expect(await gone.execute()).toEqual([]);
});

describe('a run that is not complete', () => {
  it('forgets no bad row that it has not met', async () => {
    const { list, store, run } = await startList('pages');
    list.rows = ROWS.with(7, BAD);
    await run();
    expect(await run()).toMatchObject({ outcome: 'partial' });
    list.rows = ROWS;
    list.counts = (page) => page === 1;
    expect(await run()).toMatchObject({ outcome: 'partial' });
    expect(await aside(store)).toBe(1);
    list.counts = () => true;
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await aside(store)).toBe(0);
  });

  it('is no proof that the same list has lost nothing, whatever another stream said', async () => {
    const { list, store, season, run, runOf } = await startList('stream');
    list.seasons = { A: manyRows(3) };
    list.rows = ROWS;
    await run();
    list.rows = ROWS.with(7, BAD);
    expect(await run()).toMatchObject({ outcome: 'partial' });
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    list.rows = ROWS.toSpliced(7, 1);
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await stockIn(store)).toEqual(byBarcode(ROWS.toSpliced(7, 1)));
  });
});

it('a bad row of another list is not let go', async () => {
  const store = await temporaryStore();
  const at = (source: string, time: number) => ({ source, readSeq: 1, at: time });
  const bad = [{ raw: '{}', path: 'barcode', reason: 'no text' }];
  await store.transaction(async (tx) => {
    for (const entity of ['stock_variant', 'brand', 'season']) {
      await quarantineRows(tx, entity, bad, at('run:1', 10));
    }
    // The row was met before the clock was set back.
    await quarantineRows(tx, 'season', bad, at('run:2', 20));
    await clearResolvedQuarantine(tx, 'brand', { source: 'run:2', startedAt: 30 });
    await clearResolvedQuarantine(tx, 'season', { source: 'run:2', startedAt: 30 });
  });
  const left = await store.db.selectFrom('quarantine').select('entity').orderBy('id').execute();
  expect(left.map(({ entity }) => entity)).toEqual(['stock_variant', 'season']);
});

it('a list that is longer than the service counts is doubted as one that is shorter', async () => {
  const { list, run, runOf } = await startList('stream');
  list.rows = ROWS;
  for (const count of [63, 65]) {
    list.counts = () => count;
    const reason = expect.stringContaining(`counts ${count} rows of the stock, 64 came;`);
    expect(await run()).toMatchObject({ outcome: 'partial', reason });
  }
  for (const count of [1, 3]) {
    const reason = expect.stringContaining(`the service counts ${count} rows, 2 came;`);
    expect(await runOf(brandsOf(['a', 'b'], count))).toMatchObject({ outcome: 'partial', reason });
  }
  expect(await runOf(brandsOf(['a', 'b'], 2))).toMatchObject({ outcome: 'complete' });
});

it('the deletion guard counts no rows that are gone already', async () => {
  const { list, run, lastRun } = await startList('stream', { absolute: 29, share: 0.4 });
  list.rows = manyRows(100);
  await run();
  for (const rows of [80, 65]) {
    list.rows = list.rows.slice(0, rows);
    expect(await run()).toMatchObject({ outcome: 'complete' });
  }
  expect(await lastRun('stock')).toMatchObject({ rows_deleted: 15 });
});

it('two runs agree that a row is gone, whatever other streams do between them', async () => {
  const { list, store, season, run, runOf } = await startList('pages');
  list.rows = ROWS;
  list.seasons = { A: ROWS };
  await run();
  await runOf(season);
  list.rows = ROWS.slice(1);
  const brands: string[] = [];
  for (const left of [63, 62]) {
    expect(await run()).toMatchObject({ outcome: 'complete' });
    // Each of them misses rows of its own, or none.
    list.seasons = { A: ROWS.slice(0, left) };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    brands.push(`brand ${left}`);
    expect(await runOf(brandsOf(brands, brands.length))).toMatchObject({ outcome: 'complete' });
  }
  expect(await stockIn(store)).toEqual(byBarcode(ROWS.slice(1)));
});

describe('a run of the seasons that goes on', () => {
  const SEASONS = { A: manyRows(40), B: manyRows(64), C: manyRows(70) };

  async function startCut(isDoubtful: boolean) {
    const started = await startList('pages');
    const { list, season, runOf, lastRun } = started;
    list.seasons = SEASONS;
    list.counts = (page, name) => !(isDoubtful && name === 'A' && page > 1);
    list.beforePage = (page, name) => name !== 'B' || page < 2;
    expect(await runOf(season)).toMatchObject({ outcome: 'interrupted' });
    expect((await lastRun('season')).rows_seen).toBe(40 + 32);
    list.beforePage = () => true;
    return started;
  }

  it('reads each season once, from where it was cut off', async () => {
    const { store, season, runOf } = await startCut(false);
    expect(await runOf(season)).toMatchObject({ outcome: 'complete', rows: 40 + 64 + 70 });
    const rows = store.db.selectFrom('season_variant').select(['season_name', 'barcode']);
    expect(await rows.where('deleted_at', 'is', null).execute()).toHaveLength(40 + 64 + 70);
  });

  it('knows what spoke against a season that was read before', async () => {
    const { season, runOf } = await startCut(true);
    const reason = expect.stringContaining('A went from 40 to an unknown number of rows');
    expect(await runOf(season)).toMatchObject({ outcome: 'partial', reason });
  });
});

it('a season whose name cannot be read takes no other one away', async () => {
  const { list, store, season, runOf } = await startList('stream');
  list.seasons = { first: ROWS, second: ROWS };
  await runOf(season);
  list.seasons = { first: ROWS };
  list.oddSeasons = [{ seasonName: ['second'] }];
  const reason = 'a season has no name that can be read';
  expect(await runOf(season)).toMatchObject({ outcome: 'partial', reason });
  const gone = store.db.selectFrom('change').select('key').where('op', '=', 'delete');
  expect(await gone.execute()).toEqual([]);
});

it('a season that is listed and cannot be found keeps no other one back', async () => {
  const { list, store, season, runOf } = await startList('stream');
  list.seasons = { first: ROWS, second: ROWS };
  expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
  list.seasons = { first: ROWS, second: ROWS.with(7, { barcode: 'b0007', quantity: 9 }) };
  list.lostSeasons = ['first'];
  const said = 'GET /variants/season: HTTP 404: ‹no such season›';
  const reason = `first is listed, and cannot be found: ${said}`;
  expect(await runOf(season)).toMatchObject({ outcome: 'partial', rows: 64, changed: 1, reason });
  list.lostSeasons = [];
  expect(await runOf(season)).toMatchObject({ outcome: 'complete', rows: 128, changed: 0 });
  const gone = store.db.selectFrom('change').select('key').where('op', '=', 'delete');
  expect(await gone.execute()).toEqual([]);
});

it('a season that goes while it is read makes nothing else of the list look wrong', async () => {
  const { list, season, runOf } = await startList('pages');
  list.seasons = { first: ROWS, second: ROWS };
  list.beforePage = (page, name) => {
    list.lostSeasons = page === 2 && name === 'first' ? ['first'] : [];
    return true;
  };
  const reason = expect.stringMatching(/^first is listed, and cannot be found: [^;]+$/);
  expect(await runOf(season)).toMatchObject({ outcome: 'partial', reason });
});

it('a season that cannot be understood is read by its name', async () => {
  const { list, season, runOf } = await startList('stream');
  list.rows = ROWS;
  list.oddSeasons = [{ seasonName: 'first', deliveryNames: [null] }];
  expect(await runOf(season)).toMatchObject({ outcome: 'complete', rows: 64 });
});
