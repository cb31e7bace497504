/**
 * Entities `sales_order` and `sales_order_line`. A member gets a column by the schema in
 * `client/v1/schemas.ts`, a line here, a migration and a word in `store/tables/people.ts`; a column
 * of a list (`catalog/`) also by a higher `READING_VERSION` in `sync/upgrade.ts`, since unchanged
 * chunks are not parsed again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type RawBuilder, sql } from 'kysely';
import { wordFor } from '../config/words.ts';
import type { SqlRow } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import {
  copyOf,
  declared,
  flag,
  integer,
  json,
  money,
  name,
  type OpenRecord,
  orElse,
  text,
  time,
  trimmed,
} from './members.ts';
import type { ListDiff } from './rows/full-diff.ts';
import { NOT_READ, type Provenance, prepareRow, unreadOf } from './rows/prepared.ts';

// Entities `delivery` and `delivery_line`. A rejected or canceled delivery is final: an answer that
// says otherwise opens an incident and changes nothing.

interface DeliveryLineRecord extends OpenRecord {
  readonly barcode: string | null;
  readonly fulfilledQuantity: number | null;
  readonly price?: number | null | undefined;
}

interface DeliveryRecord extends OpenRecord {
  readonly orderDeliveryId: number;
  readonly orderId: number | null;
  readonly status: string | null;
  readonly fulfilledLineItems: readonly DeliveryLineRecord[] | null;
}

const FINAL = new Set<unknown>(['rejected', 'canceled']);

/** Explains why the status of row `after` cannot follow that of `before`; undefined: it can. */
export function contradicts(what: string, before: SqlRow, after: SqlRow): string | undefined {
  if (!FINAL.has(before.status) || before.status === after.status) return undefined;
  return `the ${what} was ${before.status}, which is final; the service now says ${after.status}`;
}

export const DELIVERY = declared({
  entity: 'delivery',
  table: 'delivery',
  key: 'order_delivery_id',
  columns: {
    order_delivery_id: integer('orderDeliveryId'),
    delivery_no: text('deliveryNo'),
    order_id: integer('orderId'),
    reference: text('reference'),
    order_no: text('orderNo'),
    status: orElse(text('status'), NOT_READ),
    created_at: time('createdAt'),
    tracking_numbers: json('trackAndTrace.trackingNumbers', '[]'),
    tracking_links: json('trackAndTrace.trackingLinks', '[]'),
    unread: (_left, record) => unreadOf(record),
  },
  lines: {
    table: 'delivery_line',
    member: 'fulfilledLineItems',
    columns: {
      barcode: text('barcode'),
      fulfilled_quantity: integer('fulfilledQuantity'),
      fulfilled_size_quantity: integer('fulfilledSizeQuantity'),
      price: money('price'),
      season_name: name('season'),
      delivery_name: name('delivery'),
    },
  },
  isOfOrder: true,
  shown: { plural: 'deliveries', path: '/orders/{order}/deliveries', of: 'delivery' },
  contradiction: (before: SqlRow, after: SqlRow) => contradicts('delivery', before, after),
});

export function writeDeliveries(
  tx: Tx,
  records: readonly DeliveryRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, DELIVERY, records.map(DELIVERY.toRow), provenance);
}

/**
 * Milliseconds after which an accepted delivery may have shipped without a tracking number: not
 * every account has these.
 */
const SHIPPED_AFTER_MS = 86_400_000;

/**
 * SQL condition: the delivery `d` may have shipped by the time `now`; one of a status that nobody
 * knows may have.
 */
export function mayHaveShipped(now: number): RawBuilder<boolean> {
  return sql<boolean>`(d.status not in ('pending', 'rejected', 'canceled') and (
    d.status <> 'accepted' or d.tracking_numbers <> '[]'
    or d.changed_at < ${now - SHIPPED_AFTER_MS}))`;
}

/** Word for the status of a delivery: an accepted one with a tracking number has shipped. */
export function statusWord(status: string, hasParcel: boolean): string {
  return status === 'accepted' && hasParcel ? 'shipped' : wordFor('status', status);
}

/** Tells whether the mirror has exactly these deliveries of the order, with this content. */
export async function areMirrored(
  db: Db,
  orderId: number,
  records: readonly DeliveryRecord[],
): Promise<boolean> {
  const rows = await db
    .selectFrom('delivery')
    .select(['order_delivery_id', 'content_hash'])
    .where('order_id', '=', orderId)
    .where('deleted_at', 'is', null)
    .execute();
  if (rows.length !== records.length) return false;
  const hashes = new Map(rows.map((row) => [row.order_delivery_id, row.content_hash]));
  return records.every((record) => {
    const { hash } = prepareRow(DELIVERY, DELIVERY.toRow(record));
    return hashes.get(record.orderDeliveryId) === hash;
  });
}

const parcelsOf = kept((db: Db, orderDeliveryId: Value<number>, orderId: Value<number | null>) =>
  db
    .selectFrom('delivery')
    .select('tracking_numbers')
    .where('order_delivery_id', '=', orderDeliveryId)
    .where('order_id', '=', orderId)
    .where('deleted_at', 'is', null),
);

/** Pieces of a delivery as it tells them, in the order of its lines. */
export const packedLines = kept((db: Db, orderDeliveryId: Value<number>) =>
  db
    .selectFrom('delivery_line')
    .select(['barcode', 'fulfilled_quantity', 'price'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('line_no'),
);

/**
 * Tells whether the record equals the mirrored delivery in all but its status: in order, lines and
 * parcels. Only the status is then written, because nothing else changed.
 */
export async function isMirroredContent(db: Db, record: DeliveryRecord): Promise<boolean> {
  const { values, lines = [] } = DELIVERY.toRow(record);
  const [row] = await parcelsOf(db, record.orderDeliveryId, record.orderId);
  if (row?.tracking_numbers !== values.tracking_numbers) return false;
  const mirrored = await packedLines(db, record.orderDeliveryId);
  const shown = lines.map(({ barcode = null, fulfilled_quantity = null, price = null }) => ({
    barcode,
    fulfilled_quantity,
    price,
  }));
  return isDeepStrictEqual(shown, mirrored);
}

interface OrderLineRecord extends OpenRecord {
  readonly barcode: string | null;
  readonly quantity: number | null;
  readonly price?: number | null | undefined;
}

interface OrderRecord extends OpenRecord {
  readonly orderId: number;
  readonly status: string | null;
  readonly orderLineItems: readonly OrderLineRecord[] | null;
}

export const SALES_ORDER = declared({
  entity: 'sales_order',
  table: 'sales_order',
  key: 'order_id',
  shown: { plural: 'orders', path: '/orders/{order}', of: 'order' },
  columns: {
    order_id: integer('orderId'),
    reference: text('reference'),
    order_no: text('orderNo'),
    status: orElse(text('status'), NOT_READ),
    completed: orElse(flag('completed'), 0),
    comment: text('comment'),
    created_at: time('createdAt'),
    currency: text('currency'),
    season_name: name('SeasonName'),
    country_code: copyOf('shippingAddress', 'countryCode'),
    company: copyOf('shippingAddress', 'company'),
    // Account numbers are trimmed, here and in the ERP's customers, because spaces make no other
    // account.
    account_no: trimmed(copyOf('shippingAddress', 'accountNo')),
    shipping_address: json('shippingAddress', '{}'),
    freight_type: text('freight.freightType'),
    freight_amount: money('freight.freightAmount'),
    unread: (_left, record) => unreadOf(record),
  },
  lines: {
    table: 'sales_order_line',
    member: 'orderLineItems',
    columns: {
      barcode: text('barcode'),
      quantity: integer('quantity'),
      fulfilled_quantity: integer('fulfilledQuantity'),
      size_quantity: integer('sizeQuantity'),
      fulfilled_size_quantity: integer('fulfilledSizeQuantity'),
      price: money('price'),
      season_name: name('season'),
      delivery_name: name('delivery'),
    },
  },
});

export function writeOrders(
  tx: Tx,
  records: readonly OrderRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, SALES_ORDER, records.map(SALES_ORDER.toRow), provenance);
}

/**
 * Notes that a read, which started at `at`, covered the order with all its deliveries and refunds.
 */
export async function noteDetailsRead(tx: Tx, orderId: number, at: number): Promise<void> {
  await tx
    .updateTable('sales_order')
    .set({ details_read_at: at, whole_read_at: at })
    .where('order_id', '=', orderId)
    .execute();
}

/** Notes a look, which started at `at`, at the deliveries of an order and nothing else of it. */
export async function noteDeliveriesRead(tx: Tx, orderId: number, at: number): Promise<void> {
  await tx
    .updateTable('sales_order')
    .set({ details_read_at: at })
    .where('order_id', '=', orderId)
    .execute();
}

/** Number of orders that are handled in one turn of the event loop. */
const SLICE_ROWS = 2_000;

/** A range of order numbers. */
export interface OrderSlice {
  readonly from: number;
  /** First order number after the range. */
  readonly before: number;
}

/**
 * Iterates over the orders with numbers from `from` up in slices, the newest first, and yields to
 * the event loop between two slices.
 */
export async function* orderSlices(db: Db, from = 0): AsyncGenerator<OrderSlice> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const { rows } = await sql<{
      readonly first: number | null;
    }>`select min(order_id) first from (
      select order_id from sales_order where order_id >= ${from} and order_id < ${before}
      order by order_id desc limit ${SLICE_ROWS})`.execute(db);
    const first = rows[0]?.first ?? undefined;
    if (first === undefined) return;
    yield { from: first, before };
    before = first;
    await nextTurn();
  }
}

interface Walk {
  readonly readSeq: number;
  readonly startedAt: number;
}

/** Numbers of orders that a walk over all orders met and could not read. */
async function notUnderstood(db: Db, { startedAt }: Walk): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ readonly key: number }>`
    select raw->>'orderId' + 0 key from quarantine
    where entity = 'sales_order' and last_seen_at >= ${startedAt} and json_valid(raw)`.execute(db);
  return new Set(rows.map(({ key }) => key));
}

interface OrdersDiff extends ListDiff {
  readonly missing: readonly number[];
}

/**
 * Compares a walk over all orders with the mirror. Orders seen by the walk, or later, have its
 * `readSeq` or a higher one; quarantined orders count as seen. Orders below `from` are left out.
 */
export async function diffAgainstWalk(db: Db, walk: Walk, from = 0): Promise<OrdersDiff> {
  const quarantined = await notUnderstood(db, walk);
  const missing: number[] = [];
  let live = 0;
  for await (const slice of orderSlices(db, from)) {
    const { rows } = await sql<{ readonly n: number; readonly unseen: string }>`
      select count(*) n,
        json_group_array(order_id) filter (where read_seq < ${walk.readSeq}) unseen
      from sales_order where order_id >= ${slice.from} and order_id < ${slice.before}
        and deleted_at is null`.execute(db);
    live += rows[0]?.n ?? 0;
    const unseen: readonly number[] = JSON.parse(rows[0]?.unseen ?? '[]');
    missing.push(...unseen.filter((orderId) => !quarantined.has(orderId)));
  }
  return { live, duplicates: 0, missing: missing.sort((a, b) => a - b) };
}
