/**
 * Whether a mirror is what the service has, row for row. Two witnesses: a second mirror that was
 * filled from the service while nothing went wrong, all columns of all tables; and the world of
 * the reference itself, which shares no code with the client.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Reference } from '../../../src/reference/reference.ts';
import {
  deliveryShape,
  orderShape,
  pendingRefundShape,
  refundShape,
} from '../../../src/reference/world/trade/shapes.ts';
import type { SqliteStore } from '../../../src/store/store.ts';

/** Lines have no life of their own: they are compared where their rows are alive. */
const TABLES: readonly (readonly [table: string, key: string, lines?: string])[] = [
  ['stock_variant', 'barcode'],
  ['season_variant', 'season_barcode'],
  ['brand', 'brand_name'],
  ['freight_option', 'freight_type'],
  ['season', 'season_name', 'season_delivery'],
  ['style', 'style_id'],
  ['style_color', 'style_color_id'],
  ['color', 'color_id'],
  ['pdm_brand', 'brand_id'],
  ['style_type', 'type_id'],
  ['gender', 'gender_id'],
  ['country', 'country_id'],
  ['sales_order', 'order_id', 'sales_order_line'],
  ['delivery', 'order_delivery_id', 'delivery_line'],
  ['refund', 'order_refund_id', 'refund_line'],
  ['pending_refund', 'pending_refund_id', 'pending_refund_line'],
];

/** How a row came, not what it says. */
const PROVENANCE = ['first_seen_at', 'changed_at', 'read_seq', 'source', 'details_read_at'];

type Row = Record<string, unknown>;

function contentOf(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !PROVENANCE.includes(name)));
}

async function rowsOf({ db }: SqliteStore, table: string, key: string, lines?: string) {
  const live = await sql<Row>`select * from ${sql.table(table)} where deleted_at is null
    order by ${sql.ref(key)}`.execute(db);
  if (lines === undefined) return live.rows.map(contentOf);
  const all = await sql<Row>`select l.* from ${sql.table(lines)} l join ${sql.table(table)} t
    on t.${sql.ref(key)} = l.${sql.ref(key)} where t.deleted_at is null
    order by l.${sql.ref(key)}, l.line_no`.execute(db);
  return [...live.rows.map(contentOf), ...all.rows];
}

/** What differs, one text a table; empty: nothing does. */
async function differences(own: SqliteStore, clean: SqliteStore): Promise<string[]> {
  const found: string[] = [];
  for (const [table, key, lines] of TABLES) {
    const [have, want] = [
      await rowsOf(own, table, key, lines),
      await rowsOf(clean, table, key, lines),
    ];
    if (isDeepStrictEqual(have, want)) continue;
    const at = want.findIndex((row, index) => !isDeepStrictEqual(row, have[index]));
    const shown = JSON.stringify({ have: have[at < 0 ? want.length : at], want: want[at] });
    found.push(`${table}: ${have.length} rows for ${want.length}; the first: ${shown}`);
  }
  return found;
}

type Shape = Readonly<Record<string, unknown>>;

async function statuses(store: SqliteStore, table: string, key: string): Promise<string[]> {
  const { rows } = await sql<{ readonly id: number; readonly status: string }>`
    select ${sql.ref(key)} as id, status from ${sql.table(table)}
    where deleted_at is null order by 1`.execute(store.db);
  return rows.map(({ id, status }) => `${id} ${status}`);
}

async function tradeDifferences(store: SqliteStore, { world }: Reference): Promise<string[]> {
  const { book } = world;
  const orderOf = (id: number) => book.orders.all.find(({ orderId }) => orderId === id);
  const ofOrder = <T extends { readonly orderId: number }>(
    records: readonly T[],
    shape: (order: NonNullable<ReturnType<typeof orderOf>>, record: T) => Shape,
  ) =>
    records.flatMap((record) => {
      const order = orderOf(record.orderId);
      return order ? [shape(order, record)] : [];
    });
  const truth: readonly (readonly [table: string, key: string, member: string, all: Shape[]])[] = [
    ['sales_order', 'order_id', 'orderId', book.orders.all.map(orderShape)],
    [
      'delivery',
      'order_delivery_id',
      'orderDeliveryId',
      ofOrder(book.deliveries.all, deliveryShape),
    ],
    ['refund', 'order_refund_id', 'orderRefundId', ofOrder(book.refunds.all, refundShape)],
    [
      'pending_refund',
      'pending_refund_id',
      'pendingRefundId',
      book.pendingRefunds.all.map(pendingRefundShape),
    ],
  ];
  const found: string[] = [];
  for (const [table, key, member, all] of truth) {
    const want = all.map((shape) => `${shape[member]} ${shape.status}`);
    const have = await statuses(store, table, key);
    if (!isDeepStrictEqual(have, want)) found.push(`${table}: ${have} for ${want}`);
  }
  return found;
}

async function stockDifferences(store: SqliteStore, { world }: Reference): Promise<string[]> {
  const { catalog, stock } = world;
  const all = Array.from({ length: catalog.variantCount }, (_, at) => at);
  const want = all
    .filter((at) => stock.of(at) > 0)
    .map((at) => `${catalog.barcodeOf(at)} ${stock.of(at)}`)
    .sort();
  const { rows } = await sql<{ readonly text: string }>`
    select barcode || ' ' || quantity as text from stock_variant
    where deleted_at is null`.execute(store.db);
  const have = rows.map(({ text }) => text).sort();
  return isDeepStrictEqual(have, want) ? [] : [`stock: ${have.length} rows for ${want.length}`];
}

async function countDifferences(store: SqliteStore, { world, pdm }: Reference): Promise<string[]> {
  const { catalog } = world;
  const want: Readonly<Record<string, number>> = {
    brand: catalog.size.brands,
    season: catalog.seasons.length,
    style: pdm.list('style', []).length,
    style_color: pdm.list('styleColor', []).length,
    color: pdm.list('color', []).length,
    pdm_brand: pdm.list('brand', []).length,
    style_type: pdm.list('type', []).length,
    gender: pdm.list('gender', []).length,
    country: pdm.list('country', []).length,
  };
  const found: string[] = [];
  for (const [table, count] of Object.entries(want)) {
    const { rows } = await sql<{ readonly n: number }>`
      select count(*) as n from ${sql.table(table)} where deleted_at is null`.execute(store.db);
    if (rows[0]?.n !== count) found.push(`${table}: ${rows[0]?.n} rows for ${count}`);
  }
  return found;
}

export async function mirrorDifferences(
  own: SqliteStore,
  clean: SqliteStore,
  reference: Reference,
): Promise<string[]> {
  return [
    ...(await differences(own, clean)),
    ...(await tradeDifferences(own, reference)),
    ...(await stockDifferences(own, reference)),
    ...(await countDifferences(own, reference)),
  ];
}
