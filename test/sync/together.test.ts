import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { StoreError } from '../../src/lib/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { openRun } from '../../src/sync/run/open.ts';
import type { PageCounts, Run } from '../../src/sync/run/run-repository.ts';
import { temporaryStore } from '../support/store.ts';

const SEGMENT_ROWS = 4;
const PAGE_SEGMENTS = 3;
const LIST = { kind: 'stock' } as const;

/** A row of the list as it comes; a quantity of -1 makes it a bad one. */
function textOf(barcode: number, quantity: number): string {
  const styleName = `style ${barcode % 3}`;
  return JSON.stringify({
    ...{ barcode: `b${barcode}`, details: { styleName } },
    quantity: quantity < 0 ? 'many' : quantity,
  });
}

type Page = readonly (readonly [barcode: number, quantity: number])[];

function batchOf(page: Page, number: number) {
  const rows = page.map(([barcode, quantity]) => textOf(barcode, quantity));
  const chunks = [];
  let text = '';
  for (let at = 0; at < rows.length; at += SEGMENT_ROWS) {
    const own = rows.slice(at, at + SEGMENT_ROWS);
    const start = text.length;
    text += own.join(',');
    const firstRow = number * SEGMENT_ROWS * PAGE_SEGMENTS + at;
    chunks.push({ firstRow, rowCount: own.length, start, end: text.length, isKnown: false });
  }
  const bytes = new TextEncoder().encode(text);
  return { bytes, chunks, size: bytes.length, pages: 1 };
}

/** Everything that a run leaves behind. */
async function left({ db }: Store) {
  const run = db.selectFrom('sync_run').selectAll().orderBy('run_id');
  return {
    runs: await run.execute(),
    rows: await db.selectFrom('stock_variant').selectAll().orderBy('barcode').execute(),
    chunks: await db.selectFrom('chunk').selectAll().orderBy('first_row').execute(),
    quarantine: await db.selectFrom('quarantine').selectAll().orderBy('raw').execute(),
    changes: await db
      .selectFrom('change')
      .select(['entity', 'key', 'op', 'diff', 'cause'])
      .orderBy('key')
      .orderBy('op')
      .execute(),
  };
}

const summed = (
  all: readonly PageCounts[],
  member: 'rows' | 'changed' | 'pages' | 'unreadableKeys',
) => all.reduce((sum, counts) => sum + (counts[member] ?? 0), 0);

/** Pulls both lists, one behind the other; pages wait for each other, or come as they like. */
async function pulled(lists: readonly (readonly Page[])[], isOneByOne: boolean) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const pages = createVariantPages({ store, clock });
  const told = [];
  for (const [at, list] of lists.entries()) {
    const readSeq = at + 1;
    const asked = { stream: 'stock', options: { readSeq }, reading: '', readSeq, now: 0 };
    const run: Run = await openRun(store, asked);
    await pages.begin(run);
    const wire = { retries: 1, waits: 2, waitMs: 3 };
    const write = (page: Page, number: number) => {
      const checkpoint = { next: number + 1 };
      return pages.write({ run, list: LIST, checkpoint, wire, batch: batchOf(page, number) });
    };
    const counts: PageCounts[] = [];
    if (isOneByOne) for (const [n, page] of list.entries()) counts.push(await write(page, n));
    else counts.push(...(await Promise.all(list.map(write))));
    await pages.end(run.runId);
    told.push({
      rows: summed(counts, 'rows'),
      changed: summed(counts, 'changed'),
      unreadableKeys: summed(counts, 'unreadableKeys'),
      pages: summed(counts, 'pages'),
    });
  }
  return { told, ...(await left(store)) };
}

describe('pages that share a commit', () => {
  it('leave behind what they would one by one', async () => {
    const rows = SEGMENT_ROWS * PAGE_SEGMENTS;
    const page = (number: number) =>
      fc
        .array(fc.integer({ min: -1, max: 3 }), { minLength: rows, maxLength: rows })
        .map(
          (quantities): Page => quantities.map((quantity, at) => [number * rows + at, quantity]),
        );
    const list = fc.tuple(page(0), page(1), page(2), page(3), page(4));
    // Pages that are as they were the last time are proved.
    const kept = fc.array(fc.boolean(), { minLength: 5, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(list, list, kept, async (first, others, isKept) => {
        const second = others.map((other, at) => (isKept[at] && first[at]) || other);
        expect(await pulled([first, second], false)).toEqual(await pulled([first, second], true));
      }),
      { numRuns: 25 },
    );
  });

  it('tell what they did', async () => {
    const rows = SEGMENT_ROWS * PAGE_SEGMENTS;
    const list = (quantity: number): readonly Page[] =>
      [0, 1, 2].map((number) =>
        Array.from({ length: rows }, (_, at) => [number * rows + at, at === 5 ? quantity : 1]),
      );
    const { told, runs } = await pulled([list(1), list(2)], false);
    expect(told).toEqual([
      { rows: 36, changed: 36, unreadableKeys: 0, pages: 3 },
      { rows: 36, changed: 3, unreadableKeys: 0, pages: 3 },
    ]);
    expect(runs.map(({ pages, retries, wait_ms }) => [pages, retries, wait_ms])).toEqual([
      [3, 3, 9],
      [3, 3, 9],
    ]);
  });

  it('keep what is known between two chunks that have changed', async () => {
    const page = (quantity: number): Page =>
      Array.from({ length: 12 }, (_, at) => [at, at === 0 || at === 11 ? quantity : 1]);
    const { told, chunks } = await pulled([[page(1)], [page(2)]], false);
    expect(told[1]).toMatchObject({ rows: 12, changed: 2 });
    expect(chunks.map(({ first_row, keys }) => [first_row, keys])).toEqual([
      [0, '["b0","b1","b2","b3"]'],
      [4, '["b4","b5","b6","b7"]'],
      [8, '["b8","b9","b10","b11"]'],
    ]);
  });

  it('are of the last word where a row comes twice', async () => {
    const list: readonly Page[] = [[[1, 5]], [[1, 6]], [[1, 7]]];
    const { rows, changes } = await pulled([list], false);
    expect(rows.map(({ quantity }) => quantity)).toEqual([7]);
    expect(changes.map(({ op }) => op)).toContain('insert');
  });
});

it('do not hide that the database is damaged by trying one of them alone', async () => {
  const clock = manualClock();
  const own = await temporaryStore(clock);
  const damaged = new StoreError('store.damaged', 'the database is damaged');
  let tries = 0;
  const transaction: Store['transaction'] = (work) => {
    tries += 1;
    return tries === 1 ? Promise.reject(damaged) : own.transaction(work);
  };
  const store: Store = {
    ...{ db: own.db, path: own.path, transaction },
    ...{ snapshot: own.snapshot, close: own.close },
  };
  const pages = createVariantPages({ store, clock });
  const run = await openRun(own, { stream: 'stock', options: {}, reading: '', readSeq: 1, now: 0 });
  await pages.begin(run);
  const wire = { retries: 0, waits: 0, waitMs: 0 };
  const list = [0, 1, 2].map((number) => {
    const batch = batchOf([[number, 1]], number);
    return pages.write({ run, list: LIST, checkpoint: { next: number + 1 }, wire, batch });
  });
  const [first] = await Promise.allSettled(list);
  expect(first).toMatchObject({ status: 'rejected', reason: damaged });
  expect(tries).toBe(1);
});
