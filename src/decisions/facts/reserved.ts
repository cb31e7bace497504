/**
 * What other deliveries have a claim on: pieces by barcode, and credit by account. Two deliveries
 * that each fit must not both be accepted when they do not fit together, so what was accepted
 * counts from the moment its push is in the outbox until the source (stock, ERP) includes it.
 *
 * Nothing is stored for it: a push that fails, or a delivery that is put back, is canceled or
 * rejected, gives its claim back by itself, also after a kill.
 */
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import { hasOpenPush } from '../push.ts';

/**
 * An accepted delivery without a tracking number claims its pieces for this long: some never get
 * one, and must not keep the stock for ever.
 */
const SHIPS_WITHIN_MS = 14 * 86_400_000;

/** When a delivery was accepted: by the change feed, or, if we never saw it pending, packed. */
const ACCEPTED_AT = sql<number>`coalesce((
  select max(c.at) from change c
  where c.entity = 'delivery' and c.key = d.order_delivery_id || ''
    and c.diff->>'$.status[1]' = 'accepted'
), d.created_at, d.first_seen_at)`;

/** SQL: the delivery `d` is pending, with its accept on the way. */
const BEING_ACCEPTED = sql<boolean>`(d.status = 'pending'
  and ${hasOpenPush('d.order_delivery_id', 'accepted')})`;

/**
 * Pieces that other deliveries need, by barcode: older pending ones, those that are being
 * accepted, and accepted ones whose pieces the stock, read at `stockReadAt`, still has.
 */
export async function reservedPieces(
  tx: Tx,
  orderDeliveryId: number,
  barcodes: readonly string[],
  stockReadAt: number,
): Promise<ReadonlyMap<string, number>> {
  const unshipped = sql<boolean>`(d.tracking_numbers = '[]' and o.completed is not 1
    and ${ACCEPTED_AT} >= ${stockReadAt - SHIPS_WITHIN_MS})`;
  const rows = await tx
    .selectFrom('delivery_line as line')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'line.order_delivery_id')
    .leftJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .select((eb) => ['line.barcode', eb.fn.sum<number>('line.fulfilled_quantity').as('pieces')])
    .where(inKeys('line.barcode', barcodes))
    .where('d.status', 'in', ['pending', 'accepted'])
    .where('d.order_delivery_id', '!=', orderDeliveryId)
    .where('d.deleted_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb.and([eb('d.status', '=', 'pending'), eb('d.order_delivery_id', '<', orderDeliveryId)]),
        // Accepted or shipped since the stock was read: the stock cannot know.
        eb.and([eb('d.status', '=', 'accepted'), eb('d.changed_at', '>=', stockReadAt)]),
        eb.and([eb('d.status', '=', 'accepted'), unshipped]),
        BEING_ACCEPTED,
      ]),
    )
    .groupBy('line.barcode')
    .execute();
  return new Map(rows.map((row) => [row.barcode, Number(row.pieces)]));
}

/**
 * Value of the account's other deliveries that were accepted since `since`, in hundredths of
 * `currency`. Null when it cannot be known: a price is missing, or a currency is another one.
 */
export async function reservedCredit(
  tx: Tx,
  account: { readonly accountNo: string; readonly currency: string | null },
  orderDeliveryId: number,
  since: number,
): Promise<number | null> {
  const rows = await tx
    .selectFrom('sales_order as o')
    .innerJoin('delivery as d', 'd.order_id', 'o.order_id')
    .innerJoin('delivery_line as line', 'line.order_delivery_id', 'd.order_delivery_id')
    .select([
      'o.currency',
      sql<number>`sum(line.price * line.fulfilled_quantity)`.as('amount'),
      sql<number>`sum(line.price is null)`.as('unpriced'),
    ])
    .where('o.account_no', '=', account.accountNo)
    .where('d.order_delivery_id', '!=', orderDeliveryId)
    .where('d.deleted_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb.and([
          eb('d.status', '=', 'accepted'),
          eb('d.changed_at', '>=', since),
          eb(ACCEPTED_AT, '>=', since),
        ]),
        BEING_ACCEPTED,
      ]),
    )
    .groupBy('o.currency')
    .execute();
  let reserved = 0;
  for (const { currency, amount, unpriced } of rows) {
    if (unpriced > 0 || currency === null || currency !== account.currency) return null;
    reserved += amount;
  }
  return reserved;
}
