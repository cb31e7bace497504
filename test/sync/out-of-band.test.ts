/** Rows that are written apart from their list while a run of it is under way. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import {
  invalidateOutOfBand,
  ORDERED_SOURCE,
  writeSeasonVariants,
  writeShortList,
  writeStockVariants,
} from '../../src/mirror/catalog/out-of-band.ts';
import { PDM, writeStyle } from '../../src/mirror/catalog/pdm.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import type { SqliteStore, Store } from '../../src/store/store.ts';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { answerJson, envelope } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';
import { byBarcode, manyRows, startList, stockIn } from './list-server.ts';
import { runsOn } from './pull.ts';
import { runnerOf, startClients, startPull } from './support.ts';

/** A service whose seasons are what a test says. */
async function startShortLists() {
  const list = { seasons: [{ seasonName: 'SS27', deliveryNames: ['D'] }] };
  const { v1 } = await startClients((request, response) => {
    const isLogin = request.url?.endsWith('/auth/login') ?? false;
    const { seasons } = list;
    const data = isLogin ? { token: 'a' } : { count: seasons.length, seasons };
    answerJson(response, 200, envelope(200, data));
  });
  const store = await temporaryStore(systemClock());
  const deps = runnerOf(store);
  return { list, store, deps, v1, run: runsOn(deps).run };
}

/** A read of the stock that begins now. */
async function readApart(store: SqliteStore, readSeq: number, barcode: string, quantity: number) {
  const provenance = { source: ORDERED_SOURCE, readSeq, at: Date.now() };
  await store.transaction((tx) => writeStockVariants(tx, [{ barcode, quantity }], provenance));
}

async function keysAbsent(store: SqliteStore): Promise<string[]> {
  const rows = await store.db.selectFrom('absence').select('key').execute();
  return rows.map(({ key }) => key);
}

describe('a variant that was read apart', () => {
  it.each([1, 2])('is not taken away by a list that is older than its read', async (quantity) => {
    const { list, store, stock, run, runOf, deps } = await startList('stream');
    const rows = manyRows(40);
    list.rows = rows;
    await run();
    // Sold out when the run begins; back before it is settled, as it was or with more of it.
    list.rows = rows.slice(1);
    const pull: typeof stock.pull = async (context) => {
      const end = await stock.pull(context);
      await readApart(store, await deps.sequence.next(), 'b0000', quantity);
      return end;
    };
    expect(await runOf({ ...stock, pull })).toMatchObject({ outcome: 'complete' });
    const [first, ...others] = rows;
    expect(await stockIn(store)).toEqual(
      byBarcode([{ barcode: first?.barcode ?? '', quantity }, ...others]),
    );
    // The list is as it was, and newer than that read.
    expect(await runOf(stock)).toMatchObject({ outcome: 'complete' });
    expect(await stockIn(store)).toEqual(byBarcode(others));
  });

  it('lets no other row count as missing in a run that goes on', async () => {
    const { list, store, run, deps } = await startList('pages');
    const rows = manyRows(96);
    list.rows = rows;
    await run();
    list.rows = rows.map((row) => ({ ...row, quantity: 2 }));
    list.beforePage = (page) => page < 2;
    expect(await run()).toMatchObject({ outcome: 'interrupted' });
    await readApart(store, await deps.sequence.next(), 'new', 1);
    list.beforePage = () => true;
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(await keysAbsent(store)).toEqual(['new']);
  });
});

it('a variant that is read apart while a run begins is for the next one to see', async () => {
  const { list, store, run } = await startList('stream');
  list.rows = manyRows(40);
  await run();
  await readApart(store, 100, 'b0001', 5);
  let isFirst = true;
  const slow: Store = {
    ...{ db: store.db, path: store.path, snapshot: store.snapshot, close: store.close },
    async transaction(work) {
      if (isFirst) await readApart(store, 101, 'b0030', 6);
      isFirst = false;
      return store.transaction(work);
    },
  };
  await invalidateOutOfBand(slow);
  const noted = store.db.selectFrom('stock_out_of_band').select('barcode');
  expect(await noted.execute()).toEqual([{ barcode: 'b0030' }]);
});

it('a style that was read as it is known is not taken away by an older list', async () => {
  const { store } = await startList('stream');
  const provenance = (readSeq: number) => ({ source: 'test', readSeq, at: readSeq });
  const style = { type: 'style', id: 'one', attributes: { styleName: 'one' } };
  const marked = await store.transaction(async (tx) => {
    for (const readSeq of [1, 5]) await writeStyle(tx, style, provenance(readSeq));
    return markDeleted(tx, PDM.styles, ['one'], provenance(3));
  });
  expect(marked).toBe(0);
});

it('a style that was written apart lets no other style count as missing', async () => {
  const world = { brands: 1, styles: 30, colors: 1, sizes: 1, orders: 0 };
  const { store, deps, v2, run } = await startPull({ world }, { resourceRows: 10 });
  const styles = createPdmStream(v2, 'styles', { absolute: 1_000, share: 1 });
  await run(styles);
  const writeApart = async (id: string): Promise<void> => {
    const provenance = { source: 'refresh:outbox:1', readSeq: await deps.sequence.next(), at: 0 };
    const style = { type: 'style', id, attributes: { styleName: id } };
    await store.transaction(async (tx) => void (await writeStyle(tx, style, provenance)));
  };
  await writeApart('one');
  const pull: typeof styles.pull = async (context) => {
    const end = await styles.pull(context);
    await writeApart('two');
    return end;
  };
  expect(await run({ ...styles, pull })).toMatchObject({ outcome: 'complete' });
  expect(await keysAbsent(store)).toEqual(['one', 'two']);
});

describe('a variant of a season that was read apart', () => {
  it.each(['stream', 'pages'] as const)(
    'goes when its list does not have it, as %s',
    async (mode) => {
      const { list, store, season, runOf, deps } = await startList(mode);
      list.seasons = { SS27: manyRows(40) };
      expect(await runOf(season)).toMatchObject({ outcome: 'complete', rows: 40 });
      const provenance = { source: 'test', readSeq: await deps.sequence.next(), at: Date.now() };
      const apart = [{ barcode: 'apart', quantity: 0 }];
      await store.transaction((tx) => writeSeasonVariants(tx, 'SS27', apart, provenance));
      const live = async () => {
        const rows = store.db.selectFrom('season_variant').select('barcode');
        return (await rows.where('deleted_at', 'is', null).execute()).length;
      };
      expect(await live()).toBe(41);
      // The list is as it was, to the byte.
      expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
      expect(await runOf(season)).toMatchObject({ outcome: 'complete' });
      expect(await live()).toBe(40);
    },
  );
});

it('a season that was read apart goes when the list is again as it was before', async () => {
  const { list, store, deps, v1, run } = await startShortLists();
  const seasons = createShortListStream({
    ...{ name: 'seasons', entity: SEASON, deletionGuard: { absolute: 1_000, share: 1 } },
    read: (call) => v1.shortList('seasons', call),
  });
  await run(seasons);
  const before = list.seasons;
  list.seasons = [...before, { seasonName: 'AW99', deliveryNames: ['D'] }];
  const read = await v1.shortList('seasons');
  const provenance = { source: 'test', readSeq: await deps.sequence.next(), at: Date.now() };
  await store.transaction((tx) => writeShortList(tx, 'seasons', read, provenance));
  list.seasons = before;
  for (let at = 0; at < 2; at += 1) await run(seasons);
  const live = store.db.selectFrom('season').select('season_name').where('deleted_at', 'is', null);
  expect(await live.execute()).toEqual([{ season_name: 'SS27' }]);
});
