/**
 * Counts what waits for a person: deliveries, documents, runs, and incidents about none of these.
 * Each thing counts once: a delivery that two rules hold, or about which an incident is open, is
 * one delivery. The console, the status, the metrics and messages to people all count by this.
 * `overdue` says how many of them are told as an alarm.
 */
import { type RawBuilder, sql } from 'kysely';
import { wordFor } from '../config/words.ts';
import { plural } from '../lib/strings.ts';
import type { Db, Tx } from '../store/store.ts';
import {
  DOCUMENT_INCIDENTS,
  deliveryWaits,
  IS_UNDECIDABLE,
  WAITING_DOCUMENTS,
  WAITING_RUNS,
} from '../store/waiting.ts';

export const WAITING_KINDS = ['deliveries', 'documents', 'runs', 'incidents'] as const;
export type WaitingKind = (typeof WAITING_KINDS)[number];

/** Part of what waits of one kind; no two parts share a thing. */
interface WaitingPart {
  /** Outcome of the deliveries' decisions, cause and kind of the documents, stream, or incident. */
  readonly what: string;
  readonly count: number;
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
}

interface WaitingOf {
  readonly count: number;
  readonly overdue: number;
  readonly oldestAt: number | null;
  readonly parts: readonly WaitingPart[];
}

export type Waiting = Readonly<Record<WaitingKind, WaitingOf>> & {
  readonly total: number;
  readonly overdue: number;
};

interface Counted extends WaitingPart {
  readonly overdue: number;
}

function sum(rows: readonly Counted[], of: 'count' | 'overdue'): number {
  return rows.reduce((all, row) => all + Number(row[of]), 0);
}

function together(rows: readonly Counted[]): WaitingOf {
  const times = rows.flatMap(({ oldestAt }) => oldestAt ?? []);
  return {
    count: sum(rows, 'count'),
    overdue: sum(rows, 'overdue'),
    oldestAt: times.length === 0 ? null : Math.min(...times),
    parts: rows.map(({ overdue: _, ...part }) => part),
  };
}

async function counted(db: Db | Tx, query: RawBuilder<Counted>): Promise<WaitingOf> {
  return together((await query.execute(db)).rows);
}

/** Their number is kept by triggers; the oldest of each outcome is the first of an index. */
const DELIVERIES = sql<Counted>`
  select name what, rows count, 0 overdue,
    (select min(packed_at) from claim where outcome = name and waits = 1) "oldestAt",
    (select max(packed_at) from claim where outcome = name and waits = 1) "newestAt"
  from tally where entity = 'waiting' and rows > 0
  union all select 'error', count(*), 0, min(packed_at), max(packed_at)
  from claim c where ${IS_UNDECIDABLE} having count(*) > 0
  order by 2 desc, 1`;

/** Holds that have lasted their time, of deliveries that still wait. */
async function overdueDeliveries(db: Db | Tx): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`
    select count(distinct h.order_delivery_id) count
    from hold h cross join claim c on c.order_delivery_id = h.order_delivery_id and c.waits = 1
    where h.lapsed_at is not null and h.afterwards = 'escalate'`.execute(db);
  return Number(rows[0]?.count ?? 0);
}

const DOCUMENTS = sql<Counted>`
  select kind || '/' || cause what, count(*) count, sum(overdue) overdue, min(since) "oldestAt",
    max(since) "newestAt"
  from (${WAITING_DOCUMENTS}) group by 1 order by 2 desc, 1`;

const RUNS = sql<Counted>`
  select stream what, count(*) count, sum(overdue) overdue, min(since) "oldestAt",
    max(since) "newestAt"
  from (${WAITING_RUNS}) group by stream order by 1`;

/** Kinds that are told about documents that count themselves, or that need nobody. */
const COUNTED_OTHERWISE = [
  'accepts_paused',
  'hold_expired',
  'mass_change',
  'service_put_back',
  ...Object.keys(DOCUMENT_INCIDENTS),
];

/** SQL: whether the incident `i` is about deliveries or a run that count themselves. */
const IS_COUNTED = sql<boolean>`case i.kind
  when 'accepts_wait' then i.detail ->> '$.rows' > 0
  when 'evaluation_error' then exists (select 1 from json_each(i.detail, '$.concerns') about
    where ${deliveryWaits(sql`about.value + 0`)})
  when 'never_complete' then i.key in (
    select stream from (${WAITING_RUNS}) where why = 'suspicious')
  when 'shared_number' then i.entity = 'delivery' and exists (select 1 from shared_number s
    where s.entity = 'delivery' and ${deliveryWaits(sql`s.number`)})
  when 'unreadable_member' then i.entity = 'delivery' and exists (select 1 from tally
    where entity = 'hold' and name = 'unread' and rows > 0)
  else i.entity = 'delivery' and ${deliveryWaits(sql`i.key + 0`)} end`;

/** SQL: open incidents that need somebody and are about none of the other kinds (kind, at). */
export const WAITING_INCIDENTS = sql`
  select kind, at from incident i
  where resolved_at is null
    and kind not in (${sql.join(COUNTED_OTHERWISE.map((kind) => sql.lit(kind)))})
    and ifnull(${IS_COUNTED}, 0) = 0`;

const OTHERS = sql<Counted>`
  select kind what, count(*) count, count(*) overdue, min(at) "oldestAt", max(at) "newestAt"
  from (${WAITING_INCIDENTS}) group by kind order by 2 desc, 1`;

export async function countWaiting(db: Db | Tx): Promise<Waiting> {
  const deliveries = {
    ...(await counted(db, DELIVERIES)),
    overdue: await overdueDeliveries(db),
  };
  const documents = await counted(db, DOCUMENTS);
  const runs = await counted(db, RUNS);
  const incidents = await counted(db, OTHERS);
  const all = [deliveries, documents, runs, incidents];
  return {
    total: all.reduce((total, { count }) => total + count, 0),
    overdue: all.reduce((total, { overdue }) => total + overdue, 0),
    deliveries,
    documents,
    runs,
    incidents,
  };
}

/** Deliveries that are held, among those that wait. */
export function heldOf({ deliveries }: Waiting): { count: number; oldestAt: number | null } {
  const { count = 0, oldestAt = null } = deliveries.parts.find((one) => one.what === 'hold') ?? {};
  return { count, oldestAt };
}

/** Numbers alone, by kind and together. */
export function waitingCounts(waiting: Waiting): Readonly<Record<WaitingKind | 'total', number>> {
  const { total, deliveries, documents, runs, incidents } = waiting;
  return {
    total,
    deliveries: deliveries.count,
    documents: documents.count,
    runs: runs.count,
    incidents: incidents.count,
  };
}

/** Describes a part of what waits of a kind, in words. */
export function describePart(kind: WaitingKind, what: string): string {
  if (kind === 'deliveries') return wordFor('deliveries', what);
  if (kind === 'runs') return `a run of ${wordFor('stream', what)}`;
  if (kind === 'incidents') return wordFor('incident', what);
  const [document = '', cause = ''] = what.split('/');
  return `${wordFor('pushes', document)} ${wordFor('documents', cause)}`;
}

const NOUNS: Readonly<Record<WaitingKind, readonly [string, string]>> = {
  deliveries: ['delivery', 'deliveries'],
  documents: ['document', 'documents'],
  runs: ['run', 'runs'],
  incidents: ['incident', 'incidents'],
};

export function waitingOfKind(kind: WaitingKind, count: number): string {
  return plural(count, ...NOUNS[kind]);
}

/** Names what waits by kind: `5 deliveries, 1 document`; empty: nothing waits. */
export function describeWaiting(waiting: Waiting): string {
  const kinds = WAITING_KINDS.filter((kind) => waiting[kind].count > 0);
  return kinds.map((kind) => waitingOfKind(kind, waiting[kind].count)).join(', ');
}
