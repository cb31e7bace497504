import { describe, expect, it } from 'vitest';
import { BRAND, FREIGHT_OPTION, SEASON } from '../../src/mirror/catalog/names.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import type { Reference } from '../../src/reference/reference.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { driftOfStream } from '../../src/sync/drift.ts';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { createSeasonStream } from '../../src/sync/streams/season.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { lookAgainAfterUpgrade } from '../../src/sync/upgrade.ts';
import { type Clients, DELETION_GUARD, type SourceOptions } from './pull.ts';
import { PDM_STREAMS } from './streams.ts';
import { startPull } from './support.ts';

const LEVEL = { detailed: true, detailedPricing: false };

function stockOf(
  { v1 }: Clients,
  mode: 'stream' | 'pages' = 'stream',
  deletionGuard = DELETION_GUARD,
) {
  const level = { ...LEVEL, includeVariantsOnOrder: false };
  return createStockStream(v1, { level, mode, pageRows: 100, deletionGuard });
}

/** The stock of the service by barcode. */
function stockAt({ world }: Reference): Map<string, number> {
  const { catalog, stock } = world;
  const all = Array.from({ length: catalog.variantCount }, (_, at) => at);
  return new Map(
    all.filter((at) => stock.of(at) > 0).map((at) => [catalog.barcodeOf(at), stock.of(at)]),
  );
}

async function mirrored(store: SqliteStore): Promise<Map<string, number | null>> {
  const rows = await store.db
    .selectFrom('stock_variant')
    .select(['barcode', 'quantity'])
    .where('deleted_at', 'is', null)
    .orderBy('barcode')
    .execute();
  return new Map(rows.map((row) => [row.barcode, row.quantity]));
}

const sorted = (map: ReadonlyMap<string, number | null>) =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));

async function changes(store: SqliteStore) {
  return store.db.selectFrom('change').select(['entity', 'key', 'op', 'diff']).execute();
}

const pull = (knobs: Record<string, unknown> = {}, options: SourceOptions = {}) =>
  startPull({ world: { styles: 8, colors: 2, sizes: 8, orders: 0 }, ...knobs }, options);

describe('the stock stream', () => {
  it('mirrors the list, and proves the same list without reading a row', async () => {
    const { reference, store, run, lastRun, ...clients } = await pull();
    const stock = stockOf(clients);
    expect(await run(stock)).toMatchObject({ outcome: 'complete', reason: null });
    expect(sorted(await mirrored(store))).toEqual(sorted(stockAt(reference)));
    const before = (await changes(store)).length;
    expect(await run(stock)).toMatchObject({ outcome: 'complete', changed: 0 });
    const rows = stockAt(reference).size;
    expect(await lastRun('stock')).toMatchObject({ rows_seen: rows, rows_unchanged: rows });
    expect(await changes(store)).toHaveLength(before);
  });

  it('deletes softly what is sold out and restores what is back', async () => {
    const { reference, store, run, lastRun, ...clients } = await pull();
    const stock = stockOf(clients);
    await run(stock);
    const at = reference.world.stock.nth(0, reference.world.catalog.variantCount, 5);
    const barcode = reference.world.catalog.barcodeOf(at);
    reference.world.stock.set(at, 0);
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(await lastRun('stock')).toMatchObject({ rows_deleted: 1, rows_changed: 0 });
    expect(sorted(await mirrored(store))).toEqual(sorted(stockAt(reference)));
    const row = store.db.selectFrom('stock_variant').select(['changed_at', 'deleted_at']);
    const gone = await row.where('barcode', '=', barcode).executeTakeFirst();
    reference.world.stock.set(at, 9);
    await run(stock);
    expect(sorted(await mirrored(store))).toEqual(sorted(stockAt(reference)));
    const change = store.db.selectFrom('change').select(['op', 'cause', 'at']);
    const told = await change.where('key', '=', barcode).orderBy('seq').execute();
    expect(told.map(({ op, cause }) => `${op} by ${cause}`)).toEqual([
      ...['insert by run:1', 'delete by run:2', 'restore by run:3'],
    ]);
    expect(gone).toMatchObject({ changed_at: told[1]?.at, deleted_at: told[1]?.at });
  });

  it('writes exactly the changed rows to the change feed', async () => {
    const { reference, store, run, ...clients } = await pull();
    const stock = stockOf(clients);
    await run(stock);
    const { catalog, stock: own } = reference.world;
    const [one, two] = [own.nth(0, catalog.variantCount, 3), own.nth(0, catalog.variantCount, 60)];
    own.set(one, 501);
    own.set(two, 502);
    expect(await run(stock)).toMatchObject({ changed: 2 });
    const updates = (await changes(store)).filter(({ op }) => op === 'update');
    expect(updates.map(({ key }) => key)).toEqual([one, two].map(catalog.barcodeOf));
    expect(JSON.parse(updates[0]?.diff ?? '')).toMatchObject({
      quantity: [expect.any(Number), 501],
    });
  });

  it.each(['emptyList', 'nullList'])('deletes nothing when the answer is a %s', async (kind) => {
    const { reference, store, run, state, ...clients } = await pull();
    const stock = stockOf(clients);
    await run(stock);
    const [rows, before] = [await mirrored(store), await state('stock')];
    reference.knobs.patch({ faults: [{ kind, path: '*/variants/stock', probability: 1 }] });
    const result = await run(stock);
    expect(['suspicious', 'interrupted', 'partial']).toContain(result.outcome);
    expect(await mirrored(store)).toEqual(rows);
    expect((await state('stock')).complete_at).toBe(before.complete_at);
  });

  it('holds a run beyond the deletion guard until it is released', async () => {
    const { reference, store, run, lastRun, state, operations, ...clients } = await pull();
    const stock = stockOf(clients, 'stream', { absolute: 1_000, share: 0.2 });
    await run(stock);
    const { catalog, stock: own } = reference.world;
    for (let at = 0; at < catalog.variantCount / 2; at += 1) own.set(at, 0);
    const held = await run(stock);
    expect(held).toMatchObject({ outcome: 'suspicious' });
    const { run_id: first, rows_held } = await lastRun('stock');
    expect(held.reason).toContain(`selvedge sync release ${first}`);
    expect((await mirrored(store)).size).toBeGreaterThan(stockAt(reference).size);
    // Still suspicious when nothing has changed since.
    expect(await run(stock)).toMatchObject({ outcome: 'suspicious' });
    const asker = { actor: 'anna', reason: 'season is over' };
    await expect(operations([stock]).release(first, asker)).rejects.toThrow(/newer/);
    const { run_id: second } = await lastRun('stock');
    const released = await operations([stock]).release(second, asker);
    expect(released).toMatchObject({ stream: 'stock', rowsDeleted: rows_held });
    expect(sorted(await mirrored(store))).toEqual(sorted(stockAt(reference)));
    expect(await state('stock')).toMatchObject({
      last_error: null,
      complete_rows: own.stockedIn(0, catalog.variantCount),
    });
    expect(await run(stock)).toMatchObject({ outcome: 'complete', changed: 0 });
  });

  it('needs two complete runs of a paged list before a row counts as gone', async () => {
    const { reference, store, run, ...clients } = await pull({}, { mode: 'pages' });
    const stock = stockOf(clients, 'pages');
    await run(stock);
    const { stock: own } = reference.world;
    own.set(own.nth(0, reference.world.catalog.variantCount, 5), 0);
    const before = (await mirrored(store)).size;
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect((await mirrored(store)).size).toBe(before);
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(sorted(await mirrored(store))).toEqual(sorted(stockAt(reference)));
  });

  it('lets only runs in a row agree that a row is gone', async () => {
    const { reference, store, run, ...clients } = await pull({}, { mode: 'pages', pageRows: 10 });
    const stock = stockOf(clients, 'pages');
    await run(stock);
    const { stock: own, catalog } = reference.world;
    const at = own.nth(0, catalog.variantCount, 5);
    own.set(at, 0);
    const before = (await mirrored(store)).size;
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    // A run in between that is not complete may have seen the row.
    const fault = { kind: 'repeatedRow', path: '*/variants/stock', probability: 1 };
    reference.knobs.patch({ faults: [fault] });
    expect(await run(stock)).toMatchObject({ outcome: 'partial' });
    reference.knobs.patch({ faults: [] });
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect((await mirrored(store)).size).toBe(before);
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect((await mirrored(store)).size).toBe(before - 1);
  });

  it('forgets what a run that was cut off has missed when a whole one has seen it', async () => {
    const { store, run, ...clients } = await pull();
    const stock = stockOf(clients);
    await run(stock);
    const [key = ''] = (await mirrored(store)).keys();
    await store.db.insertInto('absence').values({ stream: 'stock', key, run_id: 1 }).execute();
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(await store.db.selectFrom('absence').selectAll().execute()).toEqual([]);
  });

  it('stores a row of which something cannot be read, and is complete with it', async () => {
    const { reference, store, run, ...clients } = await pull();
    const stock = stockOf(clients);
    const fault = { kind: 'wrongTypes', path: '*/variants/stock', probability: 1, seed: 4 };
    reference.knobs.patch({ faults: [fault] });
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(await store.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect((await mirrored(store)).size).toBe(stockAt(reference).size);
    const [drift] = await driftOfStream(store.db, 'stock');
    const [[path, told] = []] = Object.entries(drift?.unreadable ?? {});
    expect(path).not.toBe('');
    expect(told).toEqual({ rows: 1, example: '‹{"wrong":"type"}›' });
    reference.knobs.patch({ faults: [] });
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(sorted(await mirrored(store))).toEqual(sorted(stockAt(reference)));
    expect((await driftOfStream(store.db, 'stock'))[0]?.unreadable).toEqual({});
  });

  it('keeps members that nobody knows, and tells of them', async () => {
    const { reference, store, run, ...clients } = await pull();
    const fault = { kind: 'unknownMember', path: '*/variants/stock', probability: 1 };
    reference.knobs.patch({ faults: [fault] });
    expect(await run(stockOf(clients))).toMatchObject({ outcome: 'complete' });
    const [drift] = await driftOfStream(store.db, 'stock');
    const rows = stockAt(reference).size;
    expect(drift).toMatchObject({
      entity: 'stock_variant',
      unknownMembers: { unknownMember: rows },
    });
  });

  it('tells of values that nobody listed', async () => {
    const { store, run, v2 } = await pull();
    await run(createPdmStream(v2, 'styleColors', DELETION_GUARD));
    await store.db.updateTable('style_color').set({ noos_type: 'seldom' }).execute();
    const [drift] = await driftOfStream(store.db, 'styleColors');
    expect(Object.keys(drift?.newValues ?? {})).toEqual(['attributes.noosType=seldom']);
    expect(drift?.unknownMembers).toEqual({});
  });

  it('counts the requests that it makes again, and what it waits for', async () => {
    const { reference, run, lastRun, ...clients } = await pull();
    const fault = { kind: 'tooMany', path: '*/variants/stock', count: 2, retryAfter: 0 };
    reference.knobs.patch({ faults: [{ ...fault, probability: 1 }] });
    expect(await run(stockOf(clients))).toMatchObject({ outcome: 'complete' });
    const { retries, waits, wait_ms } = await lastRun('stock');
    expect({ retries, waits: waits >= 2, waited: wait_ms >= 2 }).toEqual({
      ...{ retries: 2, waits: true, waited: true },
    });
  });

  it('looks again at everything after an upgrade that reads otherwise', async () => {
    const { store, deps, run, ...clients } = await pull();
    await run(stockOf(clients));
    const raw = JSON.stringify({ barcode: '1', quantity: 2 });
    const provenance = { source: 'run:1', readSeq: 1, at: 1 };
    const reject = { raw, path: 'quantity', reason: 'an older program did not understand it' };
    await store.transaction((tx) => quarantineRows(tx, 'stock_variant', [reject], provenance));
    expect(await lookAgainAfterUpgrade(deps)).toBe(true);
    expect(await store.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    const chunks = await store.db.selectFrom('chunk').select('digest').execute();
    expect(chunks.filter(({ digest }) => digest !== null)).toEqual([]);
    expect(await lookAgainAfterUpgrade(deps)).toBe(false);
  });

  it('compares every row again when asked for a full run', async () => {
    const { store, run, operations, ...clients } = await pull();
    const stock = stockOf(clients);
    await run(stock);
    await store.db
      .updateTable('stock_variant_row')
      .set({ quantity: 77, content_hash: 'x' })
      .execute();
    await run(stock);
    expect(new Set((await mirrored(store)).values())).toEqual(new Set([77]));
    await operations([stock]).runNow('stock', true, { actor: 'anna', reason: 'look' });
    const result = await run(stock);
    expect(result.changed).toBeGreaterThan(0);
    expect(new Set((await mirrored(store)).values()).size).toBeGreaterThan(1);
  });
});

describe('the season stream', () => {
  it('follows the seasons: each is a part, and one that is gone takes its rows along', async () => {
    const { reference, store, run, ...clients } = await pull();
    const { world } = reference;
    const options = {
      level: LEVEL,
      mode: 'stream',
      pageRows: 100,
      deletionGuard: { absolute: 9_999, share: 1 },
    } as const;
    const season = createSeasonStream(clients.v1, options);
    expect(await run(season)).toMatchObject({ outcome: 'complete', reason: null });
    const names = async () => {
      const rows = await store.db
        .selectFrom('season_variant')
        .select('season_name')
        .distinct()
        .where('deleted_at', 'is', null)
        .execute();
      return rows.map((row) => row.season_name).sort();
    };
    const all = world.catalog.seasons.map(({ name }) => name).sort();
    expect(await names()).toEqual(all);
    const [gone, ...left] = world.catalog.seasons;
    world.catalog.replaceSeasons(left);
    expect(await run(season)).toMatchObject({ outcome: 'complete' });
    expect(await names()).not.toContain(gone?.name);
    expect((await names()).length).toBe(left.length);
  });
});

describe('short lists', () => {
  it('mirrors brands, freight options and seasons with their deliveries', async () => {
    const { reference, store, run, v1 } = await pull();
    const short = { deletionGuard: DELETION_GUARD };
    const streams = [
      createShortListStream({
        ...short,
        name: 'brands',
        entity: BRAND,
        read: (call) => v1.shortList('brands', call),
      }),
      createShortListStream({
        ...short,
        name: 'freight',
        entity: FREIGHT_OPTION,
        read: (call) => v1.shortList('freight', call),
      }),
      createShortListStream({
        ...short,
        name: 'seasons',
        entity: SEASON,
        read: (call) => v1.shortList('seasons', call),
      }),
    ];
    for (const stream of streams) {
      expect(await run(stream)).toMatchObject({ outcome: 'complete', reason: null });
      expect(await run(stream)).toMatchObject({ outcome: 'complete', changed: 0 });
    }
    const { seasons } = reference.world.catalog;
    const lines = await store.db.selectFrom('season_delivery').select('delivery_name').execute();
    expect(lines).toHaveLength(seasons.flatMap(({ deliveries }) => deliveries).length);
    const [brands] = [await store.db.selectFrom('brand').selectAll().execute()];
    expect(brands).toHaveLength(reference.world.catalog.size.brands);
  });

  it('mirrors every collection of V2, related resources as ids', async () => {
    const { store, run, v2 } = await pull({ world: { styles: 120, orders: 0 } });
    for (const name of PDM_STREAMS) {
      const stream = createPdmStream(v2, name, DELETION_GUARD);
      expect(await run(stream)).toMatchObject({ outcome: 'complete', reason: null });
      expect(await run(stream)).toMatchObject({ outcome: 'complete', changed: 0 });
    }
    const styles = await store.db
      .selectFrom('style')
      .innerJoin('pdm_brand', 'pdm_brand.brand_id', 'style.brand_id')
      .innerJoin('style_type', 'style_type.type_id', 'style.type_id')
      .innerJoin('country', 'country.country_id', 'style.country_id')
      .select(['style_no', 'style_color_ids', 'style.extra'])
      .execute();
    expect(styles).toHaveLength(120);
    expect(JSON.parse(styles[0]?.style_color_ids ?? '[]').length).toBeGreaterThan(0);
  });
});
