/**
 * Things that wait for a person, as SQL: deliveries, documents and runs. Counts, lists and messages
 * all read these, so that they mean the same things; `ops/waiting.ts` counts them.
 */

import { type RawBuilder, sql } from 'kysely';
import { OUTBOX_KINDS } from '../config/words.ts';

/** SQL: deliveries that an error keeps from being decided, by their incidents. */
const UNDECIDABLE = sql`select about.value + 0 from incident i,
    json_each(i.detail, '$.concerns') about
  where i.kind = 'evaluation_error' and i.resolved_at is null`;

/**
 * SQL: whether a claim `c` is of a pending delivery that cannot be decided and waits for nothing
 * else; the others that wait have `waits`.
 */
export const IS_UNDECIDABLE = sql<boolean>`c.waits = 0 and c.outcome is not null
  and c.order_delivery_id in (${UNDECIDABLE})`;

/**
 * SQL: whether the delivery with this id waits for a person: it is held, no rule covers it, a
 * person keeps it, the rules only observe, or an error keeps it from being decided.
 */
export function deliveryWaits(id: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from claim w where w.order_delivery_id = ${id}
    and w.outcome is not null and (w.waits = 1 or w.order_delivery_id in (${UNDECIDABLE})))`;
}

/** SQL: deliveries that wait (id, since). */
export const WAITING_DELIVERIES = sql`
  select c.order_delivery_id id, coalesce((select min(h.since) from hold h
    where h.order_delivery_id = c.order_delivery_id), n.at) since
  from claim c cross join decision n on n.decision_id = c.decision_id where c.waits = 1
  union all select c.order_delivery_id, min(i.at)
  from incident i, json_each(i.detail, '$.concerns') about
  cross join claim c on c.order_delivery_id = about.value + 0
  where i.kind = 'evaluation_error' and i.resolved_at is null
    and c.waits = 0 and c.outcome is not null group by 1`;

/** Incidents about single documents, by the cause for which these wait. */
export const DOCUMENT_INCIDENTS = {
  push_late: 'late',
  push_differs: 'differs',
  refund_unconfirmed: 'unconfirmed',
  push_in_doubt: 'in_doubt',
  push_dead: 'dead',
} as const;

function told(kind: keyof typeof DOCUMENT_INCIDENTS, rank: number): RawBuilder<unknown> {
  return sql`select key + 0, ${sql.lit(rank)}, ${sql.lit(DOCUMENT_INCIDENTS[kind])},
      at, 1
    from incident where kind = ${sql.lit(kind)} and resolved_at is null`;
}

/**
 * SQL: reasons for which documents and decisions that were to be sent wait (id, rank, cause, since,
 * overdue): the outcome is unknown, the push gave up, is late or was refused, or the service has
 * the document otherwise or no longer. The least rank says most about one.
 */
const REASONS = sql`
  select outbox_id id, 0 rank, 'in_doubt' cause, coalesce(in_doubt_since, created_at) since,
    blocked_reason is not null overdue
  from outbox where state = 'in_doubt' and ended_at is null
  union all select outbox_id, 1, 'dead', ended_at, 1
  from outbox where kind in (${sql.join(OUTBOX_KINDS.map((kind) => sql.lit(kind)))})
    and state = 'dead'
  union all select r.outbox_id, 2, 'refused', o.ended_at, 0
  from refused_document r cross join outbox o on o.outbox_id = r.outbox_id
  union all select o.outbox_id, 2, 'refused', o.ended_at, 0
  from claim c cross join outbox o on o.decision_id = c.decision_id
  where c.outcome in ('accept', 'reject') and o.state = 'refused'
  union all select o.outbox_id, 2, 'canceled', o.ended_at, 0
  from claim c cross join outbox o on o.decision_id = c.decision_id
  where c.outcome in ('accept', 'reject') and o.state = 'canceled' and ifnull(c.due_at, 1) > 0
  union all select outbox_id, 3, 'lost', since, 1 from outbox_lost where noted_at is null
  union all ${told('push_differs', 4)}
  union all ${told('refund_unconfirmed', 5)}
  union all ${told('push_late', 6)}`;

/**
 * SQL: documents and decisions that wait, each once (id, kind, cause, since, overdue). A decision
 * about a delivery that waits itself is that delivery's.
 */
export const WAITING_DOCUMENTS = sql`
  select o.outbox_id id, o.kind, m.cause, m.since, m.overdue from (
    select id, cause, min(rank) rank, min(since) since, max(overdue) overdue
    from (${REASONS}) group by id) m
  cross join outbox o on o.outbox_id = m.id
  where (m.cause <> 'late' or o.ended_at is null)
    and (o.order_delivery_id is null or not ${deliveryWaits(sql`o.order_delivery_id`)})`;

/**
 * SQL: runs that a person may release (stream, id, why, since, overdue): the first of a stream
 * that was suspicious since its last complete one, and each that changed most rows of its list.
 */
export const WAITING_RUNS = sql`
  select stream, id, why, since, max(overdue) overdue from (
    select s.stream, min(r.run_id) id, 'suspicious' why, min(r.ended_at) since,
      exists (select 1 from incident n
      where n.kind = 'never_complete' and n.key = s.stream and n.resolved_at is null) overdue
    from stream_state s
    cross join sync_run r on r.stream = s.stream and r.run_id > coalesce((
      select c.run_id from sync_run c where c.stream = s.stream and c.outcome = 'complete'
      order by c.run_id desc limit 1), 0)
    where r.outcome = 'suspicious' and r.released_at is null group by s.stream
    union all
    select detail ->> '$.stream', key + 0, 'changed', at, 1 from incident
    where kind = 'mass_change' and resolved_at is null
  ) group by id`;
