/**
 * Reads V2 collections page by page. The first answer gives a token that pins the rows; later pages
 * are requested with token and offset (or by the service's `links.next`), with all other parameters
 * unchanged. The collection ends where `links.next` is null. Only the query of a link is used, so
 * that credentials never follow it to another host. Errors: an expired token (RetryLaterError
 * `v2.page_token_expired`: the run restarts), links in a circle or a repeated page
 * (`v2.page_loop`), a broken page (`transport.broken_answer`).
 */
import {
  BugError,
  invariant,
  RefusedError,
  RetryLaterError,
  type SelvedgeError,
} from '../../lib/errors.ts';
import { sha256 } from '../../lib/json.ts';
import { errorOfBrokenAnswer, NO_SUCH_PAGE, NOT_FOUND_BARE } from '../http/answer.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { proofOf, type Signs, signsIn } from '../paging.ts';
import { type CheckedRows, checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { isTooLarge } from '../v1/long-list.ts';
import { askDocument, collectionSchema, type Included, readIncluded } from './document.ts';
import { type ResourceOf, type ResourceType, resourceSchemas } from './resources.ts';

export interface V2Page<R> extends CheckedRows<R> {
  /** Number of the page, from 1 in each pull, also in a resumed one. */
  readonly pageNumber: number;
  readonly included: Included;
  /** Epoch ms at which the page was requested. */
  readonly startedAt: number;
  /** Position to resume from after this page; undefined: it is the last one. */
  readonly next: string | undefined;
  /** Reasons to doubt that the collection is complete, as messages. */
  readonly doubts: readonly string[];
}

interface V2PullEnd {
  readonly pages: number;
  /** Number of valid and rejected rows of this pull. */
  readonly rows: number;
}

export interface V2Pull<R> {
  readonly pages: AsyncGenerator<V2Page<R>, void, undefined>;
  /** Gives the counts of the pull; only after `pages` was read to its end. */
  end(): V2PullEnd;
}

export interface V2Paging {
  /** Rows per page, at most 250. */
  readonly pageRows: number;
  /** How the next page is requested: by token and offset, or by the link in the answer. */
  readonly follow: 'token' | 'links';
}

export interface V2PullRequest<T extends ResourceType> {
  readonly sender: Sender;
  readonly type: T;
  /** Request of the first page, without the parameters `page[…]`. */
  readonly request: HttpRequest;
  readonly paging: V2Paging;
  /** Position to resume from: `next` of an earlier run's last page. */
  readonly from?: string | undefined;
}

/** Maximum of pages of a pull; beyond it, the service must be paging endlessly. */
const PAGES_MAX = 100_000;

/** Error codes by which the service answers a request with an expired page token. */
const DEAD_TOKEN_CODES = new Set([
  'service.bad_request',
  'service.not_found',
  'service.gone',
  NO_SUCH_PAGE,
  NOT_FOUND_BARE,
]);

const LIMIT = 'page[limit]';
const OFFSET = 'page[offset]';

/** Number of rows that a query asks for; a link may leave that to the service. */
function limitOf(query: URLSearchParams): number {
  return Number(query.get(LIMIT) ?? Number.NaN);
}

function isPaging(name: string): boolean {
  return name.startsWith('page[');
}

function queryOf(parameters: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries(parameters);
}

/** All query parameters except those of paging, in canonical form for a comparison. */
function frozen(parameters: URLSearchParams): string {
  return [...parameters]
    .filter(([name]) => !isPaging(name))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&');
}

function firstQuery<T extends ResourceType>(pull: V2PullRequest<T>): URLSearchParams {
  const first = new URLSearchParams();
  for (const [name, value] of Object.entries(pull.request.query ?? {})) {
    if (value !== undefined) first.set(name, String(value));
  }
  first.set(LIMIT, String(pull.paging.pageRows));
  if (pull.from === undefined) return first;
  const from = new URLSearchParams(pull.from);
  if (frozen(from) === frozen(first)) return from;
  throw new RetryLaterError('v2.page_token_expired', 'the checkpoint belongs to another query', {
    hint: 'the run starts over',
  });
}

interface PageAnswer {
  readonly rows: readonly unknown[];
  readonly included: unknown;
  readonly nextLink: string | null | undefined;
  readonly token: string | undefined;
  readonly signs: Signs;
  readonly startedAt: number;
  /** Whether the account refuses the page because it is behind the last. */
  readonly isAbsent?: boolean;
}

function isGone(error: unknown): boolean {
  return error instanceof RetryLaterError && error.code === 'v2.page_token_expired';
}

/** Adds a hint when the refused first request named fields, which an account may not know. */
function withHint(error: RefusedError, query: URLSearchParams): RefusedError {
  const { code, message, lines } = error;
  const isSparse = [...query.keys()].some((name) => name.startsWith('fields_'));
  if (code !== 'service.bad_request' || !isSparse) return error;
  const hint = 'if it does not know a field, set service.dialect.v2.sparseFields: false';
  return new RefusedError(code, message, { cause: error, lines, hint });
}

/** Fetches a page; of one that is larger than a body may be, the first half, or less. */
async function fetchPage(
  sender: Sender,
  request: HttpRequest,
  query: URLSearchParams,
): Promise<PageAnswer> {
  try {
    return await fetchOnce(sender, request, query);
  } catch (error) {
    const limit = Math.floor(limitOf(query) / 2);
    if (!isTooLarge(error) || limit < 1) throw error;
    query.set(LIMIT, String(limit));
    return fetchPage(sender, request, query);
  }
}

async function fetchOnce(
  sender: Sender,
  request: HttpRequest,
  query: URLSearchParams,
): Promise<PageAnswer> {
  try {
    const asked = { ...request, query: queryOf(query) };
    const read = await askDocument(sender, asked, collectionSchema, true);
    const { value: document, startedAt, headers } = read;
    const signs = signsIn({ ...document, data: undefined }, headers, request.url);
    const token = document.meta?.pageToken ?? query.get('page[token]') ?? undefined;
    const { data: rows, included, links } = document;
    const nextLink = links?.next ?? (signs.says === 'end' ? null : undefined);
    return { rows, included, nextLink, token, signs, startedAt };
  } catch (error) {
    if (!(error instanceof RefusedError) || !DEAD_TOKEN_CODES.has(error.code)) throw error;
    const carried = query.has('page[token]') || query.has('page[offset]');
    if (!carried) throw withHint(error, query);
    throw new RetryLaterError('v2.page_token_expired', `the page is gone: ${error.message}`, {
      cause: error,
      hint: 'the run starts over',
    });
  }
}

/** Whether a page is refused, or failed at. */
function isRefusal(error: unknown): error is SelvedgeError {
  const isFault = error instanceof RetryLaterError && error.code === 'service.fault';
  return error instanceof RefusedError || isGone(error) || isFault;
}

async function isRefusedBehind(
  sender: Sender,
  request: HttpRequest,
  query: URLSearchParams,
  { code }: SelvedgeError,
): Promise<boolean> {
  try {
    await fetchOnce(sender, request, query);
    return false;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return error.code === code;
  }
}

/**
 * Fetches a page that nothing announced. One that is refused is behind the end, if the page before
 * it is answered, whose token lives then, and the one behind it is refused likewise.
 */
async function fetchBehind(
  sender: Sender,
  request: HttpRequest,
  query: URLSearchParams,
  before: URLSearchParams,
): Promise<PageAnswer> {
  try {
    return await fetchPage(sender, request, query);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const token = query.get('page[token]');
    const [sure, behind] = [new URLSearchParams(before), new URLSearchParams(query)];
    if (token !== null) sure.set('page[token]', token);
    const [from, to] = [before, query].map((one) => Number(one.get(OFFSET) ?? 0));
    behind.set(OFFSET, String(2 * (to ?? 0) - (from ?? 0)));
    const shown = await fetchOnce(sender, request, sure);
    if (!(await isRefusedBehind(sender, request, behind, error))) throw error;
    return { ...shown, rows: [], included: undefined, nextLink: undefined, isAbsent: true };
  }
}

/** Rows of all pages so far, and whether offsets count pages. */
interface Walked {
  readonly rows: number;
  readonly countsPages: boolean;
}

/**
 * Offset of the page behind this one. A link whose offset is one more than this one's, while the
 * page has more rows, shows that offsets count pages.
 */
function offsetBehind(
  query: URLSearchParams,
  { rows, nextLink }: PageAnswer,
  { countsPages }: Walked,
): number {
  const offset = Number(query.get(OFFSET) ?? 0);
  const linked = URL.parse(nextLink ?? '', 'http://x')?.searchParams.get(OFFSET);
  const isByPage = countsPages || (Number(linked ?? 0) === offset + 1 && rows.length > 1);
  return offset + (isByPage ? 1 : rows.length);
}

/**
 * Whether offsets count pages, which an account without links shows by what stands at offset 1: not
 * the second row of the first page.
 */
async function countsPages<T extends ResourceType>(
  { sender, from }: V2PullRequest<T>,
  request: HttpRequest,
  query: URLSearchParams,
  { rows, nextLink, signs, token }: PageAnswer,
): Promise<boolean> {
  const isTold = nextLink !== undefined || signs.says !== undefined || from !== undefined;
  if (isTold || rows.length < 2 || (signs.total ?? Infinity) <= rows.length) return false;
  const second = new URLSearchParams(query);
  second.set(OFFSET, '1');
  if (token !== undefined) second.set('page[token]', token);
  try {
    const { rows: shown } = await fetchOnce(sender, request, second);
    const known = new Set(rows.map((row) => JSON.stringify(row)));
    return !shown.some((row) => known.has(JSON.stringify(row)));
  } catch (error) {
    if (error instanceof RefusedError || isGone(error)) return false;
    throw error;
  }
}

/** Query that a sign names, if it is of the paging of V2. */
function pagedBy({ next }: Signs): URLSearchParams | undefined {
  return next && [...next.keys()].every(isPaging) ? next : undefined;
}

/** Query for the next page; undefined: this page was the last. */
function nextQuery(
  request: HttpRequest,
  paging: V2Paging,
  query: URLSearchParams,
  page: PageAnswer,
  walked: Walked,
): URLSearchParams | undefined {
  const { nextLink, token, rows, signs } = page;
  if (nextLink === null) return undefined;
  const last = rows.length;
  if (nextLink === undefined) {
    const { says, total } = signs;
    if (last === 0 || proofOf({ ...walked, last, total, says }) !== undefined) return undefined;
    const next =
      pagedBy(signs) ??
      new URLSearchParams({ [OFFSET]: String(offsetBehind(query, page, walked)) });
    if (token !== undefined) next.set('page[token]', token);
    return new URLSearchParams([...new Map([...query, ...next])]);
  }
  if (token !== undefined && paging.follow === 'token') {
    const next = new URLSearchParams(query);
    next.set('page[token]', token);
    next.set(OFFSET, String(offsetBehind(query, page, walked)));
    return next;
  }
  const next = URL.parse(nextLink ?? '', request.url)?.searchParams;
  if (next && frozen(next) === frozen(query)) return next;
  const wrong = next ? 'changes parameters other than the page' : 'is no address';
  const problem = new Error(`links.next ${wrong}`);
  throw errorOfBrokenAnswer(askedOf(request), problem);
}

/** Number of rows between this page and the next that neither of them has. */
function skippedRows(
  page: PageAnswer,
  query: URLSearchParams,
  next: URLSearchParams | undefined,
): number {
  if (!next) return 0;
  const to = next.get('page[offset]');
  // Without offsets, every page before the last should be full.
  const rows = to === null ? limitOf(query) : Number(to) - Number(query.get('page[offset]') ?? 0);
  return Math.max(0, rows - page.rows.length);
}

/** Whether something says that the page behind this one exists. */
function isNamed({ nextLink, signs }: PageAnswer): boolean {
  return nextLink !== undefined || signs.says === 'more' || signs.total !== undefined;
}

const NO_END = 'the last page is full, and nothing says that it is the last';

/** A page without rows that only says why the collection may not end where it did. */
function doubtful<R>({ startedAt }: PageAnswer, pageNumber: number): V2Page<R> {
  const none = { rows: [], rejects: [], included: readIncluded(undefined), next: undefined };
  return { ...none, pageNumber, startedAt, doubts: [NO_END] };
}

function doubtsAbout(
  page: PageAnswer,
  pageRows: number,
  is: {
    readonly announced: boolean;
    readonly last: boolean;
    readonly skipped: number;
    readonly fewer: number;
  },
): readonly string[] {
  const doubts: string[] = [];
  if (page.rows.length === 0 && is.announced) doubts.push('a page that was announced is empty');
  if (is.last && is.fewer > 0) doubts.push(`the total is ${is.fewer} more than came`);
  if (is.skipped > 0) doubts.push(`${is.skipped} rows were skipped`);
  // A last page with more rows than requested raises no doubt: such a service does not page at all.
  if (is.last && page.nextLink === undefined && page.rows.length === pageRows) {
    doubts.push(NO_END);
  }
  return doubts;
}

async function* paged<T extends ResourceType>(
  pull: V2PullRequest<T>,
  finish: (end: V2PullEnd) => void,
): AsyncGenerator<V2Page<ResourceOf<T>>, void, undefined> {
  const stop = new AbortController();
  const outer = pull.request.signal;
  const signal = outer ? AbortSignal.any([outer, stop.signal]) : stop.signal;
  const request = { ...pull.request, signal };
  /** Queries and digests of pages seen in this pull, to detect loops. */
  const seen = new Set<string>();
  let query = firstQuery(pull);
  let coming = fetchPage(pull.sender, request, query);
  let isLinked = true;
  const walked = { rows: 0, countsPages: false };
  let isAnnounced = pull.from !== undefined;
  try {
    for (let pageNumber = 1; pageNumber <= PAGES_MAX; pageNumber += 1) {
      let page = await coming;
      // An answer that was cut short must not look like the end of the collection.
      if (page.rows.length === 0 && pageNumber > 1 && !page.isAbsent) {
        page = await fetchPage(pull.sender, request, query);
      }
      // A service or cache that ignores the position repeats the first page endlessly.
      const content = page.rows.length > 0 ? sha256(JSON.stringify(page.rows)) : undefined;
      const isAgain = content !== undefined && seen.has(content);
      if (isAgain && isLinked) break;
      if (isAgain) {
        // Nothing led here: an account that gives other sizes than it is asked for gave everything.
        const isWhole = page.rows.length !== limitOf(query) && page.signs.says !== 'more';
        if (!isWhole) yield doubtful(page, pageNumber);
        return finish({ pages: pageNumber - 1, rows: walked.rows });
      }
      if (content !== undefined) seen.add(content);
      walked.rows += page.rows.length;
      if (pageNumber === 1) walked.countsPages = await countsPages(pull, request, query, page);
      const next = nextQuery(request, pull.paging, query, page, walked);
      const doubts = doubtsAbout(page, limitOf(query), {
        announced: isAnnounced,
        last: next === undefined,
        skipped: skippedRows(page, query, next),
        fewer: pull.from === undefined ? (page.signs.total ?? 0) - walked.rows : 0,
      });
      // Without a link, the next page is only asked for in case it exists; some accounts announce a
      // page behind each full one.
      isAnnounced = typeof page.nextLink === 'string' && page.rows.length < limitOf(query);
      isLinked = page.nextLink !== undefined || pagedBy(page.signs) !== undefined;
      seen.add(query.toString());
      if (next && seen.has(next.toString())) break;
      if (next) {
        coming = isNamed(page)
          ? fetchPage(pull.sender, request, next)
          : fetchBehind(pull.sender, request, next, query);
        query = next;
        // The promise is awaited in its turn; until then its rejection counts as handled.
        coming.catch(() => undefined);
      }
      const checked: CheckedRows<ResourceOf<T>> = checkRows(resourceSchemas[pull.type], page.rows);
      const included = readIncluded(page.included);
      const { startedAt } = page;
      const place = { pageNumber, startedAt, doubts, next: next?.toString() };
      yield { ...checked, ...place, included };
      if (next) continue;
      finish({ pages: pageNumber, rows: walked.rows });
      return;
    }
    throw new RetryLaterError('v2.page_loop', `${request.url}: the pages go round in circles`);
  } finally {
    stop.abort(new BugError('bug.pull_ended', 'the pull has ended'));
  }
}

export function pullCollection<T extends ResourceType>(
  pull: V2PullRequest<T>,
): V2Pull<ResourceOf<T>> {
  let end: V2PullEnd | undefined;
  return {
    pages: paged(pull, (reached) => {
      end = reached;
    }),
    end() {
      invariant(end !== undefined, 'the end of a pull was asked for before it was reached');
      return end;
    },
  };
}
