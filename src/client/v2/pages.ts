/**
 * Reads V2 collections page by page (walk.ts). The first answer gives a token that pins the rows;
 * later pages are requested with token and offset (or by the service's `links.next`), with all
 * other parameters unchanged. Only the query of a link is used, so that credentials never follow it
 * to another host. Errors: an expired token (RetryLaterError `v2.page_token_expired`: the run
 * restarts), links in a circle or a repeated page (`v2.page_loop`), a broken page
 * (`transport.broken_answer`).
 */
import { hinted, RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { errorOfBrokenAnswer, NO_SUCH_PAGE, NOT_FOUND_BARE } from '../http/answer.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { keyText } from '../key-text.ts';
import { type PagingMemory, type Signs, signsIn } from '../paging.ts';
import { type CheckedRows, checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { isTooLarge } from '../v1/long-list.ts';
import { type Page, type Pager, type Place, walkPages } from '../walk.ts';
import { askDocument, collectionSchema, type Included, readIncluded } from './document.ts';
import { type ResourceOf, type ResourceType, resourceSchemas } from './resources.ts';

export interface V2Page<R> extends CheckedRows<R> {
  readonly included: Included;
  /** Epoch ms at which the page was requested. */
  readonly startedAt: number;
  /** Position to resume from after this page; undefined: it is the last one. */
  readonly next: string | undefined;
  /** Reasons to doubt that the collection is complete, as messages. */
  readonly doubts: readonly string[];
}

export type V2Pages<R> = AsyncGenerator<V2Page<R>, void, undefined>;

export interface V2Paging {
  /** Rows per page, at most 250. */
  readonly pageRows: number;
  /**
   * How the next page is requested: by token and offset, where it is learned whether offsets count
   * rows or pages, by token and offsets that count pages, or by the link in the answer.
   */
  readonly follow: 'token' | 'pages' | 'links';
}

export interface V2PullRequest<T extends ResourceType> {
  readonly sender: Sender;
  readonly type: T;
  /** Request of the first page, without the parameters `page[…]`. */
  readonly request: HttpRequest;
  readonly paging: V2Paging;
  /** Position to resume from: `next` of an earlier run's last page. */
  readonly from?: string | undefined;
  /** Findings of earlier pulls of the collection. */
  readonly memory: PagingMemory;
}

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
const TOKEN = 'page[token]';
/** Parameter of checkpoints alone, which says that their offset counts pages. */
const BY_PAGE = 'page[byPage]';

function isPaging(name: string): boolean {
  return name.startsWith('page[');
}

/** All query parameters except those of paging, in canonical form for a comparison. */
function frozen(parameters: URLSearchParams): string {
  return [...parameters]
    .filter(([name]) => !isPaging(name))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&');
}

function baseQuery<T extends ResourceType>({ request }: V2PullRequest<T>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query;
}

interface Body {
  readonly rows: readonly unknown[];
  readonly included: unknown;
  /** Epoch ms of its request. */
  readonly startedAt: number;
  /** Address of the next page as JSON:API has it. */
  readonly nextLink?: string | undefined;
}

function gone(message: string, cause?: unknown): RetryLaterError {
  const hint = 'the run starts over';
  return new RetryLaterError('v2.page_token_expired', message, { cause, hint });
}

const SPARSE = 'if it does not know a field, set service.dialect.v2.sparseFields: false';

function throwOfPage(error: unknown, query: URLSearchParams): never {
  if (!(error instanceof RefusedError) || !DEAD_TOKEN_CODES.has(error.code)) throw error;
  const carried = query.has(TOKEN) || query.has(OFFSET);
  // The account may not know a field that the first request names.
  const isSparse = [...query.keys()].some((name) => name.startsWith('fields_'));
  if (!carried && error.code === 'service.bad_request' && isSparse) throw hinted(error, SPARSE);
  if (!carried) throw error;
  throw gone(`the page is gone: ${error.message}`, error);
}

/** Signs of a page, as far as V2 can follow them: by parameters of its paging alone. */
function followed(signs: Signs): Signs {
  const isOurs = signs.next === undefined || [...signs.next.keys()].every(isPaging);
  return isOurs ? signs : { ...signs, says: undefined, next: undefined };
}

/** Position of the pages of a collection, in the parameters of its queries. */
function createPlaces<T extends ResourceType>(pull: V2PullRequest<T>) {
  const { paging, from, memory } = pull;
  const base = baseQuery(pull);
  /** Token that the first answer gave. */
  const pinned: { token?: string | undefined } = {};
  const queryOf = ({ page, rows, size, isOther, link }: Place): URLSearchParams => {
    if (link !== undefined) return new URLSearchParams(link);
    const query = new URLSearchParams(base);
    query.set(LIMIT, String(size));
    const offset = isOther ? page - 1 : rows;
    if (pinned.token !== undefined) query.set(TOKEN, pinned.token);
    if (page > 1) query.set(OFFSET, String(offset));
    return query;
  };
  const isOther = paging.follow === 'pages' || (memory.isOther ?? false);
  const begin: Place = { page: 1, rows: 0, size: paging.pageRows, isOther };
  const resumed = (text: string): Place => {
    const query = new URLSearchParams(text);
    const isByPage = query.has(BY_PAGE);
    query.delete(BY_PAGE);
    if (frozen(query) !== frozen(base)) throw gone('the checkpoint belongs to another query');
    pinned.token = query.get(TOKEN) ?? undefined;
    const size = Number(query.get(LIMIT) ?? paging.pageRows);
    const offset = Number(query.get(OFFSET) ?? 0);
    const [page, rows] = isByPage ? [offset + 1, offset * size] : [2, offset];
    const own = { page, rows, size, isOther: isByPage };
    return queryOf(own).toString() === query.toString() ? own : { ...own, link: query.toString() };
  };
  return {
    first: () => (from === undefined ? begin : resumed(from)),
    pinned,
    queryOf,
    /** Text to go on from at a place. */
    textOf(place: Place): string {
      const query = queryOf(place);
      if (place.isOther && place.link === undefined) query.set(BY_PAGE, '1');
      return query.toString();
    },
  };
}

type Places = ReturnType<typeof createPlaces>;

function fetcherOf<T extends ResourceType>(
  { sender, request, paging }: V2PullRequest<T>,
  places: Places,
  signal: AbortSignal,
) {
  const once = async (place: Place): Promise<Page<Body>> => {
    const query = places.queryOf(place);
    try {
      const asked = { ...request, query: Object.fromEntries(query), signal };
      const read = await askDocument(sender, asked, collectionSchema, true);
      const { value: document, startedAt, headers } = read;
      places.pinned.token = document.meta?.pageToken ?? places.pinned.token;
      const { data: rows, included } = document;
      const nextLink = document.links?.next ?? undefined;
      const found = signsIn({ ...document, data: undefined }, headers, request.url);
      const signs = nextLink === undefined ? followed(found) : found;
      const body = { rows, included, startedAt, nextLink };
      return { place, rowCount: rows.length, signs, count: found.total, body };
    } catch (error) {
      return throwOfPage(error, query);
    }
  };
  /** Fetches a page; of one that is larger than a body may be, the first half, or less. */
  const fetch = async (place: Place): Promise<Page<Body>> => {
    try {
      return await once(place);
    } catch (error) {
      const size = Math.floor(place.size / 2);
      // Offsets that count pages would leave out the other half.
      const isWhole = place.isOther && place.page > 1;
      if (!isTooLarge(error) || size < 1 || isWhole) throw error;
      const link = place.link === undefined ? undefined : new URLSearchParams(place.link);
      link?.set(LIMIT, String(size));
      return fetch({ ...place, size, link: link?.toString() });
    }
  };
  return async (place: Place): Promise<Page<Body>> => {
    const page = await fetch(place);
    // Behind a first page that was cut short, counted places would begin too early.
    const isCut = page.rowCount === 0 && place.page === 1 && page.signs.says === 'more';
    return isCut && paging.follow !== 'links' ? fetch(place) : page;
  };
}

function marksOf({ body }: Page<Body>): ReadonlySet<string> {
  const markOf = (row: unknown) => (isJsonObject(row) ? keyText.safeParse(row.id).data : undefined);
  return new Set(body?.rows.map((row) => markOf(row) ?? JSON.stringify(row)));
}

function pagerOf<T extends ResourceType>(
  pull: V2PullRequest<T>,
  places: Places,
  signal: AbortSignal,
): Pager<Body> {
  const { request, paging, memory } = pull;
  const { queryOf } = places;
  const isLearned = paging.follow !== 'pages';
  const offsetOf = (place: Place) => Number(queryOf(place).get(OFFSET) ?? 0);
  const linkOf = (nextLink: string): URLSearchParams => {
    const next = URL.parse(nextLink, request.url)?.searchParams;
    if (next && frozen(next) === frozen(baseQuery(pull))) return next;
    const wrong = next ? 'changes parameters other than the page' : 'is no address';
    throw errorOfBrokenAnswer(askedOf(request), new Error(`links.next ${wrong}`));
  };
  return {
    memory,
    key: frozen(baseQuery(pull)),
    first: places.first(),
    pagesAheadMax: 1,
    isAligned: false,
    isLearned,
    fetch: fetcherOf(pull, places, signal),
    marksOf,
    linked({ place, rowCount, signs: { next }, body }, behind) {
      const nextLink = body?.nextLink;
      if (nextLink === undefined) {
        const query = next && new Map([...queryOf(behind), ...next]);
        return query && { ...behind, link: new URLSearchParams([...query]).toString() };
      }
      // A link whose offset is one more, while the page has more rows, shows that it counts pages.
      const linked = URL.parse(nextLink, request.url)?.searchParams.get(OFFSET);
      if (Number(linked ?? 0) === offsetOf(place) + 1 && rowCount > 1) memory.isOther = true;
      if (places.pinned.token !== undefined && paging.follow !== 'links') {
        return { ...behind, isOther: memory.isOther ?? place.isOther };
      }
      return { ...behind, link: linkOf(nextLink).toString() };
    },
    nameOf: (place) => `${OFFSET}=${offsetOf(place)}`,
    otherwise: isLearned
      ? 'see how the account pages, and set service.dialect.v2.paging and pageLimit'
      : 'set service.dialect.v2.paging: token',
  };
}

/** Number of rows between this page and the next that neither of them has. */
function skippedRows(places: Places, { place, rowCount }: Page<Body>, behind?: Place): number {
  if (!behind) return 0;
  const [from, to] = [place, behind].map((one) => places.queryOf(one).get(OFFSET));
  // Without offsets, every page before the last should be full.
  const rows = typeof to === 'string' ? Number(to) - Number(from ?? 0) : place.size;
  return Math.max(0, rows - rowCount);
}

/** Reads a collection; an account may end it with a page without rows that only has doubts. */
export async function* pullCollection<T extends ResourceType>(
  pull: V2PullRequest<T>,
): V2Pages<ResourceOf<T>> {
  const { from, request, type } = pull;
  const places = createPlaces(pull);
  let [rows, startedAt] = [0, 0];
  const pageOf = (body: Body | undefined, doubts: readonly string[], next?: string) => {
    const checked: CheckedRows<ResourceOf<T>> = checkRows(resourceSchemas[type], body?.rows ?? []);
    startedAt = body?.startedAt ?? startedAt;
    return { ...checked, included: readIncluded(body?.included), startedAt, next, doubts };
  };
  let isAnnounced = from !== undefined;
  for await (const step of walkPages(request.signal, (stop) => pagerOf(pull, places, stop))) {
    const { page } = step;
    if ('first' in step) {
      const { doubt } = step;
      if (doubt !== undefined && page.signs.says === 'more') {
        throw new RetryLaterError(
          'v2.page_loop',
          `${request.url}: the pages go round in circles: ${doubt}`,
        );
      }
      if (doubt !== undefined) yield pageOf(undefined, [doubt]);
      return;
    }
    const { isLast } = step;
    const behind = isLast ? undefined : step.behind;
    rows += page.rowCount;
    const doubts: string[] = [];
    const fewer = from === undefined && !behind ? (page.count ?? 0) - rows : 0;
    if (page.rowCount === 0 && isAnnounced) doubts.push('a page that was announced is empty');
    if (fewer > 0) doubts.push(`the total is ${fewer} more than came`);
    const skipped = skippedRows(places, page, behind);
    if (skipped > 0) doubts.push(`${skipped} rows were skipped`);
    // Some accounts announce a page behind each full one.
    isAnnounced = page.body?.nextLink !== undefined && page.rowCount < page.place.size;
    yield pageOf(page.body, doubts, behind && places.textOf(behind));
  }
}
