import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import { configOf } from '../config/config-of.ts';
import { manyRows, startList, stockIn } from './list-server.ts';

// Floating point makes 0.29 of 100 rows a little less than 29.
it.each([
  [{ absolute: 29, share: 0.29 }, 'complete'],
  [{ absolute: 28, share: 0.29 }, 'suspicious'],
  [{ absolute: 29, share: 0.28 }, 'suspicious'],
])(
  'a deletionGuard of %o finds a run that deletes 29 of 100 rows %s',
  async (deletionGuard, outcome) => {
    const { list, run, lastRun } = await startList('stream', deletionGuard);
    list.rows = manyRows(100);
    await run();
    list.rows = list.rows.slice(29);
    expect(await run()).toMatchObject({ outcome });
    const rows = outcome === 'complete' ? { rows_deleted: 29 } : { rows_held: 29 };
    expect(await lastRun('stock')).toMatchObject(rows);
  },
);

it('lets no deletion guard delete all there is: an empty list is for a person', async () => {
  const { list, run, lastRun } = await startList('stream', { absolute: 1_000, share: 1 });
  list.rows = manyRows(3);
  await run();
  list.rows = [];
  const told =
    'no rows came; the last complete run had 3; if that is right: selvedge sync release 2';
  expect(await run()).toMatchObject({ outcome: 'suspicious', reason: told });
  expect(await lastRun('stock')).toMatchObject({ rows_held: 3, rows_deleted: 0 });
});

it('says of an empty list what else speaks against it', async () => {
  const { list, season, runOf } = await startList('stream');
  list.seasons = { first: manyRows(3) };
  await runOf(season);
  list.seasons = {};
  list.oddSeasons = [{ name: 'first' }];
  const told = 'a season has no name that can be read; no rows came; the last complete run had 3';
  const reason = `${told}; if that is right: selvedge sync release 2`;
  expect(await runOf(season)).toMatchObject({ outcome: 'suspicious', reason });
});

it.each([
  [{ absolute: 1_000, share: 0.1 }, 'suspicious'],
  [{ absolute: 1_000, share: 1 }, 'partial'],
])(
  'a list that repeats its first page for each is %o %s, and names a row',
  async (deletionGuard, outcome) => {
    const { list, run, lastRun, store } = await startList('pages', deletionGuard);
    list.rows = manyRows(64);
    await run();
    list.rows = [...manyRows(32), ...manyRows(32)];
    const ended = await run();
    expect(ended).toMatchObject({ outcome });
    const twice = /^32 rows came twice, such as b00[0-3]\d: the list moved .* or has them twice/;
    expect(ended.reason).toMatch(twice);
    if (outcome === 'suspicious') expect(ended.reason).toContain('it would delete 32 of 64 rows');
    expect(await lastRun('stock')).toMatchObject({ rows_deleted: 0 });
    expect(Object.keys(await stockIn(store))).toHaveLength(64);
  },
);

it('takes no season for gone when fewer are named than the service counts', async () => {
  const { list, store, season, runOf } = await startList('stream');
  const [first, second] = [manyRows(20), manyRows(20)];
  list.seasons = { first, second };
  expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
  list.seasons = { first };
  list.seasonsCutOff = 1;
  const reason = expect.stringContaining('the service counts 2 seasons, 1 came;');
  expect(await runOf(season)).toMatchObject({ outcome: 'partial', reason });
  list.seasonsCutOff = 0;
  list.seasons = { first, second };
  expect(await runOf(season)).toMatchObject({ outcome: 'complete', changed: 0 });
  const gone = store.db.selectFrom('change').select('key').where('op', '=', 'delete');
  expect(await gone.execute()).toEqual([]);
});

it('tells of a list that is no longer counted', async () => {
  const { list, run } = await startList('pages');
  list.rows = manyRows(40);
  list.counts = (page) => page === 1;
  const { outcome, reason } = await run();
  expect(outcome).toBe('partial');
  expect(reason).toContain('went from 40 to an unknown number of rows meanwhile');
});

const { streams } = configOf([
  { path: 'service.v1.baseUrl', value: 'https://key.example.com/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('apiKey', 'k') },
]);
const fuses = Object.entries(streams).flatMap(([name, stream]) =>
  'deletionGuard' in stream ? [[name, stream.deletionGuard] as const] : [],
);

// The lists of freight, seasons and genders are as short as these.
it.each(fuses)(
  'the default deletionGuard of %s holds what lacks half of the rows',
  async (_name, deletionGuard) => {
    const { list, run } = await startList('stream', deletionGuard);
    for (const [rows, left] of [
      [2, 1],
      [3, 2],
      [4, 2],
      [5, 3],
    ] as const) {
      list.rows = manyRows(rows);
      await run();
      list.rows = list.rows.slice(0, left);
      expect(await run()).toMatchObject({ outcome: 'suspicious' });
    }
  },
);

describe('a list that loses a little with each run', () => {
  const LITTLE = { absolute: 1_000, share: 0.1 };
  const OWN = { actor: 'anna', reason: 'a sale' };

  it('is held when it is too much within a day, and says so', async () => {
    const { list, run, lastRun } = await startList('stream', LITTLE);
    list.rows = manyRows(200);
    await run();
    list.rows = list.rows.slice(15);
    expect(await run()).toMatchObject({ outcome: 'complete' });
    list.rows = list.rows.slice(8);
    const told =
      'delete 8 of 185 rows, and 15 went in the last 24 h: together more than the deletion guard';
    const { outcome, reason } = await run();
    expect({ outcome, reason }).toMatchObject({ outcome: 'suspicious' });
    expect(reason).toContain(told);
    expect(await lastRun('stock')).toMatchObject({ rows_held: 8 });
  });

  it('is not held for what went longer ago', async () => {
    const { list, run, store } = await startList('stream', LITTLE);
    list.rows = manyRows(200);
    await run();
    list.rows = list.rows.slice(15);
    await run();
    const dayAgo = Date.now() - 86_400_001;
    const gone = store.db.updateTable('stock_variant_row').set({ deleted_at: dayAgo });
    await gone.where('deleted_at', 'is not', null).execute();
    list.rows = list.rows.slice(15);
    expect(await run()).toMatchObject({ outcome: 'complete' });
  });

  it('is not held for rows that come and go', async () => {
    const { list, run } = await startList('stream', LITTLE);
    const rows = manyRows(200);
    list.rows = rows;
    await run();
    for (let from = 0; from < 180; from += 18) {
      list.rows = rows.toSpliced(from, 18);
      expect(await run()).toMatchObject({ outcome: 'complete' });
    }
  });

  it('may lose as much again after a person has released a run', async () => {
    const { list, run, stock, operations } = await startList('stream', LITTLE);
    list.rows = manyRows(200);
    await run();
    list.rows = list.rows.slice(15);
    await run();
    list.rows = list.rows.slice(8);
    expect(await run()).toMatchObject({ outcome: 'suspicious' });
    await operations([stock]).release(3, OWN);
    list.rows = list.rows.slice(16);
    expect(await run()).toMatchObject({ outcome: 'complete' });
    list.rows = list.rows.slice(8);
    expect(await run()).toMatchObject({ outcome: 'suspicious' });
  });

  it('is held for one of its seasons', async () => {
    const { list, season, runOf } = await startList('stream', LITTLE);
    list.seasons = { SS27: manyRows(100), AW27: manyRows(900) };
    await runOf(season);
    list.seasons = { ...list.seasons, SS27: manyRows(92) };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
    list.seasons = { ...list.seasons, SS27: manyRows(88) };
    const told = /it would delete 4 of 92 rows of SS27, and 8 went in the last 24 h/;
    expect((await runOf(season)).reason).toMatch(told);
  });
});
