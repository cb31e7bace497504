/**
 * Computes facts that follow from other facts: ages, totals, missing pieces, price differences,
 * credit left. Live decisions, tests and replays all use this. A given value is kept, also a null,
 * by which a test says that the fact is not known.
 *
 * Conditions ask for one derived fact at a time (`DERIVED`); `completeFacts` makes all of them.
 */
import { AMOUNT_DECIMALS, sumOfUnits, worthOf } from '../../lib/money.ts';
import { Decimal, multiplyExact, parseDecimal } from '../cel/decimal.ts';
import type { Facts, LineFacts } from './plain.ts';

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
