/**
 * Exact decimals: an integer number of units, and a number of decimal places. Nothing is ever
 * rounded, so a limit of 2 % or of 30000.00 means exactly that; therefore there is no division.
 *
 * `Money` is a decimal with its currency. Two amounts in different currencies are neither larger,
 * smaller nor equal: comparing them fails, and the condition becomes unknown.
 */

interface Exact {
  readonly units: bigint;
  readonly places: number;
}

export class Decimal implements Exact {
  readonly units: bigint;
  readonly places: number;

  constructor(units: bigint, places: number) {
    this.units = units;
    this.places = places;
  }
}

export class Money implements Exact {
  readonly units: bigint;
  readonly places: number;
  /** ISO code of the currency, or a name for an unknown currency, which equals only itself. */
  readonly currency: string;

  constructor(units: bigint, places: number, currency: string) {
    this.units = units;
    this.places = places;
    this.currency = currency;
  }
}

/** Thrown when amounts in two currencies are compared or added: the condition becomes unknown. */
export class CurrencyError extends Error {
  override readonly name = 'CurrencyError';
}

const DECIMAL_TEXT = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Reads a decimal such as `12`, `-0.5` or `1e3`; undefined for any other text. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = DECIMAL_TEXT.exec(text);
  if (!match) return undefined;
  const fraction = match[3] ?? '';
  const exponent = Number(match[4] ?? 0);
  const units = BigInt(`${match[1] === '-' ? '-' : ''}${match[2] ?? ''}${fraction}`);
  const places = fraction.length - exponent;
  return places >= 0 ? new Decimal(units, places) : new Decimal(units * 10n ** BigInt(-places), 0);
}

/** Values that can be compared with a decimal: decimals, amounts, and numbers in a condition. */
type Operand = Exact | bigint | number;

function exact(value: Operand): Exact {
  if (typeof value === 'bigint') return { units: value, places: 0 };
  // JavaScript writes a double as the shortest text that means it, which is the author's literal.
  if (typeof value === 'number') return parseDecimal(String(value)) ?? new Decimal(0n, 0);
  return value;
}

function aligned(a: Exact, b: Exact): readonly [bigint, bigint, number] {
  const places = Math.max(a.places, b.places);
  return [
    a.units * 10n ** BigInt(places - a.places),
    b.units * 10n ** BigInt(places - b.places),
    places,
  ];
}

/** Says why amounts in two currencies have no order. */
export function otherCurrencies(left: string, right: string): string {
  return `amounts in ${left} and in ${right} cannot be compared`;
}

function sameCurrency(a: Operand, b: Operand): string | undefined {
  const [left, right] = [currencyOf(a), currencyOf(b)];
  if (left !== undefined && right !== undefined && left !== right) {
    throw new CurrencyError(otherCurrencies(left, right));
  }
  return left ?? right;
}

function currencyOf(value: Operand): string | undefined {
  return value instanceof Money ? value.currency : undefined;
}

function made(units: bigint, places: number, currency: string | undefined): Decimal | Money {
  return currency === undefined ? new Decimal(units, places) : new Money(units, places, currency);
}

/** Gives a number that is negative, zero or positive if `a` is below, equal to or above `b`. */
export function compareExact(a: Operand, b: Operand): number {
  sameCurrency(a, b);
  const [left, right] = aligned(exact(a), exact(b));
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

export function addExact(a: Operand, b: Operand, sign: 1n | -1n): Decimal | Money {
  const currency = sameCurrency(a, b);
  const [left, right, places] = aligned(exact(a), exact(b));
  return made(left + sign * right, places, currency);
}

export function multiplyExact(a: Operand, b: Operand): Decimal | Money {
  const currency = sameCurrency(a, b);
  const [left, right] = [exact(a), exact(b)];
  return made(left.units * right.units, left.places + right.places, currency);
}

/**
 * Writes a value with at least `placesMin` decimal places: `1234.5` as `1234.50`; no digit that
 * matters is cut.
 */
export function formatExact({ units, places }: Exact, placesMin = 0): string {
  return formatUnits(units, places, placesMin);
}

/** Writes units as {@link formatExact} does. */
export function formatUnits(units: bigint | number, places: number, placesMin: number): string {
  const digits = String(units < 0 ? -units : units).padStart(places + 1, '0');
  const cut = digits.length - places;
  let end = digits.length;
  while (end > cut + placesMin && digits.endsWith('0', end)) end -= 1;
  const fraction = digits.slice(cut, end).padEnd(placesMin, '0');
  const whole = `${units < 0 ? '-' : ''}${digits.slice(0, cut)}`;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
