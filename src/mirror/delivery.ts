/**
 * Entities `delivery` and `delivery_line`. A rejected or canceled delivery is final: an answer that
 * says otherwise opens an incident and changes nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import { type RawBuilder, sql } from 'kysely';
import type { SqlRow } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import { membersOf, type OpenRecord } from './members.ts';
import {
  type EntityDefinition,
  type MirrorRow,
  type Provenance,
  prepareRow,
} from './rows/prepared.ts';
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

export const DELIVERY: EntityDefinition = {
  entity: 'delivery',
  table: 'delivery',
  key: 'order_delivery_id',
  columns: [
    'order_delivery_id',
    'delivery_no',
    'order_id',
    'reference',
    'order_no',
    'status',
    'created_at',
    'tracking_numbers',
    'tracking_links',
    'unread',
  ],
  lines: {
    table: 'delivery_line',
    columns: [
      'line_no',
      'barcode',
      'fulfilled_quantity',
      'fulfilled_size_quantity',
      'price',
      'season_name',
      'delivery_name',
      'extra',
    ],
  },
  isOfOrder: true,
  contradiction: (before, after) => contradicts('delivery', before, after),
};

function toRow(record: DeliveryRecord): MirrorRow {
  const { fulfilledLineItems, ...head } = record;
  const lines = (fulfilledLineItems ?? []).map((item, index) => {
    const line = membersOf(item);
    const columns = {
      line_no: index + 1,
      barcode: line.text('barcode'),
      fulfilled_quantity: line.integer('fulfilledQuantity'),
      fulfilled_size_quantity: line.integer('fulfilledSizeQuantity'),
      price: line.money('price'),
      season_name: line.name('season'),
      delivery_name: line.name('delivery'),
    };
    return { ...columns, extra: JSON.stringify(line.rest()) };
  });
  const delivery = membersOf(head);
  const tracking = delivery.object('trackAndTrace');
  const values = {
    order_delivery_id: delivery.integer('orderDeliveryId'),
    delivery_no: delivery.text('deliveryNo'),
    order_id: delivery.integer('orderId'),
    reference: delivery.text('reference'),
    order_no: delivery.text('orderNo'),
    status: delivery.text('status') ?? NOT_READ,
    created_at: delivery.time('createdAt'),
    tracking_numbers: tracking.json('trackingNumbers', '[]'),
    tracking_links: tracking.json('trackingLinks', '[]'),
    unread: unreadOf(record),
  };
  return { values, extra: delivery.rest(), lines };
}

export function writeDeliveries(
  tx: Tx,
  records: readonly DeliveryRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, DELIVERY, records.map(toRow), provenance);
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
    const { hash } = prepareRow(DELIVERY, toRow(record));
    return hashes.get(record.orderDeliveryId) === hash;
  });
}

/**
 * Tells whether the record equals the mirrored delivery in all but its status: in order, lines and
 * parcels. Only the status is then written, because nothing else changed.
 */
export async function isMirroredContent(db: Db, record: DeliveryRecord): Promise<boolean> {
  const { values, lines = [] } = toRow(record);
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
