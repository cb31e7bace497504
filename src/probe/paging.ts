/**
 * Probes how the variant lists are paged: whole or in pages, the number of the first page, the
 * longest page, and what tells that more follows: links, counts of the list or of the page.
 */
import { signsIn } from '../client/paging.ts';
import type { PlainAnswer } from '../client/probe-client.ts';
import { evenSize } from '../client/v1/variant-pages.ts';
import type { Config } from '../config/schema.ts';
import { countOf, isGood, type Row, rowsOf, textOf, wordsOf } from './answers.ts';
import type { Talk } from './talk.ts';

type V1 = Config['service']['dialect']['v1'];

/** Page sizes that are tried, the largest first. */
const PAGE_SIZES = [250, 100, 50];
const PAGE_MAX = 250;
/** Rows of a page by which it is seen whether a size is heeded. */
const FEW = 2;
/** Number of a page that no list has. */
const FAR = 999_999;

interface Seen {
  readonly answer: PlainAnswer;
  readonly barcodes: readonly string[];
  /** Link or flag that says that more follows. */
  readonly more: string | undefined;
}

interface Paging {
  readonly rows: readonly Row[];
  /** Number of the first page. */
  readonly first: 0 | 1;
}

/** Barcodes in an answer; of a truncated one, those that begin in it. */
function barcodesIn(answer: PlainAnswer): readonly string[] {
  const rows = rowsOf(answer, 'variants')?.map(({ barcode }) => textOf(barcode) ?? '');
  const found = answer.text.matchAll(/"barcode"\s*:\s*"?([^",}]*)/g);
  return rows ?? [...found].map(([, barcode = '']) => barcode);
}

function seenIn(answer: PlainAnswer): Seen {
  const barcodes = isGood(answer) ? barcodesIn(answer) : [];
  const { says, by } = signsIn(answer.json, answer.headers, 'http://x');
  return { answer, barcodes, more: says === 'more' ? by : undefined };
}

/** Whether a page has rows, and none of another one. */
function isOther({ barcodes }: Seen, other: Seen): boolean {
  return barcodes.length > 0 && !barcodes.some((barcode) => other.barcodes.includes(barcode));
}

/** Puts the brand with the longest list first, because a shorter list may fit into one page. */
async function preferLongest(talk: Talk, path: string): Promise<void> {
  const counted: [string, number][] = [];
  for (const brandName of talk.brands().slice(0, 4)) {
    talk.witness.looking(`the list of ${brandName}`);
    const { barcodes } = seenIn(await talk.get(path, { brandName }));
    counted.push([brandName, barcodes.length]);
  }
  const [longest] = counted.sort(([, a], [, b]) => b - a)[0] ?? [];
  if (longest === undefined) return;
  talk.know([longest, ...talk.brands().filter((one) => one !== longest)]);
}

type Ask = (query?: { readonly page: number; readonly limit: number }) => Promise<Seen>;

/** Finds the number of the first page: page 0 has other rows than page 1, or is none. */
async function findFirst({ witness }: Talk, ask: Ask, own: V1, one: Seen): Promise<0 | 1> {
  const zero = await ask({ page: 0, limit: FEW });
  const isZero = isOther(zero, one);
  const setting = 'service.dialect.v1.firstPage';
  const usual = own.firstPage === 'zero' ? 'one' : own.firstPage;
  const rows = isGood(zero.answer)
    ? `${zero.barcodes.length} rows${isZero ? ', and others than page=1' : ''}`
    : wordsOf(zero.answer).slice(0, 60);
  witness.found({ setting, value: isZero ? 'zero' : usual, seen: `page=0: ${rows}` });
  return isZero ? 0 : 1;
}

/** Words for what the counts of pages are, as far as more than one page is known to be there. */
function countedAs(...pages: readonly Seen[]): string {
  const counts = pages.map(({ answer }) => countOf(answer));
  if (counts.every((count) => count === undefined)) return 'no count';
  const isOwn = pages.every(({ barcodes }, at) => counts[at] === barcodes.length);
  return isOwn ? 'count is that of the page' : 'count is that of the list';
}

/** Finds the longest page that the account gives. */
async function findSize(talk: Talk, ask: Ask, own: V1, first: 0 | 1): Promise<void> {
  const setting = 'service.dialect.v1.pageLimit';
  for (const limit of PAGE_SIZES) {
    const page = await ask({ page: first, limit });
    const { length: rows } = page.barcodes;
    if (!isGood(page.answer)) continue;
    if (rows >= limit) {
      talk.witness.found({ setting, value: limit, seen: `limit=${limit} gave ${rows} rows` });
    } else if (rows > 0 && isOther(await ask({ page: first + 1, limit }), page)) {
      const seen = `limit=${limit} gave ${rows} rows, and page ${first + 1} has more`;
      talk.witness.found({ setting, value: rows, seen });
    }
    return;
  }
  const doubt = `limit=${PAGE_SIZES.join(', ')}: all refused`;
  talk.witness.found({ setting, value: own.pageLimit, seen: doubt, doubt });
}

/** Tells how a list in pages goes on, and finds what its pages need. */
async function tellPages(
  talk: Talk,
  ask: Ask,
  own: V1,
  given: { readonly bare: Seen; readonly small: Seen; readonly why: string },
): Promise<Paging> {
  const { bare, small, why } = given;
  const first = await findFirst(talk, ask, own, small);
  const second = await ask({ page: first + 1, limit: FEW });
  const [one, far] = [await ask({ page: first, limit: FEW }), await ask({ page: FAR, limit: FEW })];
  const sign = one.more === undefined ? 'no link' : `the next by ${one.more}`;
  const behind = isGood(far.answer)
    ? `${far.barcodes.length === 0 ? 'an empty page' : 'rows'} behind the last`
    : `HTTP ${far.answer.status} behind the last`;
  const seen = [why, countedAs(one, second), sign, behind].join(', ');
  talk.witness.found({ setting: 'service.dialect.v1.paging', value: 'pages', seen });
  await findSize(talk, ask, own, first);
  const { answer } = isGood(bare.answer) ? bare : small;
  return { rows: rowsOf(answer, 'variants') ?? [], first };
}

/** Whether there is a page behind an answer without a size, by its first number, 0 or 1. */
async function behindBare(ask: Ask, bare: Seen): Promise<string | undefined> {
  const { length: whole } = bare.barcodes;
  if (whole <= FEW || bare.answer.isCut) return undefined;
  const limit = evenSize(whole, PAGE_MAX);
  for (const page of [whole / limit, whole / limit + 1]) {
    if (isOther(await ask({ page, limit }), bare)) return `page=${page}&limit=${limit} has more`;
  }
  return undefined;
}

/** Finds out whether the stock list is read whole or page by page. */
export async function findPaging(talk: Talk, path: string, own: V1): Promise<Paging> {
  const { witness } = talk;
  if (talk.branded.has('stock')) await preferLongest(talk, path);
  const ask: Ask = async (query) => seenIn(await talk.getBranded('stock', path, query));
  const bare = await ask();
  const small = await ask({ page: 1, limit: FEW });
  const { length: whole } = bare.barcodes;
  const isHeeded = isGood(small.answer) && small.barcodes.length <= FEW;
  if (!isGood(bare.answer) && isHeeded) {
    const why = `GET ${path} without limit: ${wordsOf(bare.answer)}`;
    return tellPages(talk, ask, own, { bare, small, why });
  }
  const seen = `GET ${path} without limit: ${bare.answer.isCut ? 'more than ' : ''}${whole} rows`;
  const behind = bare.more ?? (await behindBare(ask, bare));
  if (behind !== undefined) {
    return tellPages(talk, ask, own, { bare, small, why: `${seen}, and ${behind}` });
  }
  const setting = 'service.dialect.v1.paging';
  const rows = rowsOf(bare.answer, 'variants') ?? [];
  if (isHeeded) {
    const isShort = whole <= FEW;
    const doubt = isShort
      ? 'the list is so short that a page cannot be told from all of it'
      : undefined;
    witness.found({ setting, value: isShort ? own.paging : 'stream', seen, doubt });
  } else {
    const { answer } = small;
    const how = isGood(answer) ? `${small.barcodes.length} rows` : wordsOf(answer);
    const doubt = isGood(bare.answer) ? undefined : seen;
    const value = 'stream';
    witness.found({ setting, value, seen: `limit=${FEW} is not heeded: ${how}`, doubt });
  }
  return { rows, first: 1 };
}
