/**
 * Prices of the catalog in an account's currency. Amounts are hundredths, with a fraction where a
 * currency or an account has more than two decimals; JPY has none.
 */
import type { CurrentKnobs } from '../../control/knobs.ts';
import { CURRENCY_RATES, type Currency } from './words.ts';

const DECIMALS: Partial<Readonly<Record<Currency, number>>> = { JPY: 0, KWD: 3 };
/** Factor by which further decimals are derived from the price. */
const MORE_DIGITS = 7;
const DECIMALS_MAX = 4;

export interface Prices {
  /** Currency of a key that has no account. */
  currency(): Currency;
  /** Converts hundredths of a euro into hundredths of the currency. */
  of(euroMinor: number, currency: Currency): number;
  /** Converts hundredths of a euro into the amount that is sent. */
  wire(euroMinor: number, currency: Currency): number;
  /** Rounds hundredths to the decimals of the currency. */
  rounded(minor: number, currency: Currency): number;
}

/** Decimal number of an amount in hundredths, which may have a fraction. */
export function wireAmount(minor: number): number {
  return Number((minor / 100).toFixed(DECIMALS_MAX));
}

/** Hundredths of an amount as it was sent, with their fraction. */
export function exactMinor(amount: number): number {
  return Number((amount * 100).toFixed(DECIMALS_MAX - 2));
}

function roundTo(minor: number, decimals: number): number {
  const factor = 10 ** (decimals - 2);
  return Number((Math.round(minor * factor) / factor).toFixed(DECIMALS_MAX));
}

/** Fraction of a hundredth for further decimals, never zero if there are any. */
function moreDigits(minor: number, decimals: number): number {
  const values = 10 ** (decimals - 2);
  return values <= 1 ? 0 : (((minor * MORE_DIGITS) % (values - 1)) + 1) / values;
}

export function createPrices(knobs: CurrentKnobs): Prices {
  const decimals = (currency: Currency): number =>
    DECIMALS[currency] ?? knobs().dialect.priceDecimals;
  const of = (euroMinor: number, currency: Currency): number => {
    // Prices in other currencies are multiples of ten cents.
    const list =
      currency === 'EUR' ? euroMinor : Math.round((euroMinor * CURRENCY_RATES[currency]) / 10) * 10;
    const wanted = decimals(currency);
    return roundTo(list + moreDigits(euroMinor, wanted), wanted);
  };
  return {
    currency: () => knobs().dialect.currency,
    of,
    wire: (euroMinor, currency) => wireAmount(of(euroMinor, currency)),
    rounded: (minor, currency) => roundTo(minor, decimals(currency)),
  };
}
