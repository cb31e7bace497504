/**
 * Reads single values by meaning: numbers as text, 0 and 1 as flags, a number as text. Ambiguous
 * values are refused: `1,234` may be a thousand or one and a quarter, and an integer beyond 2^53
 * has lost digits. Undefined: unreadable.
 */

const WHOLE = /^[+-]?\d{1,15}(?:\.0+)?$/;
const DECIMAL = /^[+-]?(?:\d{1,12}(?:\.\d+)?|\.\d+)$/;
/** Decimal places up to which an amount is exact. */
const PLACES_MAX = 4;

export function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  // A number written as an integer beyond 2^53 has lost digits and would name something else.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

export function readWhole(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== 'string' || !WHOLE.test(value.trim())) return undefined;
  return Number(value) + 0;
}

export function readAmount(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  const text = typeof value === 'string' ? value.trim() : '';
  if (!DECIMAL.test(text)) return undefined;
  const [, places = ''] = text.split('.');
  return places.replace(/0+$/, '').length > PLACES_MAX ? undefined : Number(text) + 0;
}

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [0, false],
  [1, true],
  ...['0', 'false', 'no', 'n'].map((word) => [word, false] as const),
  ...['1', 'true', 'yes', 'y'].map((word) => [word, true] as const),
]);

export function readFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return FLAGS.get(typeof value === 'string' ? value.trim().toLowerCase() : value);
}

const INDEX = /^\d{1,9}$/;

/** Items of a list; an object with numeric names counts as a list, also with gaps. */
export function readItems(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const names = Object.keys(value);
  return names.every((name) => INDEX.test(name)) ? Object.values(value) : undefined;
}
