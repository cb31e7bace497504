/**
 * Converts plain facts into the typed values that conditions see: exact amounts with their
 * currency, durations, times, and one class per record. Absent data is left out, so that reading it
 * is an error in CEL and the condition becomes unknown.
 */
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isJsonObject } from '../../lib/json.ts';
import { AMOUNT_DECIMALS, sumOfUnits, worthOf } from '../../lib/money.ts';
import { Decimal, Money, multiplyExact, parseDecimal } from '../cel/decimal.ts';
import type { Facts, LineFacts } from './plain.ts';
import {
  type CurrencyOwner,
  currencyOwner,
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
} from './table.ts';

// Computes facts that follow from other facts: ages, totals, missing pieces, price differences,
// credit left. Live decisions, tests and replays all use this. A given value is kept, also a null,
// by which a test says that the fact is not known.
//
// Conditions ask for one derived fact at a time (`DERIVED`); `completeFacts` makes all of them.

/** Decimal places of a computed percentage. */
const PERCENT_PLACES = 4;
/** Ten-thousandths of a percent in a whole. */
const PERCENT_SCALE = 100 * 10 ** PERCENT_PLACES;

/**
 * Difference of two prices in percent of the second, as an integer of ten-thousandths. It is
 * rounded up, so that a difference above a limit never looks equal to it. Undefined when a price is
 * missing, or only the second price is zero.
 */
function percentUnits(
  price: number | null | undefined,
  orderPrice: number | null | undefined,
): bigint | number | undefined {
  if (price === null || price === undefined) return undefined;
  if (orderPrice === null || orderPrice === undefined) return undefined;
  const difference = Math.abs(price - orderPrice);
  if (difference === 0) return 0;
  const base = Math.abs(orderPrice);
  if (base === 0) return undefined;
  const scaled = difference * PERCENT_SCALE;
  if (Number.isSafeInteger(scaled)) {
    const rest = scaled % base;
    return (scaled - rest) / base + (rest > 0 ? 1 : 0);
  }
  const exact = BigInt(difference) * BigInt(PERCENT_SCALE);
  return (exact + BigInt(base) - 1n) / BigInt(base);
}

/** The difference of two prices as decimal text. */
export function percentDifference(
  price: number | null | undefined,
  orderPrice: number | null | undefined,
): string | undefined {
  const units = percentUnits(price, orderPrice);
  if (units === undefined) return undefined;
  if (units === 0) return '0';
  const digits = String(units).padStart(PERCENT_PLACES + 1, '0');
  return `${digits.slice(0, -PERCENT_PLACES)}.${digits.slice(-PERCENT_PLACES)}`;
}

function or<T>(given: T | undefined, derived: T): T {
  return given === undefined ? derived : given;
}

/** Barcodes of goods; articles for rebates, vouchers and fees mostly have names of their own. */
const GTIN = /^\d{8,14}$/;

/** Derived facts of a line. */
const LINE = {
  gtin: ({ barcode }: LineFacts) =>
    typeof barcode === 'string' ? GTIN.test(barcode.trim()) : null,
  missing: ({ quantity, stock_free: free }: LineFacts) =>
    typeof quantity === 'number' && typeof free === 'number' ? Math.max(0, quantity - free) : null,
  price_diff_pct: ({ price, order_price: from }: LineFacts) =>
    percentDifference(price, from) ?? null,
  list_price_diff_pct: ({ price, list_price: from }: LineFacts) =>
    percentDifference(price, from) ?? null,
};

/** Pieces that the free stock lacks for the line; null: they are not known. */
export function missingOf(line: LineFacts): number | null {
  return or(line.missing, LINE.missing(line));
}

/** The percentages of a line as integers of ten-thousandths, which a condition compares. */
export const PERCENT_UNITS_OF_LINE = {
  price_diff_pct: ({ price, order_price: from }: LineFacts) => percentUnits(price, from),
  list_price_diff_pct: ({ price, list_price: from }: LineFacts) => percentUnits(price, from),
};

/**
 * Converts an amount to the base currency, in units (lib/money.ts); half a unit is rounded away
 * from zero. Null when the amount or the rate is not known.
 */
export function inBase(
  amount: number | null | undefined,
  rate: string | null | undefined,
): number | null {
  const factor = parseDecimal(rate ?? '');
  if (!Number.isSafeInteger(amount) || factor === undefined) return null;
  const { units, places } = multiplyExact(
    new Decimal(BigInt(amount ?? 0), AMOUNT_DECIMALS),
    factor,
  );
  const cut = 10n ** BigInt(Math.max(0, places - AMOUNT_DECIMALS));
  const half = units < 0n ? -cut / 2n : cut / 2n;
  return sumOfUnits([Number((units + half) / cut)]);
}

/** Weight of all lines in grams; null when the weight or quantity of one line is unknown. */
function weightOf(lines: readonly LineFacts[]): number | null {
  return sumOfUnits(
    lines.map(({ weight, quantity }) =>
      typeof weight === 'number' && typeof quantity === 'number' ? weight * quantity : null,
    ),
  );
}

/** Sum of the pieces of all lines; null when those of one line are unknown. */
function sumOf(lines: readonly LineFacts[], member: 'quantity' | 'size_quantity'): number | null {
  let sum = 0;
  for (const { [member]: pieces } of lines) {
    if (typeof pieces !== 'number') return null;
    sum += pieces;
  }
  return sum;
}

function since({ clock }: Facts, at: number): number {
  return Math.max(0, clock.now - at);
}

/** Value of the delivery in units; null: it is not known. */
export function amountOf({ delivery }: Facts): number | null {
  return or(delivery.amount, worthOf(delivery.lines));
}

const DELIVERY = {
  age: (facts: Facts) => since(facts, facts.delivery.created_at),
  quantity: ({ delivery }: Facts) => sumOf(delivery.lines, 'quantity'),
  size_quantity: ({ delivery }: Facts) => sumOf(delivery.lines, 'size_quantity'),
  amount: ({ delivery }: Facts) => worthOf(delivery.lines),
  amount_base: (facts: Facts) => inBase(amountOf(facts), facts.order.base_rate),
  weight: ({ delivery }: Facts) => weightOf(delivery.lines),
};

const ORDER = {
  age: (facts: Facts) => since(facts, facts.order.created_at),
  canceled: ({ order: { status } }: Facts) =>
    typeof status === 'string' ? status === 'canceled' : null,
  remaining_quantity: ({ order: { quantity, delivered_quantity: delivered } }: Facts) =>
    typeof quantity === 'number' && typeof delivered === 'number' ? quantity - delivered : null,
  amount_base: ({ order }: Facts) => inBase(order.amount, order.base_rate),
};

const CREDIT = {
  headroom({ customer }: Facts) {
    const { limit, balance, reserved } = customer?.credit ?? {};
    const used = sumOfUnits([balance, reserved]);
    return sumOfUnits([limit, used === null ? null : -used]);
  },
  age(facts: Facts) {
    const at = facts.customer?.credit?.as_of;
    return typeof at === 'number' ? since(facts, at) : null;
  },
};

/** Facts that are derived where they are not given, by record. */
export const DERIVED = { delivery: DELIVERY, order: ORDER, credit: CREDIT, line: LINE };

/** Currency of the delivery: that of its order, unless it has its own. */
export function currencyOf({ delivery, order }: Facts): string | null {
  return delivery.currency ?? order.currency ?? null;
}

/** Derives those facts that a record is not given. */
function filled<R extends object, D extends Readonly<Record<string, (from: F) => unknown>>, F>(
  record: R & { readonly [N in keyof D]?: unknown },
  derived: D,
  from: F,
): R {
  const more: Record<string, unknown> = {};
  for (const [name, derive] of Object.entries(derived)) {
    if (record[name] === undefined) more[name] = derive(from);
  }
  return { ...record, ...more };
}

/** The line with every derived fact. */
export function completeLine(line: LineFacts): LineFacts {
  return filled(line, LINE, line);
}

/** Adds every derived fact that can be computed; a second call changes nothing. */
export function completeFacts(facts: Facts): Facts {
  const { delivery, order, customer } = facts;
  const credit = customer?.credit && filled(customer.credit, CREDIT, facts);
  return {
    ...facts,
    delivery: {
      ...filled(delivery, DELIVERY, facts),
      currency: currencyOf(facts),
      lines: delivery.lines.map(completeLine),
    },
    order: filled(order, ORDER, facts),
    ...(customer ? { customer: { ...customer, ...(credit ? { credit } : {}) } } : {}),
  };
}

// The facts of one delivery as conditions see them: plain facts, and what is made of them once.

export type CelContext = Readonly<Record<string, unknown>>;

/** Facts that several rule sets may see, if they declare the same fields of the ERP. */
export interface View {
  readonly facts: Facts;
  readonly currencies: Readonly<Record<CurrencyOwner, string>>;
  readonly extra: ExtraTypes;
  /** Derived facts that were asked for, by their paths. */
  readonly derived: Map<string, unknown>;
  /** The facts as the expression library sees them. */
  readonly typed: CelContext;
}

/** Result of a loop over lines that collects every line which decides it. */
interface LoopPass {
  /** Syntax node of the loop, by which its condition finds the pass. */
  readonly loop: unknown;
  readonly count: number;
  /** The first line whose value is not known. */
  readonly unclear: LineFacts | undefined;
}

/** Everything that the conditions of a rule set see: the facts, `lists` and `tables`. */
export interface Frame {
  readonly view: View;
  readonly lists: CelContext;
  readonly tables: CelContext;
  /** All variables for the expression library. */
  readonly typed: CelContext;
  /** Line, or text, of the loop around what is evaluated now. */
  item: LineFacts | string | undefined;
  /** Passes of the loops of the clause that is evaluated now. */
  passes: readonly LoopPass[];
}

export function viewOf(facts: Facts, extra: ExtraTypes): View {
  let typed: CelContext | undefined;
  return {
    facts,
    currencies: currenciesOf(facts),
    extra,
    derived: new Map(),
    get typed() {
      typed ??= celContext(facts, extra);
      return typed;
    },
  };
}

/** The view with `lists` and `tables`, as `setVariables` made them. */
export function frameOf(view: View, variables: CelContext): Frame {
  let typed: CelContext | undefined;
  return {
    view,
    lists: isJsonObject(variables.lists) ? variables.lists : {},
    tables: isJsonObject(variables.tables) ? variables.tables : {},
    get typed() {
      // The variables of the view are made when they are asked for, so none is copied.
      typed ??= Object.create(view.typed, Object.getOwnPropertyDescriptors(variables));
      return typed ?? variables;
    },
    item: undefined,
    passes: [],
  };
}

/** The variables with one more. */
export function withVariable(context: CelContext, name: string, value: unknown): CelContext {
  return Object.create(context, { [name]: { value, enumerable: true } });
}

/** Base of the records' classes: the CEL engine tells types apart by their constructor. */
class RecordBase {
  constructor(values: Readonly<Record<string, unknown>>) {
    Object.assign(this, values);
  }
}
class DeliveryRecord extends RecordBase {}
class LineRecord extends RecordBase {}
class OrderRecord extends RecordBase {}
class CustomerRecord extends RecordBase {}
class CreditRecord extends RecordBase {}
class SeasonRecord extends RecordBase {}
class StockRecord extends RecordBase {}
class TodayRecord extends RecordBase {}
class ClockRecord extends RecordBase {}
export class ExtraRecord extends RecordBase {}

/** Class of each record of the fact table; CEL types are registered with them. */
export const RECORD_CLASSES = {
  delivery: DeliveryRecord,
  line: LineRecord,
  order: OrderRecord,
  customer: CustomerRecord,
  credit: CreditRecord,
  season: SeasonRecord,
  stock: StockRecord,
  today: TodayRecord,
  clock: ClockRecord,
} as const;

/** Types of the fields that the ERP adds to its customers, by their name below `customer.extra`. */
export type ExtraTypes = Readonly<Record<string, 'string' | 'bool' | 'int' | 'Decimal'>>;

const MILLISECONDS_PER_SECOND = 1_000;
const NANOSECONDS_PER_MILLISECOND = 1_000_000;

/** Converts milliseconds to the CEL engine's duration. */
export function celDuration(ms: number): Duration {
  const rest = ms % MILLISECONDS_PER_SECOND;
  const seconds = BigInt(Math.trunc(ms / MILLISECONDS_PER_SECOND));
  return new Duration(seconds, Math.round(rest * NANOSECONDS_PER_MILLISECOND));
}

interface Conversion {
  readonly currencies: Readonly<Record<CurrencyOwner, string>>;
  readonly extra: ExtraTypes;
}

/**
 * Converts the ERP's additional fields to their declared types; an undeclared field cannot be read.
 */
function celExtra(value: unknown, types: ExtraTypes): ExtraRecord {
  const values: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(isJsonObject(value) ? value : {})) {
    if (member === null || !Object.hasOwn(types, name)) continue;
    // A value that is no number stays a text, which the engine refuses: then the fact is unknown,
    // not absent.
    if (types[name] === 'Decimal') values[name] = parseDecimal(String(member)) ?? String(member);
    else values[name] = Number.isSafeInteger(member) ? BigInt(String(member)) : member;
  }
  return new ExtraRecord(values);
}

function celScalar(
  field: FieldSpec,
  value: unknown,
  owner: CurrencyOwner,
  conversion: Conversion,
): unknown {
  // A value that is no integer is not converted, so that the engine makes the condition unknown.
  if (Number.isSafeInteger(value) && typeof value === 'number') {
    if (field.type === 'int') return BigInt(value);
    if (field.type === 'money') {
      return new Money(BigInt(value), AMOUNT_DECIMALS, conversion.currencies[owner]);
    }
    if (field.type === 'duration') return celDuration(value);
    if (field.type === 'timestamp') return new Date(value);
  }
  if (field.type === 'extra') return celExtra(value, conversion.extra);
  if (field.type === 'percent' || field.type === 'decimal') return parseDecimal(String(value));
  return value;
}

function isDerivedOfLine(name: string): name is keyof typeof LINE {
  return Object.hasOwn(LINE, name);
}

/** Value of a line's field as the expression library sees it; undefined: it is not known. */
export function celLineValue(line: LineFacts, name: string, conversion: Conversion): unknown {
  const field = fieldsOf('line')[name];
  const given: Readonly<Record<string, unknown>> = line;
  const value = isDerivedOfLine(name) ? or(given[name], LINE[name](line)) : given[name];
  if (!field || value === null || value === undefined) return undefined;
  return celScalar(field, value, currencyOwner('line', name), conversion) ?? null;
}

function celRecord(name: RecordName, plain: unknown, conversion: Conversion): unknown {
  const values: Record<string, unknown> = {};
  const members = isJsonObject(plain) ? plain : {};
  for (const [key, field] of Object.entries(fieldsOf(name))) {
    const value = members[key];
    if (value === null || value === undefined) continue;
    if (isRecordName(field.of)) {
      const of = field.of;
      values[key] = Array.isArray(value)
        ? value.map((item) => celRecord(of, item, conversion))
        : celRecord(of, value, conversion);
    } else values[key] = celScalar(field, value, currencyOwner(name, key), conversion);
  }
  return new RECORD_CLASSES[name](values);
}

/** A line as the expression library sees it. */
export function celLine(line: LineFacts, conversion: Conversion): unknown {
  return celRecord('line', completeLine(line), conversion);
}

/**
 * Currencies of the amounts of an order, of its customer, and of the base currency; one that is not
 * known gets a text that says so.
 */
export function currenciesOf({
  order,
  delivery,
  customer,
}: Facts): Readonly<Record<CurrencyOwner, string>> {
  return {
    order: order.currency ?? delivery.currency ?? '(currency of the order not known)',
    base: order.base_currency ?? '(base currency not known)',
    credit: customer?.credit?.currency ?? '(currency of the credit not known)',
  };
}

/**
 * Makes the variables of a condition for the expression library, each when it is asked for first:
 * most conditions never need them. An absent record becomes an empty one, so all its fields are
 * absent.
 */
function celContext(facts: Facts, extra: ExtraTypes): Readonly<Record<string, unknown>> {
  const conversion = { extra, currencies: currenciesOf(facts) };
  const context: Record<string, unknown> = {};
  let complete: Facts | undefined;
  for (const root of ROOT_NAMES) {
    const get = () => {
      complete ??= completeFacts(facts);
      const value = celRecord(root, complete[root], conversion);
      Object.defineProperty(context, root, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(context, root, { get, enumerable: true, configurable: true });
  }
  return context;
}
