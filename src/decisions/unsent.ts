/**
 * Cancels pushes of the rules' decisions that were not sent yet: when decisions are paused, when
 * the mode keeps rules from acting, and when the rules that decided are no longer live.
 */
import { type RawBuilder, sql } from 'kysely';
import { cancelPushes } from '../outbox/cancel-pushes.ts';
import { DELIVERY_STATUS_KIND } from '../outbox/enqueue.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';

/**
 * SQL: whether an outbox row is an open push of a decision `n` by the rules that fulfils the
 * condition.
 */
export function pushesOfRules(which: RawBuilder<boolean>): RawBuilder<boolean> {
  // The states follow from the missing end; by them SQLite finds the few open rows in an index.
  return sql<boolean>`(outbox.kind = ${DELIVERY_STATUS_KIND} and outbox.ended_at is null
    and outbox.state in ('queued', 'sending', 'sent', 'in_doubt')
    and exists (select 1 from decision n where n.actor = 'daemon'
      and n.decision_id = outbox.decision_id
      and ${which}))`;
}

const OF_RULES = pushesOfRules(sql<boolean>`true`);

/** Whether any push of the rules' decisions is on its way. */
export async function hasOpen(db: Db): Promise<boolean> {
  const row = await db.selectFrom('outbox').select('outbox_id').where(OF_RULES).limit(1);
  return (await row.executeTakeFirst()) !== undefined;
}

/**
 * Cancels pushes of the rules' decisions that were not sent yet, and has their deliveries decided
 * again. A push that is being sent may have arrived: its outcome is looked up, but it is not sent
 * again.
 *
 * @param which condition on the pushes; all pushes of the rules' decisions when left out.
 * @returns how many pushes were canceled.
 */
export async function cancelUnsent(
  tx: Tx,
  reason: string,
  at: number,
  which: RawBuilder<boolean> = OF_RULES,
): Promise<number> {
  const { canceled, marked } = await cancelPushes(tx, { which, reason, at });
  const basedOn = (column: 'decision_id' | 'e.decision_id', rows: typeof marked) => {
    const ids = rows.map((row) => row.decision_id);
    // By their deliveries, which are the key of the evaluations.
    return sql<boolean>`${inKeys(column, ids)} and order_delivery_id in (
      select n.order_delivery_id from decision n where ${inKeys('n.decision_id', ids)})`;
  };
  // The empty key makes the deliveries due, even if a pause is over before anybody looked.
  await tx
    .updateTable('evaluation')
    .set({ rules_key: '' })
    .where(basedOn('decision_id', [...canceled, ...marked]))
    .execute();
  // A delivery whose revocation is canceled has its accept as the latest decision again, and is
  // evaluated.
  const revocations = canceled.filter((row) => row.expected_from === 'accepted');
  await tx
    .updateTable('evaluation as e')
    .set({
      due_at: at,
      decision_id: sql<number>`(select max(n.decision_id) from decision n
        where n.order_delivery_id = e.order_delivery_id and n.decision_id < e.decision_id)`,
    })
    .where(basedOn('e.decision_id', revocations))
    .execute();
  return canceled.length;
}
