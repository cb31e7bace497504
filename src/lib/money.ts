/**
 * Money as integer minor units (hundredths). The wire carries JSON numbers with up to two
 * decimals; the mirror and the rules see integers, and people see decimals.
 */

/** Hundredths of a wire amount; absent stays absent (null), it is never zero. */
export function amountUnits(amount: number | null | undefined): number | null {
  if (amount === null || amount === undefined) return null;
  const exact = Math.round(amount * 100);
  if (exact / 100 === amount) return exact + 0;
  // Rounding through the decimal text: 1.005 * 100 is 100.49999999999999 in binary.
  const minor = Number(`${Math.abs(amount)}e2`);
  const rounded = Number.isFinite(minor) ? Math.round(minor) : Math.round(Math.abs(amount) * 100);
  return amount < 0 ? -rounded : rounded;
}

/** The wire's decimal number of an amount in minor units. */
export function decimalOf(minor: number): number {
  return minor / 100;
}

/** `1234.50`, for people. */
export function formatAmount(minor: number): string {
  const sign = minor < 0 ? '-' : '';
  const digits = String(Math.abs(minor)).padStart(3, '0');
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
