/**
 * The table `claim`: deliveries that may claim pieces or credit of others. Triggers keep it in the
 * transaction of each delivery; what was accepted long ago leaves it, so that it stays as short as
 * what is open.
 */
import { sql } from 'kysely';
import { readState, writeStateAt } from '../store/state.ts';
import type { Tx } from '../store/store.ts';
import { SLICE_ROWS } from '../store/upkeep.ts';

const SINCE_KEY = 'claims_since';

/** Time (epoch ms) from which on every accepted delivery that changed is in the table. */
export async function claimsSince(tx: Tx): Promise<number> {
  return Number((await readState(tx, SINCE_KEY)) ?? 0);
}

/** Deletes some of the deliveries that were accepted and last changed before `before`. */
export async function deleteOldClaims(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from claim where order_delivery_id in (
    select order_delivery_id from claim where changed_at < ${before}
    order by changed_at limit ${SLICE_ROWS})`.execute(tx);
  const gone = Number(numAffectedRows ?? 0);
  const since = Math.max(before, await claimsSince(tx));
  if (gone > 0) await writeStateAt(tx, SINCE_KEY, String(since), before);
  return gone;
}
