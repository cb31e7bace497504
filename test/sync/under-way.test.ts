/** How many pages of a long list are taken while none can be written: their bytes are held. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { createOutages } from '../../src/lib/log/outages.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createPageWriter, type PageWriter } from '../../src/sync/bulk/page-writer.ts';
import { createVariantPages, type VariantBatch } from '../../src/sync/bulk/variant-pages.ts';
import { PULLS } from '../../src/sync/planner.ts';
import { ensureState } from '../../src/sync/run/open.ts';
import { runStream } from '../../src/sync/run/run-stream.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { temporaryStore } from '../support/store.ts';

const PAGES = 40;
const SEGMENT_ROWS = 16;
const SEGMENTS = 32;
/** More turns of the event loop than a page takes. */
const TURNS = 200;

/** A page of which the first `open` chunks are not proved. */
function pageOf(number: number, open: number): VariantBatch {
  let text = '';
  const chunks = Array.from({ length: SEGMENTS }, (_, at) => {
    const firstRow = (number * SEGMENTS + at) * SEGMENT_ROWS;
    const rows = Array.from({ length: SEGMENT_ROWS }, (_row, index) => ({
      barcode: `b${firstRow + index}`,
      quantity: 1,
    }));
    const start = text.length;
    if (at < open) text += rows.map((row) => JSON.stringify(row)).join(',');
    return { firstRow, rowCount: SEGMENT_ROWS, start, end: text.length, isKnown: at >= open };
  });
  const bytes = new TextEncoder().encode(text);
  return { bytes, chunks, size: bytes.length, pages: 1 };
}

/** How many pages a run takes before it waits for a writer that waits itself. */
async function takenOf(open: number): Promise<number> {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const gate = Promise.withResolvers<void>();
  const own = createPageWriter({ store, clock });
  const writer: PageWriter = { ...own, write: (page) => gate.promise.then(() => own.write(page)) };
  const log = silentLogger();
  const variants = createVariantPages({ store, clock, writer });
  const sequence = createReadSequence(store, clock);
  const outages = createOutages({ clock, log }, PULLS);
  await ensureState(store.db, 'stock', 0);
  let taken = 0;
  const stream: Stream = {
    ...{ name: 'stock', options: {} },
    async pull({ variantPage }) {
      for (let number = 0; number < PAGES; number += 1) {
        await variantPage({ next: number + 1 }, { kind: 'stock' }, pageOf(number, open));
        taken += 1;
      }
      return { expectedRows: undefined, doubts: [] };
    },
  };
  const deps = { store, clock, variants, sequence, outages, log };
  const run = runStream(deps, stream, () => 0, new AbortController().signal);
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  const before = taken;
  gate.resolve();
  expect(await run).toMatchObject({ rows: PAGES * SEGMENTS * SEGMENT_ROWS });
  expect(taken).toBe(PAGES);
  return before;
}

it('takes eight pages of new rows, and no more until one of them is written', async () => {
  expect(await takenOf(SEGMENTS)).toBe(8);
});

it('takes more pages of which little must be read, but not all there are', async () => {
  expect(await takenOf(1)).toBe(32);
});
