/**
 * Deliveries that the rules accepted; those whose push was canceled, refused or dead do not count.
 */
import { sql } from 'kysely';
import type { Tx } from '../../store/store.ts';

export const DAY_MS = 86_400_000;

export interface AcceptedBefore {
  readonly at: number;
  readonly accountNo: string | null;
  readonly currency: string | null;
  /** Value of the delivery in units (lib/money.ts); null: a price or a quantity is not known. */
  readonly amount: number | null;
}

/** Value of the delivery that a decision `n` is about; null: a price or a quantity is not known. */
export const acceptedAmount = sql<number | null>`
  (select iif(count(l.price) = count(*) and count(l.fulfilled_quantity) = count(*),
    sum(l.price * l.fulfilled_quantity), null)
    from delivery_line l where l.order_delivery_id = n.order_delivery_id)`;

/**
 * Deliveries that the rules accepted after `since`, without the delivery `orderDeliveryId` itself.
 */
export async function acceptedSince(
  tx: Tx,
  orderDeliveryId: number,
  since: number,
): Promise<readonly AcceptedBefore[]> {
  // CROSS JOIN fixes SQLite's join order: from the decisions since then to their pushes.
  const { rows } = await sql<AcceptedBefore>`
    select n.at, nullif(o.account_no, '') accountNo, c.currency,
      ${acceptedAmount} amount
    from decision n indexed by decision_day
    cross join outbox p on p.decision_id = n.decision_id
    left join sales_order o on o.order_id = n.order_id
    left join order_currency c on c.order_id = n.order_id
    where n.at > ${since} and n.outcome = 'accept' and n.actor = 'daemon'
      and p.state not in ('canceled', 'refused', 'dead')
      and n.order_delivery_id <> ${orderDeliveryId}`.execute(tx);
  return rows;
}
