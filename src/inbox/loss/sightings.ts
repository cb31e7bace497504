/**
 * Who told us of a change first: an event, or a sweep that came by? The change feed says which
 * read brought each change; this follows it and keeps one row for every change that an event
 * should have announced.
 *
 * Not counted: what our own pushes changed (nobody had to tell us), what orders bring that no type
 * of event announces, everything before the first complete sweep, because then all is new, and
 * what the first look at an old order finds. What may have happened while nobody listened is
 * excused: its event could not arrive. So is what the relay never tells us, because the endpoint
 * is subscribed to other types.
 *
 * Reads `change` and the rows that changed, `webhook_event`, `sync_run`; writes `sighting`. Safe to
 * run again at any point: the place in the feed is written with what it led to.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import type { TypesSent } from './types-sent.ts';

export interface SightingDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Epoch milliseconds since when events could be received. */
  readonly listeningSince: number;
  readonly typesSent: TypesSent;
  /** How long after a sweep saw a change its event may come and still counts as late, not lost. */
  readonly graceMs: number;
}

const CURSOR = 'loss_meter_seq';
/** Entries of the change feed that are looked at together; most of them are of no interest. */
const SEQS_PER_LOOK = 1_000;
const CHANGES_PER_COMMIT = 25;
/** Queries between two turns of the event loop: the listener must not wait for us. */
const QUERIES_PER_TURN = 20;
/**
 * An event that came this long before the sweep did was waiting for its own read; one that came
 * while the service was away waits until it is back.
 */
const LOOK_BACK_MS = 300_000;
/** The longest that a relay tries again; an older creation is no measure of an event's lateness. */
const RETRIES_MS_MAX = 2 * 86_400_000;
/** How far the service's clock may be ahead of ours. */
const CLOCK_SLACK_MS = 60_000;
const SWEEPS = ['orders', 'ordersFull'];

interface Change {
  readonly seq: number;
  readonly at: number;
  readonly entity: string;
  readonly key: string;
  readonly op: string;
  readonly diff: string;
  readonly cause: string;
}

/** The value that a column was changed to; undefined when it was not. */
function changedTo(diff: string, column: string): unknown {
  const columns = tryParseJson(diff);
  const pair: unknown = isJsonObject(columns) ? columns[column] : undefined;
  return Array.isArray(pair) ? pair[1] : undefined;
}

/** The type of event that announces a change; undefined when none does. */
export function announcedBy({ entity, op, diff }: Pick<Change, 'entity' | 'op' | 'diff'>) {
  if (op === 'delete' || op === 'restore') return undefined;
  if (entity === 'sales_order') {
    if (op === 'insert') return 'sales_order.order_created';
    return changedTo(diff, 'completed') === 1 ? 'sales_order.order_completed' : undefined;
  }
  if (entity !== 'delivery' && entity !== 'refund') return undefined;
  if (op === 'insert') return `sales_order.${entity}_created`;
  const canceled = changedTo(diff, 'status') === 'canceled';
  return `sales_order.${entity}_${canceled ? 'canceled' : 'updated'}`;
}

type Source =
  | { readonly by: 'event'; readonly eventId: string }
  /** `isFirst`: of an order whose deliveries nobody had looked at yet. */
  | { readonly by: 'sweep'; readonly runId: number; readonly isFirst: boolean };

function sourceOf(cause: string): Source | undefined {
  const eventId = /^refresh:event:(.+)$/.exec(cause)?.[1];
  if (eventId !== undefined) return { by: 'event', eventId };
  const [, runId, first] = /^(?:run|refresh:sweep):(\d+)(:first)?$/.exec(cause) ?? [];
  if (runId === undefined) return undefined;
  return { by: 'sweep', runId: Number(runId), isFirst: first !== undefined };
}

interface Subject {
  readonly orderId: number;
  readonly createdAt: number | null;
}

/** The order that a changed row belongs to, and when the service says it came into being. */
async function subjectOf(db: Tx, { entity, key }: Change): Promise<Subject | undefined> {
  const id = Number(key);
  if (entity === 'sales_order') {
    const row = await db
      .selectFrom('sales_order')
      .select('created_at')
      .where('order_id', '=', id)
      .executeTakeFirst();
    return row && { orderId: id, createdAt: row.created_at };
  }
  if (entity === 'delivery') {
    const row = await db
      .selectFrom('delivery')
      .select(['order_id', 'created_at'])
      .where('order_delivery_id', '=', id)
      .executeTakeFirst();
    return row && { orderId: row.order_id, createdAt: row.created_at };
  }
  const row = await db
    .selectFrom('refund')
    .select('order_id')
    .where('order_refund_id', '=', id)
    .executeTakeFirst();
  return row && { orderId: row.order_id, createdAt: null };
}

/**
 * The sweep before this one: what it did not see yet has happened since. One that had not ended
 * when this one began may have come by later.
 */
async function sweptBefore(db: Tx, runId: number) {
  let last: { run_id: number; started_at: number; ended_at: number | null } | undefined;
  // One stream at a time goes down an index to the run; both at once would sort all that there are.
  for (const stream of SWEEPS) {
    const row = await db
      .selectFrom('sync_run')
      .select(['run_id', 'started_at', 'ended_at'])
      .where('stream', '=', stream)
      .where('outcome', '=', 'complete')
      .where('run_id', '<', runId)
      .where('ended_at', '<=', (eb) =>
        eb.selectFrom('sync_run as own').select('own.started_at').where('own.run_id', '=', runId),
      )
      .orderBy('run_id', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (row && row.run_id > (last?.run_id ?? 0)) last = row;
  }
  return last;
}

/**
 * Whether a sweep after the one and up to the other could not read, for good or for a while: then
 * no event's own read could either.
 */
async function wasAway(db: Tx, from: number, to: number): Promise<boolean> {
  const row = await db
    .selectFrom('sync_run')
    .select('run_id')
    .where('stream', 'in', SWEEPS)
    .where((eb) => eb.or([eb('outcome', '=', 'failed'), eb('resumes', '>', 0)]))
    .where('run_id', '>', from)
    .where('run_id', '<=', to)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether the order was mirrored by then: what its first read finds may be years old. */
async function isKnownSince(db: Tx, orderId: number, at: number | null): Promise<boolean> {
  const row = await db
    .selectFrom('sales_order')
    .select('first_seen_at')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  return row !== undefined && row.first_seen_at <= (at ?? 0);
}

/** An event of this type for this order in this time that no other change has used up. */
async function eventFor(
  db: Db | Tx,
  change: { readonly orderId: number; readonly type: string },
  from: number,
  to: number,
): Promise<{ readonly event_id: string; readonly sent_at: number } | undefined> {
  return db
    .selectFrom('webhook_event')
    .select(['event_id', 'sent_at'])
    .where('order_id', '=', change.orderId)
    .where('type', '=', change.type)
    .where('received_at', '>=', from)
    .where('received_at', '<=', to)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('sighting')
            .select('change_seq')
            .whereRef('sighting.event_id', '=', 'webhook_event.event_id'),
        ),
      ),
    )
    .orderBy('received_at')
    .executeTakeFirst();
}

interface Sighting {
  readonly change_seq: number;
  readonly at: number;
  readonly order_id: number;
  readonly type: string;
  readonly seen_by: 'event' | 'sweep';
  readonly late_ms: number;
  readonly event_id: string | null;
  readonly verdict: 'announced' | 'excused' | null;
}

/** When that came into being which the change has brought; undefined: unknown, or too long ago. */
function bornAt({ at, op }: Change, createdAt: number | null, from: number): number | undefined {
  const isBirth = op === 'insert' && createdAt !== null;
  return isBirth && createdAt >= from && createdAt <= at + CLOCK_SLACK_MS ? createdAt : undefined;
}

async function sightingOf(
  db: Tx,
  change: Change,
  excuse: { readonly listeningSince: number; readonly silentTypes: ReadonlySet<string> },
): Promise<Sighting | undefined> {
  const type = announcedBy(change);
  const source = sourceOf(change.cause);
  const subject = type && source && (await subjectOf(db, change));
  if (!type || !source || !subject) return undefined;
  const { orderId, createdAt } = subject;
  const about = { change_seq: change.seq, at: change.at, order_id: orderId, type };
  const lateFrom = (born: number) => ({ late_ms: Math.max(0, change.at - born) });
  const byEvent = (event: { readonly event_id: string; readonly sent_at: number }): Sighting => ({
    ...{ ...about, seen_by: 'event', event_id: event.event_id, verdict: 'announced' },
    ...lateFrom(bornAt(change, createdAt, event.sent_at - RETRIES_MS_MAX) ?? event.sent_at),
  });
  if (source.by === 'event') {
    const event = await db
      .selectFrom('webhook_event')
      .select(['event_id', 'sent_at'])
      .where('event_id', '=', source.eventId)
      .executeTakeFirst();
    if (!event) return undefined;
    const born = bornAt(change, createdAt, event.sent_at - RETRIES_MS_MAX);
    if (born === undefined) return byEvent(event);
    // Several events for an order are one read, which names the last of them.
    const own = await eventFor(db, { orderId, type }, born - CLOCK_SLACK_MS, change.at);
    return byEvent(own ?? event);
  }
  const swept = await sweptBefore(db, source.runId);
  if (!swept) return undefined;
  if (source.isFirst && (await isKnownSince(db, orderId, swept.ended_at))) return undefined;
  const before = swept.started_at;
  const lookBackTo = change.at - LOOK_BACK_MS;
  const away = before < lookBackTo && (await wasAway(db, swept.run_id, source.runId));
  const earlier = await eventFor(db, { orderId, type }, away ? before : lookBackTo, change.at);
  if (earlier) return byEvent(earlier);
  return {
    ...about,
    seen_by: 'sweep',
    ...lateFrom(bornAt(change, createdAt, before - CLOCK_SLACK_MS) ?? before),
    event_id: null,
    verdict: before < excuse.listeningSince || excuse.silentTypes.has(type) ? 'excused' : null,
  };
}

async function lastSeq(db: Db): Promise<number> {
  const row = await db
    .selectFrom('change')
    .select((eb) => eb.fn.max('seq').as('seq'))
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/** The changes that may count after `cursor`, and how far the feed was looked at. */
async function changesAfter(db: Db, cursor: number, end: number) {
  const upTo = Math.min(cursor + SEQS_PER_LOOK, end);
  const changes = await db
    .selectFrom('change')
    .selectAll()
    .where('seq', '>', cursor)
    .where('seq', '<=', upTo)
    // With the plus by the number: else SQLite goes through all that ever changed of these.
    .where(sql<string>`+entity`, 'in', ['sales_order', 'delivery', 'refund'])
    .orderBy('seq')
    .limit(CHANGES_PER_COMMIT)
    .execute();
  const last = changes.length < CHANGES_PER_COMMIT ? upTo : (changes.at(-1)?.seq ?? upTo);
  return { changes, last };
}

/** Takes in what the change feed has got since the last time. */
export async function recordSightings(deps: SightingDeps): Promise<void> {
  const { store, clock, listeningSince, typesSent } = deps;
  const stored = await readState(store.db, CURSOR);
  const end = await lastSeq(store.db);
  let cursor = stored === undefined ? end : Number(stored);
  let written = stored;
  while (cursor < end) {
    const { changes, last } = await changesAfter(store.db, cursor, end);
    cursor = last;
    // A pull's rows: thousands of looks that lead to nothing are written down as one.
    if (changes.length > 0) {
      const excuse = { listeningSince, silentTypes: await silentTypes(typesSent, changes) };
      await store.transaction(async (tx) => {
        for (const change of changes) {
          const sighting = await sightingOf(tx, change, excuse);
          if (sighting) await tx.insertInto('sighting').values(sighting).execute();
        }
        await writeState(tx, CURSOR, String(last), clock);
      });
      written = String(last);
    }
    await nextTurn();
  }
  if (String(cursor) !== written) await writeState(store.db, CURSOR, String(cursor), clock);
}

/** The types among these changes whose events never come. */
async function silentTypes(
  typesSent: TypesSent,
  changes: readonly Change[],
): Promise<ReadonlySet<string>> {
  const silent = new Set<string>();
  for (const type of new Set(changes.map(announcedBy))) {
    if (type !== undefined && !(await typesSent.mayCome(type))) silent.add(type);
  }
  return silent;
}

/** Finds the events that came after all, and gives up those whose time has passed. */
export async function settleSightings({ store, clock, graceMs }: SightingDeps): Promise<void> {
  const open = await store.db
    .selectFrom('sighting')
    .selectAll()
    .where('verdict', 'is', null)
    .orderBy('change_seq')
    .limit(SEQS_PER_LOOK)
    .execute();
  for (const [index, { change_seq, order_id, type, at }] of open.entries()) {
    if (index % QUERIES_PER_TURN === QUERIES_PER_TURN - 1) await nextTurn();
    const wanted = { orderId: order_id, type };
    const event = await eventFor(store.db, wanted, at - LOOK_BACK_MS, at + graceMs);
    if (!event && clock.now() - at <= graceMs) continue;
    await store.db
      .updateTable('sighting')
      .set(event ? { verdict: 'late', event_id: event.event_id } : { verdict: 'lost' })
      .where('change_seq', '=', change_seq)
      .execute();
  }
}
