/**
 * Compiled expressions: functions of plain facts, made once for each text. They give numbers, texts
 * and true or false as JavaScript has them, so that no fact is converted to a type of the
 * expression library before it is compared. What they cannot do exactly as the library does, they
 * leave to it (`leave`).
 */

import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { Json } from '../../lib/json.ts';
import { currencyDecimals } from '../../lib/money.ts';
import { formatDuration } from '../../lib/units.ts';
import { celLine, type Frame } from '../facts/build.ts';
import type { CurrencyOwner } from '../facts/table.ts';
import { Decimal, formatExact, formatUnits, Money, parseDecimal } from './decimal.ts';

// Values of the expression library as JSON that people can read, for records and messages.

/** Maximum of a list's items that are shown; for a longer list its length is added. */
const ITEMS_MAX = 10;

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * Readable JSON of a value: amounts and percentages as decimal text, durations as `2d 3h`, times as
 * ISO text.
 */
export function readable(value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  if (value instanceof Money) return formatExact(value, currencyDecimals(value.currency));
  if (value instanceof Decimal) return formatExact(value);
  if (value instanceof Duration) return formatDuration(value.valueOf());
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return shownList(value, readable);
  if (value instanceof Map) return readable(Object.fromEntries(value));
  if (!isRecord(value)) return String(value);
  const out: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value)) out[name] = readable(member);
  return out;
}

/** The first items of a list, and the number of all of them if there are more. */
function shownList<T>(items: readonly T[], show: (item: T) => Json): Json {
  const shown = items.slice(0, ITEMS_MAX).map(show);
  return items.length > ITEMS_MAX ? [...shown, `… ${items.length} in all`] : shown;
}

/** Text of a readable value, for messages. */
export function shownText(json: Json): string {
  return typeof json === 'string' ? json : JSON.stringify(json);
}

type ShownRun = (frame: Frame) => { readonly value: Json } | NotKnown;

/** Number as it is shown, given its units. */
function numberText({ type, places, owner }: NumberCode, units: number, { view }: Frame): Json {
  if (type === 'int') return units;
  if (type === 'double') return Number(formatUnits(units, places, 0));
  const decimals = owner === undefined ? 0 : currencyDecimals(view.currencies[owner]);
  return formatUnits(units, places, decimals);
}

/** Shows the value of compiled code as `readable` shows it. */
export function shownBy(code: Code): ShownRun {
  if (code.kind === 'lines') {
    const { run } = code;
    return (frame) => {
      const lines = run(frame);
      if (lines instanceof NotKnown) return lines;
      return { value: shownList(lines, (line) => readable(celLine(line, frame.view))) };
    };
  }
  const shown = (value: Exclude<ReturnType<typeof code.run>, NotKnown>, frame: Frame): Json => {
    if (typeof value !== 'number') return readable(value);
    if (code.kind === 'duration') return formatDuration(value);
    if (code.kind === 'time') return new Date(value).toISOString();
    return code.kind === 'number' ? numberText(code, value, frame) : value;
  };
  const { run } = code;
  return (frame) => {
    const value = run(frame);
    return value instanceof NotKnown ? value : { value: shown(value, frame) };
  };
}

/** Result of what depends on a fact that is not known, or cannot be compared. */
export class NotKnown {
  /** Names the absent fact, or says what else prevented the evaluation. */
  readonly missing: string;

  constructor(missing: string) {
    this.missing = missing;
  }
}

/** Thrown by compiled code that leaves this evaluation to the expression library. */
class Left extends Error {
  override readonly name = 'Left';
}

const LEFT = new Left('left to the expression library');

export function leave(): never {
  throw LEFT;
}

/** Result of compiled code; undefined: it left the evaluation to the library. */
export function resultOf<T>(run: (frame: Frame) => T, frame: Frame): T | undefined {
  try {
    return run(frame);
  } catch (thrown) {
    if (thrown !== LEFT) throw thrown;
    return undefined;
  }
}

/** Gives the value, or `NotKnown`. */
export type Run<T = unknown> = (frame: Frame) => T | NotKnown;

/**
 * Kind of a value. A `number` is an integer of units, as many decimal places below one as its code
 * says; durations and times are milliseconds; `lines` are those of the delivery.
 */
export type Code =
  | { readonly kind: 'bool'; readonly run: Run<boolean> }
  | { readonly kind: 'text'; readonly run: Run<string> }
  | NumberCode
  | { readonly kind: 'duration' | 'time'; readonly run: Run<number> }
  | { readonly kind: 'texts'; readonly run: Run<readonly unknown[]> }
  | { readonly kind: 'lines'; readonly run: Run<Frame['view']['facts']['delivery']['lines']> };

export interface NumberCode {
  readonly kind: 'number';
  readonly type: 'int' | 'double' | 'decimal' | 'money';
  readonly places: number;
  /** Owner of the currency of money. */
  readonly owner?: CurrencyOwner | undefined;
  /** Units of a literal. */
  readonly literal?: number | undefined;
  readonly run: Run<number>;
}

/** The number as an integer of units; it is left to the library if it is none. */
export function exactly(value: number): number {
  // The sum makes a zero of a negative one.
  return Number.isSafeInteger(value) ? value + 0 : leave();
}

/** Decimal places of amounts, percentages and other decimals in compiled code. */
export const PLACES = 4;
const [ZERO, NINE, POINT, MINUS] = [48, 57, 46, 45];

/** Ten-thousandths of a decimal such as `-2.5`; undefined for any other form of text. */
function plainUnits(text: string): number | undefined {
  let [units, places] = [0, -1];
  const start = text.charCodeAt(0) === MINUS ? 1 : 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === POINT && places < 0 && at > start) places = 0;
    else if (code < ZERO || code > NINE) return undefined;
    else {
      units = units * 10 + code - ZERO;
      if (places >= 0) places += 1;
    }
  }
  if (text.length === start || places === 0 || places > PLACES || text.length > 15) {
    return undefined;
  }
  const scaled = units * 10 ** (PLACES - Math.max(places, 0));
  return start === 1 ? -scaled + 0 : scaled;
}

/** Ten-thousandths of a decimal; undefined: the text is none. */
export function unitsOfText(text: string): number | undefined {
  const units = plainUnits(text);
  if (units !== undefined) return exactly(units);
  const decimal = parseDecimal(text);
  return decimal && unitsOfDecimal(decimal);
}

export function unitsOfDecimal({ units, places }: Decimal): number {
  const number = exactly(Number(units));
  if (places <= PLACES) return exactly(number * 10 ** (PLACES - places));
  const cut = 10 ** (places - PLACES);
  return number % cut === 0 ? number / cut : leave();
}
