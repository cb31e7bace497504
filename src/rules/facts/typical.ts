/**
 * Facts of a typical delivery: packed an hour ago on a Tuesday morning, everything in stock, prices
 * as ordered, credit fine. Rule tests give only the facts that differ from it.
 */
import { isJsonObject, membersOf } from '../../lib/json.ts';
import { plainPart } from '../text/given.ts';
import { completeFacts } from './build.ts';
import type { Facts, LineFacts } from './plain.ts';
import { ROOT_NAMES } from './table.ts';

const NOW = Date.UTC(2026, 2, 3, 10, 0);
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

function typicalLine(barcode: string): LineFacts {
  return {
    barcode,
    quantity: 5,
    size_quantity: 5,
    price: 200_0000,
    order_price: 200_0000,
    list_price: 200_0000,
    ordered: 5,
    remaining_quantity: 0,
    stock_free: 40,
    stock_age: 5 * MINUTE_MS,
    style_no: 'S-100',
    style_name: 'Odin Jacket',
    color_name: 'Washed Navy',
    size_name: 'M',
    brand: 'Northern Thread',
    category: 'Tops',
    type: 'T-shirt',
    gender: 'Women',
    weight: 180,
    country_of_origin: 'PT',
    style_active: true,
    noos: false,
    color_active: true,
  };
}

export function typicalFacts(): Facts {
  return {
    delivery: {
      id: 7001,
      number: 'D-7001',
      status: 'pending',
      created_at: NOW - HOUR_MS,
      weekday: 'tuesday',
      lines: [typicalLine('5700000000011'), typicalLine('5700000000028')],
    },
    order: {
      id: 501,
      number: 'SO-501',
      reference: 'PO-1',
      status: 'pending',
      created_at: NOW - 48 * HOUR_MS,
      country: 'DK',
      zip: '2100',
      city: 'København',
      address_complete: true,
      currency: 'DKK',
      amount: 2000_0000,
      base_rate: '1',
      base_currency: 'DKK',
      quantity: 10,
      delivered_quantity: 10,
      size_quantity: 10,
      freight_amount: 49_0000,
      freight_type: 'Standard',
      preorder: false,
      delivery_names: [],
      other_pending: 0,
      rejected_before: 0,
      accepted_before: 0,
      account_no: 'C-1',
      company: 'Hansen & Co',
    },
    customer: {
      account_no: 'C-1',
      blocked: false,
      orders_before: 12,
      first_order_at: NOW - 400 * 24 * HOUR_MS,
      refunds_90d: 0,
      accepted_today: 0,
      amount_today: 0,
      credit: {
        limit: 100_000_0000,
        balance: 20_000_0000,
        reserved: 0,
        overdue_days: 0,
        currency: 'DKK',
        as_of: NOW - 5 * HOUR_MS,
      },
    },
    stock: { age: 5 * MINUTE_MS },
    today: { accepted: 20, amount: 40_000_0000, amount_base: 40_000_0000 },
    clock: { now: NOW, business_hours: true, weekday: 'tuesday' },
  };
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Sets `size_quantity` to a given `quantity`: no typical line is an assortment of several pieces.
 */
function singly(part: Members): Members {
  return 'quantity' in part ? { size_quantity: part.quantity, ...part } : part;
}

/** Completes each line that a test gives with the facts of the typical line. */
function mergedLines(written: unknown): unknown {
  if (!Array.isArray(written)) return undefined;
  return written.map((line, index) => ({
    ...typicalLine(`570000000${index}`),
    ...singly(membersOf(line)),
  }));
}

function mergedRoot(base: unknown, part: Members): Members {
  const merged: Record<string, unknown> = { ...membersOf(base), ...singly(part) };
  const credit = isJsonObject(part.credit);
  if (credit) merged.credit = { ...membersOf(membersOf(base).credit), ...membersOf(part.credit) };
  if ('lines' in part) merged.lines = mergedLines(part.lines) ?? [];
  return merged;
}

/** Facts of a rule test: the typical delivery, changed by the test's `given:`. */
export function factsOfTest(given: Members): Facts {
  const base: Facts = typicalFacts();
  const roots: Record<string, unknown> = { ...base };
  for (const root of ROOT_NAMES) {
    if (given[root] === null) roots[root] = null;
    else if (root in given) roots[root] = mergedRoot(base[root], plainPart(root, given[root]));
  }
  return completeFacts({ ...base, ...roots });
}
