/**
 * Refuses a price that cannot be meant: cents for euros, or a price of ten pieces for one. It is
 * compared with every list price of the article that the mirror knows in the same currency; one
 * that is near enough is enough. A line may say that its price is meant. One unit of money is
 * symbolic, as for samples: it goes, with a warning.
 */
import { formatAmount } from '../../lib/money.ts';
import { currencyOf } from '../../lib/strings.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import { unitsOf } from '../documents.ts';
import type { FlightProblem } from '../item.ts';

/** A known price of an article, in units. */
export interface KnownPrice {
  readonly units: number;
  readonly currency: string | null;
}

/** Reads the list prices and the account's own prices of stock and seasons, by barcode. */
export async function listPrices(
  db: Db,
  barcodes: readonly string[],
): Promise<ReadonlyMap<string, readonly KnownPrice[]>> {
  const known = new Map<string, KnownPrice[]>();
  for (const table of ['stock_variant', 'season_variant'] as const) {
    const rows = await db
      .selectFrom(table)
      .select(['barcode', 'currency', 'wsp_price', 'net_price', 'net_currency'])
      .where(inKeys('barcode', barcodes))
      .where('deleted_at', 'is', null)
      .execute();
    for (const { barcode, currency, wsp_price, net_price, net_currency } of rows) {
      const prices = known.get(barcode) ?? [];
      known.set(barcode, prices);
      for (const [units, own] of [
        [wsp_price, currency],
        [net_price, net_currency ?? currency],
      ] as const) {
        if (units !== null && units > 0) prices.push({ units, currency: currencyOf(own) });
      }
    }
  }
  return known;
}

export interface PricedLine {
  /** Place in the document, from 0. */
  readonly index: number;
  readonly barcode: string;
  readonly price?: string | undefined;
  readonly priceConfirmed?: boolean | undefined;
  /** Currency of the price; null: the service's, which is not known. */
  readonly currency: string | null;
  /** Whether it may be as low as it wants, as a reduction is. */
  readonly isReduction?: boolean;
}

/** A price of one unit of the currency. */
const SYMBOLIC = 10_000;
/** Factors of a mistake of scale, such as cents for euros; a price that is off by one is none. */
const SCALES = [10, 100, 1_000, 10_000];

/** Times by which `units` is above (or below) the nearest of the prices. */
function distance(units: number, to: number): number {
  return Math.max(units / to, to / units);
}

/**
 * Returns what is wrong with the price of a line; undefined: nothing, it is confirmed, or no price
 * in its currency is known.
 */
export function farPrice(
  { index, barcode, price, priceConfirmed, currency, isReduction = false }: PricedLine,
  prices: readonly KnownPrice[],
  factor: number | null,
): FlightProblem | undefined {
  const units = price === undefined ? 0 : unitsOf(price);
  if (factor === null || priceConfirmed === true || units <= 0) return undefined;
  const own = currencyOf(currency);
  const [nearest] = prices
    .filter((one) => one.currency === own)
    .toSorted((a, b) => distance(units, a.units) - distance(units, b.units));
  if (!nearest || distance(units, nearest.units) <= factor) return undefined;
  const isAbove = units > nearest.units;
  if (!isAbove && isReduction) return undefined;
  const money = (amount: number) => `${formatAmount(amount, own)}${own === null ? '' : ` ${own}`}`;
  const path = `lines[${index}].price`;
  if (units === SYMBOLIC && !isAbove && !SCALES.includes(nearest.units / units)) {
    const what = `${money(units)} in line ${index + 1} is taken for a symbolic price`;
    const message = `${what}: the list price of ${barcode} is ${money(nearest.units)}`;
    return { path, message, severity: 'warning' };
  }
  const far = isAbove ? `more than ${factor} times` : `less than 1/${factor} of`;
  const message =
    `${money(units)} in line ${index + 1} is ${far} the list price of ${barcode}, ` +
    `${money(nearest.units)} (intake.priceFactor: ${factor}): correct it or, if it is meant, ` +
    'submit the document again with "priceConfirmed": true in this line';
  return { path, message, severity: 'error' };
}

/** Maximum of refused prices that are told one by one; a mistake of scale is in all lines. */
const FAR_PRICES_MAX = 100;

export function farPrices(found: readonly (FlightProblem | undefined)[]): FlightProblem[] {
  const all = found.filter((one) => one !== undefined);
  const far = all.filter(({ severity }) => severity === 'error');
  const more = far.length - FAR_PRICES_MAX;
  if (more <= 0) return all;
  const message = `and ${more} more prices that are as far from their list prices`;
  return [...far.slice(0, FAR_PRICES_MAX), { path: 'lines', message, severity: 'error' }];
}
