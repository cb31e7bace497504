/**
 * Holds what a person stopped after the backup that was restored. The restored database does not
 * know of the act, and the rules would decide as if nobody had said anything.
 */
import { sql } from 'kysely';
import { cancelPushes } from '../../outbox/cancel-pushes.ts';
import { DELIVERY_STATUS_KIND } from '../../outbox/enqueue.ts';
import { inKeys, insertRows } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import type { RestoreSteps } from '../../store/upkeep.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { safeguardHold } from '../reject/outcome.ts';

/** Acts after which the rules leave a delivery alone, or after which they decide. */
const STOPS = new Set(['delivery.hold', 'delivery.reject', 'delivery.release']);
const ENDS = new Set(['delivery.accept']);

/** Keeps what people stopped by these acts, and takes back the pushes of it that wait. */
export const stopForPeople: RestoreSteps['stopForPeople'] = async (tx, acts, now) => {
  const stops = new Map<number, (typeof acts)[number]>();
  for (const act of acts) {
    const [, id] = /^delivery:(\d+)$/.exec(act.subject) ?? [];
    if (id === undefined) continue;
    if (ENDS.has(act.action) || act.toRules === true) stops.delete(Number(id));
    else if (STOPS.has(act.action)) stops.set(Number(id), act);
  }
  const rows = [...stops].map(([id, { at, actor, action }]) => {
    return { order_delivery_id: id, at, actor, action };
  });
  await tx
    .deleteFrom('restored_stop')
    .where(inKeys('order_delivery_id', [...stops.keys()]))
    .execute();
  await insertRows(tx, 'restored_stop', ['order_delivery_id', 'at', 'actor', 'action'], rows);
  const which = sql<boolean>`outbox.kind = ${DELIVERY_STATUS_KIND} and outbox.ended_at is null
    and exists (select 1 from decision n join restored_stop s using (order_delivery_id)
      where n.decision_id = outbox.decision_id)`;
  await cancelPushes(tx, { which, reason: 'a person stopped it after the backup', at: now });
  await tx
    .updateTable('evaluation')
    .set({ rules_key: '' })
    .where('order_delivery_id', 'in', (eb) =>
      eb.selectFrom('restored_stop').select('order_delivery_id'),
    )
    .execute();
  return rows.length;
};

const DID: Readonly<Record<string, string>> = {
  'delivery.hold': 'held it',
  'delivery.reject': 'rejected it',
  'delivery.release': 'took it on',
};

/** Holds a delivery that a person stopped after the backup, until a person decides. */
export async function holdForRestored(
  _tx: Tx,
  { subject: { past } }: Candidate,
): Promise<Precaution | undefined> {
  if (past.stopped_by === null) return undefined;
  const did = DID[past.stopped_as ?? ''] ?? 'stopped it';
  const detail = `${past.stopped_by} ${did} after the backup that was restored`;
  return { outcome: safeguardHold(undefined, { safeguard: 'restored', detail }) };
}

/** Ends the hold, because a person decides. */
export async function endRestoredStop(tx: Tx, orderDeliveryId: number): Promise<void> {
  await tx.deleteFrom('restored_stop').where('order_delivery_id', '=', orderDeliveryId).execute();
}
