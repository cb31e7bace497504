/** Compiled reads of facts: each gives the plain value, or says which fact is not known. */
import { isJsonObject } from '../../lib/json.ts';
import {
  currencyOf,
  DERIVED,
  type ExtraTypes,
  type Frame,
  PERCENT_UNITS_OF_LINE,
} from '../facts/build.ts';
import type { Facts, LineFacts } from '../facts/plain.ts';
import {
  type CurrencyOwner,
  currencyOwner,
  type FieldSpec,
  type RecordName,
  type RootName,
} from '../facts/table.ts';
import {
  type Code,
  exactly,
  leave,
  NotKnown,
  type NumberCode,
  PLACES,
  type Run,
  unitsOfText,
} from './code.ts';
import { otherCurrencies } from './decimal.ts';

// Compiled comparisons and sums; a result that is no exact integer of units is left (code.ts).

type Test<T> = (a: T, b: T) => boolean;

/** Tests by the operator; the same words for numbers and for texts. */
function testsOf<T>(): Readonly<Record<string, Test<T>>> {
  return {
    '==': (a, b) => a === b,
    '!=': (a, b) => a !== b,
    '<': (a, b) => a < b,
    '<=': (a, b) => a <= b,
    '>': (a, b) => a > b,
    '>=': (a, b) => a >= b,
  };
}

const OF_NUMBERS = testsOf<number>();
const OF_TEXTS = testsOf<string>();

function isEquality(op: string): boolean {
  return op === '==' || op === '!=';
}

type Currencies = (frame: Frame) => NotKnown | undefined;

/** Says that two amounts cannot be compared; undefined: they always can. */
function currenciesOf(a: CurrencyOwner | undefined, b: CurrencyOwner | undefined) {
  if (a === undefined || b === undefined || a === b) return undefined;
  return ({ view: { currencies } }: Frame): NotKnown | undefined => {
    const [left, right] = [currencies[a], currencies[b]];
    return left === right ? undefined : new NotKnown(otherCurrencies(left, right));
  };
}

/** Units with more decimal places. */
function scaled({ run, literal }: NumberCode, by: number): Run<number> {
  if (by === 1) return run;
  if (literal !== undefined) {
    const units = literal * by;
    return Number.isSafeInteger(units) ? () => units : () => leave();
  }
  return (frame) => {
    const units = run(frame);
    return typeof units === 'number' ? exactly(units * by) : units;
  };
}

interface Aligned {
  readonly left: Run<number>;
  readonly right: Run<number>;
  readonly places: number;
  readonly check: Currencies | undefined;
}

function align(left: NumberCode, right: NumberCode): Aligned {
  const places = Math.max(left.places, right.places);
  return {
    left: scaled(left, 10 ** (places - left.places)),
    right: scaled(right, 10 ** (places - right.places)),
    places,
    check: currenciesOf(left.owner, right.owner),
  };
}

function testCode<T extends number | string | boolean>(
  test: Test<T>,
  left: Run<T>,
  right: Run<T>,
  check?: Currencies,
): Code {
  const run: Run<boolean> = (frame) => {
    const a = left(frame);
    if (a instanceof NotKnown) return a;
    const b = right(frame);
    if (b instanceof NotKnown) return b;
    return check?.(frame) ?? test(a, b);
  };
  return { kind: 'bool', run };
}

/** Compiles a comparison; undefined: the library makes it. */
export function compareCode(op: string, left: Code, right: Code): Code | undefined {
  const test = OF_NUMBERS[op];
  const textTest = OF_TEXTS[op];
  if (!test || !textTest) return undefined;
  if (left.kind === 'number' && right.kind === 'number') {
    const { left: a, right: b, check } = align(left, right);
    return testCode(test, a, b, check);
  }
  if (left.kind === 'text' && right.kind === 'text') return testCode(textTest, left.run, right.run);
  if (left.kind === 'time' && right.kind === 'time') return testCode(test, left.run, right.run);
  if (left.kind === 'bool' && right.kind === 'bool' && isEquality(op)) {
    return testCode((a, b) => (a === b) === (op === '=='), left.run, right.run);
  }
  if (left.kind !== 'duration' || right.kind !== 'duration') return undefined;
  // The library tells equal negative durations apart that it has made in different ways.
  const exact: Test<number> = (a, b) => (a < 0 || b < 0 ? leave() : test(a, b));
  return testCode(isEquality(op) ? exact : test, left.run, right.run);
}

/** Compiles what gives a number of two others. */
function ofBoth(
  left: Run<number>,
  right: Run<number>,
  make: (a: number, b: number) => number,
  check?: Currencies,
): Run<number> {
  return (frame) => {
    const a = left(frame);
    if (typeof a !== 'number') return a;
    const b = right(frame);
    if (typeof b !== 'number') return b;
    return check?.(frame) ?? exactly(make(a, b));
  };
}

const add = (a: number, b: number): number => a + b;
const subtract = (a: number, b: number): number => a - b;

const WHOLE: Readonly<Record<string, (a: number, b: number) => number>> = {
  '/': (a, b) => (b === 0 ? leave() : Math.trunc(a / b)),
  '%': (a, b) => (b === 0 ? leave() : a % b),
};

function sumOfNumbers(op: string, left: NumberCode, right: NumberCode): Code | undefined {
  const isMoney = left.type === 'money' || right.type === 'money';
  const isInt = left.type === 'int' && right.type === 'int';
  if (left.type === 'double' && right.type === 'double') return undefined;
  const type = isMoney ? 'money' : isIntOr(isInt);
  const owner = left.owner ?? right.owner;
  if (op === '+' || op === '-') {
    const { left: a, right: b, places, check } = align(left, right);
    const run = ofBoth(a, b, op === '+' ? add : subtract, check);
    return { kind: 'number', type, places, owner, run };
  }
  if (op === '*') {
    const places = left.places + right.places;
    const run = ofBoth(left.run, right.run, (a, b) => a * b);
    return { kind: 'number', type, places, owner, run };
  }
  const whole = isInt ? WHOLE[op] : undefined;
  if (!whole) return undefined;
  return { kind: 'number', type, places: 0, run: ofBoth(left.run, right.run, whole) };
}

function isIntOr(isInt: boolean): 'int' | 'decimal' {
  return isInt ? 'int' : 'decimal';
}

const SECOND_MS = 1_000;
/** Longest duration between two times that the library makes exactly. */
const BETWEEN_MS_MAX = 5e11;

/** A duration with which the library calculates exactly. */
function isEven(ms: number): boolean {
  return ms >= 0 || ms % SECOND_MS === 0;
}

function sumOfTimes(op: string, left: Code, right: Code): Code | undefined {
  if (left.kind !== 'duration' && left.kind !== 'time') return undefined;
  if (right.kind !== 'duration' && right.kind !== 'time') return undefined;
  const make = op === '+' ? add : subtract;
  if (left.kind === 'duration' && right.kind === 'duration') {
    const run = ofBoth(left.run, right.run, (a, b) =>
      isEven(a) && isEven(b) ? make(a, b) : leave(),
    );
    return { kind: 'duration', run };
  }
  if (left.kind === 'time' && right.kind === 'time') {
    if (op === '+') return undefined;
    const run = ofBoth(left.run, right.run, (a, b) =>
      Math.abs(a - b) <= BETWEEN_MS_MAX ? a - b : leave(),
    );
    return { kind: 'duration', run };
  }
  if (left.kind === 'duration' && op === '-') return undefined;
  const run = ofBoth(left.run, right.run, (a, b) =>
    Math.abs(make(a, b)) <= TIME_MS_MAX ? make(a, b) : leave(),
  );
  return { kind: 'time', run };
}

/** Compiles a sum, difference, product or quotient; undefined: the library makes it. */
export function sumCode(op: string, left: Code, right: Code): Code | undefined {
  if (left.kind === 'number' && right.kind === 'number') return sumOfNumbers(op, left, right);
  return op === '+' || op === '-' ? sumOfTimes(op, left, right) : undefined;
}

export function negativeCode(of: Code | undefined): Code | undefined {
  if (of?.kind !== 'number') return undefined;
  const { run: inner } = of;
  const run: Run<number> = (frame) => {
    const value = inner(frame);
    return typeof value === 'number' ? exactly(-value) : value;
  };
  return { ...of, literal: undefined, run };
}

type Members = Readonly<Record<string, unknown>>;

/** Record whose members are read. */
export interface Base {
  readonly record: RecordName;
  readonly run: Run<Members>;
}

const EMPTY: Members = {};

export function rootBase(root: RootName): Base {
  return { record: root, run: ({ view }) => view.facts[root] ?? EMPTY };
}

export function creditBase(path: string): Base {
  const absent = new NotKnown(path);
  return { record: 'credit', run: ({ view }) => view.facts.customer?.credit ?? absent };
}

function itemOf({ item }: Frame): LineFacts {
  return typeof item === 'object' ? item : leave();
}

export const LINE_BASE: Base = { record: 'line', run: itemOf };

function membersOf(frame: Frame): Members {
  return itemOf(frame);
}

/** Latest time that a date can have, in epoch milliseconds. */
const TIME_MS_MAX = 8.64e15;

/** Stands for a value that is not of its type: a null or nothing is an absent fact. */
function otherwise(value: unknown, absent: NotKnown): NotKnown {
  if (value === undefined || value === null) return absent;
  return value instanceof NotKnown ? value : leave();
}

function textRun(raw: Run, absent: NotKnown): Run<string> {
  return (frame) => {
    const value = raw(frame);
    return typeof value === 'string' ? value : otherwise(value, absent);
  };
}

function boolRun(raw: Run, absent: NotKnown): Run<boolean> {
  return (frame) => {
    const value = raw(frame);
    return typeof value === 'boolean' ? value : otherwise(value, absent);
  };
}

function numberRun(raw: Run, absent: NotKnown): Run<number> {
  return (frame) => {
    const value = raw(frame);
    return typeof value === 'number' ? exactly(value) : otherwise(value, absent);
  };
}

function timeRun(raw: Run, absent: NotKnown): Run<number> {
  const read = numberRun(raw, absent);
  return (frame) => {
    const ms = read(frame);
    return typeof ms !== 'number' || Math.abs(ms) <= TIME_MS_MAX ? ms : leave();
  };
}

function listRun(raw: Run, absent: NotKnown): Run<readonly unknown[]> {
  return (frame) => {
    const value = raw(frame);
    return Array.isArray(value) ? value : otherwise(value, absent);
  };
}

/** A text that is no decimal counts as absent, unless the ERP was to tell a decimal. */
function decimalRun(raw: Run, absent: NotKnown, isOfErp = false): Run<number> {
  return (frame) => {
    const value = raw(frame);
    if (typeof value !== 'string' && typeof value !== 'number') return otherwise(value, absent);
    return unitsOfText(String(value)) ?? (isOfErp ? leave() : absent);
  };
}

function isDerived<R extends object>(record: R, name: PropertyKey): name is keyof R {
  return Object.hasOwn(record, name);
}

/** Derives a fact of a delivery once. */
function derivedOnce(path: string, derive: (facts: Facts) => unknown): (frame: Frame) => unknown {
  return ({ view: { derived, facts } }) => {
    const known = derived.get(path);
    if (known !== undefined) return known;
    const value = derive(facts);
    derived.set(path, value);
    return value;
  };
}

/** Derives a fact that is not given; undefined: it is not derived from others. */
function derivation(record: RecordName, name: string): ((frame: Frame) => unknown) | undefined {
  if (record === 'line') {
    if (!isDerived(DERIVED.line, name)) return undefined;
    const derive = DERIVED.line[name];
    return (frame) => derive(itemOf(frame));
  }
  if (record !== 'delivery' && record !== 'order' && record !== 'credit') return undefined;
  if (record === 'delivery' && name === 'currency') return ({ view }) => currencyOf(view.facts);
  const all = DERIVED[record];
  return isDerived(all, name) ? derivedOnce(`${record}.${name}`, all[name]) : undefined;
}

function rawRun({ record, run }: Base, name: string): Run {
  const derive = derivation(record, name);
  if (record === 'line') {
    if (derive === undefined) return (frame) => membersOf(frame)[name];
    return (frame) => {
      const given = membersOf(frame)[name];
      return given === undefined ? derive(frame) : given;
    };
  }
  // A null keeps a fact from being derived, but the currency of the order counts in any case.
  const isAlways = record === 'delivery' && name === 'currency';
  return (frame) => {
    const base = run(frame);
    if (base instanceof NotKnown) return base;
    const given = base[name];
    if (derive === undefined || (given !== undefined && !isAlways)) return given;
    return derive(frame);
  };
}

/** A percentage of a line, which is compared as a number and shown as a text. */
function linePercent(name: keyof typeof PERCENT_UNITS_OF_LINE, absent: NotKnown): Run<number> {
  const derive = PERCENT_UNITS_OF_LINE[name];
  return (frame) => {
    const line = itemOf(frame);
    const given = line[name];
    if (given === null) return absent;
    if (given === '0') return 0;
    if (given !== undefined) return unitsOfText(String(given)) ?? absent;
    const units = derive(line);
    if (units === undefined) return absent;
    return typeof units === 'number' ? units : leave();
  };
}

/** Compiles the read of a field. */
export function fieldCode(
  base: Base,
  name: string,
  field: FieldSpec,
  path: string,
): Code | undefined {
  const absent = new NotKnown(path);
  const raw = rawRun(base, name);
  switch (field.type) {
    case 'string':
    case 'enum':
      return { kind: 'text', run: textRun(raw, absent) };
    case 'bool':
      return { kind: 'bool', run: boolRun(raw, absent) };
    case 'int':
      return { kind: 'number', type: 'int', places: 0, run: numberRun(raw, absent) };
    case 'money': {
      const owner = currencyOwner(base.record, name);
      const run = numberRun(raw, absent);
      return { kind: 'number', type: 'money', places: PLACES, owner, run };
    }
    case 'percent':
    case 'decimal': {
      const isOfLine = base.record === 'line' && isDerived(PERCENT_UNITS_OF_LINE, name);
      const run = isOfLine ? linePercent(name, absent) : decimalRun(raw, absent);
      return { kind: 'number', type: 'decimal', places: PLACES, run };
    }
    case 'duration':
      return { kind: 'duration', run: numberRun(raw, absent) };
    case 'timestamp':
      return { kind: 'time', run: timeRun(raw, absent) };
    case 'strings':
      return { kind: 'texts', run: listRun(raw, absent) };
    default:
      return undefined;
  }
}

export const LINES_CODE: Code = {
  kind: 'lines',
  run: ({ view }) => view.facts.delivery.lines,
};

/** Compiles the read of a field that the ERP adds to its customers. */
export function extraCode(
  name: string,
  types: ExtraTypes,
  paths: { readonly whole: string; readonly extra: string },
): Code | undefined {
  const absent = new NotKnown(paths.whole);
  const none = new NotKnown(paths.extra);
  const raw: Run = ({ view }) => {
    const extra = view.facts.customer?.extra ?? none;
    if (extra instanceof NotKnown) return extra;
    return isJsonObject(extra) ? extra[name] : leave();
  };
  switch (types[name]) {
    case 'string':
      return { kind: 'text', run: textRun(raw, absent) };
    case 'bool':
      return { kind: 'bool', run: boolRun(raw, absent) };
    case 'int':
      return { kind: 'number', type: 'int', places: 0, run: numberRun(raw, absent) };
    case 'Decimal': {
      const run = decimalRun(raw, absent, true);
      return { kind: 'number', type: 'decimal', places: PLACES, run };
    }
    default:
      return undefined;
  }
}
