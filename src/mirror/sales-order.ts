/** `sales_order` and `sales_order_line`: the order as the service last told it. */
import { sql } from 'kysely';
import type { Db, Tx } from '../store/store.ts';
import { type Provenance, type WriteCounts, writeRows } from './entity.ts';
import type { ListCensus } from './list.ts';
import { membersOf } from './members.ts';
import type { EntityDefinition, MirrorRow } from './prepared.ts';
import type { OrderRecord } from './records.ts';

export const SALES_ORDER: EntityDefinition = {
  entity: 'sales_order',
  table: 'sales_order',
  key: 'order_id',
  columns: [
    'order_id',
    'reference',
    'order_no',
    'status',
    'completed',
    'comment',
    'created_at',
    'currency',
    'season_name',
    'country_code',
    'company',
    'account_no',
    'shipping_address',
    'freight_type',
    'freight_amount',
  ],
  lines: {
    table: 'sales_order_line',
    columns: [
      'line_no',
      'barcode',
      'quantity',
      'fulfilled_quantity',
      'size_quantity',
      'fulfilled_size_quantity',
      'price',
      'season_name',
      'delivery_name',
      'extra',
    ],
  },
};

function toRow(record: OrderRecord): MirrorRow {
  const { orderLineItems, ...head } = record;
  const lines = orderLineItems.map((item, index) => {
    const line = membersOf(item);
    const columns = {
      line_no: index + 1,
      barcode: line.text('barcode'),
      quantity: line.integer('quantity'),
      fulfilled_quantity: line.integer('fulfilledQuantity'),
      size_quantity: line.integer('sizeQuantity'),
      fulfilled_size_quantity: line.integer('fulfilledSizeQuantity'),
      price: line.money('price'),
      season_name: line.text('season'),
      delivery_name: line.text('delivery'),
    };
    return { ...columns, extra: JSON.stringify(line.rest()) };
  });
  const order = membersOf(head);
  const address = membersOf(record.shippingAddress);
  const freight = order.object('freight');
  const values = {
    order_id: order.integer('orderId'),
    reference: order.text('reference'),
    order_no: order.text('orderNo'),
    status: order.text('status'),
    completed: order.flag('completed') ?? 0,
    comment: order.text('comment'),
    created_at: order.time('createdAt'),
    currency: order.text('currency'),
    season_name: order.text('SeasonName'),
    country_code: address.text('countryCode'),
    company: address.text('company'),
    account_no: address.text('accountNo'),
    shipping_address: order.json('shippingAddress', '{}'),
    freight_type: freight.text('freightType'),
    freight_amount: freight.money('freightAmount'),
  };
  return { values, extra: order.rest(), lines };
}

export function writeOrders(
  tx: Tx,
  records: readonly OrderRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return writeRows(tx, SALES_ORDER, records.map(toRow), provenance);
}

/** The order was read with all that belongs to it, by a read that started then. */
export async function noteDetailsRead(tx: Tx, orderId: number, at: number): Promise<void> {
  await tx
    .updateTable('sales_order')
    .set({ details_read_at: at })
    .where('order_id', '=', orderId)
    .execute();
}

interface OrdersCensus extends ListCensus {
  readonly missing: readonly number[];
}

/**
 * Compares a walk over all orders with the mirror. Each order that the walk saw carries its number
 * (`readSeq`) or a later one; so do orders that came meanwhile. One that could not be understood
 * (quarantine) was seen as well. Orders below `from` are left out.
 */
export async function ordersCensus(
  db: Db,
  walk: { readonly readSeq: number; readonly startedAt: number },
  from = 0,
): Promise<OrdersCensus> {
  const live = await db
    .selectFrom('sales_order')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('deleted_at', 'is', null)
    .where('order_id', '>=', from)
    .executeTakeFirstOrThrow();
  const missing = await sql<{ readonly key: number }>`select order_id as key from sales_order
    where deleted_at is null and order_id >= ${from} and read_seq < ${walk.readSeq}
      and order_id not in (
      select raw->>'orderId' from quarantine
      where entity = 'sales_order' and last_seen_at >= ${walk.startedAt}
        and json_valid(raw) and raw->>'orderId' is not null
    ) order by order_id`.execute(db);
  return { live: live.n, duplicates: 0, missing: missing.rows.map(({ key }) => key) };
}
