/**
 * Entities `delivery` and `delivery_line`. A rejected or canceled delivery is final: an answer that
 * says otherwise opens an incident and changes nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import { type RawBuilder, sql } from 'kysely';
import { wordFor } from '../config/words.ts';
import type { SqlRow } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import type { OpenRecord } from './members.ts';
import { declared, integer, json, money, name, orElse, text, time } from './rows/declared.ts';
import { type Provenance, prepareRow } from './rows/prepared.ts';
import { NOT_READ, unreadOf } from './rows/unread.ts';

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

/**
 * Tells whether the record equals the mirrored delivery in all but its status: in order, lines and
 * parcels. Only the status is then written, because nothing else changed.
 */
export async function isMirroredContent(db: Db, record: DeliveryRecord): Promise<boolean> {
  const { values, lines = [] } = DELIVERY.toRow(record);
  const row = await db
    .selectFrom('delivery')
    .select('tracking_numbers')
    .where('order_delivery_id', '=', record.orderDeliveryId)
    .where('order_id', '=', record.orderId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (row?.tracking_numbers !== values.tracking_numbers) return false;
  const mirrored = await db
    .selectFrom('delivery_line')
    .select(['barcode', 'fulfilled_quantity', 'price'])
    .where('order_delivery_id', '=', record.orderDeliveryId)
    .orderBy('line_no')
    .execute();
  const shown = lines.map(({ barcode = null, fulfilled_quantity = null, price = null }) => ({
    barcode,
    fulfilled_quantity,
    price,
  }));
  return isDeepStrictEqual(shown, mirrored);
}
