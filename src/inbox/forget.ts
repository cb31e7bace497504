/**
 * Forgets an order in the stored events. Their rows stay, so that an event that the relay sends
 * again is known as a duplicate.
 */
import { canonicalJson } from '../lib/json.ts';
import { inKeys } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';

/** Blanks the bodies of all events about the order and returns their number. */
export async function forgetEvents(tx: Tx, orderId: number): Promise<number> {
  const rows = await tx
    .selectFrom('webhook_event')
    .select(['event_id', 'type'])
    .where('order_id', '=', orderId)
    .execute();
  for (const [type, events] of Map.groupBy(rows, (row) => row.type)) {
    const body = Buffer.from(canonicalJson({ type, data: {}, forgotten: true }));
    const ids = events.map((row) => row.event_id);
    await tx.updateTable('webhook_event').set({ body }).where(inKeys('event_id', ids)).execute();
  }
  return rows.length;
}
