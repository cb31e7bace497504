/**
 * Finds news for people: holds, pushes, runs and disarmings that began in a span of time and are
 * still so at its end. What ended by itself meanwhile needs nobody's attention any more.
 *
 * Sources by event: `held`: table `hold`. `overdue`: the same, of which the incident `hold_expired`
 * counts all. `unknown_outcome`: table `outbox`, and the incident `push_in_doubt` once only a
 * person can resolve it. `suspicious_run`: table `sync_run` since the last complete run, and the
 * incident `mass_change`. `disarmed`: table `arming`, and the incidents
 * `reject_breaker` and `arming_ends`. `waiting`: all that ops/waiting.ts counts; once something of
 * it is new, all of it is told, by kind.
 */
import { type RawBuilder, sql } from 'kysely';
import type { NotifyEvent } from '../../config/schema/notify.ts';
import type { Db } from '../../store/store.ts';
import { WAITING_DELIVERIES, WAITING_DOCUMENTS, WAITING_RUNS } from '../../store/waiting.ts';
import { countWaiting, WAITING_INCIDENTS, WAITING_KINDS } from '../waiting.ts';

/** News of one event and cause, with the number of things that it concerns. */
export interface News {
  readonly event: NotifyEvent;
  readonly cause: string;
  readonly count: number;
  /** Epoch ms when the first of these things began. */
  readonly firstAt: number;
  /** The three oldest things, by id. */
  readonly oldest: readonly Thing[];
}

interface Thing {
  /** Id of the delivery, push or run, by the event; null: the cause says all. */
  readonly id: number | null;
  /** Epoch ms since when it is so. */
  readonly since: number;
}

/** Span of time in epoch ms: later than `after`, and up to and including `until`. */
export interface Span {
  readonly after: number;
  readonly until: number;
}

const OLDEST = 3;

/**
 * SQL: holds of pending deliveries. The code of those that no rule covers stands also where
 * something else holds them.
 */
const HOLDS = sql`hold h cross join claim c on c.order_delivery_id = h.order_delivery_id
    and c.outcome is not null and (h.rule_id <> 'no_rule' or c.outcome <> 'hold')`;

/** SQL for an event's rows (cause, id, at, since); `at` must lie in the span. */
type Rows = (within: (at: RawBuilder<unknown>) => RawBuilder<boolean>) => RawBuilder<unknown>;

const HELD: Rows = (within) => sql`
  select h.rule_id cause, h.order_delivery_id id, h.since at, h.since from ${HOLDS}
  where ${within(sql`h.since`)} and (h.lapsed_at is null or h.afterwards = 'escalate')`;

const OVERDUE: Rows = (within) => sql`
  select h.rule_id cause, h.order_delivery_id id, h.lapsed_at at, h.since from ${HOLDS}
  where h.lapsed_at is not null and ${within(sql`h.lapsed_at`)} and h.afterwards = 'escalate'`;

const UNKNOWN_OUTCOME: Rows = (within) => sql`
  select 'looked_up' cause, outbox_id id, in_doubt_since at, in_doubt_since since from outbox
  where state = 'in_doubt' and ended_at is null and blocked_reason is null
    and ${within(sql`in_doubt_since`)}
  union all
  select 'needs_a_person', cast(key as integer), at, at from incident
  where kind = 'push_in_doubt' and resolved_at is null and ${within(sql`at`)}`;

const SUSPICIOUS_RUN: Rows = (within) => sql`
  select stream cause, id, since at, since from (${WAITING_RUNS}) where ${within(sql`since`)}`;

const DISARMED: Rows = (within) => sql`
  select a.rule_id cause, null id, a.ended_at at, a.ended_at since from arming a
  where ${within(sql`a.ended_at`)}
    and not exists (select 1 from arming o where o.rule_id = a.rule_id and o.ended_at is null)
  union all
  select kind, null, at, at from incident
  where kind = 'reject_breaker' and resolved_at is null and ${within(sql`at`)}
  union all
  select 'ends:' || key, null, at, at from incident
  where kind = 'arming_ends' and resolved_at is null and ${within(sql`at`)}`;

const WAITING: Rows = (within) => sql`
  select cause, id, since at, since from (
    select 'deliveries' cause, id, since from (${WAITING_DELIVERIES})
    union all select 'documents', id, since from (${WAITING_DOCUMENTS})
    union all select 'runs', id, since from (${WAITING_RUNS})
    union all select 'incidents', null, at from (${WAITING_INCIDENTS}))
  where ${within(sql`since`)}`;

const SOURCES: Readonly<Record<NotifyEvent, Rows>> = {
  waiting: WAITING,
  held: HELD,
  overdue: OVERDUE,
  unknown_outcome: UNKNOWN_OUTCOME,
  suspicious_run: SUSPICIOUS_RUN,
  disarmed: DISARMED,
};

/** Epoch ms when the first news of an event in the span began; undefined: there are none. */
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

const EVER: Span = { after: -1, until: Number.MAX_SAFE_INTEGER };

/** All that waits, by kind, with the numbers that every other place shows. */
async function readWaiting(db: Db): Promise<News[]> {
  const waiting = await countWaiting(db);
  const news = await groupedNews(db, 'waiting', EVER);
  return WAITING_KINDS.flatMap((kind) => {
    const { count } = waiting[kind];
    const found = news.find(({ cause }) => cause === kind);
    return found === undefined || count === 0 ? [] : [{ ...found, count }];
  });
}

/** News of an event that began in the span, grouped by cause. */
export async function readNews(db: Db, event: NotifyEvent, span: Span): Promise<News[]> {
  if (event !== 'waiting') return groupedNews(db, event, span);
  return (await firstNews(db, event, span)) === undefined ? [] : readWaiting(db);
}

async function groupedNews(db: Db, event: NotifyEvent, span: Span): Promise<News[]> {
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
