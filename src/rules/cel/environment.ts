/**
 * The CEL environment of one rule set: the fact table as types, the set's lists and tables, exact
 * arithmetic and the helper functions. Only this folder, `analysis` and `facts/build.ts` import the
 * expression library.
 */
import { Environment } from '@marcbachmann/cel-js';
import type { Duration } from '@marcbachmann/cel-js/evaluator';
import { DURATION_MS_MAX } from '../../lib/units.ts';
import { celDuration, ExtraRecord, type ExtraTypes, RECORD_CLASSES } from '../facts/build.ts';
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
} from '../facts/table.ts';
import { addExact, compareExact, Decimal, Money, multiplyExact } from './decimal.ts';

const DURATION = 'google.protobuf.Duration';
const TIMESTAMP = 'google.protobuf.Timestamp';

/** Type of the values of a list or table in `settings.yaml`. */
export type ElementType = 'string' | 'Decimal' | 'bool';

export interface SetTypes {
  readonly extra: ExtraTypes;
  /** Type of a list's values, by list name. */
  readonly lists: Readonly<Record<string, ElementType>>;
  /** CEL type of what a key of a table gives, by table name; keys are always texts. */
  readonly tables: Readonly<Record<string, string>>;
}

/**
 * Limits on the size of one condition: far above what a person writes, and low enough to keep
 * evaluation cheap.
 */
const LIMITS = {
  maxAstNodes: 400,
  maxDepth: 24,
  maxListElements: 200,
  maxMapEntries: 20,
  maxCallArguments: 4,
} as const;

const SCALAR_TYPES = {
  string: 'string',
  enum: 'string',
  bool: 'bool',
  int: 'int',
  money: 'Money',
  percent: 'Decimal',
  decimal: 'Decimal',
  duration: DURATION,
  timestamp: TIMESTAMP,
  strings: 'list<string>',
  extra: 'Extra',
} as const;

/** Name of the CEL type of a record: `Delivery` for `delivery`. */
export function celTypeOf(record: RecordName): string {
  return `${record.slice(0, 1).toUpperCase()}${record.slice(1)}`;
}

function celFieldType(field: FieldSpec): string {
  if (isRecordName(field.of)) {
    return field.type === 'records' ? `list<${celTypeOf(field.of)}>` : celTypeOf(field.of);
  }
  return field.type === 'record' || field.type === 'records' ? 'dyn' : SCALAR_TYPES[field.type];
}

function registerRecord(env: Environment, record: RecordName): void {
  const fields: Record<string, string> = {};
  for (const [name, field] of Object.entries(fieldsOf(record))) fields[name] = celFieldType(field);
  env.registerType(celTypeOf(record), { ctor: RECORD_CLASSES[record], fields });
}

type Number = Decimal | Money | bigint | number;

/**
 * Pairs of types that can be compared, both ways round: `100 < amount` works like `amount > 100`.
 */
const COMPARABLE = [
  ['Money', 'Money'],
  ['Money', 'Decimal'],
  ['Decimal', 'Money'],
  ['Money', 'int'],
  ['int', 'Money'],
  ['Money', 'double'],
  ['double', 'Money'],
  ['Decimal', 'Decimal'],
  ['Decimal', 'int'],
  ['int', 'Decimal'],
  ['Decimal', 'double'],
  ['double', 'Decimal'],
] as const;

/** Pairs for which `==` is registered; the library adds the exchanged pair by itself. */
const EQUATABLE = COMPARABLE.filter(
  ([a, b]) => a !== 'int' && a !== 'double' && !(a === 'Decimal' && b === 'Money'),
);

const FACTORS = COMPARABLE.filter(([a, b]) => !(a === 'Money' && b === 'Money'));

function registerArithmetic(env: Environment): void {
  for (const [a, b] of COMPARABLE) {
    env.registerOperator(`${a} < ${b}`, (x: Number, y: Number) => compareExact(x, y) < 0);
    env.registerOperator(`${a} <= ${b}`, (x: Number, y: Number) => compareExact(x, y) <= 0);
    env.registerOperator(`${a} > ${b}`, (x: Number, y: Number) => compareExact(x, y) > 0);
    env.registerOperator(`${a} >= ${b}`, (x: Number, y: Number) => compareExact(x, y) >= 0);
    const sum = a === 'Money' || b === 'Money' ? 'Money' : 'Decimal';
    env.registerOperator(`${a} + ${b}: ${sum}`, (x: Number, y: Number) => addExact(x, y, 1n));
    env.registerOperator(`${a} - ${b}: ${sum}`, (x: Number, y: Number) => addExact(x, y, -1n));
  }
  for (const [a, b] of EQUATABLE) {
    env.registerOperator(`${a} == ${b}`, (x: Number, y: Number) => compareExact(x, y) === 0);
  }
  for (const [a, b] of FACTORS) {
    const product = a === 'Money' || b === 'Money' ? 'Money' : 'Decimal';
    env.registerOperator(`${a} * ${b}: ${product}`, (x: Number, y: Number) => multiplyExact(x, y));
  }
}

/** Milliseconds of the units that the helper functions count. */
const HELPERS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000 } as const;

function registerHelpers(env: Environment): void {
  env.registerFunction('lower(string): string', (text: string) => text.toLowerCase());
  for (const [name, ms] of Object.entries(HELPERS)) {
    env.registerFunction(`${name}(int): ${DURATION}`, (count: bigint): Duration => {
      const length = globalThis.Number(count) * ms;
      return celDuration(Math.max(-DURATION_MS_MAX, Math.min(DURATION_MS_MAX, length)));
    });
  }
}

class ListsRecord {
  constructor(values: Readonly<Record<string, unknown>>) {
    Object.assign(this, values);
  }
}
class TablesRecord extends ListsRecord {}

function mapTypes(
  types: Readonly<Record<string, string>>,
  make: (type: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [name, make(type)]));
}

/** Makes the variables `lists` and `tables` of the classes that the environment expects. */
export function setVariables(
  lists: Readonly<Record<string, unknown>>,
  tables: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return { lists: new ListsRecord(lists), tables: new TablesRecord(tables) };
}

export function createEnvironment(types: SetTypes): Environment {
  const env = new Environment({ unlistedVariablesAreDyn: false, limits: LIMITS });
  env.registerType('Decimal', { ctor: Decimal, fields: {} });
  env.registerType('Money', { ctor: Money, fields: {} });
  env.registerType('Extra', { ctor: ExtraRecord, fields: { ...types.extra } });
  for (const record of ['line', 'credit', 'delivery', 'order', 'customer'] as const) {
    registerRecord(env, record);
  }
  for (const record of ['season', 'stock', 'today', 'clock'] as const) registerRecord(env, record);
  env.registerType('Lists', {
    ctor: ListsRecord,
    fields: mapTypes(types.lists, (type) => `list<${type}>`),
  });
  env.registerType('Tables', {
    ctor: TablesRecord,
    fields: mapTypes(types.tables, (type) => `map<string, ${type}>`),
  });
  for (const root of ROOT_NAMES) env.registerVariable(root, celTypeOf(root));
  env.registerVariable('lists', 'Lists').registerVariable('tables', 'Tables');
  registerArithmetic(env);
  registerHelpers(env);
  return env;
}
