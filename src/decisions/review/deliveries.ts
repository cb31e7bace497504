/** Deliveries and their decisions, for people: finding one by its name, and the answer to "why". */

import { sql } from 'kysely';
import { RefusedError, SelvedgeError } from '../../lib/errors.ts';
import type { Db, Tx } from '../../store/store.ts';
import { type DecisionEntry, storedEvaluation } from '../journal.ts';

/**
 * SQL: reason why a push failed: the service refused it, or the delivery changed before it was
 * sent.
 */
export const REFUSAL = sql<string | null>`case when outbox.state in ('refused', 'dead') then
  case when exists (select 1 from outbox_attempt a
    where a.outbox_id = outbox.outbox_id and a.class = 'conflict')
  then 'the service refused it (409); ' else '' end || coalesce(outbox.last_error, '') end`;

/** SQL: time at which the hold of the delivery `d` ends by itself, in epoch milliseconds. */
export const HOLD_UNTIL = sql<number | null>`(select min(h.expires_at) from hold h
  where h.order_delivery_id = d.order_delivery_id and h.lapsed_at is null)`;

/** SQL: whether a hold of the delivery `d` has lasted its time and waits for a person. */
export const ESCALATED = sql<number>`exists (select 1 from hold h where h.lapsed_at is not null
  and h.order_delivery_id = d.order_delivery_id and h.afterwards = 'escalate')`;

type Told = 'at' | 'trigger' | 'actor' | 'mode' | 'reason' | 'ruleSetHash' | 'evaluation';

export interface DecisionRecord extends Pick<DecisionEntry, Told> {
  readonly decisionId: number;
  readonly outcome: string;
  readonly push: {
    readonly outboxId: number;
    readonly state: string;
    readonly error: string | null;
  } | null;
}

/** All decisions about a delivery: the one that counts, then the others, the latest first. */
export async function decisionsOf(db: Db, orderDeliveryId: number): Promise<DecisionRecord[]> {
  const rows = await db
    .selectFrom('decision as n')
    .leftJoin('outbox', 'outbox.decision_id', 'n.decision_id')
    .leftJoin('rule_set as s', 's.hash', 'n.rule_set_hash')
    .leftJoin('evaluation as e', (join) =>
      join
        .onRef('e.order_delivery_id', '=', 'n.order_delivery_id')
        .onRef('e.decision_id', '=', 'n.decision_id'),
    )
    .selectAll('n')
    .select(['outbox.outbox_id', 'outbox.state', 's.words'])
    .select(sql<string | null>`coalesce(${REFUSAL}, outbox.last_error)`.as('error'))
    .where('n.order_delivery_id', '=', orderDeliveryId)
    // An earlier accept that is valid again counts, and not the hold between.
    .orderBy((eb) => eb('e.decision_id', 'is', null))
    .orderBy('n.decision_id', 'desc')
    .execute();
  return rows.map((row) => ({
    decisionId: row.decision_id,
    at: row.at,
    trigger: row.trigger,
    actor: row.actor,
    mode: row.mode,
    outcome: row.outcome,
    reason: row.reason,
    ruleSetHash: row.rule_set_hash,
    evaluation: storedEvaluation(row),
    push:
      row.outbox_id === null || row.state === null
        ? null
        : { outboxId: row.outbox_id, state: row.state, error: row.error },
  }));
}

function unknown(delivery: string, deletedAt: number | null | undefined): SelvedgeError {
  if (typeof deletedAt === 'number') {
    const since = new Date(deletedAt).toISOString();
    const message = `the service no longer has delivery ${delivery}, since ${since}`;
    const hint = 'if the service has it again, the next read of its order brings it back';
    return new SelvedgeError('deliveries.gone', message, { hint });
  }
  return new SelvedgeError('deliveries.unknown', `there is no delivery ${delivery}`, {
    hint: 'selvedge deliveries list shows the ids and numbers',
  });
}

/** The error for an ambiguous name: a final reject must not hit the wrong delivery. */
function ambiguous(delivery: string, id: number, ids: readonly number[]): SelvedgeError {
  const message = ids.includes(id)
    ? `${delivery} is the id of one delivery and the number of another`
    : `more than one delivery has the number ${delivery}: ${ids.join(' and ')}`;
  const hint = `name it by its id: ${ids.map((one) => `id:${one}`).join(' or ')}`;
  return new RefusedError('deliveries.ambiguous', message, { hint });
}

/**
 * Finds the id of a delivery that a person named by its id or its number. Numbers may look like
 * ids; a text such as `id:7` always means the id.
 */
export async function deliveryIdOf(db: Db | Tx, delivery: string): Promise<number> {
  const id = Number(/^(?:id:)?(\d{1,15})$/.exec(delivery)?.[1] ?? -1);
  const rows = await db
    .selectFrom('delivery')
    .select(['order_delivery_id', 'deleted_at'])
    .where((eb) => eb.or([eb('order_delivery_id', '=', id), eb('delivery_no', '=', delivery)]))
    .orderBy((eb) => eb('deleted_at', 'is not', null))
    .orderBy((eb) => eb('order_delivery_id', '!=', id))
    .orderBy('order_delivery_id')
    .limit(2)
    .execute();
  const ids = rows.flatMap((row) => (row.deleted_at === null ? [row.order_delivery_id] : []));
  const [found, other] = ids;
  if (found === undefined) throw unknown(delivery, rows[0]?.deleted_at);
  if (other !== undefined) throw ambiguous(delivery, id, ids);
  return found;
}
