/** What the outbox knows of a delivery's pushes; the outbox itself is entered by its door only. */
import { type RawBuilder, sql } from 'kysely';
import { deliveryLane } from '../outbox/enqueue.ts';
import type { Tx } from '../store/store.ts';

/** SQL: a push of the delivery whose id is in this column is on its way. */
export function hasOpenPush(idColumn: string): RawBuilder<boolean> {
  const lane = sql`${deliveryLane('')} || ${sql.ref(idColumn)}`;
  return sql<boolean>`exists (select 1 from outbox where lane = ${lane} and ended_at is null)`;
}

/** Whether a push was answered and then found undone: somebody put the delivery back. */
export async function wasUndone(tx: Tx, orderDeliveryId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select('outbox_id')
    .where('lane', '=', deliveryLane(orderDeliveryId))
    .where('state', '=', 'refused')
    .where('result', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
