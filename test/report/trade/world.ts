/** A small world of trade, made up from a seed, and a mirror that has it. */
import Database from 'better-sqlite3';
import { manualClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { setQuantities } from '../../../src/mirror/stock-count.ts';
import { temporaryStore } from '../../support/store.ts';

export interface Variant {
  readonly barcode: string;
  readonly style: string;
  readonly quantity: number;
  readonly isGone: boolean;
}

export interface SeasonVariant extends Variant {
  readonly season: string;
}

export interface Line {
  readonly barcode: string;
  readonly quantity: number;
  readonly fulfilled: number;
  /** Ten-thousandths. */
  readonly price: number | null;
  readonly season: string | null;
  readonly window: string | null;
}

export interface Delivery {
  readonly id: number;
  readonly status: string;
  readonly isGone: boolean;
  readonly isTracked: boolean;
  /** Since the stock was read. */
  readonly isRecent: boolean;
  /** Outcomes of its decisions, the latest last. */
  readonly outcomes: readonly string[];
  readonly lines: readonly { readonly barcode: string; readonly pieces: number }[];
}

interface Refund {
  readonly id: number;
  readonly status: string;
  readonly lines: readonly { readonly pieces: number; readonly price: number | null }[];
}

export interface Order {
  readonly id: number;
  readonly account: string;
  readonly status: string;
  readonly isCompleted: boolean;
  readonly isGone: boolean;
  readonly currency: string;
  readonly season: string | null;
  readonly lines: readonly Line[];
  readonly deliveries: readonly Delivery[];
  readonly refunds: readonly Refund[];
}

export interface World {
  readonly stock: readonly Variant[];
  readonly seasons: readonly SeasonVariant[];
  readonly orders: readonly Order[];
  readonly customers: readonly {
    readonly account: string;
    readonly limit: number;
    readonly balance: number;
  }[];
}

/** Delivery windows of each season, in their order. */
export const WINDOWS: Readonly<Record<string, readonly string[]>> = { AW: ['Aug', 'Sep'], SS: [] };
const BARCODES = ['b0', 'b1', 'b2', 'b3', 'b4', 'b5'];
const STOCK_READ_AT = 1_000_000;

function styleOf(barcode: string): string {
  return Number(barcode.slice(1)) % 2 === 0 ? 'S-0' : 'S-1';
}

function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

function lineOf(random: Random): Line {
  const quantity = random.int(1, 5);
  return {
    barcode: random.pick(BARCODES),
    quantity,
    fulfilled: random.chance(0.7) ? 0 : random.int(0, quantity),
    price: random.chance(0.9) ? random.int(1, 9) * 50_000 : null,
    season: random.pick([null, null, '', 'AW']),
    window: random.pick([null, 'Aug', 'Sep', 'Never']),
  };
}

function deliveryOf(random: Random, id: number, lines: readonly Line[]): Delivery {
  return {
    id,
    status: random.pick(['pending', 'accepted', 'rejected', 'canceled']),
    isGone: random.chance(0.1),
    isTracked: random.chance(0.4),
    isRecent: random.chance(0.3),
    outcomes: times(random.int(0, 3), () => random.pick(['hold', 'accept', 'no_rule'])),
    lines: times(random.int(1, 2), () => ({
      barcode: random.pick(lines).barcode,
      pieces: random.int(1, 3),
    })),
  };
}

function orderOf(random: Random, id: number): Order {
  const isCompleted = random.chance(0.15);
  const lines = times(random.int(1, 4), () => lineOf(random));
  return {
    id,
    account: random.pick(['A', 'A', 'B', '']),
    status: random.pick(['pending', 'pending', 'partially_fulfilled', 'canceled']),
    isCompleted,
    isGone: random.chance(0.07),
    currency: random.pick(['DKK', 'DKK', 'DKK', 'EUR']),
    season: random.pick([null, null, 'AW', 'SS']),
    lines,
    deliveries: times(random.int(0, 3), (at) => deliveryOf(random, id * 10 + at, lines)),
    refunds: times(random.int(0, 1), (at) => ({
      id: id * 10 + at,
      status: random.pick(['accepted', 'pending', 'rejected']),
      lines: times(random.int(1, 2), () => ({
        pieces: random.int(1, 2),
        price: random.chance(0.8) ? 120_000 : null,
      })),
    })),
  };
}

export function makeWorld(seed: number): World {
  const random = seededRandom(seed);
  const variantOf = (barcode: string): Variant => ({
    barcode,
    style: styleOf(barcode),
    quantity: random.int(-1, 9),
    isGone: random.chance(0.2),
  });
  return {
    stock: BARCODES.filter(() => random.chance(0.8)).map(variantOf),
    seasons: Object.keys(WINDOWS).flatMap((season) =>
      BARCODES.filter(() => random.chance(0.6)).map((one) => ({ ...variantOf(one), season })),
    ),
    orders: times(random.int(5, 14), (at) => orderOf(random, at + 1)),
    customers: [
      { account: 'A', limit: 5_000_000, balance: random.int(0, 1) * 6_000_000 },
      { account: 'C', limit: 1_000_000, balance: 0 },
    ],
  };
}

export const COMMON = {
  extra: '{}',
  content_hash: 'h',
  first_seen_at: 0,
  changed_at: 0,
  deleted_at: null,
  read_seq: 1,
  source: 'run:1',
};

type Row = Readonly<Record<string, string | number | Buffer | null>>;

export const NOTHING = Buffer.alloc(0);

export function insertRow(database: Database.Database, table: string, row: Row): void {
  const names = Object.keys(row);
  const values = names.map((name) => `:${name}`);
  database.prepare(`insert into ${table} (${names}) values (${values})`).run(row);
}

function insertVariants(database: Database.Database, { stock, seasons }: World): void {
  const common = ({ barcode, style, quantity, isGone }: Variant): Row => ({
    ...COMMON,
    barcode,
    quantity,
    style_no: style,
    size: barcode.toUpperCase(),
    deleted_at: isGone ? 1 : null,
  });
  for (const one of stock) insertRow(database, 'stock_variant_row', common(one));
  for (const one of seasons) {
    const { season, barcode } = one;
    const key = { season_name: season, season_barcode: `${season}/${barcode}` };
    insertRow(database, 'season_variant_row', { ...common(one), ...key });
  }
  for (const [season_name, windows] of Object.entries(WINDOWS)) {
    insertRow(database, 'season', { ...COMMON, season_name });
    for (const [at, delivery_name] of windows.entries()) {
      insertRow(database, 'season_delivery', { season_name, line_no: at + 1, delivery_name });
    }
  }
}

function insertDelivery(database: Database.Database, order: Order, delivery: Delivery): void {
  const { id, status } = delivery;
  insertRow(database, 'delivery', {
    ...COMMON,
    order_delivery_id: id,
    order_id: order.id,
    status,
    tracking_numbers: delivery.isTracked ? '["T"]' : '[]',
    tracking_links: '[]',
    changed_at: STOCK_READ_AT + (delivery.isRecent ? 1 : -1),
    deleted_at: delivery.isGone ? 1 : null,
  });
  for (const [at, { barcode, pieces }] of delivery.lines.entries()) {
    const line = { order_delivery_id: id, line_no: at + 1, extra: '{}', price: 100_000 };
    insertRow(database, 'delivery_line', { ...line, barcode, fulfilled_quantity: pieces });
  }
  for (const [at, outcome] of delivery.outcomes.entries()) {
    const decision_id = id * 10 + at;
    insertRow(database, 'decision', {
      ...{ decision_id, order_delivery_id: id, order_id: order.id, at: decision_id, outcome },
      ...{ trigger: 'new', actor: 'daemon', rule_set_hash: 'r', facts_digest: 'f', mode: 'live' },
      ...{ reason: '', rules: '[]', shadow: '{}', said: outcome, matched: '[]', lapsed: '[]' },
      ...{ evaluation: NOTHING, previous_hash: '', hash: String(decision_id) },
    });
  }
  if (delivery.outcomes.length === 0) return;
  insertRow(database, 'evaluation', {
    order_delivery_id: id,
    decision_id: id * 10 + delivery.outcomes.length - 1,
    ...{ delivery_hash: 'h', order_hash: 'h', rules_key: 'r', evaluated_at: 0 },
  });
}

function insertOrder(database: Database.Database, order: Order): void {
  insertRow(database, 'sales_order', {
    ...COMMON,
    ...{ order_id: order.id, account_no: order.account, status: order.status },
    ...{ currency: order.currency, season_name: order.season, shipping_address: '{}' },
    completed: order.isCompleted ? 1 : 0,
    deleted_at: order.isGone ? 1 : null,
  });
  for (const [at, line] of order.lines.entries()) {
    const { barcode, quantity, fulfilled, price, season, window } = line;
    insertRow(database, 'sales_order_line', {
      ...{ order_id: order.id, line_no: at + 1, extra: '{}', barcode, quantity, price },
      ...{ fulfilled_quantity: fulfilled, season_name: season, delivery_name: window },
    });
  }
  for (const one of order.deliveries) insertDelivery(database, order, one);
  for (const { id, status, lines } of order.refunds) {
    const row = { order_refund_id: id, order_id: order.id, status };
    insertRow(database, 'refund', { ...COMMON, ...row });
    for (const [at, { pieces, price }] of lines.entries()) {
      const line = { order_refund_id: id, line_no: at + 1, extra: '{}', price };
      insertRow(database, 'refund_line', { ...line, refunded_quantity: pieces });
    }
  }
}

/** A function that asks a mirror of the world; `says`: what its lists count. */
export async function mirrorOf(world: World, says: { stock: string; season: string }) {
  const store = await temporaryStore();
  const database = new Database(store.path);
  database.transaction(() => {
    insertVariants(database, world);
    for (const order of world.orders) insertOrder(database, order);
    for (const { account, limit, balance } of world.customers) {
      const credit = { credit_limit: limit, balance, currency: 'DKK' };
      insertRow(database, 'erp_customer', { ...COMMON, account_no: account, ...credit });
    }
    const stream = { stream: 'stock', due_at: 0, complete_at: STOCK_READ_AT };
    insertRow(database, 'stream_state', stream);
  })();
  database.close();
  const quantities = { stockQuantity: says.stock, seasonQuantity: says.season };
  await setQuantities({ store, clock: manualClock() }, quantities);
  const reader = new Database(store.path, { readonly: true });
  return {
    path: store.path,
    ask: (sql: string, values: Readonly<Record<string, string | number>> = {}): unknown[] =>
      reader.prepare(sql).raw().all(values),
    [Symbol.dispose]: () => reader.close(),
  };
}
