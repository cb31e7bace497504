/**
 * Questions about the pushes of a delivery, answered from the outbox's tables, which only the
 * outbox writes.
 */
import { type RawBuilder, sql } from 'kysely';
import type { DeliveryStatus } from '../outbox/enqueue.ts';
import type { Tx } from '../store/store.ts';
import type { Value } from '../store/transaction/kept.ts';

/**
 * SQL: whether a push, or one to `status`, of the delivery whose id is in this column is on its
 * way.
 */
export function hasOpenPush(idColumn: string, status?: DeliveryStatus): RawBuilder<boolean> {
  const to = status === undefined ? sql`` : sql`and body->>'$.status' = ${status}`;
  return sql<boolean>`exists (
    select 1 from outbox
    where outbox.order_delivery_id = ${sql.ref(idColumn)} and ended_at is null ${to})`;
}

/** Finds the push of this delivery that is on its way, if there is one. */
export async function openPush(tx: Tx, orderDeliveryId: number) {
  return tx
    .selectFrom('outbox')
    .select(['outbox_id', 'state'])
    .where('order_delivery_id', '=', orderDeliveryId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
}

/**
 * SQL: whether the push of the evaluation's decision ended after the evaluation, without success.
 * An end in the future was written before the clock was set back and does not count: no evaluation
 * would come after it.
 */
export function hasFailedPush(now: number | Value<number>): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from outbox
    where outbox.decision_id = e.decision_id
    and ended_at > e.evaluated_at and ended_at <= ${now} and state <> 'confirmed')`;
}

/** SQL: whether the service received the push of this outbox row and refused it. */
export const REFUSED_BY_SERVICE = sql<boolean>`(outbox.state = 'dead'
  or outbox.state = 'refused' and (outbox.result is not null or exists (
    select 1 from outbox_attempt a
    where a.outbox_id = outbox.outbox_id and a.class in ('refused', 'conflict'))))`;

/**
 * SQL: whether an attempt to send this outbox row may have reached the service; other attempts
 * changed nothing.
 */
export const MAY_HAVE_ARRIVED = sql<boolean>`outbox.attempts > (
  select count(*) from outbox_attempt a
  where a.outbox_id = outbox.outbox_id and a.class = 'not_processed')`;

/**
 * Why Selvedge refused the decision's push itself: it waited too long (`time`) or the delivery
 * changed before it was sent (`change`). Undefined if the service refused it, or nobody did.
 */
export async function overtakenBy(
  tx: Tx,
  decisionId: number,
): Promise<'time' | 'change' | undefined> {
  const row = await tx
    .selectFrom('outbox')
    .select(sql<number>`coalesce(body->>'$.sendBefore' <= ended_at, 0)`.as('is_late'))
    .where('decision_id', '=', decisionId)
    .where('state', '=', 'refused')
    .where((eb) => eb.not(REFUSED_BY_SERVICE))
    .executeTakeFirst();
  if (!row) return undefined;
  return row.is_late === 1 ? 'time' : 'change';
}

/**
 * Finds the accept by the rules on these grounds that came to nothing, because the service refused
 * it or a person canceled it, unless anybody else has decided since. It is not made again, whatever
 * came and went meanwhile: a hold, another mode, rules that only watch.
 */
export async function settledAccept(tx: Tx, orderDeliveryId: number, grounds: string) {
  const row = await tx
    .selectFrom('outbox')
    .innerJoin('evaluation as e', 'e.order_delivery_id', 'outbox.order_delivery_id')
    .select(['outbox.decision_id as decisionId', 'e.decision_id as latest'])
    .where('outbox.order_delivery_id', '=', orderDeliveryId)
    .where(sql<boolean>`(${REFUSED_BY_SERVICE} or outbox.state = 'canceled')`)
    .where(sql<boolean>`outbox.body->>'$.grounds' = ${grounds}`)
    .where(sql<boolean>`not exists (select 1 from decision n
      where n.order_delivery_id = ${orderDeliveryId} and n.actor <> 'daemon'
        and n.decision_id > outbox.decision_id)`)
    .orderBy('outbox.outbox_id', 'desc')
    .executeTakeFirst();
  const { decisionId, latest } = row ?? {};
  return typeof decisionId === 'number'
    ? { decisionId, isLatest: decisionId === latest }
    : undefined;
}

/**
 * Whether an earlier accept of the delivery was counted but never sent: the latest decision is one
 * that waited too long, or the last by the rules since `since` was canceled.
 */
export async function wasCounted(tx: Tx, orderDeliveryId: number, since: number): Promise<boolean> {
  const accepts = await tx
    .selectFrom('decision as n')
    .leftJoin('outbox', 'outbox.decision_id', 'n.decision_id')
    .select(['n.decision_id', 'n.at', 'n.actor', 'outbox.state'])
    .select(
      sql<number>`n.decision_id = (select e.decision_id from evaluation e
      where e.order_delivery_id = ${orderDeliveryId})`.as('is_latest'),
    )
    .where('n.order_delivery_id', '=', orderDeliveryId)
    .where('n.outcome', '=', 'accept')
    .orderBy('n.decision_id', 'desc')
    .execute();
  const latest = accepts.find(({ is_latest }) => is_latest === 1);
  if (latest && (await overtakenBy(tx, latest.decision_id)) === 'time') return true;
  const last = accepts.find(({ actor, at, state }) => {
    return actor === 'daemon' && at >= since && state !== null;
  });
  return last?.state === 'canceled';
}

/**
 * Whether a push was answered and the delivery is pending all the same, without ever having been
 * seen in another status: somebody put it back, and no later decision explains it.
 */
export async function undonePush(tx: Tx, orderDeliveryId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('decision as n')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'n.order_delivery_id')
    .innerJoin('outbox', 'outbox.decision_id', 'n.decision_id')
    .select('outbox_id')
    .where('n.order_delivery_id', '=', orderDeliveryId)
    .where('d.status', '=', 'pending')
    .where('state', '=', 'refused')
    .where('result', 'is not', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('decision as later')
            .select('later.decision_id')
            .whereRef('later.order_delivery_id', '=', 'n.order_delivery_id')
            .whereRef('later.decision_id', '>', 'n.decision_id')
            .where('later.actor', '=', 'external'),
        ),
      ),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
