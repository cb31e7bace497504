/** Knowledge that a run has of its list from the last one. */
import { expect, it } from 'vitest';
import { ORDERED_SOURCE, writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import type { VariantBatch } from '../../src/sync/bulk/variant-pages.ts';
import { createSeasonStream } from '../../src/sync/streams/season.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { startPull } from './support.ts';

const WORLD = { styles: 30, colors: 2, sizes: 4, orders: 0 };
const LEVEL = { detailed: true, detailedPricing: false };

async function pull(mode: 'stream' | 'pages') {
  // Pages of 100 rows end with a chunk that is shorter than the others; two make a batch.
  const batchRows = mode === 'pages' ? 200 : 64;
  const started = await startPull({ world: WORLD }, { mode, batchRows, pageRows: 100 });
  const { deps, v1 } = started;
  const batches: VariantBatch[] = [];
  const { run, lastRun } = runsOn({
    ...deps,
    variants: {
      ...deps.variants,
      write(page) {
        batches.push({ ...page.batch, bytes: page.batch.bytes.slice() });
        return deps.variants.write(page);
      },
    },
  });
  const level = { ...LEVEL, includeVariantsOnOrder: false };
  const stock = createStockStream(v1, {
    level,
    mode,
    pageRows: 100,
    deletionGuard: DELETION_GUARD,
  });
  const season = createSeasonStream(v1, {
    level: LEVEL,
    mode,
    pageRows: 100,
    deletionGuard: DELETION_GUARD,
  });
  const chunks = () => batches.splice(0).flatMap((batch) => batch.chunks);
  return { ...started, run, lastRun, stock, season, batches, chunks };
}

/** First rows of the chunks that were looked into. */
function open(chunks: VariantBatch['chunks']): number[] {
  return chunks.filter(({ isKnown }) => !isKnown).map(({ firstRow }) => firstRow);
}

const MODES = ['stream', 'pages'] as const;

it.each(MODES)('a list that is as it was is not looked into, as %s', async (mode) => {
  const { run, lastRun, chunks, stock, season } = await pull(mode);
  for (const stream of [stock, season]) {
    const first = await run(stream);
    const all = chunks();
    expect(open(all)).toHaveLength(all.length);
    const { bytes, pages } = await lastRun(stream.name);
    const second = await run(stream);
    expect(second).toMatchObject({ outcome: 'complete', rows: first.rows, changed: 0 });
    // How it is cut is as it was, too.
    const again = chunks();
    expect(again.map(({ rowCount }) => rowCount)).toEqual(all.map(({ rowCount }) => rowCount));
    expect(open(again)).toEqual([]);
    expect(await lastRun(stream.name)).toMatchObject({ rows_unchanged: first.rows, bytes, pages });
  }
});

it.each(MODES)('where a row has changed only its chunk is looked into, as %s', async (mode) => {
  const { run, chunks, stock, reference, store } = await pull(mode);
  await run(stock);
  chunks();
  const { stock: own, catalog } = reference.world;
  own.set(own.nth(0, catalog.variantCount, 150), 7_777);
  expect(await run(stock)).toMatchObject({ outcome: 'complete', changed: 1 });
  const looked = open(chunks());
  expect(looked).toHaveLength(1);
  const changed = store.db.selectFrom('stock_variant').select('quantity');
  expect(await changed.where('quantity', '=', 7_777).execute()).toHaveLength(1);
  expect(await run(stock)).toMatchObject({ outcome: 'complete', changed: 0 });
  expect(open(chunks())).toEqual([]);
});

it.each(MODES)('a row that was written apart is found in its old bytes, as %s', async (mode) => {
  const { run, chunks, stock, store } = await pull(mode);
  await run(stock);
  chunks();
  const before = await store.db
    .selectFrom('stock_variant')
    .select(['barcode', 'quantity'])
    .orderBy('barcode')
    .execute();
  const records = [{ barcode: before[100]?.barcode, quantity: 9_999 }];
  await store.transaction((tx) =>
    writeStockVariants(tx, records, { source: ORDERED_SOURCE, readSeq: 1, at: 0 }),
  );
  expect(await run(stock)).toMatchObject({ outcome: 'complete', changed: 1 });
  expect(open(chunks())).toHaveLength(1);
  const after = store.db.selectFrom('stock_variant').select(['barcode', 'quantity']);
  expect(await after.orderBy('barcode').execute()).toEqual(before);
});

it.each(MODES)('a full run takes nothing for known, as %s', async (mode) => {
  const { run, chunks, stock, operations } = await pull(mode);
  await run(stock);
  chunks();
  await operations([stock]).runNow('stock', true, { actor: 'anna', reason: 'look' });
  expect(await run(stock)).toMatchObject({ outcome: 'complete', changed: 0 });
  const all = chunks();
  expect(open(all)).toHaveLength(all.length);
});

it('a run that goes on knows the rows before its checkpoint as well as those behind', async () => {
  const { run, chunks, stock, reference, lastRun } = await pull('stream');
  await run(stock);
  const rows = (await lastRun('stock')).rows_seen;
  chunks();
  const fault = { kind: 'truncated', path: '*/variants/stock', count: 1, bytes: 90_000 };
  reference.knobs.patch({ faults: [{ ...fault, probability: 1 }] });
  const { stock: own, catalog } = reference.world;
  own.set(own.nth(0, catalog.variantCount, 3), 7_777);
  expect(await run(stock)).toMatchObject({ outcome: 'interrupted' });
  expect((await lastRun('stock')).rows_seen).toBeGreaterThan(0);
  chunks();
  own.set(own.nth(0, catalog.variantCount, rows - 1), 8_888);
  expect(await run(stock)).toMatchObject({ outcome: 'complete' });
  expect(await lastRun('stock')).toMatchObject({ rows_seen: rows, rows_changed: 2 });
  expect(open(chunks())).toHaveLength(1);
});
