/** Compiled comparisons and sums; a result that is no exact integer of units is left (code.ts). */
import type { CurrencyOwner } from '../facts/table.ts';
import type { Frame } from '../facts/view.ts';
import { type Code, exactly, leave, NotKnown, type NumberCode, type Run } from './code.ts';
import { otherCurrencies } from './decimal.ts';

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
const TIME_MS_MAX = 8.64e15;

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
