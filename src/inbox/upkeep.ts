/** Upkeep of the event store: old events are deleted, unless the relay sent one again lately. */
import { sql } from 'kysely';
import type { Tx } from '../store/store.ts';
import { SLICE_ROWS } from '../store/upkeep.ts';

export async function deleteOldEvents(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from webhook_event where event_id in (
    select event_id from webhook_event
    where received_at < ${before} and coalesce(last_duplicate_at, 0) < ${before}
    order by received_at limit ${SLICE_ROWS})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
