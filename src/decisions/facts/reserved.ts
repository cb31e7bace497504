/**
 * Claims of other deliveries: pieces by barcode, credit by account. Two deliveries that each fit
 * must not both be accepted when they do not fit together, so an accept counts from the moment its
 * push is in the outbox until the stock or the ERP's credit figures include it.
 *
 * Claims are computed, never stored: a failed push, and a delivery that is put back, canceled or
 * rejected, release their claims by themselves, also after a kill.
 */
import { sql } from 'kysely';
import { sumOfUnits } from '../../lib/money.ts';
import { currencyOf } from '../../lib/strings.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import { hasOpenPush } from '../push.ts';

/**
 * Milliseconds for which an accepted delivery without a tracking number claims its pieces: some
 * never get one, and must not keep the stock for ever.
 */
const SHIPS_WITHIN_MS = 14 * 86_400_000;

/**
 * SQL: time at which a delivery was accepted, by the change feed; if it was never seen pending, the
 * time it was packed.
 */
const ACCEPTED_AT = sql<number>`coalesce((
  select max(c.at) from change c
  where c.entity = 'delivery' and c.key = d.order_delivery_id || ''
    and c.diff->>'$.status[1]' = 'accepted'
), d.created_at, d.first_seen_at)`;

/** SQL: whether an accept of the delivery `d` is on its way. */
const BEING_ACCEPTED = hasOpenPush('d.order_delivery_id', 'accepted');

interface Claim {
  readonly currency: string | null;
  readonly amount: number;
  readonly unpriced: number;
}

/**
 * Pieces that other deliveries claim, by barcode: older pending ones, those that are being
 * accepted, and accepted ones whose pieces are still in the stock read at `stockReadAt`. Null when
 * the pieces of one of them are unknown.
 */
export async function reservedPieces(
  tx: Tx,
  orderDeliveryId: number,
  barcodes: readonly string[],
  stockReadAt: number,
): Promise<ReadonlyMap<string, number | null>> {
  // CROSS JOIN fixes SQLite's join order: from the few lines with these barcodes to their
  // deliveries, not from all pending deliveries.
  const { rows } = await sql<{ readonly barcode: string; readonly pieces: number | null }>`
    select line.barcode, iif(count(line.fulfilled_quantity) = count(*),
      sum(line.fulfilled_quantity), null) pieces
    from delivery_line line
    cross join delivery d on d.order_delivery_id = line.order_delivery_id
    where ${inKeys('line.barcode', barcodes)}
      and d.order_delivery_id <> ${orderDeliveryId} and d.deleted_at is null
      and case d.status
        when 'pending' then d.order_delivery_id < ${orderDeliveryId} or ${BEING_ACCEPTED}
        -- Accepted or shipped since the stock was read, the stock cannot know.
        when 'accepted' then d.changed_at >= ${stockReadAt}
          -- Most have left long ago: only of the others the order is looked up. One that was
          -- completed since may have been so by a parcel that was not read yet.
          or (d.tracking_numbers = '[]'
            and (select o.completed = 1 and o.changed_at < ${stockReadAt} from sales_order o
              where o.order_id = d.order_id) is not 1
            and ${ACCEPTED_AT} >= ${stockReadAt - SHIPS_WITHIN_MS})
        else 0 end
    group by line.barcode`.execute(tx);
  return new Map(
    rows.map(({ barcode, pieces }) => [barcode, pieces === null ? null : Number(pieces)]),
  );
}

/**
 * Value of the account's other deliveries that were accepted since `since`, in units (lib/money.ts)
 * of `currency`. Null when it is unknown, because a price is missing or a delivery has another
 * currency.
 */
export async function reservedCredit(
  tx: Tx,
  account: { readonly accountNo: string; readonly currency: string | null },
  orderDeliveryId: number,
  since: number,
): Promise<number | null> {
  const { rows } = await sql<Claim>`
    select (select c.currency from order_currency c where c.order_id = o.order_id) currency,
      total(line.price * line.fulfilled_quantity) amount,
      sum(line.price is null) unpriced
    from sales_order o
    cross join delivery d on d.order_id = o.order_id
    cross join delivery_line line on line.order_delivery_id = d.order_delivery_id
    where o.account_no = ${account.accountNo}
      and d.order_delivery_id <> ${orderDeliveryId} and d.deleted_at is null
      and case d.status
        when 'pending' then ${BEING_ACCEPTED}
        when 'accepted' then d.changed_at >= ${since} and ${ACCEPTED_AT} >= ${since}
        else 0 end
    group by 1`.execute(tx);
  const amounts: number[] = [];
  for (const { currency, amount, unpriced } of rows) {
    if (unpriced > 0 || currency === null || currencyOf(currency) !== account.currency) return null;
    amounts.push(amount);
  }
  // Floating-point sums cannot overflow, and are exact for integers of this size.
  return sumOfUnits(amounts);
}
