/**
 * Cancels what the rules decided and the service has not taken yet: when decisions are paused, in a
 * mode in which the rules do not act, and where those that decided it do not act any more.
 */
import { type RawBuilder, sql } from 'kysely';
import { cancelPushes, hasCancelablePush } from '../outbox/cancel-pushes.ts';
import { DELIVERY_STATUS_KIND } from '../outbox/enqueue.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';

/** Open pushes of decisions `n` by the rules of which this is true. */
export function pushesOfRules(which: RawBuilder<boolean>): RawBuilder<boolean> {
  return sql<boolean>`(outbox.kind = ${DELIVERY_STATUS_KIND} and outbox.ended_at is null
    and exists (select 1 from decision n where n.actor = 'daemon'
      and n.decision_id = outbox.decision_id
      and ${which}))`;
}

const OF_RULES = pushesOfRules(sql<boolean>`true`);

/** Whether {@link cancelUnsent} would cancel anything. */
export function hasUnsent(db: Db): Promise<boolean> {
  return hasCancelablePush(db, OF_RULES);
}

/**
 * Cancels pushes by the rules that were not sent yet, and has their deliveries decided again. A
 * push that is being sent may have arrived: it is confirmed, but not sent a second time.
 *
 * @param which pushes, of those that the rules decided on; all of them when left out.
 * @returns how many were canceled.
 */
export async function cancelUnsent(
  tx: Tx,
  reason: string,
  at: number,
  which: RawBuilder<boolean> = OF_RULES,
): Promise<number> {
  const { canceled, marked } = await cancelPushes(tx, { which, reason, at });
  const decisionsOf = (rows: typeof marked) => rows.map((row) => row.decision_id);
  // An empty key makes them due even where the pause is over before anybody looked.
  await tx
    .updateTable('evaluation')
    .set({ rules_key: '' })
    .where(inKeys('decision_id', decisionsOf([...canceled, ...marked])))
    .execute();
  // A delivery whose revocation is canceled is as it was accepted; the rules are asked about it.
  const revocations = canceled.filter((row) => row.expected_from === 'accepted');
  await tx
    .updateTable('evaluation as e')
    .set({
      due_at: at,
      decision_id: sql<number>`(select max(n.decision_id) from decision n
        where n.order_delivery_id = e.order_delivery_id and n.decision_id < e.decision_id)`,
    })
    .where(inKeys('e.decision_id', decisionsOf(revocations)))
    .execute();
  return canceled.length;
}
