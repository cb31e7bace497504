/**
 * Reads single values by meaning: numbers as text, 0 and 1 as flags, a number as text. Ambiguous
 * values are refused: `1.234` and `1,234` may be a thousand or one and a quarter, unless the
 * account's decimals are known, and an integer beyond 2^53 has lost digits. Undefined: unreadable.
 */
import { isJsonObject } from '../../lib/json.ts';
import { isAmbiguous } from '../../lib/reading/ambiguous.ts';
import { type Decimals, markOf } from './decimals.ts';

const WHOLE = /^[+-]?\d{1,15}(?:\.0+)?$/;
const DECIMAL = /^[+-]?(?:\d{1,12}(?:\.\d+)?|\.\d+)$/;
/** Numbers with thousands or a decimal comma that have one meaning only, and their marks. */
const MARKED: readonly (readonly [form: RegExp, thousands: RegExp])[] = [
  [/^[+-]?\d{1,3}(?:\.\d{3})+,\d+$|^[+-]?\d{1,3}(?:\.\d{3}){2,}$/, /\./g],
  [/^[+-]?\d{1,3}(?:,\d{3})+\.\d+$|^[+-]?\d{1,3}(?:,\d{3}){2,}$/, /,/g],
  [/^[+-]?\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?$/, /[ \u00a0\u202f'’]/g],
  [/^[+-]?\d{0,12},\d+$/, /$^/g],
];

/** The text of a number as in the contract; undefined: it is none, or has several meanings. */
function unmarked(value: unknown, decimals: Decimals | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (isAmbiguous(text)) {
    const mark = markOf(decimals);
    if (mark === undefined) return undefined;
    const isDecimal = text.includes(mark === 'point' ? '.' : ',');
    return text.replace(/[.,]/, isDecimal ? '.' : '');
  }
  const marks = MARKED.find(([form]) => form.test(text))?.[1];
  const plain = marks ? text.replaceAll(marks, '').replace(',', '.') : text;
  if (!DECIMAL.test(plain)) return undefined;
  decimals?.shown?.push(text);
  return plain;
}

/** Decimal places up to which an amount is exact. */
const PLACES_MAX = 4;

export function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  // A number written as an integer beyond 2^53 has lost digits and would name something else.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

export function readWhole(value: unknown, decimals?: Decimals): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  const text = unmarked(value, decimals);
  return text !== undefined && WHOLE.test(text) ? Number(text) + 0 : undefined;
}

export function readAmount(value: unknown, decimals?: Decimals): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  const text = unmarked(value, decimals);
  if (text === undefined) return undefined;
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

/**
 * Items of a list that is written as an object: by number, also with gaps, by id, or below the name
 * of an item, as XML has them; undefined: it may be the only item.
 */
export function itemsOf(value: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  const entries = Object.entries(value);
  if (entries.every(([name]) => INDEX.test(name))) return Object.values(value);
  const [only, ...others] = Object.values(value);
  if (others.length === 0 && Array.isArray(only)) return only;
  return Object.values(value).every(isJsonObject) ? Object.values(value) : undefined;
}

/** Items of a list; a single one may stand for the list of it. */
export function readItems(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (isJsonObject(value)) return itemsOf(value) ?? [value];
  // A text with a mark in it may be several.
  return typeof value === 'string' && /^[^,;|]+$/.test(value) ? [value] : undefined;
}
