/**
 * How a walk over the pages of a list goes on, and what proves that it has seen the whole list.
 * Accounts announce the next page in links of the body or of the header (RFC 8288), by a flag or a
 * cursor, state a total, or say nothing at all; all of that is read here under the names in use.
 * Only the query of a link counts, so that credentials never follow it to another host.
 */
import { isJsonObject } from '../lib/json.ts';
import { type AnswerHeaders, headerText } from './http/exchange.ts';
import { readFlag, readWhole } from './tolerant/values.ts';

/** Rows and signs of a walk up to its last page so far. */
interface Walked {
  /** Number of rows of all pages, and of the last one. */
  readonly rows: number;
  readonly last: number;
  /** Number of rows that the list has, as the account states it. */
  readonly total: number | undefined;
  readonly says: Signs['says'];
}

/**
 * Everything that proves the end of a list. A short page proves nothing, as a row of it may be
 * hidden; nor do links that end before the total, or a total that is below the rows of one page.
 * A total that a full page alone states proves it only with a look behind the page (walk.ts).
 */
const PROOFS = {
  links: ({ says, total = 0, rows }: Walked) => says === 'end' && total <= rows,
  total: ({ total = -1, rows, last }: Walked) => total >= last && rows >= total,
  empty: ({ last, total }: Walked) => total === undefined && last === 0,
};

/** Name of what proves that the walk has seen the whole list; undefined: nothing does. */
export function proofOf(walked: Walked): string | undefined {
  if (walked.says === 'more') return undefined;
  return Object.entries(PROOFS).find(([, holds]) => holds(walked))?.[0];
}

export interface Signs {
  /** Whether another page follows; undefined: nothing says so. */
  readonly says: 'more' | 'end' | undefined;
  /** Query of the next page, as far as it is named. */
  readonly next: URLSearchParams | undefined;
  /** Member or header that says it, with its value, for messages. */
  readonly by: string;
  readonly total: number | undefined;
}

const NEXT = ['next', 'nextPage', 'nextLink', 'nextUrl', 'nextPageUrl'];
const MORE = ['hasMore', 'hasNext', 'hasNextPage', 'more', 'moreResults'];
const TOTAL = ['total', 'totalCount', 'totalItems', 'totalRows', 'totalElements', 'totalResults'];
/** Members with a cursor, and the parameters that take it back. */
const CURSORS: Readonly<Record<string, string>> = {
  nextCursor: 'cursor',
  nextPageToken: 'pageToken',
  nextToken: 'token',
  continuationToken: 'continuationToken',
};
const AROUND = ['data', 'links', 'meta', 'pagination', 'paging', 'page', 'pageInfo', '_links'];
/** Relations of a header that pages: without a next one, the page is the last. */
const PAGED = ['prev', 'previous', 'first', 'last'];
const CHARS_TOLD = 60;

/** A name as the tables have it: `has_more` is `hasMore`. */
function plain(name: string): string {
  return name.replaceAll(/_+([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

/** Objects around a list, by which an answer may say how it goes on. */
function holdersIn(json: unknown): readonly Record<string, unknown>[] {
  const holders: Record<string, unknown>[] = [];
  const look = (value: unknown, depth: number): void => {
    if (!isJsonObject(value)) return;
    holders.push(value);
    if (depth > 0) for (const name of AROUND) look(value[name], depth - 1);
  };
  look(json, 2);
  return holders;
}

interface Sign {
  readonly says: 'more' | 'end';
  readonly next?: URLSearchParams | undefined;
  readonly by: string;
}

function queryOf(link: string, url: string): URLSearchParams | undefined {
  return URL.parse(link, url)?.searchParams;
}

function told(name: string, value: unknown): string {
  return `${name}: ${JSON.stringify(value)}`.slice(0, CHARS_TOLD);
}

/** Reads a member that leads to the next page: an address, its number, or nothing. */
function nextIn(name: string, value: unknown, url: string): Sign | undefined {
  const link = isJsonObject(value) ? value.href : value;
  const by = told(name, link);
  if (link === null || link === '' || link === false) return { says: 'end', by };
  const number = readWhole(link);
  if (number !== undefined) {
    return { says: 'more', by, next: new URLSearchParams({ page: String(number) }) };
  }
  return typeof link === 'string' ? { says: 'more', by, next: queryOf(link, url) } : undefined;
}

function cursorIn(name: string, value: unknown): Sign | undefined {
  const parameter = CURSORS[plain(name)] ?? '';
  if (value === null || value === '' || value === false) return { says: 'end', by: name };
  const cursor = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  if (cursor === undefined) return undefined;
  return {
    says: 'more',
    by: told(name, value),
    next: new URLSearchParams({ [parameter]: cursor }),
  };
}

function signOf(name: string, value: unknown, url: string): Sign | undefined {
  const known = plain(name);
  if (NEXT.includes(known)) return nextIn(name, value, url);
  if (Object.hasOwn(CURSORS, known)) return cursorIn(name, value);
  const flag = MORE.includes(known) ? readFlag(value) : undefined;
  return flag === undefined ? undefined : { says: flag ? 'more' : 'end', by: told(name, value) };
}

const LINK = /<([^>]*)>((?:\s*;\s*[^\s;,=]+\s*(?:=\s*(?:"[^"]*"|[^;,\s]*))?)*)/g;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^;,\s]*))/i;

/** Reads the header `Link`: several links, each with several relations. */
function signOfHeader(headers: AnswerHeaders, url: string): Sign | undefined {
  const header = headerText(headers, 'link') ?? '';
  let isPaged = false;
  for (const [, link = '', parameters = ''] of header.matchAll(LINK)) {
    const rel = REL.exec(parameters);
    const relations = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    const by = `Link: <${link}>; rel="next"`.slice(0, CHARS_TOLD);
    if (relations.includes('next')) return { says: 'more', by, next: queryOf(link, url) };
    isPaged ||= relations.some((one) => PAGED.includes(one));
  }
  return isPaged ? { says: 'end', by: 'Link' } : undefined;
}

/** Reads from an answer how its list goes on; of signs that disagree, the one for more counts. */
export function signsIn(json: unknown, headers: AnswerHeaders, url: string): Signs {
  const signs: Sign[] = [];
  let total: number | undefined;
  for (const holder of holdersIn(json)) {
    for (const [name, value] of Object.entries(holder)) {
      const sign = signOf(name, value, url);
      if (sign) signs.push(sign);
      if (TOTAL.includes(plain(name))) total ??= readWhole(value);
    }
  }
  const ofHeader = headers.link === undefined ? undefined : signOfHeader(headers, url);
  if (ofHeader) signs.push(ofHeader);
  const more = signs.filter(({ says }) => says === 'more');
  const found = more.find(({ next }) => next !== undefined) ?? more[0] ?? signs[0];
  return { says: found?.says, next: found?.next, by: found?.by ?? '', total };
}

/** Findings of the walks over a list of an account; they hold while the process lives. */
export interface PagingMemory {
  /** Whether `count` is that of the list and not of the page. */
  isTotal: boolean;
  /** Whether pages are numbered otherwise than is usual (walk.ts); undefined: nothing showed it. */
  isOther: boolean | undefined;
  /** Whether a walk has looked for that twice, and nothing showed it. */
  isLooked: boolean;
  /** Rows of lists that were seen to be whole, by what was asked, and how the account shows it. */
  readonly ends: Map<string, { readonly rows: number; readonly by: 'empty' | 'refused' }>;
}

export function createPagingMemory(): PagingMemory {
  return { isTotal: false, isOther: undefined, isLooked: false, ends: new Map() };
}

/** Gives the memory of each path, the same one each time. */
export function createPagingMemories(): (path: string) => PagingMemory {
  const memories = new Map<string, PagingMemory>();
  return (path) => {
    const memory = memories.get(path) ?? createPagingMemory();
    memories.set(path, memory);
    return memory;
  };
}
