/** Which orders documents have become for certain: no other document has become them. */
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';

export interface Claim {
  readonly outboxId: number;
  readonly reference: string;
}

/** By the order; the number of a lost order may be another order's by now. */
export async function claimsOf(
  db: Db | Tx,
  orderIds: readonly number[],
  exceptOutboxId?: number,
): Promise<ReadonlyMap<number, Claim>> {
  const rows = await db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference', 'order_id'])
    .where(inKeys('order_id', orderIds))
    // By the order: the plus keeps SQLite from going through all that was ever confirmed.
    .where(sql<string>`+kind`, '=', 'order')
    .where(sql<string>`+state`, '=', 'confirmed')
    .where('outbox_id', '!=', exceptOutboxId ?? -1)
    .where('outbox_id', 'not in', (eb) => eb.selectFrom('outbox_lost').select('outbox_id'))
    .execute();
  return new Map(rows.map(({ order_id: orderId, ...claim }) => [orderId ?? 0, claim]));
}
