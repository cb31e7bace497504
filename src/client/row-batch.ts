/**
 * Batches of raw rows: made of segments, and of pages that are joined. What stands behind has the
 * most of its work by the batch (messages, statements, promises), so that small pages cost as much
 * as large ones.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RowSegment } from '../lib/json-rows.ts';

/** A few neighbouring rows: `bytes.subarray(start, end)` of the batch. */
interface SegmentSpan {
  /** Index of its first row in the whole list, from 0; stable over runs in one mode. */
  readonly firstRow: number;
  readonly rowCount: number;
  readonly start: number;
  readonly end: number;
  /** Proved to be as the consumer knows it; its bytes need not be there. */
  readonly isKnown: boolean;
}

export interface RowBatch {
  /** Pages of the service that it is made of; 1 of a streamed list, which has none. */
  readonly pages: number;
  readonly firstRow: number;
  readonly rowCount: number;
  /** Owns its memory: `postMessage(batch, [batch.bytes.buffer])` moves it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the rows are; what stands around them is not for use. */
  readonly segments: readonly SegmentSpan[];
  /** Bytes that came for these rows. */
  readonly size: number;
  /** Epoch ms of the first request that brought these rows. */
  readonly startedAt: number;
  /** Where a pull goes on behind this batch (a page number or a number of rows to skip). */
  readonly next: number;
}

/** A scanned segment, or one of an earlier batch. */
interface LooseSegment extends Omit<RowSegment, 'bytes'> {
  readonly bytes: Uint8Array;
}

interface BatchPlace {
  /** Rows of the list before those of which the segments count theirs. */
  readonly offset: number;
  readonly startedAt: number;
}

export const NO_BYTES = Buffer.alloc(0);

/** `whole` has the segments in it already; otherwise they are copied together. */
export function gathered(
  segments: readonly LooseSegment[],
  { offset, startedAt }: BatchPlace,
  whole?: Uint8Array<ArrayBuffer>,
): Omit<RowBatch, 'pages' | 'next' | 'size'> {
  const total = segments.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const bytes = whole ?? new Uint8Array(new ArrayBuffer(total));
  const spans: SegmentSpan[] = [];
  let end = 0;
  let rowCount = 0;
  for (const segment of segments) {
    const start = whole ? segment.bytes.byteOffset : end;
    if (!whole) bytes.set(segment.bytes, start);
    end = start + segment.bytes.length;
    const { rowCount: rows, isKnown } = segment;
    spans.push({ firstRow: offset + segment.firstRow, rowCount: rows, start, end, isKnown });
    rowCount += rows;
  }
  const firstRow = spans[0]?.firstRow ?? offset;
  return { firstRow, rowCount, bytes, segments: spans, startedAt };
}

function segmentsIn({ bytes, segments }: RowBatch): LooseSegment[] {
  return segments.map((segment) => {
    const { start, end, isKnown } = segment;
    return { ...segment, bytes: isKnown ? NO_BYTES : bytes.subarray(start, end) };
  });
}

/** Without its bytes where nobody needs them: their memory is free for the next answer. */
function lean(batch: RowBatch): RowBatch {
  if (!batch.segments.every(({ isKnown }) => isKnown)) return batch;
  batch.bytes.buffer.transfer(0);
  return { ...batch, bytes: new Uint8Array(new ArrayBuffer(0)) };
}

/** One batch of neighbouring ones, whose memory is used up. */
function joined(first: RowBatch, others: readonly RowBatch[]): RowBatch {
  const last = others.at(-1);
  // As it came: nothing of it is copied.
  if (!last) return first;
  const all = [first, ...others];
  const { startedAt } = first;
  const whole = gathered(all.flatMap(segmentsIn), { offset: 0, startedAt });
  // At once: left to the garbage collector, it counts as its garbage.
  for (const { bytes } of all) bytes.buffer.transfer(0);
  const sumOf = (member: 'pages' | 'size') => all.reduce((sum, batch) => sum + batch[member], 0);
  return { ...whole, pages: sumOf('pages'), size: sumOf('size'), next: last.next };
}

interface JoinLimits {
  /** Rows of a page that is full. */
  readonly pageRows: number;
  readonly batchRows: number;
  /** No more pages than are asked for side by side: none waits long for another. */
  readonly pagesAheadMax: number;
}

/** Neighbouring pages as one batch, where they fit. Those that came before a failure are given. */
export async function* joinedPages(
  pages: AsyncIterable<RowBatch>,
  { pageRows, batchRows, pagesAheadMax }: JoinLimits,
): AsyncGenerator<RowBatch, void, undefined> {
  const held: RowBatch[] = [];
  let rows = 0;
  async function* given(): AsyncGenerator<RowBatch> {
    const [first, ...others] = held.splice(0);
    rows = 0;
    if (!first) return;
    // Pages that wait would all be given before anybody else gets a turn.
    await nextTurn();
    yield joined(first, others);
  }
  try {
    for await (const page of pages) {
      if (rows + page.rowCount > batchRows) yield* given();
      held.push(lean(page));
      rows += page.rowCount;
      // The next one would not fit.
      if (held.length >= pagesAheadMax || rows + pageRows > batchRows) yield* given();
    }
  } catch (error) {
    yield* given();
    throw error;
  }
  yield* given();
}
