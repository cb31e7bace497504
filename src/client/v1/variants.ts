/**
 * Reads variant lists of any length, as one stream or page by page, behind one interface. Yields
 * batches of raw rows in their own buffers, split into small chunks, which the consumer may digest,
 * parse, or move to a worker without a copy. Chunks that equal the stored digests are not scanned,
 * and the batch marks them. A batch is a checkpoint: pass its `next` as `from` to resume after it.
 * The end reports the service's counts; the consumer verifies completeness with them. Throws
 * RetryLaterError when a transfer breaks off.
 */
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { invariant, LoginAgainError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import {
  createKnownAhead,
  type KnownAhead,
  type KnownSegments,
} from '../../lib/json-rows/known-ahead.ts';
import { JsonRowsError } from '../../lib/json-rows/structure.ts';
import {
  createRowScanner,
  type RowScanEnd,
  type RowScanOptions,
  type RowSegment,
} from '../../lib/json-rows.ts';
import { errorOfBrokenAnswer, errorOfPage } from '../http/answer.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { statusIn } from '../http/said.ts';
import { assembleBatch, joinedPages, NO_BYTES, type RowBatch } from '../row-batch.ts';
import type { Sender, StreamAnswer } from '../transport.ts';
import { countIn, dataOf, isNothing, NO_CONTENT, rowsIn, throwIfUnauthorized } from './envelope.ts';

export interface PullEnd {
  /** HTTP status repeated by the last envelope. */
  readonly status: number;
  /** Service's count in the first and the last answer; undefined: not given. */
  readonly countFirst: number | undefined;
  readonly count: number | undefined;
  /** Rows from the first to the last, including those before `from`. */
  readonly rows: number;
  /** Pages before the last with fewer rows than they should have. */
  readonly shortPages: number;
}

export interface VariantPull {
  readonly batches: AsyncGenerator<RowBatch, void, undefined>;
  /** Only after `batches` was read to its end. */
  end(): PullEnd;
}

export interface VariantListOptions {
  readonly mode: 'stream' | 'pages';
  /** `pages`: rows per page, at most 250. */
  readonly pageRows: number;
  /** `pages`: number of pages requested concurrently. */
  readonly pagesAheadMax: number;
  /**
   * `stream`: rows per batch, a multiple of `chunkRows`. `pages`: neighbouring pages up to this
   * many rows form one batch.
   */
  readonly batchRows: number;
  readonly segmentRows: number;
  readonly rowBytesMax: number;
  readonly restBytesMax: number;
  /** `stream`: limit of the whole transfer. */
  readonly streamMsMax: number;
}

export const VARIANT_LIST_DEFAULTS: VariantListOptions = {
  mode: 'pages',
  pageRows: 250,
  pagesAheadMax: 4,
  batchRows: 512,
  segmentRows: 16,
  rowBytesMax: 1_048_576,
  restBytesMax: 1_048_576,
  streamMsMax: 7_200_000,
};

export interface PullRequest {
  readonly sender: Sender;
  readonly request: HttpRequest;
  readonly options: VariantListOptions;
  /** `next` of an earlier run's last batch. */
  readonly from?: number | undefined;
  /** Stored digests; unchanged chunks are not scanned. */
  readonly known?: KnownSegments | undefined;
  /** `pages`: called for each received page. */
  readonly onPage?: (() => void) | undefined;
}

/** Path of the list, and its paths without an envelope or a name. */
const PATH = ['data', 'variants'];
const OTHERS = [['variants'], ['data'], []];

function scanOptions(
  options: VariantListOptions,
  more: Pick<RowScanOptions, 'skipRows' | 'known'>,
): RowScanOptions {
  const { segmentRows: rowsPerSegment, rowBytesMax, restBytesMax } = options;
  return { path: PATH, others: OTHERS, rowsPerSegment, rowBytesMax, restBytesMax, ...more };
}

/** Memory owned by the body alone, which can be given away. */
function ownBytes({ buffer, length }: Buffer): Uint8Array<ArrayBuffer> | undefined {
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  return isOwn ? new Uint8Array(buffer) : undefined;
}

interface Envelope {
  readonly status: number;
  readonly count: number | undefined;
}

/** Deviation of the list from the contract; throws if there is no list. */
function dialectOf(request: HttpRequest, { found, at, isKeyed }: RowScanEnd, data: unknown) {
  if (isKeyed) return 'variants={"0": …}';
  if (found) return at?.at(-1) === 'variants' ? undefined : 'data=[] (variants)';
  const empty = rowsIn(data, 'variants');
  if (empty?.raws.length === 0 && !countIn(data)) return empty.dialect;
  if (countIn(data) === 0 && isNothing(data)) return 'variants=absent';
  throw errorOfBrokenAnswer(askedOf(request), new Error('no data.variants'));
}

/** Envelope around the rows. Throws unless it is a success with a list. */
function envelopeOf(
  sender: Sender,
  request: HttpRequest,
  { status, headers }: Pick<StreamAnswer, 'status' | 'headers'>,
  end: RowScanEnd,
): Envelope {
  const data = dataOf(sender, request, end.rest, headers);
  const dialect = dialectOf(request, end, data);
  if (dialect !== undefined) sender.note(request, dialect);
  const told = isJsonObject(end.rest) ? statusIn(end.rest.status) : undefined;
  return { status: told ?? status, count: countIn(data) };
}

const NO_ROWS = Buffer.from('{"data":{"variants":[]}}');

/** Substitute for an empty body: only 204 means that there are no rows. */
function nothing(sender: Sender, request: HttpRequest, { status }: { status: number }): Buffer {
  if (status !== NO_CONTENT) throw errorOfPage({ ...askedOf(request), scrub: sender.scrub }, '');
  sender.note(request, 'variants=204');
  return NO_ROWS;
}

function envelopeOfStream(
  { sender, request }: PullRequest,
  answer: StreamAnswer,
  end: RowScanEnd,
): Envelope {
  try {
    return envelopeOf(sender, request, answer, end);
  } catch (error) {
    throw error instanceof LoginAgainError ? answer.refused(error) : error;
  }
}

function understood<T>(request: HttpRequest, scan: () => T): T {
  try {
    return scan();
  } catch (error) {
    if (error instanceof JsonRowsError) throw errorOfBrokenAnswer(askedOf(request), error);
    throw error;
  }
}

async function* streamed(
  pull: PullRequest,
  finish: (end: PullEnd) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  const { options, request } = pull;
  const answer = await pull.sender.stream({
    ...request,
    deadlines: { totalMs: options.streamMsMax },
  });
  const known = createKnownAhead(pull.known);
  const more = { skipRows: pull.from ?? 0, known: known.at };
  const scanner = createRowScanner(scanOptions(options, more));
  let pending: RowSegment[] = [];
  let size = 0;
  const batch = (): RowBatch => {
    const whole = assembleBatch(pending, { offset: 0, startedAt: answer.startedAt });
    const taken = { pages: 1, size, next: whole.firstRow + whole.rowCount };
    pending = [];
    size = 0;
    return { ...whole, ...taken };
  };
  function* batchesOf(segments: readonly RowSegment[]): Generator<RowBatch> {
    for (const segment of segments) {
      size += segment.bytes.length;
      pending.push(segment.isKnown ? { ...segment, bytes: NO_BYTES } : segment);
      if ((segment.firstRow + segment.rowCount) % options.batchRows === 0) yield batch();
    }
  }
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    await known.reach(scanner.rows);
    yield* batchesOf(understood(request, () => scanner.push(chunk)));
    // Yields to the event loop, because waiting chunks would otherwise all be scanned first.
    await nextTurn();
  }
  if (bytes === 0) scanner.push(nothing(pull.sender, request, answer));
  const end = understood(request, () => scanner.end());
  const { status, count } = envelopeOfStream(pull, answer, end);
  yield* batchesOf(end.segments);
  if (pending.length > 0) yield batch();
  finish({ status, countFirst: count, count, rows: end.rows, shortPages: 0 });
}

interface Page extends Envelope {
  /** From 1. */
  readonly pageNumber: number;
  readonly batch: RowBatch;
}

async function fetchPage(
  pull: PullRequest,
  page: number,
  known: KnownAhead,
  signal: AbortSignal,
): Promise<Page> {
  const { options, sender } = pull;
  const limit = options.pageRows;
  const request = { ...pull.request, query: { ...pull.request.query, page, limit }, signal };
  const offset = (page - 1) * limit;
  const at = (row: number) => known.at(offset + row);
  // Digests that are not loaded in time are simply not used.
  const knowing = known.reach(offset);
  const scan = (body: Buffer) => {
    const scanner = createRowScanner(scanOptions(options, { known: at }));
    const segments = scanner.push(body);
    const end = scanner.end();
    throwIfUnauthorized(sender, request, end.rest);
    const all = [...segments, ...end.segments];
    // A chunk with a shortened row has its own bytes.
    const isInBody = all.every(({ bytes }) => bytes.buffer === body.buffer);
    return { segments: all, end, whole: isInBody ? ownBytes(body) : undefined };
  };
  const sending = sender.send(request, (body) => (body.length === 0 ? undefined : scan(body)));
  const [answer] = await Promise.all([sending, knowing]);
  const { startedAt, value = scan(nothing(sender, request, answer)) } = answer;
  const { status, count } = envelopeOf(sender, request, answer, value.end);
  const batch = assembleBatch(value.segments, { offset, startedAt }, value.whole);
  const own = { pages: 1, size: batch.bytes.length, next: page + 1 };
  return { pageNumber: page, status, count, batch: { ...batch, ...own } };
}

/** A full page that does not tell whether others follow: its count may be its own. */
function isUnsure({ count, batch: { rowCount } }: Page, pageRows: number): boolean {
  return rowCount === pageRows && (count === undefined || count === rowCount);
}

function digestOfRows({ bytes, segments }: RowBatch): string {
  return hash('sha1', bytes.subarray(segments[0]?.start, segments.at(-1)?.end));
}

/** Last page worth requesting, as far as this page tells. */
function lastPageAfter(page: Page, pageRows: number): number {
  const { pageNumber, batch } = page;
  const { rowCount } = batch;
  // More rows than a page: the service ignores `limit` and sent everything.
  if (rowCount === 0 || rowCount > pageRows) return pageNumber;
  const isFull = isUnsure(page, pageRows);
  if (page.count === undefined) return isFull ? Number.POSITIVE_INFINITY : pageNumber;
  return isFull ? pageNumber + 1 : Math.ceil(page.count / pageRows);
}

/**
 * Rows up to the end of this last page. A pull resumed after the last page gets an empty one and
 * does not know how full the previous was, so the count decides, if it ends within that page.
 */
function rowsUpTo({ count = 0, batch }: Page, pageRows: number, isFirstAsked: boolean): number {
  const { firstRow, rowCount } = batch;
  const mayEndBefore = isFirstAsked && rowCount === 0;
  const endsBefore = mayEndBefore && count <= firstRow && count > firstRow - pageRows;
  return endsBefore ? count : firstRow + rowCount;
}

async function* paged(
  pull: PullRequest,
  finish: (end: PullEnd) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  const { pageRows, pagesAheadMax } = pull.options;
  const stop = new AbortController();
  const outer = pull.request.signal;
  const signal = outer ? AbortSignal.any([outer, stop.signal]) : stop.signal;
  const ahead: Promise<Page>[] = [];
  const known = createKnownAhead(pull.known);
  let nextPage = pull.from ?? 1;
  let lastPage = nextPage;
  let first: Page | undefined;
  let shortPages = 0;
  let before: string | undefined;
  try {
    for (;;) {
      while (ahead.length < pagesAheadMax && nextPage <= lastPage) {
        const coming = fetchPage(pull, nextPage, known, signal);
        // Awaited in its turn; marked as handled until then.
        coming.catch(() => undefined);
        ahead.push(coming);
        nextPage += 1;
      }
      const page = await ahead.shift();
      if (!page) return;
      pull.onPage?.();
      first ??= page;
      const { batch, status, count } = page;
      // The same page again: the service ignores `page`.
      const digest = isUnsure(page, pageRows) ? digestOfRows(batch) : undefined;
      if (digest !== undefined && digest === before) {
        finish({ status, countFirst: first.count, count, rows: batch.firstRow, shortPages });
        return;
      }
      before = digest;
      lastPage = lastPageAfter(page, pageRows);
      const isLast = page.pageNumber >= lastPage;
      if (!isLast && batch.rowCount < pageRows) shortPages += 1;
      if (batch.rowCount > 0) yield batch;
      if (!isLast) continue;
      const rows = rowsUpTo(page, pageRows, page === first);
      finish({ status, countFirst: first.count, count, rows, shortPages });
      return;
    }
  } finally {
    stop.abort(new Error('the pull has ended'));
  }
}

export function pullVariants(pull: PullRequest): VariantPull {
  let end: PullEnd | undefined;
  const finish = (reached: PullEnd): void => {
    end = reached;
  };
  const { options } = pull;
  const batches =
    options.mode === 'stream' ? streamed(pull, finish) : joinedPages(paged(pull, finish), options);
  return {
    batches,
    end() {
      invariant(end !== undefined, 'the end of a pull was asked for before it was reached');
      return end;
    },
  };
}
