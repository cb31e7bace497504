/**
 * Probes the stock list: brand by brand or not, whole or in pages, the longest page, the form of
 * its rows.
 */
import type { PlainAnswer } from '../client/probe-client.ts';
import type { Config } from '../config/schema.ts';
import { isJsonObject } from '../lib/json.ts';
import {
  countOf,
  isGood,
  isMissing,
  numberOf,
  type Row,
  rowsOf,
  statusOf,
  textOf,
  wordsOf,
} from './answers.ts';
import type { LevelSign } from './level.ts';
import { proposeMembers } from './members.ts';
import type { Talk } from './talk.ts';

export interface StockSeen {
  readonly path: string;
  /** Rows of one page, or of the beginning of the list. */
  readonly rows: readonly Row[];
  readonly isThere: boolean;
  readonly currencies: readonly string[];
  readonly signs: readonly LevelSign[];
}

const STOCK = '/variants/stock';
const OLD = '/variants';
/** Page sizes that are tried, the largest first. */
const PAGE_SIZES = [250, 100, 50];
/** Query parameter that no account knows, to see whether unknown ones are refused. */
const NONSENSE = { selvedgeProbe: 1 };

const barcodeOf = (row: Row | undefined): string | undefined => textOf(row?.barcode);

/** Number of rows in an answer; of a truncated one, as many as begin in it. */
function rowCount(answer: PlainAnswer): number {
  const rows = rowsOf(answer, 'variants');
  return rows?.length ?? (answer.text.match(/"barcode"/g) ?? []).length;
}

/** Puts the brand with the longest list first, because a shorter list may fit into one page. */
async function preferLongest(talk: Talk, path: string): Promise<void> {
  const counted: [string, number][] = [];
  for (const brandName of talk.brands().slice(0, 4)) {
    talk.witness.looking(`the list of ${brandName}`);
    const answer = await talk.get(path, { brandName });
    counted.push([brandName, rowCount(answer)]);
  }
  const [longest] = counted.sort(([, a], [, b]) => b - a)[0] ?? [];
  if (longest === undefined) return;
  talk.know([longest, ...talk.brands().filter((one) => one !== longest)]);
}

type V1 = Config['service']['dialect']['v1'];

/** Finds out whether the stock list is read whole or page by page. */
async function findPaging(talk: Talk, path: string, own: V1) {
  const { witness } = talk;
  const setting = 'service.dialect.v1.paging';
  if (talk.branded.has('stock')) await preferLongest(talk, path);
  const bare = await talk.getBranded('stock', path);
  const [whole, count] = [rowCount(bare), countOf(bare)];
  const first = await talk.getBranded('stock', path, { page: 1, limit: 2 });
  const heeded = isGood(first) && rowCount(first) <= 2;
  if (!isGood(bare) && heeded) {
    const with2 = `with limit=2: ${rowCount(first)} rows`;
    const seen = `GET ${path} without limit: ${wordsOf(bare)}; ${with2}`;
    witness.found({ setting, value: 'pages', seen });
    return { rows: rowsOf(first, 'variants') ?? [], total: countOf(first) };
  }
  const seen = `GET ${path} without limit: ${bare.isCut ? 'more than ' : ''}${whole} rows`;
  if (!heeded) {
    const how = isGood(first) ? `${rowCount(first)} rows` : wordsOf(first);
    const doubt = isGood(bare) ? undefined : `GET ${path} without limit: ${wordsOf(bare)}`;
    witness.found({ setting, value: 'stream', seen: `limit=2 is not heeded: ${how}`, doubt });
    return { rows: rowsOf(bare, 'variants') ?? [], total: count };
  }
  const isMore = !bare.isCut && whole > 2 && (await hasMore(talk, path, whole));
  const value = isMore ? 'pages' : 'stream';
  const more = isMore ? `, and page=2&limit=${whole} has more` : '';
  const doubt =
    whole <= 2 ? 'the list is so short that a page cannot be told from all of it' : undefined;
  witness.found({ setting, value: doubt ? own.paging : value, seen: seen + more, doubt });
  if (isMore) await findPageSize(talk, path, own, whole);
  return { rows: rowsOf(bare, 'variants') ?? [], total: isMore ? undefined : whole };
}

async function hasMore(talk: Talk, path: string, whole: number): Promise<boolean> {
  const second = await talk.getBranded('stock', path, { page: 2, limit: Math.min(whole, 250) });
  return whole <= 250 && isGood(second) && rowCount(second) > 0;
}

/** Finds the longest page that the account gives. */
async function findPageSize(talk: Talk, path: string, own: V1, whole: number) {
  const setting = 'service.dialect.v1.pageLimit';
  for (const limit of PAGE_SIZES) {
    const answer = await talk.getBranded('stock', path, { page: 1, limit });
    const rows = rowCount(answer);
    if (!isGood(answer)) continue;
    if (rows >= limit) {
      talk.witness.found({ setting, value: limit, seen: `limit=${limit} gave ${rows} rows` });
      return;
    }
    const next = await talk.getBranded('stock', path, { page: 2, limit });
    const isCapped = isGood(next) && rowCount(next) > 0 && rows >= whole;
    if (isCapped) {
      const seen = `limit=${limit} gave ${rows} rows, and page 2 has more`;
      talk.witness.found({ setting, value: rows, seen });
    }
    return;
  }
  const doubt = `limit=${PAGE_SIZES.join(', ')}: all refused`;
  talk.witness.found({ setting, value: own.pageLimit, seen: doubt, doubt });
}

/** Tests the parameters that came with a level; conclusive only where unknown ones are refused. */
async function parameterSigns(talk: Talk): Promise<LevelSign[]> {
  const one = { page: 1, limit: 2 };
  const signs: LevelSign[] = [];
  const priced = await talk.getBranded('stock', STOCK, { ...one, detailedPricing: true });
  const hasPricing = rowsOf(priced, 'variants')?.some((row) => isJsonObject(row.pricing)) === true;
  if (hasPricing) {
    return [{ since: '1.4.14', has: true, seen: 'detailedPricing=true gives pricing' }];
  }
  const nonsense = await talk.getBranded('stock', STOCK, { ...one, ...NONSENSE });
  if (isGood(nonsense)) return [];
  const added = await talk.getBranded('stock', STOCK, { ...one, includeVariantsOnOrder: true });
  for (const [name, since, answer] of [
    ['includeVariantsOnOrder', '1.4.9', added],
    ['detailedPricing', '1.4.14', priced],
  ] as const) {
    const has = isGood(answer);
    signs.push({
      since,
      has,
      seen: `${name}=true is ${has ? 'taken' : `refused (${statusOf(answer)})`}`,
    });
  }
  return signs;
}

function currenciesOf(rows: readonly Row[]): string[] {
  const all = rows.flatMap((row) => {
    const inner = [row.details, row.pricing].filter(isJsonObject).map(({ currency }) => currency);
    return [row.currency, ...inner].map(textOf).filter((one) => one !== undefined);
  });
  return [...new Set(all)];
}

/** Finds the list that has the stock; below level 1.4.0 it is the list of all variants. */
async function whichList(
  talk: Talk,
): Promise<{ path: string; isThere: boolean; signs: LevelSign[] }> {
  const probe = { page: 1, limit: 1 };
  const answer = await talk.getBranded('stock', STOCK, probe);
  const seen = `GET ${STOCK}: ${wordsOf(answer).slice(0, 40)}`;
  if (!isMissing(answer)) {
    return { path: STOCK, isThere: isGood(answer), signs: [{ since: '1.4.0', has: true, seen }] };
  }
  const old = await talk.getBranded('stock', OLD, probe);
  const isThere = isGood(old);
  const lack = {
    since: '1.4.0',
    has: false,
    seen: isThere ? `${seen}; GET ${OLD} is there` : seen,
  };
  return { path: OLD, isThere, signs: [lack] };
}

export async function probeStock(talk: Talk, own: V1): Promise<StockSeen> {
  const { witness } = talk;
  witness.looking('the list of stock');
  const { path, isThere, signs } = await whichList(talk);
  if (!isThere) {
    const answer = await talk.getBranded('stock', path);
    if (!isGood(answer)) {
      const doubt = 'the stock stays empty, and orders cannot be checked against it';
      witness.found({
        setting: undefined,
        value: 'no list of stock',
        seen: wordsOf(answer),
        doubt,
      });
      return { path, rows: [], isThere: false, currencies: [], signs };
    }
  }
  const { rows } = await findPaging(talk, path, own);
  const shown = await talk.getBranded('stock', path, {
    page: 1,
    limit: 50,
    ...(path === STOCK ? { detailed: true } : {}),
  });
  const detailed = rowsOf(shown, 'variants') ?? [];
  proposeMembers(witness, detailed, own.members);
  const more = path === STOCK ? await parameterSigns(talk) : [];
  const currencies = currenciesOf(detailed);
  return { path, rows, isThere: true, currencies, signs: [...signs, ...more] };
}

/** Maximum of articles outside of the list that are read one by one, until two have sold out. */
const LOOKED_MAX = 10;
const TELLING = 2;
/** Minimum rows of a list for a statement about the variants that it leaves out. */
const ROWS_MIN = 10;

/** Finds out whether a variant that the stock list does not name has sold out. */
export async function probeUnlisted(
  talk: Talk,
  stock: StockSeen,
  barcodes: readonly string[],
): Promise<void> {
  const { witness } = talk;
  const setting = 'service.dialect.v1.unlisted';
  if (stock.path !== STOCK || stock.rows.length < ROWS_MIN) return;
  const zeros = stock.rows.filter((row) => numberOf(row.quantity) === 0).length;
  if (zeros > 0) {
    const seen = `the list has rows with quantity 0 (${zeros} of ${stock.rows.length})`;
    witness.found({ setting, value: 'unknown', seen });
    return;
  }
  const listed = new Set(stock.rows.map(barcodeOf));
  const soldOut: string[] = [];
  for (const barcode of barcodes.filter((one) => !listed.has(one)).slice(0, LOOKED_MAX)) {
    if (soldOut.length >= TELLING) break;
    witness.looking(`whether ${barcode} is in stock`);
    const answer = await talk.get(`${STOCK}/${encodeURIComponent(barcode)}`);
    const data = isGood(answer) ? JSON.stringify(answer.json) : '';
    const isZero = /"quantity":"?0"?[,}]/.test(data);
    if (isMissing(answer) || isZero)
      soldOut.push(`${barcode}: ${isZero ? 'quantity 0' : 'HTTP 404'}`);
  }
  const seen = `none of ${stock.rows.length} rows has quantity 0`;
  if (soldOut.length === 0) {
    const doubt = 'no sold out article was found to try it with';
    witness.found({ setting, value: 'unknown', seen, doubt });
    return;
  }
  const doubt = soldOut.length < TELLING ? 'only one sold out article was found' : undefined;
  const what = `and articles that exist are not in it (${soldOut.join('; ')})`;
  witness.found({ setting, value: 'zero', seen: `${seen}, ${what}`, doubt });
}
