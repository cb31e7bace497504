/**
 * Money as integers of ten-thousandths, called units, in any currency: exact from the wire to the
 * rules and back. Some prices have more decimals than their currency (4.4449 EUR a piece), and a
 * currency may have none or three; rounding before summing could pass a limit that the sum exceeds.
 * Amounts that four decimals or integers cannot hold are unknown.
 */

/** Number of decimals of every amount. */
export const AMOUNT_DECIMALS = 4;
const SCALE = 10 ** AMOUNT_DECIMALS;

/** Tolerance, in units, for rounding errors of binary arithmetic elsewhere (18.299999999999997). */
const NOISE_MAX = 1e-4;

/**
 * Converts an amount of the service to units; null: absent (never zero), or more than four
 * decimals.
 */
export function amountUnits(amount: number | null | undefined): number | null {
  if (amount === null || amount === undefined) return null;
  const scaled = amount * SCALE;
  const units = Math.round(scaled);
  if (!Number.isSafeInteger(units)) return null;
  const noise = Math.max(NOISE_MAX, Math.abs(units) * Number.EPSILON);
  // Adding zero turns negative zero into zero.
  return Math.abs(scaled - units) <= noise ? units + 0 : null;
}

/** Converts units to the decimal number that the service uses. */
export function decimalOf(units: number): number {
  return units / SCALE;
}

/** Sums amounts in units; null when one is unknown, or the sum exceeds exact integers. */
export function sumOfUnits(parts: Iterable<number | null | undefined>): number | null {
  let sum = 0;
  for (const part of parts) {
    if (!Number.isSafeInteger(part)) return null;
    sum += part ?? 0;
    if (!Number.isSafeInteger(sum)) return null;
  }
  return sum;
}

/**
 * Value of an order's lines in units, without freight; null when a price or quantity is missing, or
 * the value is not exact.
 */
export function worthOf(
  lines: readonly {
    readonly price?: number | null | undefined;
    readonly quantity?: number | null | undefined;
  }[],
): number | null {
  return sumOfUnits(
    lines.map(({ price, quantity }) =>
      typeof price === 'number' && typeof quantity === 'number' ? price * quantity : null,
    ),
  );
}

/** Number of decimals of the currencies that do not have two, by ISO 4217. */
const DECIMALS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
  }).flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, Number(decimals)])),
);

const DECIMALS_MOSTLY = 2;

/** Number of decimals of a currency; two when unknown. */
export function currencyDecimals(currency: string | null | undefined): number {
  return DECIMALS.get(currency?.trim().toUpperCase() ?? '') ?? DECIMALS_MOSTLY;
}

/**
 * Whether an amount has a fraction that a currency without decimals does not know, so that nobody
 * can pay it.
 */
export function splitsCoin(units: number, currency: string | null | undefined): boolean {
  return currencyDecimals(currency) === 0 && units % SCALE !== 0;
}

/** Formats an amount in units for people: with the currency's decimals, or more if it has more. */
export function formatAmount(units: number, currency?: string | null): string {
  const digits = String(Math.abs(units)).padStart(AMOUNT_DECIMALS + 1, '0');
  const whole = digits.slice(0, -AMOUNT_DECIMALS);
  const decimals = digits.slice(-AMOUNT_DECIMALS).replace(/0+$/, '');
  const shown = decimals.padEnd(currencyDecimals(currency), '0');
  return `${units < 0 ? '-' : ''}${whole}${shown === '' ? '' : `.${shown}`}`;
}

/** Formats a decimal number for people, like {@link formatAmount}. */
export function formatDecimal(amount: number, currency?: string | null): string {
  const units = amountUnits(amount);
  return units === null ? String(amount) : formatAmount(units, currency);
}
