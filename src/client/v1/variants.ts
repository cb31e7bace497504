/**
 * Reads variant lists of any length as one stream; variant-pages.ts reads them page by page. Yields
 * batches of raw rows in their own buffers, split into small chunks, which the consumer may digest,
 * parse, or move to a worker without a copy. Chunks that equal the stored digests are not scanned,
 * and the batch marks them. A batch is a checkpoint: pass its `next` as `from` to resume after it.
 * The end reports the service's counts; the consumer verifies completeness with them. Throws
 * RetryLaterError when a transfer breaks off.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LoginAgainError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { createKnownAhead, type KnownChunks } from '../../lib/json-rows/known.ts';
import { JsonRowsError } from '../../lib/json-rows/structure.ts';
import {
  createRowScanner,
  type RowChunk,
  type RowScanEnd,
  type RowScanner,
  type RowScanOptions,
} from '../../lib/json-rows.ts';
import { errorOfBrokenAnswer, errorOfPage } from '../http/answer.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { statusIn } from '../http/said.ts';
import { type PagingMemory, type Signs, signsIn } from '../paging.ts';
import { itemsOf } from '../tolerant/values.ts';
import type { Sender, StreamAnswer } from '../transport.ts';
import { countIn, dataOf, isNothing, NO_CONTENT, rowsIn } from './envelope.ts';

// Chunks of raw rows, also of several pages, are joined into batches. Later stages have a fixed
// cost per batch (messages, statements, promises), so joining makes small pages as cheap as large
// ones.

/** Position of a chunk, a few neighbouring rows: `bytes.subarray(start, end)` of its batch. */
interface ChunkSpan {
  /** Index of the chunk's first row in the whole list, from 0; stable over runs in one mode. */
  readonly firstRow: number;
  readonly rowCount: number;
  readonly start: number;
  readonly end: number;
  /** Whether the chunk is unchanged since the last run; its bytes may then be missing. */
  readonly isKnown: boolean;
}

/**
 * Position to resume from behind a batch: a number of rows to skip, the number of a page, or a text
 * for an account that pages otherwise (variant-pages.ts).
 */
export type PullPlace = number | string;

export function pullPlaceIn(value: unknown): PullPlace | undefined {
  return typeof value === 'number' || typeof value === 'string' ? value : undefined;
}

export interface RowBatch {
  /** Number of the service's pages in the batch; 1 for a streamed list, which has none. */
  readonly pages: number;
  readonly firstRow: number;
  readonly rowCount: number;
  /**
   * Bytes of the chunks in memory of the batch's own: `postMessage(batch, [batch.bytes.buffer])`
   * moves them.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Positions of the chunks; bytes around them are not for use. */
  readonly chunks: readonly ChunkSpan[];
  /** Number of bytes that were received for the rows of the batch. */
  readonly size: number;
  /** Epoch ms of the first request that brought rows of the batch. */
  readonly startedAt: number;
  readonly next: PullPlace;
}

/** A scanned chunk, new or of an earlier batch. */
interface LooseChunk extends Omit<RowChunk, 'bytes'> {
  readonly bytes: Uint8Array;
}

interface BatchPlace {
  /** Number of rows in the list before the first that the chunks count from. */
  readonly offset: number;
  readonly startedAt: number;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Makes a batch of chunks. `whole` are bytes that already contain them; without it, they are copied
 * together.
 */
export function assembleBatch(
  chunks: readonly LooseChunk[],
  { offset, startedAt }: BatchPlace,
  whole?: Uint8Array<ArrayBuffer>,
): Omit<RowBatch, 'pages' | 'next' | 'size'> {
  const total = chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const bytes = whole ?? new Uint8Array(new ArrayBuffer(total));
  const spans: ChunkSpan[] = [];
  let end = 0;
  let rowCount = 0;
  for (const chunk of chunks) {
    const start = whole ? chunk.bytes.byteOffset : end;
    if (!whole) bytes.set(chunk.bytes, start);
    end = start + chunk.bytes.length;
    const { rowCount: rows, isKnown } = chunk;
    spans.push({ firstRow: offset + chunk.firstRow, rowCount: rows, start, end, isKnown });
    rowCount += rows;
  }
  const firstRow = spans[0]?.firstRow ?? offset;
  return { firstRow, rowCount, bytes, chunks: spans, startedAt };
}

function chunksIn({ bytes, chunks }: RowBatch): LooseChunk[] {
  return chunks.map((chunk) => {
    const { start, end, isKnown } = chunk;
    return { ...chunk, bytes: isKnown ? NO_BYTES : bytes.subarray(start, end) };
  });
}

/**
 * Drops a batch's bytes when all its chunks are unchanged, so that their memory is free for the
 * next answer.
 */
function lean(batch: RowBatch): RowBatch {
  if (!batch.chunks.every(({ isKnown }) => isKnown)) return batch;
  batch.bytes.buffer.transfer(0);
  return { ...batch, bytes: new Uint8Array(new ArrayBuffer(0)) };
}

/** Joins neighbouring batches and frees their memory. */
function joined(first: RowBatch, others: readonly RowBatch[]): RowBatch {
  const last = others.at(-1);
  // A single batch is returned as it is, without a copy.
  if (!last) return first;
  const all = [first, ...others];
  const { startedAt } = first;
  const whole = assembleBatch(all.flatMap(chunksIn), { offset: 0, startedAt });
  // Memory is freed at once, because the garbage collector would count it as pending.
  for (const { bytes } of all) bytes.buffer.transfer(0);
  const sumOf = (member: 'pages' | 'size') => all.reduce((sum, batch) => sum + batch[member], 0);
  return { ...whole, pages: sumOf('pages'), size: sumOf('size'), next: last.next };
}

interface JoinLimits {
  /** Number of rows of a full page. */
  readonly pageRows: number;
  readonly batchRows: number;
  /**
   * Maximum of pages in a batch: as many as are requested concurrently, so that none waits long for
   * another.
   */
  readonly pagesAheadMax: number;
}

/** Joins neighbouring pages up to the size of a batch. Pages before a failure are still yielded. */
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
    // Other work goes first, because waiting pages would otherwise all come at once.
    await nextTurn();
    yield joined(first, others);
  }
  try {
    for await (const page of pages) {
      if (rows + page.rowCount > batchRows) yield* given();
      held.push(lean(page));
      rows += page.rowCount;
      // The batch is given when another full page would not fit.
      if (held.length >= pagesAheadMax || rows + pageRows > batchRows) yield* given();
    }
  } catch (error) {
    yield* given();
    throw error;
  }
  yield* given();
}

export interface PullEnd {
  /** HTTP status that the last envelope repeats. */
  readonly status: number;
  /**
   * Row count that the service states in the first answer; undefined: none. `count`: in the last
   * one.
   */
  readonly countFirst: number | undefined;
  readonly count: number | undefined;
  /** Number of rows of the list from its first to its last, including those before `from`. */
  readonly rows: number;
  /** Number of pages before the last that have fewer rows than they should. */
  readonly shortPages: number;
  /** Reasons to doubt that the list was whole, as messages. */
  readonly doubts: readonly string[];
}

export interface VariantPull {
  readonly batches: AsyncGenerator<RowBatch, void, undefined>;
  /** Gives the counts of the pull; only after `batches` was read to its end. */
  end(): PullEnd;
}

export interface VariantListOptions {
  readonly mode: 'stream' | 'pages';
  /** Rows per page in mode `pages`, at most 250. */
  readonly pageRows: number;
  /** Number of the first page, where it need not be learned. */
  readonly firstPage: 'learned' | 'zero' | 'one';
  /** Number of pages requested concurrently in mode `pages`. */
  readonly pagesAheadMax: number;
  /**
   * Rows per batch. In mode `stream` a multiple of `chunkRows`; in mode `pages`, neighbouring pages
   * up to this many rows form one batch.
   */
  readonly batchRows: number;
  readonly chunkRows: number;
  readonly rowBytesMax: number;
  readonly restBytesMax: number;
  /** Milliseconds that the whole transfer may take in mode `stream`. */
  readonly streamMsMax: number;
}

export const VARIANT_LIST_DEFAULTS: VariantListOptions = {
  mode: 'pages',
  pageRows: 250,
  firstPage: 'learned',
  pagesAheadMax: 4,
  batchRows: 512,
  chunkRows: 16,
  rowBytesMax: 1_048_576,
  restBytesMax: 1_048_576,
  streamMsMax: 7_200_000,
};

export interface PullRequest {
  readonly sender: Sender;
  readonly request: HttpRequest;
  readonly options: VariantListOptions;
  /** Position to resume from: `next` of an earlier run's last batch. */
  readonly from?: PullPlace | undefined;
  /** Stored digests of the list; chunks that equal them are not scanned. */
  readonly known?: KnownChunks | undefined;
  /** Called for each received page in mode `pages`. */
  readonly onPage?: (() => void) | undefined;
  /** Findings of earlier pulls of the list. */
  readonly memory: PagingMemory;
}

/** JSON path of the list, and its paths at accounts that leave out `data` or `variants`. */
const PATH = ['data', 'variants'];
const OTHERS = [['variants'], ['data'], []];

export function scanOptions(
  options: VariantListOptions,
  more: Pick<RowScanOptions, 'skipRows' | 'known'>,
): RowScanOptions {
  const { chunkRows: rowsPerChunk, rowBytesMax, restBytesMax } = options;
  return { path: PATH, others: OTHERS, rowsPerChunk, rowBytesMax, restBytesMax, ...more };
}

/**
 * Memory of a body that nothing else uses, so that it can be given away; undefined: it is shared.
 */
export function ownBytes({ buffer, length }: Buffer): Uint8Array<ArrayBuffer> | undefined {
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  return isOwn ? new Uint8Array(buffer) : undefined;
}

export interface Envelope {
  readonly status: number;
  readonly count: number | undefined;
}

/** Deviation of the list from the contract, if any; throws if there is no list. */
function dialectOf(request: HttpRequest, { found, at, isKeyed }: RowScanEnd, data: unknown) {
  if (isKeyed) return 'variants={"0": …}';
  if (found) return at?.at(-1) === 'variants' ? undefined : 'data=[] (variants)';
  const empty = rowsIn(data, 'variants');
  if (empty?.raws.length === 0 && !countIn(data)) return empty.dialect;
  if (countIn(data) === 0 && isNothing(data)) return 'variants=absent';
  throw errorOfBrokenAnswer(askedOf(request), new Error('no data.variants'));
}

/** Reads the envelope around the rows. Throws unless it is a success with a list. */
export function envelopeOf(
  sender: Sender,
  request: HttpRequest,
  { status, headers }: Pick<StreamAnswer, 'status' | 'headers'>,
  end: RowScanEnd,
): Envelope {
  const data = dataOf(sender, request, end.rest, headers);
  const dialect = dialectOf(request, end, data);
  if (dialect !== undefined) sender.note(request, dialect);
  const repeated = isJsonObject(end.rest) ? statusIn(end.rest.status) : undefined;
  return { status: repeated ?? status, count: countIn(data) };
}

/**
 * Ends a scan. Rows that stand by an id, or a single one in place of the list, were no rows for the
 * scanner, which has kept them with the rest.
 */
export function endOfRows(scanner: RowScanner, { chunkRows }: VariantListOptions): RowScanEnd {
  const end = scanner.end();
  const { rest } = end;
  if (end.found || !isJsonObject(rest)) return end;
  const { variants } = isJsonObject(rest.data) ? rest.data : rest;
  if (!isJsonObject(variants) || Object.keys(variants).length === 0) return end;
  const raws = itemsOf(variants) ?? [variants];
  const chunks: RowChunk[] = [];
  for (let firstRow = 0; firstRow < raws.length; firstRow += chunkRows) {
    const own = raws.slice(firstRow, firstRow + chunkRows);
    const bytes = Buffer.from(own.map((row) => JSON.stringify(row)).join(','));
    chunks.push({ firstRow, rowCount: own.length, bytes, isKnown: false });
  }
  return { ...end, chunks, found: true, isKeyed: true, rows: raws.length };
}

const NO_ROWS = Buffer.from('{"data":{"variants":[]}}');

/** Rows in place of an empty body: only 204 means that there are none. */
export function nothing(
  sender: Sender,
  request: HttpRequest,
  { status }: { status: number },
): Buffer {
  if (status !== NO_CONTENT) throw errorOfPage({ ...askedOf(request), scrub: sender.scrub }, '');
  sender.note(request, 'variants=204');
  return NO_ROWS;
}

/** Reads what stands around the rows of a stream, which may say that the token has died. */
export function readEnd<T>({ refused }: StreamAnswer, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof LoginAgainError ? refused(error) : error;
  }
}

export function understood<T>(request: HttpRequest, scan: () => T): T {
  try {
    return scan();
  } catch (error) {
    if (error instanceof JsonRowsError) throw errorOfBrokenAnswer(askedOf(request), error);
    throw error;
  }
}

/** Reads the list as one answer, whose signs may tell that more follows. */
export async function* streamed(
  pull: PullRequest,
): AsyncGenerator<RowBatch, readonly [PullEnd, Signs], undefined> {
  const { options, request } = pull;
  const answer = await pull.sender.stream({
    ...request,
    deadlines: { totalMs: options.streamMsMax },
  });
  const known = createKnownAhead(pull.known);
  const more = { skipRows: typeof pull.from === 'number' ? pull.from : 0, known: known.at };
  const scanner = createRowScanner(scanOptions(options, more));
  let pending: RowChunk[] = [];
  let size = 0;
  const batch = (): RowBatch => {
    const whole = assembleBatch(pending, { offset: 0, startedAt: answer.startedAt });
    const taken = { pages: 1, size, next: whole.firstRow + whole.rowCount };
    pending = [];
    size = 0;
    return { ...whole, ...taken };
  };
  function* batchesOf(chunks: readonly RowChunk[]): Generator<RowBatch> {
    for (const chunk of chunks) {
      size += chunk.bytes.length;
      pending.push(chunk.isKnown ? { ...chunk, bytes: NO_BYTES } : chunk);
      if ((chunk.firstRow + chunk.rowCount) % options.batchRows === 0) yield batch();
    }
  }
  let bytes = 0;
  for await (const input of answer.body) {
    bytes += input.length;
    await known.reach(scanner.rows);
    yield* batchesOf(understood(request, () => scanner.push(input)));
    // Other work goes first, because waiting chunks would otherwise all be scanned at once.
    await nextTurn();
  }
  if (bytes === 0) scanner.push(nothing(pull.sender, request, answer));
  const end = understood(request, () => endOfRows(scanner, options));
  const { status, count } = readEnd(answer, () => envelopeOf(pull.sender, request, answer, end));
  yield* batchesOf(end.chunks);
  if (pending.length > 0) yield batch();
  const ended = { status, countFirst: count, count, rows: end.rows, shortPages: 0, doubts: [] };
  return [ended, signsIn(end.rest, answer.headers, request.url)];
}
