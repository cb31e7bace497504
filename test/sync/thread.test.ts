import { writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, manualClock, systemClock } from '../../src/lib/clock.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { filesOf } from '../../src/store/writers/in-place.ts';
import { isCheckpointTaken, shareWriteHandOff } from '../../src/store/writers/write-hand-off.ts';
import { type BulkThreads, createBulkThreads } from '../../src/sync/bulk/threads.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { openRun } from '../../src/sync/run/open.ts';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { until } from '../support/house.ts';
import { notePlans } from '../support/plans.ts';
import { damage, temporaryStore } from '../support/store.ts';
import { byBarcode, manyRows, startList, stockIn } from './list-server.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { startPull } from './support.ts';

const STOCK = { table: 'stock_variant_row', key: 'barcode' } as const;
const LEVEL = { detailed: true, detailedPricing: false, includeVariantsOnOrder: false };

/** Threads on a store, which end with the test. */
function startThreads(
  { path, writeHandOff, files }: Pick<SqliteStore, 'path' | 'writeHandOff' | 'files'>,
  { busyTimeoutMs = 5_000, clock = systemClock() }: { busyTimeoutMs?: number; clock?: Clock } = {},
): BulkThreads {
  const threads = createBulkThreads({ path, writeHandOff, files, busyTimeoutMs }, clock);
  onTestFinished(() => threads[Symbol.asyncDispose]());
  return threads;
}

describe('the threads of the bulk streams', () => {
  it.each(['stream', 'pages'] as const)('mirror the stock in mode %s', async (mode) => {
    const world = { styles: 60, colors: 3, sizes: 6, orders: 0 };
    const { reference, store, deps, v1 } = await startPull({ world }, { mode, batchRows: 256 });
    const threads = startThreads(store);
    const { run, lastRun } = runsOn({
      ...deps,
      variants: createVariantPages({ ...deps, ...threads }),
    });
    const stock = createStockStream(v1, {
      level: LEVEL,
      mode,
      pageRows: 100,
      deletionGuard: DELETION_GUARD,
    });
    expect(await run(stock)).toMatchObject({ outcome: 'complete', reason: null });
    const { stock: own, catalog } = reference.world;
    const rows = own.stockedIn(0, catalog.variantCount);
    // Pages that are written together are still pages.
    const pages = Math.ceil(rows / (mode === 'pages' ? 100 : 256));
    expect(await lastRun('stock')).toMatchObject({ rows_seen: rows, rows_changed: rows, pages });
    own.set(own.nth(0, catalog.variantCount, 7), 0);
    await run(stock);
    await run(stock);
    const live = await store.db
      .selectFrom('stock_variant')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow();
    expect(live.n).toBe(rows - 1);
  });

  it('are not needed where nothing has changed', async () => {
    const world = { styles: 10, colors: 2, sizes: 3, orders: 0 };
    const { store, deps, v1, run } = await startPull({ world });
    const stock = createStockStream(v1, {
      level: LEVEL,
      mode: 'stream',
      pageRows: 100,
      deletionGuard: DELETION_GUARD,
    });
    await run(stock);
    const threads = startThreads(store);
    const { run: again, lastRun } = runsOn({
      ...deps,
      variants: createVariantPages({ ...deps, ...threads }),
    });
    expect(await again(stock)).toMatchObject({ outcome: 'complete', changed: 0 });
    expect(await lastRun('stock')).toMatchObject({ rows_changed: 0 });
    expect(isCheckpointTaken(store.writeHandOff)).toBe(false);
  });

  it('start before the first page of a list of which nothing is known', async () => {
    const store = await temporaryStore(systemClock());
    const pages = createVariantPages({ store, clock: systemClock(), ...startThreads(store) });
    await pages.begin({ runId: 1, stream: 'stock', resumed: false });
    await until('the writer is there', () =>
      isCheckpointTaken(store.writeHandOff) ? true : undefined,
    );
  });

  it('write nothing behind a page with which the writer died', async () => {
    const store = await temporaryStore(systemClock());
    const threads = startThreads(store, { busyTimeoutMs: 50 });
    const pages = createVariantPages({ store, clock: systemClock(), ...threads });
    const run = await openRun(store, {
      stream: 'stock',
      options: {},
      reading: '',
      readSeq: 1,
      now: 0,
    });
    const wire = { retries: 0, waits: 0, waitMs: 0 };
    const write = (next: number) => {
      const row = JSON.stringify({ barcode: `b${next}`, quantity: 1 });
      const bytes = new TextEncoder().encode(row);
      const span = { firstRow: next, rowCount: 1, start: 0, end: bytes.length, isKnown: false };
      const batch = { bytes, chunks: [span], size: bytes.length, pages: 1 };
      const list = { kind: 'stock' } as const;
      return pages.write({ run, list, checkpoint: { next }, batch, wire });
    };
    // Its thread cannot open the database; the next one could.
    const other = new Database(store.path);
    other.exec('begin immediate');
    const all = [write(0), write(1), write(2)];
    await expect(all[0]).rejects.toThrow(/locked/);
    other.close();
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
      ...['rejected', 'rejected', 'rejected'],
    ]);
    const stored = store.db.selectFrom('sync_run').select(['pages', 'checkpoint']);
    expect(await stored.executeTakeFirst()).toEqual({ pages: 0, checkpoint: '{}' });
  });

  it('end also when nothing was asked in the end', async () => {
    const store = await temporaryStore(systemClock());
    const clock = manualClock();
    const threads = startThreads(store, { clock });
    // The read, here of no row, is never written.
    const bytes = new Uint8Array(new ArrayBuffer(8));
    const spans = [{ start: 0, end: bytes.length }];
    const { chunks } = await threads.reader.read({ list: { kind: 'stock' }, bytes, spans });
    expect(chunks[0]?.rejects).toHaveLength(1);
    await until('the writer is there', () => isCheckpointTaken(store.writeHandOff) || undefined);
    await clock.advance(6_000);
    await until('the writer has ended', () =>
      isCheckpointTaken(store.writeHandOff) ? undefined : true,
    );
  });

  it('end when nobody asks any more, and start anew', async () => {
    const store = await temporaryStore(systemClock());
    const clock = manualClock();
    const threads = startThreads(store, { clock });
    const ask = () => threads.writer.diff(STOCK, 'stock', 'run:1');
    const nothing = { live: 0, duplicates: 0, missing: [] };
    expect(await ask()).toEqual(nothing);
    expect(isCheckpointTaken(store.writeHandOff)).toBe(true);
    // A question before its time keeps it.
    await clock.advance(4_000);
    await ask();
    await clock.advance(4_000);
    expect(isCheckpointTaken(store.writeHandOff)).toBe(true);
    await clock.advance(2_000);
    await until('the thread has ended', () =>
      isCheckpointTaken(store.writeHandOff) ? undefined : true,
    );
    expect(await ask()).toEqual(nothing);
    expect(isCheckpointTaken(store.writeHandOff)).toBe(true);
  });

  it('take the proof from a row that stood in two places', async () => {
    const { list, store, deps, stock } = await startList('pages');
    const threads = startThreads(store);
    const { run } = runsOn({ ...deps, variants: createVariantPages({ ...deps, ...threads }) });
    const rows = manyRows(64);
    list.rows = rows.with(40, { barcode: 'b0000', quantity: 2 });
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    list.rows = rows;
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(await stockIn(store)).toEqual(byBarcode(rows));
  });

  it('sum what stands in several places, and count the rows of one brand', async () => {
    const { list, store, deps, stock } = await startList('stream');
    const threads = startThreads(store);
    const { run } = runsOn({ ...deps, variants: createVariantPages({ ...deps, ...threads }) });
    const rows = manyRows(130).map((row, at) => ({
      ...row,
      details: { brandName: at < 110 ? 'Fjord' : 'Hede', price: 10 },
    }));
    const again = { barcode: 'b0000', quantity: 5, seasonName: 'AW27', details: { price: 10 } };
    list.rows = [...rows, again];
    await run(stock);
    expect(await run(stock)).toMatchObject({ outcome: 'complete' });
    expect(await stockIn(store)).toMatchObject({ b0000: 6, b0001: 1 });
    const more = manyRows(300).slice(130);
    list.rows = [...list.rows, ...more];
    await run(stock);
    list.rows = list.rows.map((row, at) => (at < 110 ? { ...row, quantity: 0 } : row));
    expect((await run(stock)).reason).toMatch(/^109 of 110 rows with the brand_name Fjord/);
  });

  it('look at the whole of a collection of V2, which the main thread never does', async () => {
    const world = { styles: 30, colors: 2, orders: 0 };
    const { reference, store, deps, v2 } = await startPull({ world }, { resourceRows: 7 });
    const threads = startThreads(store);
    const planned = notePlans(store);
    const variants = createVariantPages({ ...deps, ...threads });
    const { run } = runsOn({ ...deps, store: planned.store, variants });
    const styles = createPdmStream(v2, 'styles', DELETION_GUARD);
    const repeated = { kind: 'repeatedRow', path: '*/pdm/styles', count: 1 };
    expect(await run(styles)).toMatchObject({ outcome: 'complete', rows: 30 });
    await sql`insert into style (style_id, style_color_ids, extra, content_hash, first_seen_at,
      changed_at, read_seq, source) values ('gone', '[]', '{}', '', 0, 0, 0, 'x')`.execute(
      store.db,
    );
    // Runs in a row that read every key anew, the second one behind one that was not complete.
    await sql`update chunk set keys = ' ' || keys, digest = null`.execute(store.db);
    reference.knobs.patch({ faults: [repeated] });
    const outcomes = [await run(styles), await run(styles), await run(styles)];
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['partial', 'complete', 'complete']);
    const gone = store.db.selectFrom('change').select('key').where('op', '=', 'delete');
    expect((await gone.execute()).map(({ key }) => key)).toEqual(['gone']);
    expect(planned.times(/chunk\.keys/)).toBe(0);
  });

  it('tell damage that only they meet, when they open the database', async () => {
    const store = await temporaryStore();
    const { path, writeHandOff } = store;
    await store.close();
    await damage(path, 'daemon_state');
    const threads = startThreads({ path, writeHandOff, files: filesOf(path) });
    const diff = threads.writer.diff(STOCK, 'stock', 'run:1');
    await expect(diff).rejects.toMatchObject({ code: 'store.damaged' });
  });

  it('tell that the head of the file is damaged, which nobody else reads anew', async () => {
    const store = await temporaryStore();
    store.checkpoint('truncate');
    writeFileSync(store.path, Buffer.alloc(100, 0x5a), { flag: 'r+' });
    const diff = startThreads(store).writer.diff(STOCK, 'stock', 'run:1');
    await expect(diff).rejects.toMatchObject({ code: 'store.damaged' });
  });

  it('tell damage that they meet when they are asked', async () => {
    const store = await temporaryStore();
    const { path, writeHandOff } = store;
    await store.close();
    await damage(path, STOCK.table);
    const threads = startThreads({ path, writeHandOff, files: filesOf(path) });
    const diff = threads.writer.diff(STOCK, 'stock', 'run:1');
    await expect(diff).rejects.toMatchObject({ code: 'store.damaged' });
  });

  it('start anew after one that died, which keeps the log from nobody', async () => {
    const store = await temporaryStore(systemClock());
    const { writer } = startThreads(store);
    const ask = () => writer.diff(STOCK, 'stock', 'run:1');
    const nothing = { live: 0, duplicates: 0, missing: [] };
    expect(await ask()).toEqual(nothing);
    expect(isCheckpointTaken(store.writeHandOff)).toBe(true);
    // No page at all: the thread falls over it.
    const page = { json: new Uint8Array(1), extras: new Uint8Array(1) };
    const broken = writer.write(Object.assign(JSON.parse('{}'), page));
    await expect(broken).rejects.toThrow(/ended: /);
    expect(isCheckpointTaken(store.writeHandOff)).toBe(false);
    expect(await ask()).toEqual(nothing);
    expect(isCheckpointTaken(store.writeHandOff)).toBe(true);
  });

  it('say so when they cannot open the database, and keep nothing alive', async () => {
    const files = ['', '', ''];
    const nowhere = {
      path: '/nowhere/mirror.db',
      writeHandOff: shareWriteHandOff(),
      files,
      busyTimeoutMs: 10,
    };
    const threads = createBulkThreads(nowhere, manualClock());
    await expect(threads.writer.diff(STOCK, 'stock', 'run:1')).rejects.toThrow(/cannot open/);
    await threads[Symbol.asyncDispose]();
  });
});
