/**
 * Deliveries that nobody packed: random facts, as plain as the journal has them, and what follows
 * from them by docs/facts.md.
 */
import type { Random } from '../../../src/lib/random.ts';
import type { Facts } from '../../../src/rules/facts/plain.ts';
import {
  amountOf,
  type Exact,
  exactOf,
  minus,
  plus,
  times,
  toFourDecimals,
  whole,
} from './exact.ts';
import type { Fact } from './pages.ts';

export const NOW = Date.UTC(2026, 2, 3, 10, 0);
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

/** Texts that a fact may have; conditions and tables choose from the same. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  barcode: ['5700000001000', '57000001', 'REBATE', '570000000100012', '1234567', ''],
  country: ['DK', 'SE', 'DE', 'NO'],
  currency: ['DKK', 'SEK', 'EUR'],
  base_currency: ['DKK'],
  season: ['AW26', 'SS27'],
  delivery_name: ['1st', '2nd'],
  zip: ['2100', '900', '5000', 'SW1A 1AA'],
  city: ['København', 'Oslo', 'malmö'],
  reference: ['PO-1', 'po-17', '', 'WEB'],
  comment: ['', 'Urgent!', 'please, urgent', 'ring "Bo"'],
};
const OTHER_TEXTS = ['Nord', 'nord', 'C-1', 'Øst', ''] as const;

export function textsOf(path: string): readonly string[] {
  return TEXTS[path.split('.').at(-1) ?? ''] ?? OTHER_TEXTS;
}

type Plain = string | number | boolean | readonly string[] | null;

function scalar(random: Random, { path, kind, values }: Fact): Plain {
  switch (kind) {
    case 'text':
      return random.pick(textsOf(path));
    case 'choice':
      return random.pick(values);
    case 'whole number':
      return random.chance(0.1) ? random.int(-3, 0) : random.int(0, 12);
    case 'number':
      return random.pick(['0', '1', '2.5', '12.5', '0.3333', '33']);
    case 'amount':
      return random.chance(0.8) ? random.int(0, 60) * 5_000 : random.int(-20_000, 300_000);
    case 'true/false':
      return random.chance(0.5);
    case 'duration':
      return random.int(0, 60) * (random.chance(0.5) ? 30 * MINUTE_MS : DAY_MS);
    case 'point in time':
      return NOW + random.int(-6, 6) * (random.chance(0.5) ? DAY_MS : 20 * MINUTE_MS);
    case 'list of texts':
      return ['1st', '2nd'].filter(() => random.chance(0.4));
  }
}

/** A fact that is not known is null or is not there. */
function member(random: Random, fact: Fact, unknown: number): readonly [string, Plain][] {
  const name = fact.path.split('.').at(-1) ?? '';
  if (fact.mayBeUnknown && random.chance(unknown)) return random.chance(0.5) ? [[name, null]] : [];
  return [[name, scalar(random, fact)]];
}

/** Facts that are not told but follow from others (`FOLLOWS`), by path. */
const DERIVED: ReadonlySet<string> = new Set([
  ...['age', 'quantity', 'size_quantity', 'amount', 'amount_base', 'weight', 'currency'].map(
    (name) => `delivery.${name}`,
  ),
  ...['age', 'canceled', 'remaining_quantity', 'amount_base'].map((name) => `order.${name}`),
  ...['gtin', 'missing', 'price_diff_pct', 'list_price_diff_pct'].map((name) => `line.${name}`),
  ...['window_from', 'window_to'].map((name) => `line.${name}`),
  ...['order.base_rate', 'order.base_currency'],
  ...['customer.credit.headroom', 'customer.credit.age'],
]);

export interface Told {
  /** Days of a delivery window, by the season and the name of a line. */
  window(season: unknown, delivery: unknown): { readonly from: number; readonly to: number } | null;
  /** Value of 1 of a currency in the base currency, as it is written. */
  rate(currency: unknown): string | null;
  readonly base: string | null;
  /** Members of `customer.extra`. */
  extra(): Readonly<Record<string, Plain>>;
}

/** Random facts of one delivery; `unknown` is the share of what may be unknown and is. */
export function randomFacts(
  random: Random,
  facts: readonly Fact[],
  told: Told,
  unknown: number,
): Facts {
  const part = (record: string) =>
    Object.fromEntries(
      facts
        .filter(({ path }) => path.replace(/\.\w+$/, '') === record && !DERIVED.has(path))
        .flatMap((fact) => member(random, fact, unknown)),
    );
  const line = () => {
    const members = part('line');
    const window = told.window(members.season, members.delivery_name);
    const days = { window_from: window?.from ?? null, window_to: window?.to ?? null };
    return { ...members, ...(random.chance(unknown) ? {} : days) };
  };
  const order = part('order');
  const group = (make: () => object) => (random.chance(unknown / 2) ? null : make());
  const lines = Array.from({ length: random.int(random.chance(0.1) ? 0 : 1, 4) }, line);
  const made = {
    delivery: {
      ...part('delivery'),
      status: random.chance(0.85) ? 'pending' : 'accepted',
      unread: random.chance(0.05) ? ['status (x)'] : random.pick([null, []]),
      lines,
    },
    order: { ...order, base_currency: told.base, base_rate: told.rate(order.currency) },
    customer: group(() => ({
      ...part('customer'),
      credit: group(() => part('customer.credit')),
      extra: group(() => told.extra()),
    })),
    season: group(() => part('season')),
    stock: group(() => part('stock')),
    today: group(() => part('today')),
    clock: { ...part('clock'), now: NOW + random.int(-36, 36) * 60 * MINUTE_MS },
  };
  return JSON.parse(JSON.stringify(made));
}

type Members = ReadonlyMap<string, unknown>;

export function membersOf(value: unknown): Members {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

/** The number behind a plain value; undefined: not known. */
function numberIn(members: Members, name: string): number | undefined {
  const value = members.get(name);
  return typeof value === 'number' ? value : undefined;
}

function amountIn(members: Members, name: string): Exact | undefined {
  const units = numberIn(members, name);
  return units === undefined ? undefined : amountOf(units);
}

/** All of them, or undefined when one is not known. */
function all<T>(values: readonly (T | undefined)[]): readonly T[] | undefined {
  const known = values.flatMap((value) => (value === undefined ? [] : [value]));
  return known.length === values.length ? known : undefined;
}

function sumOver(
  lines: readonly Members[],
  of: (line: Members) => Exact | undefined,
): Exact | undefined {
  return all(lines.map(of))?.reduce(plus, whole(0));
}

function pieces(line: Members, name: string): Exact | undefined {
  const value = numberIn(line, name);
  return value === undefined ? undefined : whole(value);
}

function product(line: Members, name: string, of: typeof amountIn): Exact | undefined {
  const [count, value] = [pieces(line, 'quantity'), of(line, name)];
  return count && value && times(count, value);
}

function sinceMs(now: number, at: number | undefined): number | undefined {
  return at === undefined ? undefined : Math.max(0, now - at);
}

/** "How far the price is from the order's, up or down", in percent. */
function distance(price: Exact | undefined, from: Exact | undefined): Exact | undefined {
  if (!price || !from) return undefined;
  const difference = minus(price, from);
  if (difference.top === 0n) return whole(0);
  if (from.top === 0n) return undefined;
  const top = difference.top * from.bottom * 100n;
  const bottom = difference.bottom * from.top;
  const size = (value: bigint) => (value < 0n ? -value : value);
  return toFourDecimals({ top: size(top), bottom: size(bottom) }, 'up');
}

function inBase(amount: Exact | undefined, order: Members): Exact | undefined {
  const rate = order.get('base_rate');
  if (!amount || typeof rate !== 'string') return undefined;
  return toFourDecimals(times(amount, exactOf(rate)), 'half');
}

export type Derived = Exact | number | string | boolean | undefined;

function lineFollows(line: Members, name: string): Derived {
  if (name === 'missing') {
    const [packed, free] = [numberIn(line, 'quantity'), numberIn(line, 'stock_free')];
    if (packed === undefined || free === undefined) return undefined;
    return Math.max(0, packed - free);
  }
  if (name === 'gtin') {
    const barcode = line.get('barcode');
    if (typeof barcode !== 'string') return undefined;
    return barcode.length >= 8 && barcode.length <= 14 && !/\D/.test(barcode);
  }
  const other = name === 'price_diff_pct' ? 'order_price' : 'list_price';
  return distance(amountIn(line, 'price'), amountIn(line, other));
}

function deliveryFollows(facts: Facts, name: string): Derived {
  const [delivery, order] = [membersOf(facts.delivery), membersOf(facts.order)];
  const lines = facts.delivery.lines.map(membersOf);
  const amount = () => sumOver(lines, (line) => product(line, 'price', amountIn));
  switch (name) {
    case 'age':
      return sinceMs(facts.clock.now, numberIn(delivery, 'created_at'));
    case 'quantity':
    case 'size_quantity':
      return sumOver(lines, (line) => pieces(line, name));
    case 'amount':
      return amount();
    case 'amount_base':
      return inBase(amount(), order);
    case 'weight':
      return sumOver(lines, (line) => product(line, 'weight', pieces));
    default:
      return facts.order.currency ?? undefined;
  }
}

/** Whether a line has fewer than no pieces, or the lines together are worth less than nothing. */
export function isBelowZero({ delivery }: Facts): boolean {
  const lines = delivery.lines.map(membersOf);
  const amount = sumOver(lines, (line) => product(line, 'price', amountIn));
  const isNegative = (value: Exact | undefined) => value !== undefined && value.top < 0n;
  return isNegative(amount) || lines.some((line) => isNegative(pieces(line, 'quantity')));
}

function orderFollows(facts: Facts, name: string): Derived {
  const order = membersOf(facts.order);
  const [ordered, packed] = [pieces(order, 'quantity'), pieces(order, 'delivered_quantity')];
  switch (name) {
    case 'age':
      return sinceMs(facts.clock.now, numberIn(order, 'created_at'));
    case 'canceled':
      return facts.order.status ? facts.order.status === 'canceled' : undefined;
    case 'remaining_quantity':
      return ordered && packed && minus(ordered, packed);
    default:
      return inBase(amountIn(order, 'amount'), order);
  }
}

function creditFollows(facts: Facts, name: string): Derived {
  const credit = membersOf(facts.customer?.credit);
  if (name === 'age') return sinceMs(facts.clock.now, numberIn(credit, 'as_of'));
  const [limit, balance, reserved] = ['limit', 'balance', 'reserved'].map((one) =>
    amountIn(credit, one),
  );
  return limit && balance && reserved && minus(minus(limit, balance), reserved);
}

/** Derives a fact from others; null for a fact that is told. */
export function follows(facts: Facts, path: string, line: Members | undefined): Derived | null {
  if (!DERIVED.has(path) || /window_|base_(rate|currency)/.test(path)) return null;
  const name = path.split('.').at(-1) ?? '';
  if (line) return lineFollows(line, name);
  if (path.startsWith('delivery.')) return deliveryFollows(facts, name);
  return path.startsWith('order.') ? orderFollows(facts, name) : creditFollows(facts, name);
}
