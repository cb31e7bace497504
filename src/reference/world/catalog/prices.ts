/**
 * Prices of the catalog in an account's currency. The book keeps hundredths, with a fraction where
 * a currency or an account has more than two decimals; JPY has none.
 */
import type { CurrentKnobs } from '../../control/knobs.ts';
import { CURRENCY_RATES, type Currency } from './words.ts';

const DECIMALS: Partial<Readonly<Record<Currency, number>>> = { JPY: 0, KWD: 3 };
/** Digits behind the hundredths are drawn from the price by this factor. */
const MORE_DIGITS = 7;
const DECIMALS_MAX = 4;

export interface Prices {
  /** Currency of a key that has no account. */
  currency(): Currency;
  /** Hundredths of the currency for hundredths of a euro. */
  of(euroMinor: number, currency: Currency): number;
  /** The amount as it is sent. */
  wire(euroMinor: number, currency: Currency): number;
  /** Rounds hundredths to what the currency has. */
  rounded(minor: number, currency: Currency): number;
}

/** The decimal number of an amount in hundredths, with fractions of them. */
export function wireAmount(minor: number): number {
  return Number((minor / 100).toFixed(DECIMALS_MAX));
}

/** Hundredths of a wire amount, with the fraction that it has. */
export function exactMinor(amount: number): number {
  return Number((amount * 100).toFixed(DECIMALS_MAX - 2));
}

function roundTo(minor: number, decimals: number): number {
  const factor = 10 ** (decimals - 2);
  return Number((Math.round(minor * factor) / factor).toFixed(DECIMALS_MAX));
}

/** Digits behind the hundredths, never all of them zero. */
function moreDigits(minor: number, decimals: number): number {
  const values = 10 ** (decimals - 2);
  return values <= 1 ? 0 : (((minor * MORE_DIGITS) % (values - 1)) + 1) / values;
}

export function createPrices(knobs: CurrentKnobs): Prices {
  const decimals = (currency: Currency): number =>
    DECIMALS[currency] ?? knobs().dialect.priceDecimals;
  const of = (euroMinor: number, currency: Currency): number => {
    // Foreign price lists are round by ten cent.
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
