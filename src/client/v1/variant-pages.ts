/**
 * Reads a variant list page by page, and proves that it was whole (paging.ts). A page that is
 * shorter than was asked for may be the last one or a smaller size of the account: what follows is
 * asked for in the size that was given. Where the account states no total and has no links, the
 * walk looks behind the last page and, once, before the first. A pull whose list goes on in a way
 * that nobody reads ends with a doubt that names it.
 */
import { hash } from 'node:crypto';
import { errorCode, invariant, RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { createKnownAhead, type KnownAhead } from '../../lib/json-rows/known.ts';
import { createRowScanner } from '../../lib/json-rows.ts';
import type { HttpRequest } from '../http/request.ts';
import { createPagingMemory, type PagingMemory, proofOf, type Signs, signsIn } from '../paging.ts';
import { throwIfUnauthorized } from './envelope.ts';
import {
  assembleBatch,
  type Envelope,
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

/** Rows of an answer up to which it may be one page of a list. */
const PAGE_ROWS_MAX = 10_000;
/**
 * Share by which a first page is smaller or larger where the account has another size; less may be
 * rows that are hidden or come twice.
 */
const CAPPED_SHARE = 0.9;

/** Number of empty pages in a row up to which links are followed. */
const EMPTY_PAGES_MAX = 3;

/** Position of a page in the list. */
interface Place {
  /** Number of the page from 1, whatever the account begins with. */
  readonly page: number;
  readonly size: number;
  readonly first: 0 | 1;
  /** Query by which the account names the page, and the rows before it. */
  readonly link?: { readonly query: string; readonly rows: number } | undefined;
}

interface Page extends Envelope {
  readonly place: Place;
  readonly signs: Signs;
  readonly batch: RowBatch;
}

const NUMBERED = /^(\d+)\/(\d+)\/([01])$/;
const LINKED = /^(\d+)\?(.*)$/s;

function textOf({ page, size, first, link }: Place, pageRows: number): PullPlace {
  if (link) return `${link.rows}?${link.query}`;
  return size === pageRows && first === 1 ? page : `${page}/${size}/${first}`;
}

function placeOf(from: PullPlace | undefined, size: number, memory: PagingMemory): Place {
  const usual: Place = { page: 1, size, first: memory.first ?? 1 };
  if (typeof from !== 'string') return { ...usual, page: from ?? 1 };
  const [, page, own, first] = NUMBERED.exec(from) ?? [];
  if (page !== undefined) {
    return { page: Number(page), size: Number(own), first: first === '0' ? 0 : 1 };
  }
  const [, rows, query = ''] = LINKED.exec(from) ?? [];
  return rows === undefined ? usual : { ...usual, page: 2, link: { query, rows: Number(rows) } };
}

function rowsBefore({ page, size, link }: Place): number {
  return link?.rows ?? (page - 1) * size;
}

function requestOf({ request }: PullRequest, place: Place, signal: AbortSignal): HttpRequest {
  const { page, size: limit, first, link } = place;
  const { query } = request;
  const named = link && { ...query, limit, ...Object.fromEntries(new URLSearchParams(link.query)) };
  return { ...request, query: named ?? { ...query, page: page - 1 + first, limit }, signal };
}

function batchOf(batch: ReturnType<typeof assembleBatch>): RowBatch {
  return { ...batch, pages: 1, size: batch.bytes.length, next: 0 };
}

/** A page in place of one that the account refuses because it is behind the last. */
function absentPage(place: Place): Page {
  const signs = { says: undefined, next: undefined, by: '', total: undefined };
  const batch = batchOf(assembleBatch([], { offset: rowsBefore(place), startedAt: 0 }));
  return { place, status: 200, count: undefined, signs, batch };
}

async function fetchPage(
  { pull, signal, known }: Pick<Walk, 'pull' | 'signal' | 'known'>,
  place: Place,
  isTriedOnce = false,
): Promise<Page> {
  const { options, sender } = pull;
  const request = { ...requestOf(pull, place, signal), isTriedOnce };
  const offset = rowsBefore(place);
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
  const batch = assembleBatch(value.chunks, { offset, startedAt }, value.whole);
  const signs = signsIn(value.end.rest, headers, request.url);
  // A total that is below the rows that came is none of the list.
  const total = (signs.total ?? -1) >= offset + batch.rowCount ? signs.total : undefined;
  const stated = Math.max(own ?? -1, total ?? -1);
  const count = stated < 0 ? undefined : stated;
  return { place, status, count, signs, batch: batchOf(batch) };
}

const BARCODE = /"barcode"\s*:\s*("[^"]*"|\d+)/g;

/** Barcodes of a batch by which its rows are known again; without any, the digest of its bytes. */
function marksOf({ bytes, chunks }: RowBatch): ReadonlySet<string> {
  const rows = bytes.subarray(chunks[0]?.start, chunks.at(-1)?.end);
  const text = Buffer.from(rows.buffer, rows.byteOffset, rows.length).toString('latin1');
  const marks = [...text.matchAll(BARCODE)].map(([, barcode = '']) => barcode);
  return new Set(marks.length > 0 ? marks : [hash('sha1', rows)]);
}

function isWithin(marks?: ReadonlySet<string>, others?: ReadonlySet<string>): boolean {
  if (!marks || !others || marks.size === 0) return false;
  return [...marks].every((mark) => others.has(mark));
}

/** A walk over the pages of one list: where it is, and what it has seen. */
interface Walk {
  readonly pull: PullRequest;
  readonly memory: PagingMemory;
  readonly known: KnownAhead;
  readonly signal: AbortSignal;
  /** Place of the page that is asked for next, and number of the last that is worth asking for. */
  next: Place;
  lastPage: number;
  /** Whether a sign or a total says that there is the page that is asked for next. */
  isAnnounced: boolean;
  first: Page | undefined;
  /** The last page with rows. */
  last: Page | undefined;
  before: ReadonlySet<string> | undefined;
  /** Number of short pages with rows behind them, and of those since the last with rows. */
  shortPages: number;
  shortNow: number;
  /** Number of empty pages in a row. */
  emptyPages: number;
  /** Whether each count so far was that of its page. */
  countsPages: boolean;
  readonly links: Set<string>;
}

/**
 * Number of rows of the list, as far as a page states it. A count beyond what a page holds is that
 * of the list, until rows come behind it.
 */
function totalOf({ memory }: Walk, { place, count, batch: { rowCount } }: Page) {
  if (count === undefined) return undefined;
  const rows = rowsBefore(place) + rowCount;
  if (count > Math.max(rows, place.size)) memory.isTotal = true;
  else if (rowCount > 0 && rows > count) memory.isTotal = false;
  return memory.isTotal ? count : undefined;
}

/** Whether an error means that the account has no such page: it refuses it, or gives no list. */
function isNoPage(error: unknown): boolean {
  const isBroken = error instanceof RetryLaterError && error.code === 'transport.broken_answer';
  return isBroken || error instanceof RefusedError;
}

/** Whether the account may fail at a number of a page, as programs do whose pages begin with 1. */
function isFault(error: unknown): boolean {
  return error instanceof RetryLaterError && error.code === 'service.fault';
}

/**
 * Fetches a page that only shows how the account pages; undefined: there is none. `sure` is a page
 * that was answered: while it is again, a fault is by the number.
 */
async function peek(walk: Walk, place: Place, sure?: Place): Promise<Page | undefined> {
  try {
    return await fetchPage(walk, place);
  } catch (error) {
    if (isNoPage(error)) return undefined;
    if (!sure || !isFault(error)) throw error;
    await fetchPage(walk, sure);
    return undefined;
  }
}

/** Whether the account refuses the page behind this one with the same error. */
async function isRefusedBehind(walk: Walk, place: Place, error: unknown): Promise<boolean> {
  try {
    await fetchPage(walk, { ...place, page: place.page + 1 });
    return false;
  } catch (other) {
    if (!isNoPage(other) && !isFault(other)) throw other;
    return errorCode(other) === errorCode(error);
  }
}

/** Key of a list in the memory, which is of one path. */
function keyOf({ request: { query } }: PullRequest): string {
  return JSON.stringify(query ?? {});
}

/**
 * Fetches a page that nothing announced. One that is refused is behind the end, if the page before
 * it is answered and the one behind it is refused likewise; then the length of the list is kept, so
 * that the account is not asked so often again.
 */
async function fetchBehind(walk: Walk, place: Place): Promise<Page> {
  const { pull, memory } = walk;
  const rows = rowsBefore(place);
  const isKnown = rows >= (memory.whole.get(keyOf(pull)) ?? Infinity);
  try {
    return await fetchPage(walk, place, isKnown);
  } catch (error) {
    if (!isNoPage(error) && !isFault(error)) throw error;
    if (!isKnown) {
      await fetchPage(walk, { ...place, page: place.page - 1 });
      if (!(await isRefusedBehind(walk, place, error))) throw error;
    }
    memory.whole.set(keyOf(pull), rows);
    return absentPage(place);
  }
}

/** Whether the pages begin with number 0, so that number 1 is the second one. */
async function beginsWithZero(walk: Walk, page: Page): Promise<boolean> {
  const { memory } = walk;
  const zero = await peek(walk, { ...page.place, first: 0 }, page.place);
  const ofPage = marksOf(page.batch);
  const marks = zero && zero.batch.rowCount > 0 ? [...marksOf(zero.batch)] : [];
  // A few rows may have moved from one page to the other, or have been added, between the requests.
  const isOther = marks.filter((mark) => ofPage.has(mark)).length < marks.length / 2;
  if (isOther || page.batch.rowCount > 0) memory.first = isOther ? 0 : 1;
  return isOther;
}

const OTHERWISE = 'see how the account pages, and set service.dialect.v1.paging and pageLimit';

/**
 * Doubt about a list whose second page is its first one again: either all is in one answer, or the
 * account does not read the number of the page.
 */
async function doubtOfRepeat(walk: Walk, { place, signs }: Page): Promise<string | undefined> {
  if (signs.says === 'more') return `${signs.by} leads in a circle`;
  const rows = walk.first?.batch.rowCount ?? 0;
  // An account that repeats its last page for all numbers behind it does read them.
  if (place.page > 2 || rows > walk.pull.options.pageRows || rows < 2) return undefined;
  const half = await peek(walk, { ...place, size: Math.floor(rows / 2) }, place);
  if (!half || half.batch.rowCount >= rows) return undefined;
  const [one] = marksOf(half.batch);
  const [other] = walk.before ?? [];
  return one === other ? `page=2 has the rows of page=1 again: ${OTHERWISE}` : undefined;
}

/** Place of the page behind this one that the account names by its own query. */
function linkedPlace({ place, signs: { next } }: Page, rows: number): Place | undefined {
  const [page, limit] = [next?.get('page'), next?.get('limit')];
  const isOurs =
    page === String(place.page + place.first) && (limit ?? `${place.size}`) === `${place.size}`;
  if (next === undefined || (isOurs && !place.link)) return undefined;
  return { ...place, page: place.page + 1, link: { query: next.toString(), rows } };
}

/** Chooses the size of the pages behind the first one: that of the account, if it is another. */
function sizeBehind({ place, count = 0, batch: { rowCount } }: Page): number {
  const { page, size, link } = place;
  if (page > 1 || link || rowCount === 0) return size;
  const share = count > rowCount ? CAPPED_SHARE : 1;
  const isCapped = rowCount < size && rowCount <= size * share;
  const isLonger = rowCount > size && rowCount * share >= size && rowCount <= PAGE_ROWS_MAX;
  return isCapped || isLonger ? rowCount : size;
}

interface Judgement {
  readonly isLast: boolean;
  /** Place of the page behind this one. */
  readonly behind: Place;
  /** Reason to doubt that the list ends here. */
  readonly doubt?: string | undefined;
}

/** Judges whether a page ends the list, and where the next one is. */
function judge(walk: Walk, page: Page): Judgement {
  const { place, signs, batch, count } = page;
  const { rowCount } = batch;
  const { says, by } = signs;
  const rows = rowsBefore(place) + rowCount;
  const total = totalOf(walk, page);
  walk.isAnnounced = says === 'more' || (says === undefined && total !== undefined);
  const linked = says === 'more' ? linkedPlace(page, rows) : undefined;
  if (linked?.link) {
    const isCircle = walk.links.has(linked.link.query);
    walk.links.add(linked.link.query);
    const isVain = walk.emptyPages >= EMPTY_PAGES_MAX;
    const told = isVain ? `${by} leads from one empty page to the next` : undefined;
    const doubt = isCircle ? `${by} leads in a circle` : told;
    return { isLast: doubt !== undefined, behind: linked, doubt };
  }
  const size = sizeBehind(page);
  const behind = { ...place, size, page: place.page + 1, link: undefined };
  // Links may always say that nothing follows: then they count only with as many rows as stated.
  const proof = proofOf({ rows, last: rowCount, total: says === 'end' ? count : total, says });
  if (proof !== undefined) return { isLast: true, behind };
  const isEnd = rowCount === 0 || rowCount > PAGE_ROWS_MAX || place.link !== undefined;
  if (isEnd) {
    const doubt = says === 'more' ? `${by} says that more follows` : undefined;
    return { isLast: true, behind, doubt };
  }
  const isCounted = says !== 'end' && total !== undefined;
  const last = isCounted ? Math.ceil(total / size) : behind.page;
  walk.lastPage = says === 'more' ? Math.max(last, behind.page) : last;
  return { isLast: place.page >= walk.lastPage, behind };
}

/**
 * Number of rows of the list up to the end of its last page. A pull that was resumed after the last
 * page gets an empty one and does not know how full the previous was, so the count decides, if it
 * ends within that page.
 */
function rowsUpTo({ count = 0, place }: Page, last: Page | undefined): number {
  if (last) return rowsBefore(last.place) + last.batch.rowCount;
  const before = rowsBefore(place);
  const endsBefore = !place.link && count <= before && count > before - place.size;
  return endsBefore ? count : before;
}

function endOf(walk: Walk, page: Page, doubt: string | undefined): PullEnd {
  const { first = page, shortPages, countsPages } = walk;
  const rows = rowsUpTo(page, walk.last);
  // A page that is empty or absent may be without its count.
  const { status, count } = page.count === undefined ? (walk.last ?? page) : page;
  const doubts = doubt === undefined ? [] : [doubt];
  // Counts of single pages say nothing of the list, unless it is one page.
  const own = rows > first.batch.rowCount ? undefined : first.count;
  const counts = countsPages ? { countFirst: own, count: own } : { countFirst: first.count, count };
  return { status, ...counts, rows, shortPages, doubts };
}

function beginWalk(pull: PullRequest, signal: AbortSignal): Walk {
  const { memory = createPagingMemory() } = pull;
  const next = placeOf(pull.from, pull.options.pageRows, memory);
  return {
    pull,
    memory,
    signal,
    next,
    isAnnounced: next.page === 1 || next.link !== undefined,
    known: createKnownAhead(pull.known),
    lastPage: next.page,
    first: undefined,
    last: undefined,
    before: undefined,
    shortPages: 0,
    shortNow: 0,
    emptyPages: 0,
    countsPages: true,
    links: new Set(),
  };
}

/** Takes the walk back to the first page, if the account begins to count with 0. */
async function startsOver(walk: Walk, page: Page): Promise<boolean> {
  const { memory, pull } = walk;
  const isFirst = page === walk.first && pull.from === undefined;
  const isTold = totalOf(walk, page) !== undefined || memory.first !== undefined;
  if (!isFirst || isTold || !(await beginsWithZero(walk, page))) return false;
  walk.next = { ...page.place, first: 0 };
  walk.first = undefined;
  return true;
}

/** Notes whether a page has rows, and whether its count is its own. */
function noteCounts(walk: Walk, page: Page): void {
  const { count, batch } = page;
  if (batch.rowCount > 0 || count !== undefined) walk.countsPages &&= count === batch.rowCount;
  walk.emptyPages = batch.rowCount === 0 ? walk.emptyPages + 1 : 0;
  if (batch.rowCount === 0) return;
  walk.last = page;
  walk.shortPages += walk.shortNow;
  walk.shortNow = 0;
}

async function* paged(
  pull: PullRequest,
  finish: (end: PullEnd) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  const { pageRows, pagesAheadMax } = pull.options;
  const stop = new AbortController();
  const outer = pull.request.signal;
  const walk = beginWalk(pull, outer ? AbortSignal.any([outer, stop.signal]) : stop.signal);
  const ahead: Promise<Page>[] = [];
  try {
    for (;;) {
      while (ahead.length < pagesAheadMax && walk.next.page <= walk.lastPage) {
        const fetch = walk.isAnnounced ? fetchPage : fetchBehind;
        const coming = fetch(walk, walk.next);
        // The promise is awaited in its turn; until then its rejection counts as handled.
        coming.catch(() => undefined);
        ahead.push(coming);
        walk.next = { ...walk.next, page: walk.next.page + 1, link: undefined };
      }
      const page = await ahead.shift();
      if (!page) return;
      pull.onPage?.();
      walk.first ??= page;
      const { batch, place } = page;
      if (await startsOver(walk, page)) continue;
      const marks = totalOf(walk, page) === undefined ? marksOf(batch) : undefined;
      const isAgain = walk.last?.batch.rowCount === batch.rowCount && isWithin(marks, walk.before);
      if (isAgain) return finish(endOf(walk, walk.first, await doubtOfRepeat(walk, page)));
      if (batch.rowCount > 0) walk.before = marks;
      noteCounts(walk, page);
      const { isLast, behind, doubt } = judge(walk, page);
      if (behind.link || behind.size !== place.size) {
        walk.next = behind;
        walk.lastPage = Math.max(walk.lastPage, behind.page);
      }
      if (batch.rowCount < behind.size && !behind.link) walk.shortNow += 1;
      if (batch.rowCount > 0) yield { ...batch, next: textOf(behind, pageRows) };
      if (isLast) return finish(endOf(walk, page, doubt));
    }
  } finally {
    stop.abort(new Error('the pull has ended'));
  }
}

const PAGES = 'set service.dialect.v1.paging: pages';

/** Largest size of a page by which the rows divide evenly. */
function evenSize(rows: number, pageRows: number): number {
  let size = Math.min(rows, pageRows);
  while (rows % size !== 0) size -= 1;
  return size;
}

/**
 * Looks whether a list that came as one answer is only its first page: whether there is a page
 * behind its rows.
 */
async function doubtOfStream(walk: Walk, rows: number): Promise<string | undefined> {
  const { memory, pull } = walk;
  const key = keyOf(pull);
  if (rows === 0 || rows > PAGE_ROWS_MAX || rows === memory.whole.get(key)) return undefined;
  const size = evenSize(rows, pull.options.pageRows);
  const place = { page: rows / size + 1, size, first: 1 } as const;
  let behind: Page | undefined;
  try {
    behind = await peek(walk, place);
  } catch (error) {
    if (!isFault(error)) throw error;
    // The whole list has just been answered, so that the fault is by parameters that it has not.
    if (await isRefusedBehind(walk, place, error)) memory.whole.set(key, rows);
    return undefined;
  }
  if (behind && behind.batch.rowCount > 0) {
    const marks = marksOf(behind.batch);
    // An account that does not read the number, or repeats its last page, shows nothing new.
    const shown = [1, place.page - 1].map((page) => peek(walk, { ...place, page }));
    const isNew = (await Promise.all(shown)).every(
      (page) => page === undefined || !isWithin(marks, marksOf(page.batch)),
    );
    const at = `page=${place.page}&limit=${size}`;
    if (isNew) return `${rows} rows came, and ${at} has more: ${PAGES}`;
  }
  memory.whole.set(key, rows);
  return undefined;
}

async function* streamedWhole(
  pull: PullRequest,
  finish: (end: PullEnd) => void,
): AsyncGenerator<RowBatch, void, undefined> {
  let end: PullEnd | undefined;
  const signs = yield* streamed(pull, (reached) => {
    end = reached;
  });
  invariant(end !== undefined, 'a stream ended without its counts');
  const { says, by } = signs;
  const walk = beginWalk(
    { ...pull, from: undefined, known: undefined },
    pull.request.signal ?? new AbortController().signal,
  );
  const told = says === 'more' ? `${by} says that more follows: ${PAGES}` : undefined;
  const doubt = says === undefined ? await doubtOfStream(walk, end.rows) : told;
  const { count = signs.total, countFirst = signs.total } = end;
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
