/** Reads orders and refunds from the mirror in the shape in which the service shows them. */

import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import { caseSpellings } from '../../lib/strings.ts';
import { barcodeSpellings } from '../../mirror/catalog/spelt.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { referenceKey } from '../documents.ts';
import { piecesOf, relate, type ShownOrder } from './compare.ts';

/** An order of the service, read from it or from the mirror. */
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
      barcode,
      quantity,
      price: decimal(price),
      season: season_name,
      delivery: delivery_name,
    })),
  };
}

/** Maximum of orders with a common barcode that are compared; more would not help a person. */
const SHARING_MAX = 200;

/** Lists mirrored orders with ids above `floor` and lines like these, the newest first. */
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
    .where(
      inKeys('l.barcode', [...new Set(lines.flatMap(({ barcode }) => barcodeSpellings(barcode)))]),
    )
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
    const relation = relate(pieces, piecesOf(theirs));
    const order = relation === 'other' ? undefined : await mirroredOrder(db, orderId);
    if (order) found.push(order);
  }
  return found;
}

/** Maximum of orders with one reference that are listed; more would not help a person. */
const MIRRORED_MAX = 10;

/**
 * Lists mirrored orders with one of these references, ignoring case. Each of them exists for
 * certain, but others may exist, too.
 */
export async function mirroredOrders(
  db: Db,
  reference: string,
  shownAs: readonly string[] = [],
): Promise<number[]> {
  const rows = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where(sql`reference collate nocase`, 'in', [reference, ...shownAs].flatMap(caseSpellings))
    .where('deleted_at', 'is', null)
    .orderBy('order_id')
    .limit(MIRRORED_MAX)
    .execute();
  return rows.map((row) => row.order_id);
}

/** Returns the id of the order that was submitted or is mirrored under this reference. */
export async function orderIdOf(db: Db, reference: string): Promise<number | undefined> {
  const own = await db
    .selectFrom('outbox')
    .select(['order_id', 'result'])
    .where('kind', '=', 'order')
    .where('reference_key', '=', referenceKey(reference))
    // The id of a lost order may belong to another order by now.
    .where('outbox_id', 'not in', (eb) => eb.selectFrom('outbox_lost').select('outbox_id'))
    .executeTakeFirst();
  const known = own?.order_id ?? readResult(own?.result ?? null).orderId;
  if (known) return known;
  const [first] = await mirroredOrders(db, reference);
  return first;
}

/** Reads a pending refund from the mirror, also after it has left the service's list. */
export async function mirroredPendingRefund(db: Db, pendingRefundId: number) {
  const refund = await db
    .selectFrom('pending_refund')
    .select('reference')
    .where('pending_refund_id', '=', pendingRefundId)
    .executeTakeFirst();
  const lines = await db
    .selectFrom('pending_refund_line')
    .select(['barcode', 'quantity', 'price', 'refund_type'])
    .where('pending_refund_id', '=', pendingRefundId)
    .execute();
  return {
    // Some services show no reference of a pending refund.
    reference: refund?.reference || null,
    refundLineItems: lines.map(({ barcode, quantity, price, refund_type: refundType }) => {
      return { barcode, quantity, price: decimal(price), refundType };
    }),
  };
}
