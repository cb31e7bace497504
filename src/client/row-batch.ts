/**
 * Batches of raw rows, made of chunks and of joined pages. Later stages have a fixed cost per batch
 * (messages, statements, promises), so joining makes small pages as cheap as large ones.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RowSegment } from '../lib/json-rows.ts';

/** A chunk: a few neighbouring rows, `bytes.subarray(start, end)` of the batch. */
interface SegmentSpan {
  /** Index of its first row in the whole list, from 0; stable over runs in one mode. */
  readonly firstRow: number;
  readonly rowCount: number;
  readonly start: number;
  readonly end: number;
  /** Unchanged since the last run; its bytes may be missing. */
  readonly isKnown: boolean;
}

export interface RowBatch {
  /** Pages of the service in the batch; 1 for a streamed list, which has none. */
  readonly pages: number;
  readonly firstRow: number;
  readonly rowCount: number;
  /** Owns its memory: `postMessage(batch, [batch.bytes.buffer])` moves it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Positions of the rows; bytes around them are not for use. */
  readonly segments: readonly SegmentSpan[];
  /** Bytes received for these rows. */
  readonly size: number;
  /** Epoch ms of the first request that brought these rows. */
  readonly startedAt: number;
  /** Position to resume from after this batch (a page number or a number of rows to skip). */
  readonly next: number;
}

/** A scanned chunk, or one of an earlier batch. */
interface LooseSegment extends Omit<RowSegment, 'bytes'> {
  readonly bytes: Uint8Array;
}

interface BatchPlace {
  /** Rows of the list before the chunks' own numbering. */
  readonly offset: number;
  readonly startedAt: number;
}

export const NO_BYTES = Buffer.alloc(0);

/** `whole` already contains the chunks; otherwise they are copied together. */
export function assembleBatch(
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

/** Drops bytes that nobody needs, so that their memory is free for the next answer. */
function lean(batch: RowBatch): RowBatch {
  if (!batch.segments.every(({ isKnown }) => isKnown)) return batch;
  batch.bytes.buffer.transfer(0);
  return { ...batch, bytes: new Uint8Array(new ArrayBuffer(0)) };
}

/** Joins neighbouring batches and frees their memory. */
function joined(first: RowBatch, others: readonly RowBatch[]): RowBatch {
  const last = others.at(-1);
  // Unchanged, without a copy.
  if (!last) return first;
  const all = [first, ...others];
  const { startedAt } = first;
  const whole = assembleBatch(all.flatMap(segmentsIn), { offset: 0, startedAt });
  // Freed at once, because the garbage collector would count it as pending.
  for (const { bytes } of all) bytes.buffer.transfer(0);
  const sumOf = (member: 'pages' | 'size') => all.reduce((sum, batch) => sum + batch[member], 0);
  return { ...whole, pages: sumOf('pages'), size: sumOf('size'), next: last.next };
}

interface JoinLimits {
  /** Rows of a full page. */
  readonly pageRows: number;
  readonly batchRows: number;
  /** At most as many pages as are requested concurrently, so that none waits long for another. */
  readonly pagesAheadMax: number;
}

/** Joins neighbouring pages up to the batch size. Pages before a failure are still yielded. */
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
    // Yields to the event loop, because waiting pages would otherwise all come at once.
    await nextTurn();
    yield joined(first, others);
  }
  try {
    for await (const page of pages) {
      if (rows + page.rowCount > batchRows) yield* given();
      held.push(lean(page));
      rows += page.rowCount;
      // The next page would not fit.
      if (held.length >= pagesAheadMax || rows + pageRows > batchRows) yield* given();
    }
  } catch (error) {
    yield* given();
    throw error;
  }
  yield* given();
}
