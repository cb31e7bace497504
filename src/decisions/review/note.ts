/** The note of a person about a delivery, for the next one who looks at it. */
import { type Actor, writeAudit } from '../../store/audit.ts';
import type { Db, Tx } from '../../store/store.ts';

export interface DeliveryNote {
  readonly text: string;
  readonly author: string;
  readonly at: number;
}

export async function noteOf(db: Db, orderDeliveryId: number): Promise<DeliveryNote | null> {
  const row = await db
    .selectFrom('delivery_note')
    .select(['text', 'author', 'at'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  return row ?? null;
}

/** Replaces the delivery's note; an empty text removes it. */
export async function writeNote(
  tx: Tx,
  orderDeliveryId: number,
  text: string,
  { actor, via }: Omit<Actor, 'reason'>,
  at: number,
): Promise<void> {
  const row = { text, author: actor, at };
  if (text === '') {
    await tx.deleteFrom('delivery_note').where('order_delivery_id', '=', orderDeliveryId).execute();
  } else {
    await tx
      .insertInto('delivery_note')
      .values({ order_delivery_id: orderDeliveryId, ...row })
      .onConflict((conflict) => conflict.column('order_delivery_id').doUpdateSet(row))
      .execute();
  }
  const act = { action: 'delivery.note', subject: `delivery:${orderDeliveryId}` };
  // The text stays out of the audit: a note may tell of people, and no audit row is ever removed.
  await writeAudit(tx, { actor, reason: '', via, ...act }, at);
}
