/** An order with its deliveries: what became of each, where its parcels are, who brings them. */
import { sql } from 'kysely';
import type { z } from 'zod';
import { WORDS } from '../../config/words.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Db } from '../../store/store.ts';
import { list, pageOfAll, ROWS_MAX } from '../../surface/lists.ts';
import { money, text, time, whole } from '../../surface/members.ts';
import { statusWord } from '../sales-order.ts';
import { mirrored, pieces } from '../stock/members.ts';

const row = {
  orderDeliveryId: whole('ID', { csv: 'delivery_id' }, 1),
  deliveryNo: mirrored('Delivery', { opens: ['delivery', 'orderDeliveryId'] }),
  status: mirrored('Status', { words: WORDS.status, about: 'As the service has it' }),
  packedAt: time('Packed'),
  pieces: pieces('Pieces').nullable(),
  value: money('Value', {
    currency: 'currency',
    about: 'Null where a line has no price',
  }).nullable(),
  currency: mirrored('Currency').nullable(),
  shippedAt: time('Shipped', { about: 'When its first tracking number came' }).nullable(),
  tracking: mirrored('Tracking number').nullable(),
};
export type Parcel = { readonly [K in keyof typeof row]: z.output<(typeof row)[K]> };

/** State of a delivery with its parcels, in words: `shipped, tracking number 0037…`. */
export function parcelWords({ status, tracking }: Pick<Parcel, 'status' | 'tracking'>): string {
  const word = statusWord(status, tracking !== null);
  return tracking === null ? word : `${word}, tracking number ${tracking}`;
}

/** Deliveries of an order, the newest first. */
export async function deliveriesOf(db: Db, orderId: number, limit: number): Promise<Parcel[]> {
  const { rows } = await sql<Omit<Parcel, 'packedAt' | 'shippedAt'> & Times>`
    select order_delivery_id "orderDeliveryId",
      coalesce(delivery_no, order_delivery_id || '') "deliveryNo",
      iif(gone, 'deleted', status) status, unixepoch(packed_at) * 1000 "packedAt", pieces,
      amount value, currency, unixepoch(shipped_at) * 1000 "shippedAt", tracking_numbers tracking
    from v_shipment where order_id = ${orderId} order by order_delivery_id desc
    limit ${limit}`.execute(db);
  return rows;
}
type Times = Pick<Parcel, 'packedAt' | 'shippedAt'>;

/** Order as its page heads it. */
export interface OrderHead {
  readonly orderId: number;
  readonly reference: string | null;
  readonly orderNo: string | null;
  readonly status: string;
  readonly createdAt: number;
  readonly company: string | null;
  readonly accountNo: string | null;
  readonly countryCode: string | null;
  readonly season: string | null;
  readonly comment: string | null;
  /** Freight of the order, by which its parcels are sent. */
  readonly carrier: string | null;
  readonly ordered: number | null;
  readonly packed: number | null;
}

/**
 * The order that is named by id, reference or number, in this order.
 * @throws RefusedError `orders.unknown`
 */
export async function orderNamed(db: Db, named: string): Promise<OrderHead> {
  const id = Number(/^(?:id:)?(\d{1,15})$/.exec(named)?.[1] ?? -1);
  const { rows } = await sql<OrderHead>`
    with named(id, nth) AS (
      select order_id, 1 from sales_order where order_id = ${id}
      union all select order_id, 2 from sales_order where reference = ${named} collate nocase
      union all select order_id, 3 from sales_order where order_no = ${named})
    select order_id "orderId", nullif(reference, '') reference, nullif(order_no, '') "orderNo",
      iif(deleted_at is null, status, 'deleted') status,
      coalesce(created_at, first_seen_at) "createdAt", nullif(company, '') company,
      nullif(account_no, '') "accountNo", nullif(country_code, '') "countryCode",
      season_name season, nullif(comment, '') comment, nullif(freight_type, '') carrier,
      (select sum(quantity) from sales_order_line l where l.order_id = o.order_id) ordered,
      (select sum(fulfilled_quantity) from delivery d join delivery_line l using (order_delivery_id)
        where d.order_id = o.order_id and d.deleted_at is null
          and d.status not in ('rejected', 'canceled')) packed
    from named cross join sales_order o on order_id = id
    order by nth, order_id desc limit 1`.execute(db);
  const [found] = rows;
  if (found) return found;
  throw new RefusedError('orders.unknown', `no order ${named} is known here`, {
    hint: 'search for a part of it; the orders that the ERP has just sent are in "orders list"',
  });
}

export const orderDeliveries = list({
  name: 'orders.deliveries',
  operation: 'listDeliveriesOfOrder',
  path: '/orders/{id}',
  title: 'Deliveries',
  about: 'deliveries of an order with their parcels, the newest first',
  examples: [['orders deliveries PO-4711', 'where its parcels are']],
  args: ['order'],
  thing: 'order',
  query: {
    order: text('Order', { about: 'Its id, the reference of the ERP, or its number' }, 300),
  },
  row,
  shown: [
    'deliveryNo',
    {
      title: 'State',
      text: ({ status, tracking }) => statusWord(status, tracking !== null),
      class: ({ status }) => `state s-${status}`,
    },
    'packedAt',
    'pieces',
    'value',
    'shippedAt',
    'tracking',
  ],
  empty: 'Nothing of this order is packed yet.',
  async read({ db }, { order }, page) {
    const { orderId } = await orderNamed(db, order);
    const all = await deliveriesOf(db, orderId, ROWS_MAX);
    return pageOfAll(all, page, placeOf);
  },
  place: placeOf,
});

function placeOf({ orderDeliveryId }: Pick<Parcel, 'orderDeliveryId'>): string {
  return String(orderDeliveryId);
}
