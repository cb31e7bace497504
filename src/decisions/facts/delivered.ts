/**
 * Sums over all deliveries of an order: how many pieces they have, and how many have each status.
 */
import { sql } from 'kysely';
import { sumOfUnits } from '../../lib/money.ts';
import { unreadPaths } from '../../mirror/rows/unread.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';

/** Pieces by the names of articles; null when a delivery's pieces are unknown. */
export interface DeliveredAs {
  readonly of: (name: string) => number | null;
  /** The pieces at one price; null when a price is unknown, too. */
  readonly at: (name: string, price: number) => number | null;
}

export interface Delivered {
  /** Number of the order's other deliveries by status. */
  readonly others: ReadonlyMap<string, number>;
  /**
   * Pieces in this delivery and in others that are or may be on their way; null when one delivery's
   * pieces are unknown.
   */
  readonly quantity: number | null;
  /** The same number of pieces for each article; `nameOf` gives the article of a barcode. */
  readonly by: (nameOf: (barcode: string) => string) => DeliveredAs;
}

interface Row {
  readonly id: number;
  readonly status: string;
  readonly unread: string | null;
  /**
   * 1 when a delivery of the order is missing in the mirror, because another order has its number.
   */
  readonly shared: number;
  /** Null when the delivery has no lines. */
  readonly line_no: number | null;
  readonly barcode: string | null;
  readonly pieces: number | null;
  readonly price: number | null;
}

function countByStatus(rows: readonly Row[]): ReadonlyMap<string, number> {
  const deliveries = new Map(rows.map(({ id, status }) => [id, status]));
  const counts = new Map<string, number>();
  for (const status of deliveries.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

const linesOfDeliveries = kept(
  (_: Db, orderId: Value<number>, orderDeliveryId: Value<number>) => sql<Row>`
    select d.order_delivery_id id, d.status, d.unread, line.line_no, line.barcode,
      line.fulfilled_quantity pieces, line.price,
      exists (select 1 from shared_number s
        where s.order_id = d.order_id and s.entity = 'delivery') shared
    from delivery d
    left join delivery_line line on line.order_delivery_id = d.order_delivery_id
    where d.order_id = ${orderId}
      and (d.order_delivery_id = ${orderDeliveryId} or d.deleted_at is null)`,
);

/**
 * Reads all deliveries of the order; the pieces of `orderDeliveryId` count whatever its status is.
 */
export async function deliveredPieces(
  tx: Tx,
  orderId: number,
  orderDeliveryId: number,
): Promise<Delivered> {
  const rows = await linesOfDeliveries(tx, orderId, orderDeliveryId);
  // Deliveries with an unknown status count: their goods may be on their way.
  const isCounted = ({ id, status }: Row): boolean =>
    id === orderDeliveryId || (status !== 'rejected' && status !== 'canceled');
  const counted = rows.filter(isCounted);
  const isUnknown = counted.some(
    ({ shared, unread }) => shared === 1 || unreadPaths(unread).includes('fulfilledLineItems'),
  );
  const lines = counted.filter((row) => row.line_no !== null);
  const piecesOf = (some: readonly Row[]) =>
    isUnknown ? null : sumOfUnits(some.map(({ pieces }) => pieces));
  const isAllRead = lines.every(({ barcode }) => barcode !== null);
  return {
    others: countByStatus(rows.filter(({ id }) => id !== orderDeliveryId)),
    quantity: piecesOf(lines),
    by(nameOf) {
      const byName = Map.groupBy(lines, ({ barcode }) => nameOf(barcode ?? ''));
      const linesOf = (name: string) => byName.get(name) ?? [];
      return {
        of: (name) => (isAllRead ? piecesOf(linesOf(name)) : null),
        at(name, price) {
          const some = linesOf(name);
          const isKnown = isAllRead && some.every((line) => line.price !== null);
          return isKnown ? piecesOf(some.filter((line) => line.price === price)) : null;
        },
      };
    },
  };
}
