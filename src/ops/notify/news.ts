/**
 * Finds what is to be told: things that began in a span of time and still are so at its end. What
 * ended by itself meanwhile is nobody's concern any more.
 *
 * held: table `hold`. overdue: the same, of which the incident `hold_expired` counts all.
 * unknown_outcome: table `outbox`, and the incident `push_in_doubt` once only a person can resolve
 * it. suspicious_run: table `sync_run` since the last complete run, and the incident `mass_change`.
 * disarmed: table `arming`, and the incident `reject_breaker`.
 */
import { type RawBuilder, sql } from 'kysely';
import type { NotifyEvent } from '../../config/schema/notify.ts';
import type { Db } from '../../store/store.ts';

/** Things of one cause, however many they are. */
export interface News {
  readonly event: NotifyEvent;
  readonly cause: string;
  readonly count: number;
  /** Epoch ms when the first of them began. */
  readonly firstAt: number;
  /** The oldest three. */
  readonly oldest: readonly Thing[];
}

interface Thing {
  /** A delivery, a push or a run, by its event; null: the cause says all. */
  readonly id: number | null;
  /** Epoch ms. */
  readonly since: number;
}

/** After the first time, until the second, which is included. */
export interface Span {
  readonly after: number;
  readonly until: number;
}

const OLDEST = 3;

/** Rows of (cause, id, at, since); `at` is what the span is about. */
type Rows = (within: (at: RawBuilder<unknown>) => RawBuilder<boolean>) => RawBuilder<unknown>;

const HELD: Rows = (within) => sql`
  select h.rule_id cause, h.order_delivery_id id, h.since at, h.since from hold h
  join delivery d on d.order_delivery_id = h.order_delivery_id
  where ${within(sql`h.since`)} and d.status = 'pending' and d.deleted_at is null
    and (h.lapsed_at is null or h.afterwards = 'escalate')`;

const OVERDUE: Rows = (within) => sql`
  select h.rule_id cause, h.order_delivery_id id, h.lapsed_at at, h.since from hold h
  join delivery d on d.order_delivery_id = h.order_delivery_id
  where h.lapsed_at is not null and ${within(sql`h.lapsed_at`)} and h.afterwards = 'escalate'
    and d.status = 'pending' and d.deleted_at is null`;

const UNKNOWN_OUTCOME: Rows = (within) => sql`
  select 'looked_up' cause, outbox_id id, in_doubt_since at, in_doubt_since since from outbox
  where state = 'in_doubt' and ended_at is null and blocked_reason is null
    and ${within(sql`in_doubt_since`)}
  union all
  select 'needs_a_person', cast(key as integer), at, at from incident
  where kind = 'push_in_doubt' and resolved_at is null and ${within(sql`at`)}`;

const SUSPICIOUS_RUN: Rows = (within) => sql`
  select cause, id, at, at since from (
    select s.stream cause, min(r.run_id) id, min(r.ended_at) at from stream_state s
    join sync_run r on r.stream = s.stream and r.run_id > coalesce((
      select c.run_id from sync_run c where c.stream = s.stream and c.outcome = 'complete'
      order by c.run_id desc limit 1), 0)
    where r.outcome = 'suspicious' and r.released_at is null group by s.stream)
  where ${within(sql`at`)}
  union all
  select detail ->> '$.stream', cast(key as integer), at, at from incident
  where kind = 'mass_change' and resolved_at is null and ${within(sql`at`)}`;

const DISARMED: Rows = (within) => sql`
  select a.rule_id cause, null id, a.ended_at at, a.ended_at since from arming a
  where ${within(sql`a.ended_at`)}
    and not exists (select 1 from arming o where o.rule_id = a.rule_id and o.ended_at is null)
  union all
  select kind, null, at, at from incident
  where kind = 'reject_breaker' and resolved_at is null and ${within(sql`at`)}`;

const SOURCES: Readonly<Record<NotifyEvent, Rows>> = {
  held: HELD,
  overdue: OVERDUE,
  unknown_outcome: UNKNOWN_OUTCOME,
  suspicious_run: SUSPICIOUS_RUN,
  disarmed: DISARMED,
};

/** When the first of these things began that are not told yet; undefined: there is none. */
export async function firstNews(db: Db, event: NotifyEvent, span: Span) {
  const { rows } = await sql<{ readonly at: number | null }>`
    select min(at) at from (${SOURCES[event](inside(span))})`.execute(db);
  return rows[0]?.at ?? undefined;
}

function inside({ after, until }: Span) {
  return (at: RawBuilder<unknown>) => sql<boolean>`${at} > ${after} and ${at} <= ${until}`;
}

interface Row extends Thing {
  readonly cause: string;
  readonly count: number;
  readonly firstAt: number;
}

/** Everything that began in the span, by its cause. */
export async function readNews(db: Db, event: NotifyEvent, span: Span): Promise<News[]> {
  const { rows } = await sql<Row>`
    select cause, id, since, "count", "firstAt" from (
      select cause, id, since, count(*) over causes "count", min(at) over causes "firstAt",
        row_number() over (partition by cause order by since, id) nth
      from (${SOURCES[event](inside(span))})
      window causes as (partition by cause))
    where nth <= ${OLDEST} order by "count" desc, cause, nth`.execute(db);
  const byCause = Map.groupBy(rows, ({ cause }) => cause);
  return [...byCause].map(([cause, things]) => ({
    event,
    cause,
    count: things[0]?.count ?? 0,
    firstAt: things[0]?.firstAt ?? 0,
    oldest: things.map(({ id, since }) => ({ id, since })),
  }));
}
