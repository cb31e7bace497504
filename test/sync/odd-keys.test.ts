/** Keys by which rows could be mistaken: with half a character in them, and with slashes. */
import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { SHORT_LISTS } from '../../src/client/v1/short-lists.ts';
import { resourceSchemas } from '../../src/client/v2/resources.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { temporaryStore } from '../support/store.ts';
import { byBarcode, manyRows, startList, stockIn } from './list-server.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf } from './support.ts';

/** Half of a pair of UTF-16. */
const HALF = '\ud800';

describe('a key with half a character', () => {
  it.each(['stream', 'pages'] as const)('is put aside, mode %s', async (mode) => {
    const { list, store, run } = await startList(mode);
    const rows = manyRows(40);
    list.rows = rows.with(20, { barcode: `x${HALF}`, quantity: 1 });
    const reason = '1 rows cannot be read: "selvedge report run quarantine"';
    for (const changed of [39, 0, 0]) {
      expect(await run()).toMatchObject({ outcome: 'partial', reason, changed });
    }
    const kept = await store.db.selectFrom('quarantine').select(['path', 'reason']).execute();
    expect(kept).toEqual([{ path: 'barcode', reason: expect.stringContaining('half') }]);
    list.rows = rows;
    await run();
    await run();
    expect(await stockIn(store)).toEqual(byBarcode(rows));
  });

  it('is put aside in short lists and collections too', async () => {
    const store = await temporaryStore(systemClock());
    const { run } = runsOn(runnerOf(store));
    const { rows, rejects } = checkRows(SHORT_LISTS.brands.schema, [
      { brandName: HALF },
      { brandName: 'good' },
    ]);
    const read = async () => ({ rows, rejects, count: 2, startedAt: 0 });
    const brands = createShortListStream({
      name: 'brands',
      entity: BRAND,
      deletionGuard: DELETION_GUARD,
      read,
    });
    expect(await run(brands)).toMatchObject({ outcome: 'partial', changed: 1 });
    expect(await run(brands)).toMatchObject({ outcome: 'partial', changed: 0 });
    const color = { type: 'color', id: HALF };
    expect(resourceSchemas.color.safeParse(color).success).toBe(false);
  });
});

describe('a barcode with a slash', () => {
  it('is not taken for another season with another barcode', async () => {
    const { list, store, season, runOf } = await startList('stream');
    list.seasons = {
      A: [{ barcode: 'B/C', quantity: 1 }],
      'A/B': [
        { barcode: 'C', quantity: 2 },
        { barcode: 'C/', quantity: 3 },
        { barcode: '~1C', quantity: 4 },
        { barcode: '/C', quantity: 5 },
      ],
    };
    const rows = async () => {
      const live = store.db.selectFrom('season_variant').where('deleted_at', 'is', null);
      return live.select(['season_name', 'barcode', 'quantity']).orderBy('quantity').execute();
    };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete', reason: null });
    const names = (await rows()).map((row) => `${row.season_name} ${row.barcode}`);
    expect(names).toEqual(['A B/C', 'A/B C', 'A/B C/', 'A/B ~1C', 'A/B /C']);
    list.seasons = { A: [{ barcode: 'B/C', quantity: 1 }], 'A/B': [] };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await rows()).toEqual([{ season_name: 'A', barcode: 'B/C', quantity: 1 }]);
  });

  it('counts for its season where the deletion guard holds for each', async () => {
    const { list, season, runOf } = await startList('stream', { absolute: 1_000, share: 0.5 });
    const many = manyRows(20);
    list.seasons = { A: [0, 1, 2].map((at) => ({ barcode: `x/${at}`, quantity: 1 })), B: many };
    expect(await runOf(season)).toMatchObject({ outcome: 'complete', reason: null });
    list.seasons = { A: [], B: many };
    const reason = expect.stringContaining('3 of 3 rows of A, more than the deletion guard allows');
    expect(await runOf(season)).toMatchObject({ outcome: 'suspicious', reason });
  });
});
