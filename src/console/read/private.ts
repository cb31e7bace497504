/** Reads customers' private texts, so that they can be masked where other texts quote them. */
import { tryParseJson } from '../../lib/json.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';

/** Customers' names, comments and addresses of orders, by order id. */
export async function privateOfOrders(
  db: Db,
  orderIds: readonly number[],
): Promise<ReadonlyMap<number, object>> {
  const rows = await db
    .selectFrom('sales_order')
    .select(['order_id', 'company', 'comment', 'shipping_address'])
    .where(inKeys('order_id', [...new Set(orderIds)]))
    .execute();
  return new Map(
    rows.map(({ order_id: orderId, company, comment, shipping_address: address }) => [
      orderId,
      { company, comment, shippingAddress: tryParseJson(address) },
    ]),
  );
}
