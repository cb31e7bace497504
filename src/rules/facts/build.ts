/**
 * Plain facts → complete facts → typed CEL values.
 *
 * `completeFacts` fills what can be computed from the rest (a value that was given wins);
 * `celContext` turns plain data into the classes that the CEL type checker knows. Absent data is
 * left out, so that reading it is an error in CEL and the condition becomes unknown.
 */
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isJsonObject } from '../../lib/json.ts';
import { Money, parseDecimal } from '../cel/decimal.ts';
import type { CreditFacts, Facts, LineFacts } from './plain.ts';
import { rootOf } from './plain.ts';
import { type FieldSpec, fieldsOf, isRecordName, type RecordName, ROOT_NAMES } from './table.ts';

/** Decimal places of a computed percentage. */
const PERCENT_PLACES = 4;

/**
 * Distance of two prices in percent of the second, as decimal text. What does not end within four
 * places is rounded up, so a difference above a limit never looks equal to it. Undefined when it
 * has no meaning: a price is missing, or the second is zero and the first is not.
 */
export function percentDifference(
  price: number | null | undefined,
  orderPrice: number | null | undefined,
): string | undefined {
  if (price === null || price === undefined) return undefined;
  if (orderPrice === null || orderPrice === undefined) return undefined;
  const difference = BigInt(Math.abs(price - orderPrice));
  if (difference === 0n) return '0';
  const base = BigInt(Math.abs(orderPrice));
  if (base === 0n) return undefined;
  const scaled = difference * 100n * 10n ** BigInt(PERCENT_PLACES);
  const digits = String((scaled + base - 1n) / base).padStart(PERCENT_PLACES + 1, '0');
  return `${digits.slice(0, -PERCENT_PLACES)}.${digits.slice(-PERCENT_PLACES)}`;
}

function completeLine(line: LineFacts): LineFacts {
  const free = line.stock_free ?? undefined;
  return {
    ...line,
    missing: line.missing ?? (free === undefined ? null : Math.max(0, line.quantity - free)),
    price_diff_pct: line.price_diff_pct ?? percentDifference(line.price, line.order_price) ?? null,
  };
}

function completeCredit(credit: CreditFacts, now: number): CreditFacts {
  const { limit, balance, as_of: asOf } = credit;
  const known = typeof limit === 'number' && typeof balance === 'number';
  return {
    ...credit,
    headroom: credit.headroom ?? (known ? limit - balance : null),
    age: credit.age ?? (typeof asOf === 'number' ? Math.max(0, now - asOf) : null),
  };
}

function amountOf(lines: readonly LineFacts[]): number | null {
  let sum = 0;
  for (const line of lines) {
    if (typeof line.price !== 'number') return null;
    sum += line.price * line.quantity;
  }
  return sum;
}

/** The same facts with every derived field that can be computed; idempotent. */
export function completeFacts(facts: Facts): Facts {
  const { delivery, order, customer, clock } = facts;
  const lines = delivery.lines.map(completeLine);
  const credit = customer?.credit ? completeCredit(customer.credit, clock.now) : undefined;
  return {
    ...facts,
    delivery: {
      ...delivery,
      age: delivery.age ?? Math.max(0, clock.now - delivery.created_at),
      quantity: delivery.quantity ?? lines.reduce((sum, line) => sum + line.quantity, 0),
      amount: delivery.amount ?? amountOf(lines),
      currency: delivery.currency ?? order.currency ?? null,
      lines,
    },
    order: { ...order, age: order.age ?? Math.max(0, clock.now - order.created_at) },
    ...(customer ? { customer: { ...customer, ...(credit ? { credit } : {}) } } : {}),
  };
}

/** One class per record: the CEL engine tells the type of a value by its constructor. */
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
class ClockRecord extends RecordBase {}

/** Constructors by record, also the names of the CEL types. */
export const RECORD_CLASSES = {
  delivery: DeliveryRecord,
  line: LineRecord,
  order: OrderRecord,
  customer: CustomerRecord,
  credit: CreditRecord,
  season: SeasonRecord,
  clock: ClockRecord,
} as const;

const MILLISECONDS_PER_SECOND = 1_000;
const NANOSECONDS_PER_MILLISECOND = 1_000_000;

/** Milliseconds as the engine's own duration. */
export function celDuration(ms: number): Duration {
  const rest = ms % MILLISECONDS_PER_SECOND;
  const seconds = BigInt(Math.trunc(ms / MILLISECONDS_PER_SECOND));
  return new Duration(seconds, Math.round(rest * NANOSECONDS_PER_MILLISECOND));
}

interface Currencies {
  readonly order: string;
  readonly credit: string;
}

function celScalar(field: FieldSpec, value: unknown, currency: string): unknown {
  // What is no whole number keeps its type, which the engine refuses: the condition is unknown.
  if (Number.isSafeInteger(value) && typeof value === 'number') {
    if (field.type === 'int') return BigInt(value);
    if (field.type === 'money') return new Money(BigInt(value), 2, currency);
    if (field.type === 'duration') return celDuration(value);
    if (field.type === 'timestamp') return new Date(value);
  }
  if (field.type === 'percent') return parseDecimal(String(value));
  return value;
}

function celRecord(name: RecordName, plain: unknown, currencies: Currencies): unknown {
  const values: Record<string, unknown> = {};
  const members = isJsonObject(plain) ? plain : {};
  const currency = name === 'credit' ? currencies.credit : currencies.order;
  for (const [key, field] of Object.entries(fieldsOf(name))) {
    const value = members[key];
    if (value === null || value === undefined) continue;
    if (isRecordName(field.of)) {
      const of = field.of;
      values[key] = Array.isArray(value)
        ? value.map((item) => celRecord(of, item, currencies))
        : celRecord(of, value, currencies);
    } else values[key] = celScalar(field, value, currency);
  }
  return new RECORD_CLASSES[name](values);
}

/** The variables of a condition. An absent record is an empty one: all its fields are absent. */
export function celContext(facts: Facts): Record<string, unknown> {
  const currencies = {
    order: facts.order.currency ?? facts.delivery.currency ?? '(currency of the order not known)',
    credit: facts.customer?.credit?.currency ?? '(currency of the credit not known)',
  };
  const context: Record<string, unknown> = {};
  for (const root of ROOT_NAMES) context[root] = celRecord(root, rootOf(facts, root), currencies);
  return context;
}
