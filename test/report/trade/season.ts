/**
 * A mirror of two weeks of trade up to now, of which the everyday questions have answers: with two
 * currencies, a canceled and a completed order, pre-orders, what is sold out, held, oversold.
 */
import type Database from 'better-sqlite3';
import { COMMON, insertRow, NOTHING } from './world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const UNIT = 10_000;

type StockRow = readonly [barcode: string, style: string, color: string, size: string, n: number];

const STOCK: readonly StockRow[] = [
  ['100', 'S-1', 'black', 'S', 5],
  ['101', 'S-1', 'black', 'M', 0],
  ['102', 'S-1', 'red', 'S', 9],
  ['103', 'S-1', 'red', 'L', 4],
  ['200', 'S-2', 'blue', '32/34', 12],
  ['201', 'S-2', 'blue', '34/34', 3],
];

type LineOf = readonly [barcode: string, pieces: number, fulfilled: number, price: number | null];

interface OrderOf {
  readonly id: number;
  readonly account: string;
  readonly currency: string;
  readonly status?: string;
  readonly isCompleted?: boolean;
  readonly season?: string;
  readonly window?: string;
  readonly lines: readonly LineOf[];
}

const ORDERS: readonly OrderOf[] = [
  {
    id: 1,
    account: 'A-1',
    currency: 'DKK',
    lines: [
      ['100', 8, 2, 100],
      ['102', 2, 0, 100],
      ['101', 3, 0, 100],
    ],
  },
  {
    id: 2,
    account: 'A-2',
    currency: 'EUR',
    lines: [
      ['200', 5, 1, 60],
      ['201', 9, 0, null],
    ],
  },
  { id: 3, account: 'A-1', currency: 'EUR', lines: [['103', 1, 0, 15]] },
  { id: 4, account: 'A-2', currency: 'EUR', isCompleted: true, lines: [['200', 4, 3, 59.5]] },
  { id: 5, account: 'A-3', currency: 'DKK', status: 'canceled', lines: [['102', 50, 0, 100]] },
  {
    id: 6,
    account: 'A-1',
    currency: 'DKK',
    season: 'AW26',
    window: 'August',
    lines: [
      ['100', 30, 4, 90],
      ['102', 6, 0, 90],
    ],
  },
  {
    id: 7,
    account: 'A-3',
    currency: 'DKK',
    season: 'AW26',
    window: 'September',
    lines: [['100', 25, 0, 90]],
  },
  { id: 8, account: 'A-2', currency: 'EUR', season: 'SS27', lines: [['201', 3, 0, 40]] },
];

interface DeliveryOf {
  readonly id: number;
  readonly order: number;
  readonly status: string;
  readonly hoursAgo: number;
  /** Outcome, reason, rules. */
  readonly decided: readonly [outcome: string, reason: string, rules: readonly string[]];
  readonly isGone?: boolean;
  readonly lines: readonly LineOf[];
}

const FINE = ['accept', 'all in stock', ['accept-plain']] as const;

const DELIVERIES: readonly DeliveryOf[] = [
  {
    id: 11,
    order: 1,
    status: 'accepted',
    hoursAgo: 50,
    decided: FINE,
    lines: [['100', 2, 2, 100]],
  },
  { id: 12, order: 2, status: 'accepted', hoursAgo: 30, decided: FINE, lines: [['200', 1, 1, 60]] },
  {
    id: 13,
    order: 4,
    status: 'accepted',
    hoursAgo: 100,
    decided: FINE,
    lines: [['200', 3, 3, 59.5]],
  },
  {
    id: 14,
    order: 6,
    status: 'accepted',
    hoursAgo: 24 * 20,
    decided: FINE,
    lines: [['100', 4, 4, 90]],
  },
  {
    id: 15,
    order: 1,
    status: 'accepted',
    hoursAgo: 40,
    decided: FINE,
    isGone: true,
    lines: [['102', 7, 7, 100]],
  },
  {
    id: 16,
    order: 1,
    status: 'pending',
    hoursAgo: 5,
    decided: ['hold', 'over the limit', ['hold-credit']],
    lines: [['100', 4, 4, 100]],
  },
  {
    id: 17,
    order: 2,
    status: 'pending',
    hoursAgo: 90,
    decided: ['hold', 'over the limit', ['hold-credit', 'hold-large']],
    lines: [['200', 2, 2, 60]],
  },
  {
    id: 18,
    order: 3,
    status: 'pending',
    hoursAgo: 200,
    decided: ['hold', 'stock is short', ['hold-stock']],
    lines: [['103', 1, 1, 15]],
  },
];

function brandOf(style: string): string {
  return style === 'S-1' ? 'Fold' : 'Nord';
}

function insertStock(database: Database.Database, now: number): void {
  for (const [barcode, style, color, size, quantity] of STOCK) {
    insertRow(database, 'stock_variant_row', {
      ...{ ...COMMON, first_seen_at: now - 60 * DAY, barcode, quantity, size },
      ...{ style_no: style, style_name: `Style ${style}`, brand_name: brandOf(style) },
      ...{ color_code: color.slice(0, 2), color_name: color, season_name: 'AW26' },
      ...{
        currency: style === 'S-1' ? 'DKK' : 'EUR',
        wsp_price: (style === 'S-1' ? 100 : 60) * UNIT,
      },
    });
  }
  // Sold out and off the list, and still wanted.
  database.exec(`update stock_variant_row set deleted_at = ${now - DAY} where barcode = '101'`);
  for (const [season, barcode, quantity] of [
    ['AW26', '100', 50],
    ['AW26', '102', 10],
  ] as const) {
    insertRow(database, 'season_variant_row', {
      ...{ ...COMMON, season_name: season, season_barcode: `${season}/${barcode}`, barcode },
      ...{ quantity, style_no: 'S-1', style_name: 'Style S-1', brand_name: 'Fold' },
      ...{
        color_code: barcode === '100' ? 'bl' : 're',
        color_name: barcode === '100' ? 'black' : 'red',
      },
      ...{ size: 'S', currency: 'DKK', wsp_price: 90 * UNIT },
    });
  }
}

function insertSeasons(database: Database.Database): void {
  const windows = { AW26: ['August', 'September'], SS27: [] };
  for (const [season_name, names] of Object.entries(windows)) {
    insertRow(database, 'season', { ...COMMON, season_name });
    for (const [at, delivery_name] of names.entries()) {
      insertRow(database, 'season_delivery', { season_name, line_no: at + 1, delivery_name });
      const days = { from_day: `2026-0${8 + at}-01`, to_day: `2026-0${8 + at}-28` };
      insertRow(database, 'season_window', { season_name, delivery_name, ...days });
    }
  }
}

function insertOrders(database: Database.Database, now: number): void {
  for (const { id, account, currency, lines, ...order } of ORDERS) {
    insertRow(database, 'sales_order', {
      ...{ ...COMMON, order_id: id, order_no: `O-${id}`, account_no: account, currency },
      ...{ company: `Shop ${account}`, country_code: account === 'A-2' ? 'DE' : 'DK' },
      ...{ status: order.status ?? 'pending', completed: order.isCompleted ? 1 : 0 },
      ...{ season_name: order.season ?? null, shipping_address: '{}', created_at: now - 21 * DAY },
    });
    for (const [at, [barcode, quantity, fulfilled_quantity, price]] of lines.entries()) {
      insertRow(database, 'sales_order_line', {
        ...{ order_id: id, line_no: at + 1, extra: '{}', barcode, quantity, fulfilled_quantity },
        ...{ price: price === null ? null : price * UNIT, delivery_name: order.window ?? null },
      });
    }
  }
}

function insertDecision(database: Database.Database, one: DeliveryOf, at: number): void {
  const [outcome, reason, rules] = one.decided;
  insertRow(database, 'decision', {
    ...{ decision_id: one.id, order_delivery_id: one.id, order_id: one.order, at, trigger: 'new' },
    ...{ actor: 'daemon', rule_set_hash: 'r', facts_digest: 'f', mode: 'live', outcome, reason },
    ...{ rules: JSON.stringify(rules), shadow: '{}', said: outcome, matched: '[]', lapsed: '[]' },
    ...{ evaluation: NOTHING, previous_hash: '', hash: String(one.id) },
  });
  insertRow(database, 'evaluation', {
    ...{ order_delivery_id: one.id, decision_id: one.id, delivery_hash: 'h', order_hash: 'h' },
    ...{ rules_key: 'r', evaluated_at: at },
  });
  if (outcome !== 'accept') return;
  insertRow(database, 'outbox', {
    ...{ kind: 'delivery_status', ordering_key: `d/${one.id}`, reference: `d/${one.id}` },
    ...{
      body: '{"status":"accepted"}',
      body_hash: 'h',
      state: 'confirmed',
      due_at: 0,
      created_at: at,
    },
    ...{ ended_at: at + 2_000, cause: 'decision', order_delivery_id: one.id, decision_id: one.id },
  });
}

function insertDeliveries(database: Database.Database, now: number): void {
  for (const one of DELIVERIES) {
    const packedAt = now - one.hoursAgo * HOUR;
    insertRow(database, 'delivery', {
      ...{ ...COMMON, order_delivery_id: one.id, delivery_no: `D-${one.id}`, order_id: one.order },
      ...{ status: one.status, created_at: packedAt, tracking_numbers: '[]', tracking_links: '[]' },
      deleted_at: one.isGone ? now : null,
    });
    for (const [at, [barcode, pieces, , price]] of one.lines.entries()) {
      insertRow(database, 'delivery_line', {
        ...{ order_delivery_id: one.id, line_no: at + 1, barcode, fulfilled_quantity: pieces },
        ...{ price: price === null ? null : price * UNIT, extra: '{}' },
      });
    }
    insertDecision(database, one, packedAt + HOUR);
  }
}

type Entry = readonly [hoursAgo: number, entity: string, key: string, op: string, diff: object];

/** The feed of the last weeks: what is in stock now is their end. */
const FEED: readonly Entry[] = [
  [24 * 60, 'stock_variant', '100', 'insert', {}],
  [24 * 8, 'stock_variant', '100', 'update', { quantity: [20, 11] }],
  [24 * 5, 'stock_variant', '101', 'update', { quantity: [3, 0] }],
  [24, 'stock_variant', '101', 'delete', {}],
  [1, 'stock_variant', '100', 'update', { quantity: [11, 5] }],
  [1, 'stock_variant', '200', 'update', { wsp_price: [500_000, 600_000], quantity: [13, 12] }],
  [0.5, 'delivery', '12', 'update', { tracking_numbers: ['[]', '["T1"]'] }],
];

function insertFeed(database: Database.Database, now: number): void {
  for (const [hoursAgo, entity, key, op, diff] of FEED) {
    const at = Math.round(now - hoursAgo * HOUR);
    insertRow(database, 'change', {
      at,
      entity,
      key,
      op,
      diff: JSON.stringify(diff),
      cause: 'run:1',
    });
  }
  database.exec(`insert into change_hour (hour, first_seq)
    select at / 3600000, min(seq) from change group by 1`);
}

function insertOthers(database: Database.Database, now: number): void {
  const credit = [
    ['A-1', 1_000, 1_250.5],
    ['A-2', 500, 100],
  ] as const;
  for (const [account_no, limit, balance] of credit) {
    const amounts = { credit_limit: limit * UNIT, balance: balance * UNIT, currency: 'DKK' };
    insertRow(database, 'erp_customer', { ...COMMON, account_no, ...amounts });
  }
  const refund = { order_refund_id: 21, order_id: 1, status: 'accepted', created_at: now - DAY };
  insertRow(database, 'refund', { ...COMMON, ...refund });
  insertRow(database, 'refund_line', {
    ...{ order_refund_id: 21, line_no: 1, barcode: '100', refunded_quantity: 1, price: 100 * UNIT },
    ...{ restock: 1, refund_type: 'return/credit', extra: '{}' },
  });
  insertRow(database, 'stream_state', { stream: 'stock', due_at: 0, complete_at: now });
}

export function insertSeasonOfTrade(database: Database.Database, now: number): void {
  database.transaction(() => {
    insertStock(database, now);
    insertSeasons(database);
    insertOrders(database, now);
    insertDeliveries(database, now);
    insertFeed(database, now);
    insertOthers(database, now);
  })();
}
