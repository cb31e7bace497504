/** Compiled reads of facts: each gives the plain value, or says which fact is not known. */
import { isJsonObject } from '../../lib/json.ts';
import type { ExtraTypes } from '../facts/build.ts';
import { currencyOf, DERIVED, PERCENT_UNITS_OF_LINE } from '../facts/derive.ts';
import type { Facts, LineFacts } from '../facts/plain.ts';
import { currencyOwner, type FieldSpec, type RecordName, type RootName } from '../facts/table.ts';
import type { Frame } from '../facts/view.ts';
import { type Code, exactly, leave, NotKnown, PLACES, type Run, unitsOfText } from './code.ts';

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
