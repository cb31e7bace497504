/**
 * Computes facts that follow from other facts: ages, totals, missing pieces, price differences,
 * credit left. Live decisions, tests and replays all use this. A given value is kept, also a null,
 * by which a test says that the fact is not known.
 */
import { AMOUNT_DECIMALS, sumOfUnits, worthOf } from '../../lib/money.ts';
import { Decimal, multiplyExact, parseDecimal } from '../cel/decimal.ts';
import type { CreditFacts, Facts, LineFacts } from './plain.ts';

/** Decimal places of a computed percentage. */
const PERCENT_PLACES = 4;

/**
 * Difference of two prices in percent of the second, as decimal text. It is rounded up after four
 * places, so that a difference above a limit never looks equal to it. Undefined when a price is
 * missing, or only the second price is zero.
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

function or<T>(given: T | undefined, derived: T): T {
  return given === undefined ? derived : given;
}

/** Barcodes of goods; articles for rebates, vouchers and fees mostly have names of their own. */
const GTIN = /^\d{8,14}$/;

function completeLine(line: LineFacts): LineFacts {
  const { barcode, quantity, stock_free: free } = line;
  const known = typeof quantity === 'number' && typeof free === 'number';
  return {
    ...line,
    gtin: or(line.gtin, typeof barcode === 'string' ? GTIN.test(barcode.trim()) : null),
    missing: or(line.missing, known ? Math.max(0, quantity - free) : null),
    price_diff_pct: or(
      line.price_diff_pct,
      percentDifference(line.price, line.order_price) ?? null,
    ),
    list_price_diff_pct: or(
      line.list_price_diff_pct,
      percentDifference(line.price, line.list_price) ?? null,
    ),
  };
}

function completeCredit(credit: CreditFacts, now: number): CreditFacts {
  const { limit, balance, reserved, as_of: asOf } = credit;
  const used = sumOfUnits([balance, reserved]);
  return {
    ...credit,
    headroom: or(credit.headroom, sumOfUnits([limit, used === null ? null : -used])),
    age: or(credit.age, typeof asOf === 'number' ? Math.max(0, now - asOf) : null),
  };
}

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

function completeOrder(order: Facts['order'], now: number): Facts['order'] {
  const { status, quantity, delivered_quantity: delivered } = order;
  const known = typeof quantity === 'number' && typeof delivered === 'number';
  return {
    ...order,
    age: or(order.age, Math.max(0, now - order.created_at)),
    canceled: or(order.canceled, typeof status === 'string' ? status === 'canceled' : null),
    remaining_quantity: or(order.remaining_quantity, known ? quantity - delivered : null),
    amount_base: or(order.amount_base, inBase(order.amount, order.base_rate)),
  };
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

/** Adds every derived fact that can be computed; a second call changes nothing. */
export function completeFacts(facts: Facts): Facts {
  const { delivery, order, customer, clock } = facts;
  const lines = delivery.lines.map(completeLine);
  const amount = or(delivery.amount, worthOf(lines));
  const credit = customer?.credit ? completeCredit(customer.credit, clock.now) : undefined;
  return {
    ...facts,
    delivery: {
      ...delivery,
      age: or(delivery.age, Math.max(0, clock.now - delivery.created_at)),
      quantity: or(delivery.quantity, sumOf(lines, 'quantity')),
      size_quantity: or(delivery.size_quantity, sumOf(lines, 'size_quantity')),
      amount,
      amount_base: or(delivery.amount_base, inBase(amount, order.base_rate)),
      weight: or(delivery.weight, weightOf(lines)),
      currency: delivery.currency ?? order.currency ?? null,
      lines,
    },
    order: completeOrder(order, clock.now),
    ...(customer ? { customer: { ...customer, ...(credit ? { credit } : {}) } } : {}),
  };
}
