/**
 * Probes the stock list: brand by brand or not, whole or in pages, the longest page, the form of
 * its rows.
 */
import type { Config } from '../config/schema.ts';
import { isJsonObject } from '../lib/json.ts';
import {
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
import { findPaging } from './paging.ts';
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
/** Query parameter that no account knows, to see whether unknown ones are refused. */
const NONSENSE = { selvedgeProbe: 1 };

const barcodeOf = (row: Row | undefined): string | undefined => textOf(row?.barcode);

type V1 = Config['service']['dialect']['v1'];

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
  const { rows, first } = await findPaging(talk, path, own);
  const shown = await talk.getBranded('stock', path, {
    page: first,
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
