import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import {
  hasOutOfBandWrites,
  ORDERED_SOURCE,
  writeStockVariants,
} from '../../src/mirror/catalog/out-of-band.ts';
import type { SqliteStore, Store } from '../../src/store/store.ts';
import { type PageReader, readerHere } from '../../src/sync/bulk/page-reader.ts';
import { createPageWriter, type PageWriter } from '../../src/sync/bulk/page-writer.ts';
import { createVariantPages, type VariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { openRun } from '../../src/sync/run/open.ts';
import type { Run } from '../../src/sync/run/run-repository.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { temporaryStore } from '../support/store.ts';
import { DELETION_GUARD } from './pull.ts';
import { startPull } from './support.ts';

const WIRE = { retries: 0, waits: 0, waitMs: 0 };

/** Page `number` of a list, 100 rows in one chunk. */
function write(pages: VariantPages, run: Run, number: number, quantity = 1) {
  const firstRow = number * 100;
  const rows = Array.from({ length: 100 }, (_, row) => ({
    barcode: `b${firstRow + row}`,
    quantity,
  }));
  const bytes = new TextEncoder().encode(JSON.stringify(rows).slice(1, -1));
  return pages.write({
    ...{ run, list: { kind: 'stock' }, checkpoint: { next: number + 1 }, wire: WIRE },
    batch: {
      ...{ bytes, size: bytes.length, pages: 1 },
      chunks: [{ firstRow, rowCount: 100, start: 0, end: bytes.length, isKnown: false }],
    },
  });
}

async function house() {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const pages = createVariantPages({ store, clock });
  const start = (readSeq: number) =>
    openRun(store, { stream: 'stock', options: { readSeq }, reading: '', readSeq, now: 0 });
  const stored = (run: Run) =>
    store.db
      .selectFrom('sync_run')
      .select(['checkpoint', 'pages', 'rows_seen', 'rows_changed', 'rows_unchanged'])
      .where('run_id', '=', run.runId)
      .executeTakeFirstOrThrow();
  const first = await start(1);
  for (const number of [0, 1, 2, 3]) await write(pages, first, number);
  return { store, clock, pages, stored, first, second: await start(2) };
}

/** Nothing can be written of the chunk at this row. */
async function refuseChunk(store: SqliteStore, firstRow: number): Promise<void> {
  await sql`create trigger refuse before insert on chunk
    when new.first_row = ${sql.lit(firstRow)} begin select raise(abort, 'refused'); end`.execute(
    store.db,
  );
}

describe('pages behind one that cannot be written', () => {
  it('are not written, so that no checkpoint leaves a gap', async () => {
    const { store, pages, stored, second } = await house();
    await refuseChunk(store, 100);
    // Pages are written as they come: none of them waits for the one before.
    const all = [0, 1, 2, 3].map((number) => write(pages, second, number, 7));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'rejected', 'rejected'],
    ]);
    await pages.end(second.runId);
    expect(await stored(second)).toMatchObject({ checkpoint: '{"next":1}', pages: 1 });
    const changed = store.db
      .selectFrom('stock_variant')
      .select('barcode')
      .where('quantity', '=', 7);
    expect(await changed.execute()).toHaveLength(100);
  });

  it('are not written by the next writer either, when theirs has died', async () => {
    const { store, clock, stored, second } = await house();
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
    const { promise: isDead, resolve: die } = Promise.withResolvers<void>();
    let deaths = 0;
    const writer: PageWriter = {
      ...createPageWriter({ store, clock }),
      async write(page) {
        deaths += 1;
        if (deaths === 1) {
          await isDead;
          throw new Error('it died');
        }
        return createPageWriter({ store, clock }).write(page);
      },
    };
    const reader: PageReader = {
      async read(page) {
        const rows = await readerHere({}).read(page);
        if (!rows.chunks[0]?.keys.startsWith('["b0",')) await isRead;
        return rows;
      },
    };
    const pages = createVariantPages({ store, clock, reader, writer });
    const all = [0, 1, 2].map((number) => write(pages, second, number, 7));
    // The next page is being read, and its turn has come.
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    die();
    await expect(all[0]).rejects.toThrow('it died');
    read();
    for (const page of all.slice(1)) await expect(page).rejects.toThrow('a page before it');
    expect(await stored(second)).toMatchObject({ checkpoint: '{}', pages: 0 });
  });

  it('prove nothing either, and are read again by the next attempt', async () => {
    const { store, pages, stored, second } = await house();
    await refuseChunk(store, 100);
    const all = [0, 1, 2, 3].map((number) => write(pages, second, number, number === 1 ? 7 : 1));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.slice(0, 2).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await pages.end(second.runId);
    expect(await stored(second)).toMatchObject({ checkpoint: '{}', pages: 0 });
    await sql`drop trigger refuse`.execute(store.db);
    await pages.begin(second);
    for (const number of [0, 1, 2, 3]) await write(pages, second, number, number === 1 ? 7 : 1);
    await pages.end(second.runId);
    expect(await stored(second)).toMatchObject({ checkpoint: '{"next":4}', rows_changed: 100 });
  });
});

describe('pages that wait for the disk', () => {
  /** Pages of 100 rows that are written as they come; gives how many each commit held. */
  const commits = async (count: number, isAwaited: () => boolean, runOf = (_: number) => 0) => {
    const { store, clock, second } = await house();
    let before = 0;
    const held: number[] = [];
    const counted: Store = {
      ...{ db: store.db, path: store.path, close: () => store.close() },
      snapshot: (read) => store.snapshot(read),
      async transaction(work) {
        const result = await store.transaction(work);
        const { n } = await store.db
          .selectFrom('stock_variant')
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .where('quantity', '=', 7)
          .executeTakeFirstOrThrow();
        held.push((n - before) / 100);
        before = n;
        return result;
      },
    };
    const writer = createPageWriter({ store: counted, clock, isAwaited });
    const pages = createVariantPages({ store, clock, writer });
    const runs = [second, { ...second, runId: second.runId + 1 }] as const;
    const all = Array.from({ length: count }, (_, number) =>
      write(pages, runs[runOf(number)] ?? second, number, 7),
    );
    expect(await Promise.all(all)).toHaveLength(count);
    return held;
  };

  it('share a commit, up to some two thousand rows', async () => {
    const held = await commits(45, () => false);
    expect(held.reduce((sum, one) => sum + one, 0)).toBe(45);
    expect(Math.max(...held)).toBe(20);
    expect(held.length).toBeLessThan(8);
  });

  it('are committed one by one while another writer waits', async () => {
    expect(await commits(5, () => true)).toEqual([1, 1, 1, 1, 1]);
  });

  it('are written where those of another run fail', async () => {
    const { store, pages, stored, second } = await house();
    const options = { readSeq: 3 };
    const other = await openRun(store, {
      stream: 'season',
      options,
      reading: '',
      readSeq: 3,
      now: 0,
    });
    await refuseChunk(store, 100);
    const outcomes = await Promise.allSettled([
      write(pages, other, 0, 8),
      write(pages, other, 1, 8),
      write(pages, second, 2, 7),
      write(pages, second, 3, 7),
    ]);
    const wanted = ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'];
    expect(outcomes.map(({ status }) => status)).toEqual(wanted);
    expect(await stored(second)).toMatchObject({ checkpoint: '{"next":4}', pages: 2 });
  });

  it('are written up to one that fails among them', async () => {
    const { store, pages, stored, second } = await house();
    await refuseChunk(store, 200);
    const all = [0, 1, 2, 3, 4].map((number) => write(pages, second, number, 7));
    const outcomes = await Promise.allSettled(all);
    const wanted = ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected'];
    expect(outcomes.map(({ status }) => status)).toEqual(wanted);
    expect(await stored(second)).toMatchObject({ checkpoint: '{"next":2}', pages: 2 });
  });

  it('do not share it with those of another run', async () => {
    const held = await commits(
      6,
      () => false,
      (number) => Number(number >= 3),
    );
    expect(held.reduce((sum, one) => sum + one, 0)).toBe(6);
    expect(held.length).toBeGreaterThan(1);
    expect(Math.max(...held)).toBeLessThanOrEqual(3);
  });
});

describe('a run that gets no further than it has proved', () => {
  it('is put off for longer each time, and fails in the end', async () => {
    const world = { styles: 40, colors: 2, sizes: 4, orders: 0 };
    const { reference, store, run, v1, lastRun } = await startPull({ world }, { batchRows: 64 });
    const level = { detailed: true, detailedPricing: false, includeVariantsOnOrder: false };
    const stock = createStockStream(v1, {
      level,
      mode: 'stream',
      pageRows: 100,
      deletionGuard: DELETION_GUARD,
    });
    await run(stock);
    const { stock: own, catalog } = reference.world;
    own.set(own.nth(0, catalog.variantCount, 150), 77);
    await refuseChunk(store, 144);
    const failures = async () => {
      await run(stock);
      const state = store.db.selectFrom('stream_state').select('failures');
      return (await state.executeTakeFirstOrThrow()).failures;
    };
    expect([await failures(), await failures(), await failures()]).toEqual([1, 2, 3]);
    expect([await failures(), await failures(), await failures()]).toEqual([4, 5, 6]);
    expect(await lastRun('stock')).toMatchObject({ outcome: 'failed' });
  });
});

describe('pages that are proved unchanged', () => {
  it('wait for the next page that is written, and are counted with it', async () => {
    const { pages, stored, second } = await house();
    for (const number of [0, 1]) await write(pages, second, number);
    expect(await stored(second)).toMatchObject({ checkpoint: '{}', pages: 0, rows_seen: 0 });
    await write(pages, second, 2, 7);
    expect(await stored(second)).toEqual({
      ...{ checkpoint: '{"next":3}', pages: 3, rows_seen: 300 },
      ...{ rows_changed: 100, rows_unchanged: 200 },
    });
  });

  it('are written down at the end', async () => {
    const { pages, stored, second } = await house();
    for (const number of [0, 1, 2, 3]) await write(pages, second, number);
    await pages.end(second.runId);
    await pages.end(second.runId);
    expect(await stored(second)).toMatchObject({ checkpoint: '{"next":4}', rows_unchanged: 400 });
  });

  it('count once when a run begins again behind its checkpoint', async () => {
    const { pages, stored, second } = await house();
    for (const number of [0, 1]) await write(pages, second, number);
    await pages.begin(second);
    for (const number of [0, 1, 2, 3]) await write(pages, second, number);
    await pages.end(second.runId);
    expect(await stored(second)).toMatchObject({ pages: 4, rows_seen: 400 });
  });

  it('do not wait for ever', async () => {
    const { pages, stored, second } = await house();
    for (let round = 0; round < 50; round += 1) {
      for (const number of [0, 1, 2, 3]) await write(pages, second, number);
    }
    expect(await stored(second)).toMatchObject({ pages: 200, rows_seen: 20_000 });
  });

  it('are written down behind the pages before them', async () => {
    const { store, clock, stored, second } = await house();
    const inner = createPageWriter({ store, clock });
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
    const writer: PageWriter = {
      ...inner,
      write: (page) => isOpen.then(() => inner.write(page)),
    };
    const pages = createVariantPages({ store, clock, writer });
    const all = [write(pages, second, 0, 7)];
    // More than may wait: with the last of them the proof is written down.
    for (let round = 0; round < 200; round += 1) all.push(write(pages, second, 1 + (round % 3)));
    await all[199];
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect(await stored(second)).toMatchObject({ checkpoint: '{}', pages: 0 });
    open();
    await Promise.all(all);
    expect(await stored(second)).toMatchObject({ checkpoint: '{"next":3}', pages: 201 });
  });

  it('are not proved before what was written apart has lost its proof', async () => {
    const { store, clock, second } = await house();
    await store.transaction(async (tx) => {
      const records = [{ barcode: 'b105', quantity: 7 }];
      await writeStockVariants(tx, records, { source: ORDERED_SOURCE, readSeq: 1, at: 0 });
    });
    const inner = createPageWriter({ store, clock });
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
    const writer: PageWriter = {
      ...inner,
      invalidateOutOfBand: () => isOpen.then(() => inner.invalidateOutOfBand()),
    };
    const pages = createVariantPages({ store, clock, writer });
    // The first pages may be there before the look at all chunks has ended.
    const all = [pages.begin(second), ...[0, 1, 2, 3].map((n) => write(pages, second, n))];
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    open();
    await Promise.all(all);
    const row = store.db.selectFrom('stock_variant').select('quantity');
    expect(await row.where('barcode', '=', 'b105').executeTakeFirst()).toEqual({ quantity: 1 });
  });

  it('are read all the same where a row was written apart from the list since', async () => {
    const { store, pages, stored, second } = await house();
    await store.transaction(async (tx) => {
      const records = [
        { barcode: 'b105', quantity: 7 },
        { barcode: 'not in the list', quantity: 3 },
      ];
      await writeStockVariants(tx, records, { source: ORDERED_SOURCE, readSeq: 1, at: 0 });
    });
    // The stock's run must see this, whichever run begins first.
    await pages.begin({ runId: 99, stream: 'season', resumed: false });
    expect(await hasOutOfBandWrites(store.db)).toBe(true);
    await pages.begin(second);
    const counts = [];
    for (const number of [0, 1, 2, 3]) counts.push(await write(pages, second, number));
    await pages.end(second.runId);
    const row = store.db.selectFrom('stock_variant').select('quantity');
    expect(await row.where('barcode', '=', 'b105').executeTakeFirst()).toEqual({ quantity: 1 });
    expect(await stored(second)).toMatchObject({ rows_changed: 1, rows_unchanged: 399 });
    // Only then the run asks which rows the list does not have.
    expect(counts.some(({ changedKeys = 0 }) => changedKeys > 0)).toBe(true);

    const third = { ...second, runId: second.runId };
    await pages.begin(third);
    const again = [];
    for (const number of [0, 1, 2, 3]) again.push(await write(pages, third, number));
    expect(again.map(({ changedKeys }) => changedKeys)).toEqual([0, 0, 0, 0]);
  });
});

describe('a list of which nothing was known when the attempt began', () => {
  const LIST = { kind: 'stock' } as const;

  async function firstList() {
    const { store, clock, stored, first } = await house();
    await sql`delete from chunk`.execute(store.db);
    await sql`delete from stock_variant_row`.execute(store.db);
    const pages = createVariantPages({ store, clock });
    const known = async () => {
      return (await pages.known(first, LIST)(0, 1_000)).map(({ firstRow }) => firstRow);
    };
    return { store, pages, stored, known, first };
  }

  it('is not asked for any until the next one begins', async () => {
    const { pages, known, first } = await firstList();
    await pages.begin(first);
    for (const number of [0, 1]) await write(pages, first, number);
    expect(await known()).toEqual([]);
    await pages.end(first.runId);
    await pages.begin({ ...first, stream: 'season' });
    expect(await known()).toEqual([]);
    await pages.begin(first);
    expect(await known()).toEqual([0, 100]);
    expect(await write(pages, first, 0)).toMatchObject({ unchanged: 100, changedKeys: 0 });
  });

  it('is written once, also where a page of it comes twice', async () => {
    const { store, pages, known, first } = await firstList();
    await pages.begin(first);
    expect(await write(pages, first, 0)).toMatchObject({ changed: 100 });
    // Read for want of a proof, and found to be as it was.
    const again = { changed: 0, unchanged: 100, changedKeys: 100 };
    expect(await write(pages, first, 0)).toMatchObject(again);
    expect(await write(pages, first, 0, 7)).toMatchObject({ changed: 100 });
    await pages.begin(first);
    expect(await known()).toEqual([0]);
    const rows = store.db.selectFrom('stock_variant').select('quantity').execute();
    expect((await rows).map(({ quantity }) => quantity)).toEqual(Array(100).fill(7));
  });
});
