/** Counts of the service that are off: for good, or because the list moves while it is read. */
import { describe, expect, it } from 'vitest';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { expectNoLoss } from './busy-list.ts';
import { byBarcode, manyRows, startList, stockIn } from './list-server.ts';
import { DELETION_GUARD } from './pull.ts';

const ASKER = { actor: 'anna', reason: 'they count hidden ones' };

async function deletedIn({ db }: SqliteStore): Promise<readonly string[]> {
  const rows = await db.selectFrom('change').select('key').where('op', '=', 'delete').execute();
  return rows.map(({ key }) => key);
}

async function saidIn({ db }: SqliteStore) {
  const rows = await db.selectFrom('audit').select(['action', 'detail']).execute();
  return rows.map(({ action, detail }) => [action, JSON.parse(detail)]);
}

/** A stock of 80 rows whose count is off. */
async function startOff(by: number) {
  const pull = await startList('stream');
  pull.list.rows = manyRows(80);
  pull.list.counts = () => pull.list.rows.length + by;
  expect(await pull.run()).toMatchObject({ outcome: 'partial' });
  return { ...pull, operations: pull.operations([pull.stock, pull.season]) };
}

describe('a count that is always off', () => {
  it.each([2, -3])('by %d is right once a person has said so', async (by) => {
    const { list, run, store, operations } = await startOff(by);
    const told = by > 0 ? '2 more counted than come' : '3 fewer counted than come';
    expect(await operations.release('stock', ASKER)).toEqual({
      stream: 'stock',
      runId: 1,
      rowsDeleted: 0,
      acceptedCount: told,
      released: true,
      changedRuns: [],
    });
    list.rows = list.rows.slice(4);
    expect(await run()).toMatchObject({ outcome: 'complete', reason: null });
    expect(await stockIn(store)).toEqual(byBarcode(list.rows));
    expect(await saidIn(store)).toEqual([
      ['sync.release', { deleted: 0, accepted: { 'count:': by } }],
    ]);
  });

  it('is told again when it is off by another number, and is right when it fits', async () => {
    const { list, run, operations } = await startOff(2);
    await operations.release('1', ASKER);
    list.counts = () => list.rows.length + 3;
    const { outcome, reason } = await run();
    expect(outcome).toBe('partial');
    expect(reason).toMatch(/counts 83 rows of the stock, 80 came; 2 more would be as accepted/);
    for (const less of [1, -2]) {
      list.counts = () => list.rows.length + less;
      expect(await run()).toMatchObject({ outcome: 'partial' });
    }
    list.counts = () => list.rows.length;
    expect(await run()).toMatchObject({ outcome: 'complete' });
    list.counts = () => list.rows.length + 2;
    expect(await run()).toMatchObject({ outcome: 'complete' });
  });

  it('is said for each season by itself', async () => {
    const { list, season, runOf, operations } = await startList('stream');
    list.seasons = { SS27: manyRows(20), AW27: manyRows(30) };
    list.counts = (_page, name) => (name === 'SS27' ? 21 : 30);
    expect(await runOf(season)).toMatchObject({ outcome: 'partial' });
    const { acceptedCount } = await operations([season]).release('season', ASKER);
    expect(acceptedCount).toBe('1 more counted than come of SS27');
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    list.counts = (_page, name) => (name === 'SS27' ? 20 : 31);
    expect((await runOf(season)).reason).toMatch(/^the service counts 31 rows of AW27, 30 came/);
  });

  it('is said of a short list as well', async () => {
    const { runOf, operations } = await startList('stream');
    const rows = [{ brandName: 'Fjord' }];
    const read = async () => ({ rows, rejects: [], count: 2, startedAt: 0 });
    const brands = createShortListStream({
      name: 'brands',
      entity: BRAND,
      deletionGuard: DELETION_GUARD,
      read,
    });
    expect(await runOf(brands)).toMatchObject({ outcome: 'partial' });
    await operations([brands]).release('brands', ASKER);
    expect(await runOf(brands)).toMatchObject({ outcome: 'complete' });
  });

  it('cannot be said of a run that is whole, or doubtful otherwise', async () => {
    const { list, run, stock, operations } = await startList('stream');
    const { release } = operations([stock]);
    await expect(release('stock', ASKER)).rejects.toThrow(/stock has not run yet/);
    list.rows = manyRows(80);
    await run();
    await expect(release('stock', ASKER)).rejects.toThrow(/run 1 is complete, not suspicious/);
    list.counts = () => 81;
    list.rows = list.rows.with(3, { barcode: '', quantity: 1 });
    await run();
    await expect(release('2', ASKER)).rejects.toThrow(/run 2 is partial, not suspicious/);
    await expect(release('9', ASKER)).rejects.toThrow(/there is no run 9/);
    await expect(release('stocks', ASKER)).rejects.toThrow(/there is no stream stocks/);
  });
});

describe('the release of a run of which only the count is off', () => {
  it('deletes what it did not see, and takes the count for right', async () => {
    const { list, run, store, operations } = await startOff(1);
    list.rows = list.rows.toSpliced(7, 5);
    await run();
    const released = { stream: 'stock', runId: 2, rowsDeleted: 5, released: true };
    expect(await operations.release(2, ASKER)).toMatchObject(released);
    expect(await stockIn(store)).toEqual(byBarcode(list.rows));
    expect(await saidIn(store)).toEqual([
      ['sync.release', { deleted: 5, accepted: { 'count:': 1 } }],
    ]);
    expect(await run()).toMatchObject({ outcome: 'complete' });
  });

  it('forgets what stood behind the end of a part that has become shorter', async () => {
    const { list, season, runOf, operations, store } = await startList('stream');
    list.seasons = { SS27: manyRows(40), AW27: manyRows(40) };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    list.seasons = { SS27: manyRows(36), AW27: manyRows(44) };
    list.counts = (_page, name) => (list.seasons[name ?? '']?.length ?? 0) + 1;
    await runOf(season);
    expect(await operations([season]).release(2, ASKER)).toMatchObject({ rowsDeleted: 4 });
    expect(await deletedIn(store)).toHaveLength(4);
  });

  it('takes only the count where it would delete too much, or rows came twice', async () => {
    const deletionGuard = { absolute: 1_000, share: 0.1 };
    const { list, run, stock, operations } = await startList('stream', deletionGuard);
    const { release } = operations([stock]);
    list.rows = manyRows(80);
    await run();
    list.counts = () => 81;
    // The rows are as many as before, but others.
    list.rows = [...manyRows(100).slice(80), ...list.rows.slice(20)];
    expect(await run()).toMatchObject({ outcome: 'partial' });
    const counted = { released: false, rowsDeleted: 0 };
    expect(await release(2, ASKER)).toMatchObject(counted);
    const { outcome, reason } = await run();
    expect([outcome, reason]).toEqual(['suspicious', expect.stringMatching(/delete 20 of 100/)]);
    list.rows = [...list.rows.slice(1), { barcode: 'b0099', quantity: 2 }];
    list.counts = () => 90;
    await run();
    expect(await release(4, ASKER)).toMatchObject(counted);
  });
});

describe('a list that moves while it is read page by page', () => {
  it.each([1, 2])('is complete, and loses no row that is there: seed %d', expectNoLoss);

  it('asks for the rows that it missed, and writes them as they are', async () => {
    const { list, run, store } = await startList('pages');
    const rows = manyRows(100);
    list.rows = rows;
    await run();
    list.rows = rows.toSpliced(50, 2);
    // The one has slipped between two pages, the other is gone.
    list.alone = [...list.rows, { barcode: 'b0050', quantity: 7 }];
    list.counts = (page) => (page === 1 ? 100 : 99);
    const reason = 'the list moved while it was read: 2 rows were asked for one by one';
    expect(await run()).toMatchObject({ outcome: 'complete', reason });
    expect(list.asked).toEqual(['b0050', 'b0051']);
    expect(await deletedIn(store)).toEqual([]);
    expect(await stockIn(store)).toMatchObject({ b0050: 7, b0051: 1 });
    await run();
    expect(await deletedIn(store)).toEqual(['b0051']);
  });

  it('takes what is listed no more and sold out for gone', async () => {
    const { list, run, store } = await startList('pages');
    list.rows = manyRows(100);
    await run();
    list.rows = list.rows.toSpliced(50, 1);
    list.alone = [...list.rows, { barcode: 'b0050', quantity: 0 }];
    list.counts = (page) => (page === 1 ? 100 : 99);
    await run();
    expect(await stockIn(store)).toMatchObject({ b0050: 0 });
    await run();
    expect(await deletedIn(store)).toEqual(['b0050']);
  });

  it('asks in the season that a row is of', async () => {
    const { list, season, runOf, store } = await startList('pages');
    const rows = [...manyRows(60), { barcode: 'x/7~', quantity: 1 }];
    list.seasons = { 'SS/27': rows, AW27: manyRows(40) };
    await runOf(season);
    list.seasons = { ...list.seasons, 'SS/27': rows.slice(0, -1) };
    list.alone = rows;
    list.counts = (_page, name) => (name === 'AW27' ? 40 : 61);
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    expect(list.asked).toEqual(['x/7~']);
    await runOf(season);
    expect(await deletedIn(store)).toEqual([]);
  });

  it('is read again when more rows were missed than can be asked for', async () => {
    const { list, run } = await startList('pages');
    list.rows = manyRows(1_000);
    await run();
    list.rows = manyRows(1_320).slice(320);
    list.counts = (page) => (page === 1 ? 1_001 : 1_000);
    const told = /moved while it was read, and 320 rows did not come: more than the 300/;
    const { outcome, reason } = await run();
    expect(outcome).toBe('partial');
    expect(reason).toMatch(told);
    expect(list.asked).toEqual([]);
  });

  it.each([
    ['pages', (page: number) => (page === 1 ? 100 : 120)],
    ['pages', () => 120],
    ['stream', () => 101],
  ] as const)('is doubted where it moved a lot, or came in one piece: %s', async (mode, counts) => {
    const { list, run } = await startList(mode);
    list.rows = manyRows(100);
    list.counts = counts;
    expect(await run()).toMatchObject({ outcome: 'partial' });
  });
});
