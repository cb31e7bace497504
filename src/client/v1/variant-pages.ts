/**
 * Reads a variant list page by page (walk.ts), or as one answer, behind which one page is asked for
 * where nothing proves that it was whole. A pull whose list goes on in a way that nobody reads ends
 * with a doubt that names it.
 */
import { hash } from 'node:crypto';
import { hinted, invariant } from '../../lib/errors.ts';
import { createKnownAhead } from '../../lib/json-rows/known.ts';
import { createRowScanner } from '../../lib/json-rows.ts';
import type { HttpRequest } from '../http/request.ts';
import { signsIn } from '../paging.ts';
import {
  isWithin,
  look,
  PAGE_ROWS_MAX,
  type Page,
  type Pager,
  type Place,
  type WalkEnd,
  walkPages,
} from '../walk.ts';
import { throwIfUnauthorized } from './envelope.ts';
import {
  assembleBatch,
  endOfRows,
  envelopeOf,
  joinedPages,
  nothing,
  ownBytes,
  type PullEnd,
  type PullPlace,
  type PullRequest,
  type RowBatch,
  scanOptions,
  streamed,
  type VariantPull,
} from './variants.ts';

interface Body {
  readonly status: number;
  readonly batch: RowBatch;
}

const NUMBERED = /^(\d+)\/(\d+)\/([01])$/;
const LINKED = /^(\d+)\?(.*)$/s;

function textOf({ page, rows, size, isOther, link }: Place, pageRows: number): PullPlace {
  if (link !== undefined) return `${rows}?${link}`;
  return size === pageRows && !isOther ? page : `${page}/${size}/${isOther ? 0 : 1}`;
}

function placeOf(page: number, size: number, isOther: boolean): Place {
  return { page, size, isOther, rows: (page - 1) * size };
}

/** Place where a pull begins: at its first page, or behind what an earlier one kept. */
function startOf({ from, options, memory }: PullRequest): Place {
  const { pageRows, firstPage } = options;
  const isOther = firstPage === 'learned' ? (memory.isOther ?? false) : firstPage === 'zero';
  if (typeof from !== 'string') return placeOf(from ?? 1, pageRows, isOther && from === undefined);
  const [, page, own, first] = NUMBERED.exec(from) ?? [];
  if (page !== undefined) return placeOf(Number(page), Number(own), first === '0');
  const [, rows, link] = LINKED.exec(from) ?? [];
  if (rows === undefined) return placeOf(1, pageRows, isOther);
  return { ...placeOf(2, pageRows, isOther), rows: Number(rows), link };
}

function numberOf({ page, isOther }: Place): number {
  return isOther ? page - 1 : page;
}

function requestOf({ request }: PullRequest, place: Place, signal: AbortSignal): HttpRequest {
  const { size: limit, link } = place;
  const page = link === undefined ? numberOf(place) : undefined;
  const linked = Object.fromEntries(new URLSearchParams(link));
  return { ...request, query: { ...request.query, page, limit, ...linked }, signal };
}

function batchOf(batch: ReturnType<typeof assembleBatch>): RowBatch {
  return { ...batch, pages: 1, size: batch.bytes.length, next: 0 };
}

function fetcherOf(pull: PullRequest, signal: AbortSignal) {
  const { options, sender } = pull;
  const known = createKnownAhead(pull.known);
  return async (place: Place, isTriedOnce: boolean): Promise<Page<Body>> => {
    const request = { ...requestOf(pull, place, signal), isTriedOnce };
    const offset = place.rows;
    const at = (row: number) => known.at(offset + row);
    // Digests that are not loaded in time are simply not used.
    const knowing = known.reach(offset);
    const scan = (body: Buffer) => {
      const scanner = createRowScanner(scanOptions(options, { known: at }));
      const chunks = scanner.push(body);
      const end = endOfRows(scanner, options);
      throwIfUnauthorized(sender, request, end.rest);
      const all = [...chunks, ...end.chunks];
      // A chunk with a shortened row has bytes of its own, outside of the body.
      const isInBody = all.every(({ bytes }) => bytes.buffer === body.buffer);
      return { chunks: all, end, whole: isInBody ? ownBytes(body) : undefined };
    };
    const sending = sender.send(request, (body) => (body.length === 0 ? undefined : scan(body)));
    const [answer] = await Promise.all([sending, knowing]);
    const { startedAt, headers, value = scan(nothing(sender, request, answer)) } = answer;
    const { status, count: own } = envelopeOf(sender, request, answer, value.end);
    const batch = batchOf(assembleBatch(value.chunks, { offset, startedAt }, value.whole));
    const { rowCount } = batch;
    const signs = signsIn(value.end.rest, headers, request.url);
    // A total that is below the rows that came is none of the list.
    const total = (signs.total ?? -1) >= offset + rowCount ? signs.total : undefined;
    const stated = Math.max(own ?? -1, total ?? -1);
    const count = stated < 0 ? undefined : stated;
    return { place, rowCount, signs, count, body: { status, batch } };
  };
}

const BARCODE = /"barcode"\s*:\s*("[^"]*"|\d+)/g;

/** Barcodes by which the rows of a page are known again; if some have none, also its digest. */
function marksOf({ body, rowCount }: Page<Body>): ReadonlySet<string> {
  const { bytes = Buffer.of(), chunks = [] } = body?.batch ?? {};
  const rows = bytes.subarray(chunks[0]?.start, chunks.at(-1)?.end);
  const text = Buffer.from(rows.buffer, rows.byteOffset, rows.length).toString('latin1');
  const marks = [...text.matchAll(BARCODE)].map(([, barcode = '']) => barcode);
  const named = marks.filter((barcode) => barcode !== '""');
  return new Set(named.length < rowCount ? [...named, hash('sha1', rows)] : named);
}

/** Place behind a page whose sign is another than the number behind its own. */
function linkedPlace({ place, signs: { next } }: Page<Body>, behind: Place): Place | undefined {
  const [page, limit] = [next?.get('page'), next?.get('limit')];
  const isOurs =
    page === `${numberOf(place) + 1}` && (limit ?? `${place.size}`) === `${place.size}`;
  if (next === undefined || (isOurs && place.link === undefined)) return undefined;
  return { ...behind, link: next.toString() };
}

function pagerOf(pull: PullRequest, signal: AbortSignal): Pager<Body> {
  const { memory, options, request } = pull;
  const { firstPage } = options;
  const isLearned = firstPage === 'learned';
  const fetch = fetcherOf(pull, signal);
  const setting = 'service.dialect.v1.firstPage';
  const other = `set ${setting}: ${firstPage === 'zero' ? 'one' : 'zero'}`;
  return {
    memory,
    key: JSON.stringify(request.query ?? {}),
    first: startOf(pull),
    pagesAheadMax: options.pagesAheadMax,
    isAligned: true,
    isLearned,
    fetch: (place, tried) =>
      fetch(place, tried === 'refused').catch((error: unknown) => {
        const isFixed = firstPage === 'zero' && place.page === 1;
        throw isFixed ? hinted(error, `if its pages begin with 1, ${other}`) : error;
      }),
    marksOf,
    linked: linkedPlace,
    nameOf: (place) => `page=${numberOf(place)}`,
    otherwise: isLearned
      ? 'see how the account pages, and set service.dialect.v1.paging and pageLimit'
      : other,
  };
}

/**
 * Number of rows of the list up to the end of its last page. A pull that was resumed after the last
 * page gets an empty one and does not know how full the previous was, so the count decides, if it
 * ends within that page.
 */
function rowsUpTo({ last, page: { count = 0, place } }: WalkEnd<Body>): number {
  if (last) return last.place.rows + last.rowCount;
  const before = place.rows;
  const endsBefore = place.link === undefined && count <= before && count > before - place.size;
  return endsBefore ? count : before;
}

function endOf(end: WalkEnd<Body>): PullEnd {
  const { first, last, page, shortPages, countsPages, doubt } = end;
  const rows = rowsUpTo(end);
  // A page that is empty or absent may be without the count, or count itself.
  const { body, count } = page.count ? page : (last ?? page);
  const doubts = doubt === undefined ? [] : [doubt];
  // Counts of single pages say nothing of the list, unless it is one page.
  const own = rows > first.rowCount ? undefined : first.count;
  const counts = countsPages ? { countFirst: own, count: own } : { countFirst: first.count, count };
  return { status: body?.status ?? 200, ...counts, rows, shortPages, doubts };
}

async function* paged(
  pull: PullRequest,
  finish: (end: PullEnd) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  for await (const step of walkPages(pull.request.signal, (signal) => pagerOf(pull, signal))) {
    if ('first' in step) return finish(endOf(step));
    pull.onPage?.();
    const { body, rowCount } = step.page;
    const next = textOf(step.behind, pull.options.pageRows);
    if (body && rowCount > 0) yield { ...body.batch, next };
  }
}

const PAGES = 'set service.dialect.v1.paging: pages';

/** Largest size of a page by which the rows divide evenly. */
export function evenSize(rows: number, pageRows: number): number {
  let size = Math.min(rows, pageRows);
  while (rows % size !== 0) size -= 1;
  return size;
}

/**
 * Looks whether a list that came as one answer is only its first page: whether there is a page
 * behind its rows.
 */
async function doubtOfStream(pull: PullRequest, rows: number): Promise<string | undefined> {
  const signal = pull.request.signal ?? new AbortController().signal;
  const pager = pagerOf({ ...pull, from: undefined, known: undefined }, signal);
  const { memory, key } = pager;
  if (rows === 0 || rows > PAGE_ROWS_MAX || rows === memory.ends.get(key)?.rows) return undefined;
  const size = evenSize(rows, pull.options.pageRows);
  const isOther = pager.first.isOther;
  const place = placeOf(rows / size + 1, size, isOther);
  const behind = await look(pager, place);
  // The whole list has just been answered, so that a fault is by parameters that it has not.
  const isRefused = behind instanceof Error;
  if (!isRefused && behind.rowCount > 0) {
    const others = [1, place.page - 1].map((page) => look(pager, placeOf(page, size, isOther)));
    // An account that does not read the number, or repeats its last page, shows nothing new.
    const marks = marksOf(behind);
    const isNew = (await Promise.all(others)).every(
      (page) => page instanceof Error || !isWithin(marks, marksOf(page)),
    );
    const at = `page=${numberOf(place)}&limit=${size}`;
    if (isNew) return `${rows} rows came, and ${at} has more: ${PAGES}`;
  }
  memory.ends.set(key, { rows, by: isRefused ? 'refused' : 'empty' });
  return undefined;
}

async function* streamedWhole(
  pull: PullRequest,
  finish: (end: PullEnd) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  const [end, { says, by, total }] = yield* streamed(pull);
  const told = says === 'more' ? `${by} says that more follows: ${PAGES}` : undefined;
  const doubt = says === undefined ? await doubtOfStream(pull, end.rows) : told;
  const { count = total, countFirst = total } = end;
  finish({ ...end, count, countFirst, doubts: doubt === undefined ? [] : [doubt] });
}

export function pullVariants(pull: PullRequest): VariantPull {
  let end: PullEnd | undefined;
  const finish = (reached: PullEnd): void => {
    end = reached;
  };
  const { options } = pull;
  const batches =
    options.mode === 'stream'
      ? streamedWhole(pull, finish)
      : joinedPages(paged(pull, finish), options);
  return {
    batches,
    end() {
      invariant(end !== undefined, 'the end of a pull was asked for before it was reached');
      return end;
    },
  };
}
