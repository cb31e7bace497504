/**
 * Walks over the pages of a list, of V1 by numbers and of V2 by offsets or links, until something
 * proves its end (paging.ts), and learns in one memory how the account pages: how it numbers its
 * pages, what it states as the number of rows, how it answers behind the last page. A page that is
 * shorter than was asked for may be the last one, or a smaller size of the account, or have hidden
 * rows: what follows is asked for. A list whose end nothing proves ends with a doubt that says why.
 */
import {
  BugError,
  invariant,
  RefusedError,
  RetryLaterError,
  type SelvedgeError,
} from '../lib/errors.ts';
import { NO_SUCH_PAGE } from './http/answer.ts';
import { type PagingMemory, proofOf, type Signs } from './paging.ts';

/** Rows of an answer up to which it may be one page of a list. */
export const PAGE_ROWS_MAX = 10_000;
/**
 * Share by which a first page is smaller or larger where the account has another size; less may be
 * rows that are hidden or come twice.
 */
const CAPPED_SHARE = 0.9;
/** Number of empty pages, in a row up to which links are followed, or before pages with rows. */
const EMPTY_PAGES_MAX = 3;

type Tried = 'empty' | 'refused';

/** Position of a page in the list. */
export interface Place {
  /** Number of the page from 1, whatever the account begins with. */
  readonly page: number;
  /** Number of rows of the list before the page. */
  readonly rows: number;
  readonly size: number;
  /** Whether pages are numbered from 0 (V1), or offsets count pages (V2). */
  readonly isOther: boolean;
  /** Query by which the account names the page. */
  readonly link?: string | undefined;
}

export interface Page<Body> {
  readonly place: Place;
  readonly rowCount: number;
  readonly signs: Signs;
  /** Number of rows that the account states, of the list or of the page. */
  readonly count: number | undefined;
  /** Answer in its place; undefined: the page is refused because it is behind the last. */
  readonly body: Body | undefined;
}

/** Interface of an account, as far as its pages are asked for otherwise. */
export interface Pager<Body> {
  readonly memory: PagingMemory;
  /** Key of the list in the memory. */
  readonly key: string;
  /** Place to begin at: that of the first page, or where an earlier walk was left. */
  readonly first: Place;
  readonly pagesAheadMax: number;
  /** Whether a page has its place by its number, whatever the rows of the pages before it. */
  readonly isAligned: boolean;
  /** Whether the numbers of pages are learned, or the configuration says them. */
  readonly isLearned: boolean;
  /** Fetches a page. `tried`: how the account has answered before, so that it needs no retry. */
  fetch(place: Place, tried?: Tried): Promise<Page<Body>>;
  /** Marks by which the rows of a page are known again. */
  marksOf(page: Page<Body>): ReadonlySet<string>;
  /** Place of the page behind this one as the account names it; undefined: it has its number. */
  linked(page: Page<Body>, behind: Place): Place | undefined;
  nameOf(place: Place): string;
  /** Next step where the account pages otherwise than is asked for. */
  readonly otherwise: string;
}

type Steps<Body> = AsyncGenerator<Step<Body> | WalkEnd<Body>, void, undefined>;

/** A walk over the pages of one list: where it is, and what it has seen. */
interface Walk<Body> {
  readonly pager: Pager<Body>;
  /** Place of the page that is asked for next, and number of the last that is worth asking for. */
  next: Place;
  lastPage: number;
  /** Whether a sign or a total says that there is the page that is asked for next. */
  isAnnounced: boolean;
  first: Page<Body> | undefined;
  /** The last page with rows. */
  last: Page<Body> | undefined;
  before: ReadonlySet<string> | undefined;
  /** Number of short pages with rows behind them, and of those since the last with rows. */
  shortPages: number;
  shortNow: number;
  /** Number of empty pages in a row. */
  emptyPages: number;
  /** Whether each count so far was that of its page. */
  countsPages: boolean;
  /** Total that the last page with rows stated. */
  total: number | undefined;
  /** Whether the next page is asked for because one page alone stated that it is the last. */
  isLook: boolean;
  /** Doubt by an empty page before one with rows, and the number of those. */
  torn: string | undefined;
  tornPages: number;
  /** Whether offsets that count pages gave most rows again. */
  isOverlap: boolean;
  readonly links: Set<string>;
}

interface Step<Body> {
  readonly page: Page<Body>;
  /** Place of the page behind this one, of which there is none if it is the last. */
  readonly behind: Place;
  readonly isLast: boolean;
}

export interface WalkEnd<Body> {
  readonly first: Page<Body>;
  /** The last page with rows. */
  readonly last: Page<Body> | undefined;
  /** The page at which the list ended. */
  readonly page: Page<Body>;
  readonly shortPages: number;
  readonly countsPages: boolean;
  /** Reason to doubt that the list was whole. */
  readonly doubt: string | undefined;
}

/**
 * Number of rows of the list, as far as a page states it. A count beyond what a page with rows
 * holds is that of the list, until rows come behind it.
 */
function totalOf<B>({ memory }: Pager<B>, { place, count, rowCount }: Page<B>) {
  if (count === undefined) return undefined;
  const rows = place.rows + rowCount;
  const isBeyond = count > Math.max(rows, place.size);
  if (rowCount > 0 && (isBeyond || rows > count)) memory.isTotal = isBeyond;
  return memory.isTotal ? count : undefined;
}

const NO_PAGE = ['transport.broken_answer', NO_SUCH_PAGE, 'v2.page_token_expired'];

/** Whether an error means that the account has no such page: it refuses it, or gives no list. */
function isNoPage(error: unknown): error is SelvedgeError {
  const isNone = error instanceof RetryLaterError && NO_PAGE.includes(error.code);
  return isNone || error instanceof RefusedError;
}

/** Whether the account may fail at a number of a page, as programs do whose pages begin with 1. */
function isFault(error: unknown): error is RetryLaterError {
  return error instanceof RetryLaterError && error.code === 'service.fault';
}

/** Fetches a page, and again an empty one that states no such total: it may be cut short. */
async function fetchSure<B>(pager: Pager<B>, place: Place, tried?: Tried): Promise<Page<B>> {
  const page = await pager.fetch(place, tried);
  const isSure = page.rowCount > 0 || tried !== undefined || page.count === place.rows;
  return isSure || place.page === 1 ? page : pager.fetch(place, 'empty');
}

/** Fetches a page that may be none, for which its error comes. */
async function attempt<B>(pager: Pager<B>, place: Place, tried: Tried = 'empty') {
  try {
    return await pager.fetch(place, tried);
  } catch (error) {
    if (isNoPage(error) || isFault(error)) return error;
    throw error;
  }
}

/** Fetches a page that may be none, and asks again for one without rows. */
export async function look<B>(pager: Pager<B>, place: Place): Promise<Page<B> | SelvedgeError> {
  const shown = await attempt(pager, place);
  const isShown = !(shown instanceof Error) && shown.rowCount > 0;
  // An earlier walk has looked twice, and what shows nothing is not kept.
  const isKnown = pager.memory.isLooked && (!pager.isAligned || isFault(shown));
  return isShown || isKnown ? shown : attempt(pager, place, 'refused');
}

/** Place some pages behind this one, or before it. */
function moved(place: Place, pages: number): Place {
  const { page, rows, size } = place;
  return { ...place, page: page + pages, rows: Math.max(0, rows + pages * size), link: undefined };
}

/**
 * Fetches a page that nothing announced. One that is refused is behind the end, if the page before
 * it is answered and the one behind it is refused likewise. The length of the list is kept, so that
 * the account is not asked so often again.
 */
async function fetchBehind<B>(
  pager: Pager<B>,
  place: Place,
  before: Place = moved(place, -1),
): Promise<Page<B>> {
  const { memory, key } = pager;
  const { rows } = place;
  const known = memory.ends.get(key);
  const tried = rows === known?.rows ? known.by : undefined;
  try {
    return await fetchSure(pager, place, tried);
  } catch (error) {
    if (!isNoPage(error) && !isFault(error)) throw error;
    if (tried !== 'refused') {
      await pager.fetch(before);
      const shown = await attempt(pager, moved(place, 1));
      if (!(shown instanceof Error) || shown.code !== error.code) throw error;
    }
    memory.ends.set(key, { rows, by: 'refused' });
    const signs = { says: undefined, next: undefined, by: '', total: undefined };
    return { place, rowCount: 0, signs, count: undefined, body: undefined };
  }
}

/** Whether so many marks are among the others that not just a few rows have moved meanwhile. */
function isOverlapping(marks: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  const same = [...marks].filter((mark) => others.has(mark)).length;
  return same >= Math.max(1, marks.size / 2);
}

/** Whether the pages are numbered otherwise than is usual, by one that was asked for so. */
function showsOther<B>(pager: Pager<B>, first: Page<B>, shown: Page<B> | undefined): boolean {
  if (!shown) return pager.first.isOther;
  if (first.rowCount === 0) return shown.place.isOther;
  return !isOverlapping(pager.marksOf(shown), pager.marksOf(first));
}

/** Learns how the pages are numbered; gives the first one if that is otherwise than is usual. */
async function otherFirst<B>(pager: Pager<B>, first: Page<B>): Promise<Page<B> | undefined> {
  const { memory, isAligned } = pager;
  const { place, signs, rowCount, count = Infinity } = first;
  const isNamed = signs.says === 'end' || signs.next !== undefined;
  const isWhole = memory.isTotal && rowCount < place.size && count <= rowCount;
  const isTold = !isAligned && (isNamed || isWhole || rowCount < 2);
  if (isTold || place.page > 1 || memory.isOther !== undefined) return undefined;
  const other = isAligned ? { isOther: !place.isOther } : { page: 2, isOther: true };
  const found = await look(pager, { ...place, ...other });
  const shown = found instanceof Error || found.rowCount === 0 ? undefined : found;
  // A fault shows nothing; nor does an offset without rows, which may be no multiple of the size.
  if (!shown && (!isAligned || isFault(found))) {
    memory.isLooked = true;
    return undefined;
  }
  const isOther = showsOther(pager, first, shown);
  if (rowCount > 0 || shown) memory.isOther = isOther;
  if (!isOther || !pager.isLearned) return undefined;
  return isAligned ? shown : { ...first, place: { ...place, isOther } };
}

export function isWithin(marks?: ReadonlySet<string>, others?: ReadonlySet<string>): boolean {
  if (!marks || !others || marks.size === 0) return false;
  return [...marks].every((mark) => others.has(mark));
}

/**
 * Doubt about a list whose second page is its first one again: either all is in one answer, or the
 * account does not read the number of the page.
 */
async function doubtOfRepeat<B>(
  { pager, first, before }: Walk<B>,
  { place, signs }: Page<B>,
): Promise<string | undefined> {
  if (signs.says === 'more') return `${signs.by} leads in a circle`;
  const rows = first?.rowCount ?? 0;
  // An account that repeats its last page for all numbers behind it does read them.
  if (!first || place.page > 2 || rows > pager.first.size || rows < 2) return undefined;
  const half = await look(pager, { ...place, size: Math.floor(rows / 2) });
  // While the page itself is answered, a fault is by the size.
  if (isFault(half)) await pager.fetch(place);
  // Where offsets are not read, a page that is full as asked for need not be everything.
  const isFull = !pager.isAligned && rows === pager.first.size;
  if (half instanceof Error || (half.rowCount >= rows && !isFull)) return undefined;
  const [one] = pager.marksOf(half);
  const [other] = before ?? [];
  const names = `${pager.nameOf(place)} has the rows of ${pager.nameOf(first.place)} again`;
  return one === other ? `${names}: ${pager.otherwise}` : undefined;
}

/** Chooses the size of the pages behind the first one: that of the account, if it is another. */
function sizeBehind<B>({ isAligned }: Pager<B>, { place, count = 0, rowCount }: Page<B>): number {
  const { page, size, link } = place;
  if (!isAligned || page > 1 || link !== undefined || rowCount === 0) return size;
  const share = count > rowCount ? CAPPED_SHARE : 1;
  const isCapped = rowCount < size && rowCount <= size * share;
  const isLonger = rowCount > size && rowCount * share >= size && rowCount <= PAGE_ROWS_MAX;
  return isCapped || isLonger ? rowCount : size;
}

interface Judgement {
  readonly isLast: boolean;
  readonly behind: Place;
  /** Reason to doubt that the list ends here. */
  readonly doubt?: string | undefined;
}

/** Judges a page behind which the account names the next by its own query. */
function judgeLinked<B>(walk: Walk<B>, { signs: { by } }: Page<B>, behind: Place): Judgement {
  const { link = '' } = behind;
  const isCircle = walk.links.has(link);
  walk.links.add(link);
  walk.lastPage = behind.page;
  const isVain = walk.emptyPages >= EMPTY_PAGES_MAX;
  const told = isVain ? `${by} leads from one empty page to the next` : undefined;
  const doubt = isCircle ? `${by} leads in a circle` : told;
  return { isLast: doubt !== undefined, behind, doubt };
}

/** Judges whether a page ends the list, and where the next one is. */
function judge<B>(walk: Walk<B>, page: Page<B>): Judgement {
  const { pager } = walk;
  const { place, signs, count, rowCount } = page;
  const { says, by } = signs;
  const rows = place.rows + rowCount;
  const total = totalOf(pager, page);
  walk.isAnnounced = says === 'more' || (says === undefined && total !== undefined);
  const size = sizeBehind(pager, page);
  const numbered = { ...moved({ ...place, size }, 1), ...(pager.isAligned ? {} : { rows }) };
  const linked = says === 'more' ? pager.linked(page, { ...numbered, rows }) : undefined;
  if (linked?.link !== undefined) return judgeLinked(walk, page, linked);
  const behind = linked ?? numbered;
  // Links may always say that nothing follows: then they count only with as many rows as stated.
  const proof = proofOf({ rows, last: rowCount, total: says === 'end' ? count : total, says });
  const isStated = total === walk.total || total === pager.memory.ends.get(pager.key)?.rows;
  walk.isLook = proof === 'total' && rowCount >= place.size && !isStated && !place.link;
  if (rowCount > 0) walk.total = total;
  if (walk.isLook) {
    walk.isAnnounced = false;
    walk.lastPage = behind.page;
    return { isLast: false, behind };
  }
  if (proof !== undefined) return { isLast: true, behind };
  const isEnd = rowCount === 0 || rowCount > PAGE_ROWS_MAX || place.link !== undefined;
  if (isEnd) {
    const doubt = says === 'more' ? `${by} says that more follows` : undefined;
    return { isLast: true, behind, doubt };
  }
  const isCounted = says !== 'end' && total !== undefined && pager.isAligned;
  const last = isCounted ? Math.ceil(total / size) : behind.page;
  walk.lastPage = says === 'more' ? Math.max(last, behind.page) : last;
  return { isLast: place.page >= walk.lastPage, behind };
}

/** Notes whether a page has rows, and whether its count is its own. */
function noteCounts<B>(walk: Walk<B>, page: Page<B>): void {
  const { count, rowCount } = page;
  if (rowCount > 0 || count !== undefined) walk.countsPages &&= count === rowCount;
  walk.emptyPages = rowCount === 0 ? walk.emptyPages + 1 : 0;
  if (rowCount === 0) return;
  walk.last = page;
  walk.shortPages += walk.shortNow;
  walk.shortNow = 0;
}

/** Doubt about a list that ended, by how its pages are numbered. */
async function doubtOfNumbers<B>(walk: Walk<B>, page: Page<B>) {
  const { pager, first } = walk;
  const { memory } = pager;
  const rows = page.place.rows + page.rowCount;
  const isShort = rows < (totalOf(pager, page) ?? 0);
  // A count that is not reached need not be that of the list.
  if (isShort || rows < (walk.total ?? 0)) memory.isTotal = false;
  const other = isShort && first ? await otherFirst(pager, first) : undefined;
  if (other) return `${pager.nameOf(other.place)} has other rows: the next pull begins with it`;
  const { isOther, link } = page.place;
  const isMistaken = link === undefined && (memory.isOther ?? isOther) !== isOther;
  return walk.isOverlap || isMistaken
    ? `the pages have other numbers: ${pager.otherwise}`
    : undefined;
}

/**
 * Doubt about a list that an empty page alone ends: the page behind it has rows. The length of one
 * that ends there is kept, unless the service is busy just then: that is no doubt.
 */
async function doubtOfEmpty<B>(
  { pager }: Walk<B>,
  { place, rowCount, body, signs }: Page<B>,
): Promise<string | undefined> {
  const { memory, key } = pager;
  const { rows, link } = place;
  const isKnown = memory.ends.get(key)?.rows === rows;
  if (rowCount > 0 || body === undefined || link !== undefined || isKnown) return undefined;
  if (signs.says === undefined) {
    const behind = moved(place, 1);
    const shown = await attempt(pager, behind).catch((error: unknown) => {
      if (error instanceof RetryLaterError) return undefined;
      throw error;
    });
    if (!shown) return undefined;
    if (!(shown instanceof Error) && shown.rowCount > 0) {
      const names = `${pager.nameOf(place)} is empty, and ${pager.nameOf(behind)} has rows`;
      return `${names}: ${pager.otherwise}`;
    }
  }
  memory.ends.set(key, { rows, by: 'empty' });
  return undefined;
}

function begin<B>(pager: Pager<B>): Walk<B> {
  const { first: next } = pager;
  return {
    pager,
    next,
    isAnnounced: next.page === 1 || next.link !== undefined || !pager.isAligned,
    lastPage: next.page,
    first: undefined,
    last: undefined,
    before: undefined,
    shortPages: 0,
    shortNow: 0,
    emptyPages: 0,
    countsPages: true,
    total: undefined,
    isLook: false,
    torn: undefined,
    tornPages: 0,
    isOverlap: false,
    links: new Set(),
  };
}

/** Goes on behind an empty page before one with rows: these are read, though the doubt stays. */
function goOn<B>(walk: Walk<B>, behind: Place, torn: string | undefined): boolean {
  walk.torn ??= torn;
  if (torn === undefined || !walk.pager.isAligned) return false;
  walk.tornPages += 1;
  walk.isAnnounced = true;
  walk.lastPage = behind.page;
  return walk.tornPages <= EMPTY_PAGES_MAX;
}

/** Asks for the pages that are worth asking for, as many as may be under way. */
function askAhead<B>(walk: Walk<B>, ahead: Promise<Page<B>>[], before?: Place): void {
  const { pager } = walk;
  while (ahead.length < pager.pagesAheadMax && walk.next.page <= walk.lastPage) {
    const coming = walk.isAnnounced
      ? fetchSure(pager, walk.next)
      : fetchBehind(pager, walk.next, before);
    // The promise is awaited in its turn; until then its rejection counts as handled.
    coming.catch(() => undefined);
    ahead.push(coming);
    walk.next = moved(walk.next, 1);
  }
}

/** Notes offsets that do not count pages, though it was learned so: it is forgotten. */
function noteOverlap<B>(walk: Walk<B>, { place }: Page<B>, marks?: ReadonlySet<string>): void {
  const { pager, before } = walk;
  if (pager.isAligned || !place.isOther || !marks || !before || marks.size < 3) return;
  if (!isOverlapping(marks, before)) return;
  walk.isOverlap = true;
  pager.memory.isOther = undefined;
}

async function* stepsOf<B>(pager: Pager<B>): Steps<B> {
  const walk = begin(pager);
  const ahead: Promise<Page<B>>[] = [];
  const ended = (page: Page<B>, doubt: string | undefined): WalkEnd<B> => {
    const { first = page, last, shortPages, countsPages } = walk;
    return { first, last, page, shortPages, countsPages, doubt };
  };
  askAhead(walk, ahead);
  for (;;) {
    let page = await ahead.shift();
    invariant(page !== undefined, 'a walk went on behind its last page');
    const isCounted = pager.isAligned && totalOf(pager, page) !== undefined;
    const isTold = isCounted && pager.isLearned;
    if (!walk.first && !isTold) page = (await otherFirst(pager, page)) ?? page;
    walk.first ??= page;
    const { rowCount } = page;
    const marks = isCounted && !walk.isLook ? undefined : pager.marksOf(page);
    const isAgain = walk.last?.rowCount === rowCount && isWithin(marks, walk.before);
    noteOverlap(walk, page, marks);
    if (isAgain) return yield ended(walk.first, await doubtOfRepeat(walk, page));
    if (rowCount > 0) walk.before = marks;
    noteCounts(walk, page);
    const { isLast, behind, doubt } = judge(walk, page);
    if (walk.isLook) walk.before = pager.marksOf(page);
    if (rowCount < behind.size && behind.link === undefined) walk.shortNow += 1;
    if (ahead.length === 0) walk.next = behind;
    if (!isLast) askAhead(walk, ahead, page.place);
    yield { page, behind, isLast };
    if (!isLast) continue;
    const told = doubt ?? (await doubtOfNumbers(walk, page));
    if (told === undefined && goOn(walk, behind, await doubtOfEmpty(walk, page))) {
      askAhead(walk, ahead, page.place);
      continue;
    }
    return yield ended(page, told ?? walk.torn);
  }
}

/**
 * Gives all pages of a list in their order, also empty ones, and then how it ended. Requests of a
 * walk that is left are called off.
 */
export async function* walkPages<B>(
  outer: AbortSignal | undefined,
  pagerOf: (signal: AbortSignal) => Pager<B>,
): Steps<B> {
  const stop = new AbortController();
  try {
    yield* stepsOf(pagerOf(outer ? AbortSignal.any([outer, stop.signal]) : stop.signal));
  } finally {
    stop.abort(new BugError('bug.pull_ended', 'the pull has ended'));
  }
}
