/**
 * Incidents about documents that the service took in otherwise than they were sent (`push_differs`)
 * end when the mirror shows them as they were sent: somebody has put it right. What stays different
 * is for a person to note (`outbox resolve --as noted`).
 */
import { parseJsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import type { Db } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { newOrderOf, newPendingRefundOf, readBody } from '../documents.ts';
import { compareOrder, comparePendingRefund, otherReference } from '../kinds/compare.ts';

/** The keys are those of the outbox. */
export const DIFFERENCE = { kind: 'push_differs', entity: 'outbox' } as const;

const INCIDENTS_MAX = 200;

function decimal(units: number | null): number | null {
  return units === null ? null : decimalOf(units);
}

async function orderOf(db: Db, orderId: number) {
  const order = await db
    .selectFrom('sales_order')
    .select(['reference', 'season_name', 'freight_amount'])
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  const lines = await db
    .selectFrom('sales_order_line')
    .select(['barcode', 'quantity', 'price', 'delivery_name'])
    .where('order_id', '=', orderId)
    .execute();
  return (
    order && {
      reference: order.reference,
      SeasonName: order.season_name,
      freight: { freightAmount: decimal(order.freight_amount) },
      orderLineItems: lines.map(({ barcode, quantity, price, delivery_name }) => ({
        ...{ barcode, quantity, price: decimal(price), delivery: delivery_name },
      })),
    }
  );
}

/** As the mirror has it, also after it has left the service's list. */
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
    // Not every service keeps it.
    reference: refund?.reference || null,
    refundLineItems: lines.map(({ barcode, quantity, price, refund_type }) => ({
      ...{ barcode, quantity, price: decimal(price), refundType: refund_type },
    })),
  };
}

interface Pushed {
  readonly kind: string;
  readonly reference: string;
  readonly body: string;
  readonly result: string | null;
}

/** Whether the mirror shows what was sent; what it does not have says nothing. */
async function isAsSent(db: Db, { kind, reference, body, result }: Pushed): Promise<boolean> {
  const document = parseJsonObject(body);
  const { orderId, pendingRefundId } = readResult(result);
  if (kind === 'order' && orderId) {
    const shown = await orderOf(db, orderId);
    const sent = newOrderOf(reference, readBody.order(document));
    if (!shown) return false;
    const other = otherReference(reference, shown.reference ?? reference);
    const { lines, rest } = compareOrder(sent, shown);
    return other.length + lines.length + rest.length === 0;
  }
  if (kind === 'pending_refund' && pendingRefundId) {
    const shown = await mirroredPendingRefund(db, pendingRefundId);
    const sent = newPendingRefundOf(reference, readBody.pendingRefund(document));
    const other = otherReference(reference, shown.reference ?? reference);
    return other.length + comparePendingRefund(sent, shown).length === 0;
  }
  return false;
}

/** Keys of open incidents whose difference is gone. */
export async function endedDifferences(db: Db): Promise<string[]> {
  const open = await db
    .selectFrom('incident')
    .select('key')
    .where('kind', '=', DIFFERENCE.kind)
    .where('resolved_at', 'is', null)
    .limit(INCIDENTS_MAX)
    .execute();
  const ended: string[] = [];
  for (const { key } of open) {
    const row = await db
      .selectFrom('outbox')
      .select(['kind', 'reference', 'body', 'result'])
      .where('outbox_id', '=', Number(key))
      .executeTakeFirst();
    if (row && (await isAsSent(db, row))) ended.push(key);
  }
  return ended;
}
