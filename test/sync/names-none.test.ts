/** Rows of a short list that have no name name nothing. */
import { expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { SHORT_LISTS } from '../../src/client/v1/short-lists.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { FREIGHT_OPTION, SEASON } from '../../src/mirror/catalog/names.ts';
import { driftOfStream } from '../../src/sync/drift.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { temporaryStore } from '../support/store.ts';
import { manyRows, startList } from './list-server.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf } from './support.ts';

async function startFreight() {
  const store = await temporaryStore(systemClock());
  const { run } = runsOn(runnerOf(store));
  const list = { raws: [] as object[] };
  const read = async () => ({
    ...checkRows(SHORT_LISTS.freight.schema, list.raws),
    ...{ count: list.raws.length, startedAt: 0 },
  });
  const freight = createShortListStream({
    ...{ name: 'freight', entity: FREIGHT_OPTION, deletionGuard: DELETION_GUARD, read },
  });
  return { store, list, run: () => run(freight) };
}

it.each([{ freightType: '' }, { freightType: '  ' }, { freightType: null }, { label: 'Express' }])(
  'a freight option such as %j is counted, and the list is complete without it',
  async (nameless) => {
    const { store, list, run } = await startFreight();
    const named = ['Letter', 'Pallet', 'Parcel', 'Van'].map((freightType) => ({ freightType }));
    list.raws = [...named, nameless];
    expect(await run()).toMatchObject({ outcome: 'complete', changed: 4 });
    list.raws = [nameless, ...named.slice(0, -1)];
    expect(await run()).toMatchObject({ outcome: 'complete' });
    const live = store.db.selectFrom('freight_option').where('deleted_at', 'is', null);
    const types = await live.select('freight_type').orderBy('freight_type').execute();
    expect(types.map((row) => row.freight_type)).toEqual(['Letter', 'Pallet', 'Parcel']);
    expect(await store.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect((await driftOfStream(store.db, 'freight'))[0]?.newValues).toEqual({
      'freightType=(none)': 1,
    });
  },
);

it('a list in which no row has a name is not one of nothing', async () => {
  const { list, run } = await startFreight();
  list.raws = [{ label: 'Parcel' }, { label: 'Letter' }];
  expect(await run()).toMatchObject({
    ...{ outcome: 'partial', reason: expect.stringMatching(/^2 rows cannot be read/) },
  });
});

it('a season without a name keeps no other one from being read', async () => {
  const { list, season, runOf } = await startList('stream');
  list.seasons = { first: manyRows(3) };
  list.oddSeasons = [{ seasonName: '', deliveryNames: ['D'] }];
  expect(await runOf(season)).toMatchObject({ outcome: 'complete', rows: 3 });
});

it.each([
  [['D1', { name: 'D2' }], 'deliveryNames', []],
  [undefined, 'deliveryNames', []],
  [{ 0: 'D1', 1: 2 }, null, ['D1', '2']],
  [{}, null, []],
])('deliveries of a season that are %j', async (deliveryNames, unread, names) => {
  const store = await temporaryStore(systemClock());
  const { run } = runsOn(runnerOf(store));
  const raw = { seasonName: 'SS27', deliveryNames };
  const read = async () => ({
    ...checkRows(SHORT_LISTS.seasons.schema, [raw]),
    count: 1,
    startedAt: 0,
  });
  const seasons = createShortListStream({
    name: 'seasons',
    entity: SEASON,
    deletionGuard: DELETION_GUARD,
    read,
  });
  expect(await run(seasons)).toMatchObject({ outcome: 'complete' });
  const rows = await store.db.selectFrom('season').select('unread').execute();
  expect(rows).toEqual([{ unread: unread === null ? null : `["${unread}"]` }]);
  const told = await store.db.selectFrom('season_delivery').select('delivery_name').execute();
  expect(told.map((row) => row.delivery_name)).toEqual(names);
});
