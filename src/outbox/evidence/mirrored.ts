/** Orders as the mirror has them, in the shape in which the service shows them. */

import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { ShownOrder } from '../kinds/compare.ts';
import { piecesOf, type Relation, relate } from '../kinds/compare.ts';

/** An order of the service, from whichever side it is known. */
export interface SeenOrder extends ShownOrder {
  readonly orderId: number;
  readonly reference?: string | null | undefined;
}

function decimal(units: number | null): number | null {
  return units === null ? null : decimalOf(units);
}

export async function mirroredOrder(db: Db | Tx, orderId: number): Promise<SeenOrder | undefined> {
  const order = await db
    .selectFrom('sales_order')
    .select(['reference', 'season_name', 'freight_amount', 'shipping_address'])
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  if (!order) return undefined;
  const lines = await db
    .selectFrom('sales_order_line')
    .select(['barcode', 'quantity', 'price', 'season_name', 'delivery_name'])
    .where('order_id', '=', orderId)
    .execute();
  const address = tryParseJson(order.shipping_address);
  return {
    orderId,
    reference: order.reference,
    SeasonName: order.season_name,
    shippingAddress: isJsonObject(address) ? address : null,
    freight: { freightAmount: decimal(order.freight_amount) },
    orderLineItems: lines.map(({ barcode, quantity, price, season_name, delivery_name }) => ({
      ...{ barcode, quantity, price: decimal(price) },
      ...{ season: season_name, delivery: delivery_name },
    })),
  };
}

/** More that share a barcode tell a person nothing more. */
const SHARING_MAX = 200;

/** Orders above this number that have lines like these, the newest first. */
export async function mirroredWithLines(
  db: Db,
  lines: readonly { readonly barcode: string; readonly quantity: number }[],
  floor: number,
): Promise<SeenOrder[]> {
  const pieces = piecesOf(lines);
  const sharing = await db
    .selectFrom('sales_order_line as l')
    .innerJoin('sales_order as o', 'o.order_id', 'l.order_id')
    .select('l.order_id')
    .distinct()
    .where(inKeys('l.barcode', [...new Set(lines.map(({ barcode }) => barcode))]))
    .where('l.order_id', '>', floor)
    .where('o.deleted_at', 'is', null)
    .orderBy('l.order_id', 'desc')
    .limit(SHARING_MAX)
    .execute();
  const found: SeenOrder[] = [];
  for (const { order_id: orderId } of sharing) {
    const theirs = await db
      .selectFrom('sales_order_line')
      .select(['barcode', 'quantity'])
      .where('order_id', '=', orderId)
      .execute();
    const relation: Relation = relate(pieces, piecesOf(theirs));
    const order = relation === 'other' ? undefined : await mirroredOrder(db, orderId);
    if (order) found.push(order);
  }
  return found;
}
