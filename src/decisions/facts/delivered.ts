/** Pieces that all deliveries of an order have together. */
import { sql } from 'kysely';
import { sumOfUnits } from '../../lib/money.ts';
import { unreadPaths } from '../../mirror/rows/unread.ts';
import type { Tx } from '../../store/store.ts';

export interface Delivered {
  /** Null when a delivery does not tell, or is not in the mirror. */
  readonly quantity: number | null;
  /** Pieces of a barcode; null as above. */
  readonly of: (barcode: string) => number | null;
}

const UNKNOWN: Delivered = { quantity: null, of: () => null };

interface Row {
  readonly unread: string | null;
  /** Null: the delivery has no lines. */
  readonly line_no: number | null;
  readonly barcode: string | null;
  readonly pieces: number | null;
}

/** Pieces of the order's pending and accepted deliveries, and of this one whatever its status. */
export async function deliveredPieces(
  tx: Tx,
  orderId: number,
  orderDeliveryId: number,
): Promise<Delivered> {
  const shared = await tx
    .selectFrom('shared_number')
    .select('number')
    .where('entity', '=', 'delivery')
    .where('order_id', '=', orderId)
    .limit(1)
    .executeTakeFirst();
  if (shared) return UNKNOWN;
  const { rows } = await sql<Row>`
    select d.unread, line.line_no, line.barcode, line.fulfilled_quantity pieces
    from delivery d
    left join delivery_line line on line.order_delivery_id = d.order_delivery_id
    where d.order_id = ${orderId}
      and (d.order_delivery_id = ${orderDeliveryId}
        -- A status that nobody knows may mean that the goods are on their way.
        or (d.status not in ('rejected', 'canceled') and d.deleted_at is null))`.execute(tx);
  if (rows.some(({ unread }) => unreadPaths(unread).includes('fulfilledLineItems'))) return UNKNOWN;
  const lines = rows.filter(({ line_no: no }) => no !== null);
  const byBarcode = Map.groupBy(lines, ({ barcode }) => barcode);
  const piecesOf = (some: readonly Row[]) => sumOfUnits(some.map(({ pieces }) => pieces));
  const isAllRead = !byBarcode.has(null);
  return {
    quantity: piecesOf(lines),
    of: (barcode) => (isAllRead ? piecesOf(byBarcode.get(barcode) ?? []) : null),
  };
}
