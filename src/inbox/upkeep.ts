/** Upkeep of the event store: old events are deleted, unless the relay sent one again lately. */
import { sql } from 'kysely';
import { requestRefetches } from '../mirror/refetch-queue.ts';
import { inKeys } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { type RestoreSteps, SLICE_ROWS } from '../store/upkeep.ts';

export async function deleteOldEvents(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from webhook_event where event_id in (
    select event_id from webhook_event
    where received_at < ${before} and coalesce(last_duplicate_at, 0) < ${before}
    order by received_at limit ${SLICE_ROWS})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** Has the orders of these events read again: another machine has acknowledged them. */
export const readEventsAgain: RestoreSteps['readEventsAgain'] = async (tx, eventIds, now) => {
  const rows = await tx
    .selectFrom('webhook_event')
    .select(['event_id', 'order_id'])
    .where(inKeys('event_id', eventIds))
    .where('order_id', 'is not', null)
    .execute();
  const requests = rows.flatMap(({ event_id, order_id }) =>
    order_id === null ? [] : [{ orderId: order_id, cause: `event:${event_id}` }],
  );
  await requestRefetches(tx, requests, now);
};
