/** Reads stored events for people: a list, one event with its effects, and newly arrived ones. */
import { sql } from 'kysely';
import { z } from 'zod';
import { WORDS } from '../config/words.ts';
import { RefusedError } from '../lib/errors.ts';
import type { IdPage } from '../store/pages.ts';
import type { Db } from '../store/store.ts';
import { oneOf, text, time, whole } from '../surface/members.ts';

export interface EventFilter {
  /** Type of event, in full or without its prefix: `delivery_created`. */
  readonly type?: string | undefined;
  readonly orderId?: number | undefined;
  /** Epoch ms from which events must have arrived. */
  readonly since?: number | undefined;
}

export const eventType = text('Type', {
  words: WORDS.event,
  values: async () => Object.keys(WORDS.event),
  about: 'Such as sales_order.delivery_created, or delivery_created',
});

/** Members of an event; `refresh`: its order is read again, `stored`: nothing is read. */
export const EVENT = {
  eventId: text('Event', { link: 'event', csv: 'event', about: 'As the relay has it' }),
  receivedAt: time('Received'),
  sentAt: time('Sent'),
  type: eventType.nullable(),
  orderId: whole('Order', { link: 'order' }, 1).nullable(),
  outcome: oneOf('Outcome', ['refresh', 'stored']),
  duplicates: whole('Again', { about: 'How often it came again' }),
  lastDuplicateAt: time('Last').nullable(),
  secretName: text('Signed by'),
};
const eventSchema = z.strictObject(EVENT);
export type EventRow = z.output<typeof eventSchema>;

function eventRows(db: Db) {
  return db
    .selectFrom('webhook_event')
    .select([
      'event_id as eventId',
      'received_at as receivedAt',
      'sent_at as sentAt',
      'type',
      'order_id as orderId',
      'outcome',
      'duplicates',
      'last_duplicate_at as lastDuplicateAt',
      'secret_name as secretName',
    ]);
}

/** Place of an event in the list, for the pages before and after it. */
export function eventPlace({ receivedAt, eventId }: Pick<EventRow, 'receivedAt' | 'eventId'>) {
  return Buffer.from(`${receivedAt} ${eventId}`).toString('base64url');
}

function placed(place: string): readonly [at: number, eventId: string] {
  const text = Buffer.from(place, 'base64url').toString();
  const [, at, eventId] = /^(\d{1,15}) (.{1,256})$/.exec(text) ?? [];
  if (at !== undefined && eventId !== undefined) return [Number(at), eventId];
  throw new RefusedError('events.no_place', 'there is no such place in the list', {
    hint: 'begin again without it',
  });
}

/** Events that fit, the latest first; of equal times, by their ids. */
export async function listEvents(
  db: Db,
  { type, orderId, since }: EventFilter,
  { after, back, limit }: IdPage,
): Promise<EventRow[]> {
  let query = eventRows(db).limit(limit);
  if (type !== undefined) query = query.where('type', 'in', [type, `sales_order.${type}`]);
  if (orderId !== undefined) query = query.where('order_id', '=', orderId);
  if (since !== undefined) query = query.where('received_at', '>=', since);
  if (back !== undefined) {
    const [at, eventId] = placed(back);
    const rows = await query
      .where('received_at', '>=', at)
      .where((eb) => eb.or([eb('received_at', '>', at), eb('event_id', '<', eventId)]))
      .orderBy('received_at')
      .orderBy('event_id', 'desc')
      .execute();
    return rows.toReversed();
  }
  if (after !== undefined) {
    const [at, eventId] = placed(after);
    query = query
      .where('received_at', '<=', at)
      .where((eb) => eb.or([eb('received_at', '<', at), eb('event_id', '>', eventId)]));
  }
  return query.orderBy('received_at', 'desc').orderBy('event_id').execute();
}

/** Events that arrived at `from` or later, new or repeated; the earliest first. */
export async function eventsFrom(db: Db, from: number): Promise<EventRow[]> {
  const rows = await eventRows(db)
    .where((eb) => eb.or([eb('received_at', '>=', from), eb('last_duplicate_at', '>=', from)]))
    .execute();
  return rows.sort((a, b) => arrivedAt(a) - arrivedAt(b));
}

/** Epoch ms of the event's last arrival, duplicates included. */
export function arrivedAt({ receivedAt, lastDuplicateAt }: EventRow): number {
  return Math.max(receivedAt, lastDuplicateAt ?? 0);
}

export interface EventTrace extends EventRow {
  readonly body: Buffer;
  /** Changes of the mirror by the read that this event triggered. */
  readonly changes: readonly TraceChange[];
  /** All changes of the event's order since it arrived; several events may share one read. */
  readonly orderSince: readonly TraceChange[];
  /** Decisions about the order's deliveries since the event arrived. */
  readonly decisions: readonly TraceDecision[];
  /** Read of the event's order that is still to come, with the last error; null: none. */
  readonly waiting: { readonly dueAt: number; readonly lastError: string | null } | null;
}

interface TraceChange {
  readonly at: number;
  readonly entity: string;
  readonly key: string;
  readonly op: string;
  readonly cause: string;
}

interface TraceDecision {
  readonly decisionId: number;
  readonly at: number;
  readonly orderDeliveryId: number;
  readonly outcome: string;
  readonly mode: string;
}

const TRACE_MAX = 50;

async function changesOfOrder(db: Db, orderId: number, since: number): Promise<TraceChange[]> {
  // Keys of the change feed are texts. `cross join` keeps SQLite from scanning all changes.
  const found = await sql<TraceChange>`
    select at, entity, key, op, cause from (
      select 'sales_order' entity, ${String(orderId)} key
      union all select 'delivery', order_delivery_id || '' from delivery where order_id = ${orderId}
      union all select 'refund', order_refund_id || '' from refund where order_id = ${orderId}
      union all select 'pending_refund', pending_refund_id || ''
        from pending_refund where order_id = ${orderId}
    ) cross join change using (entity, key)
    where at >= ${since} order by seq limit ${TRACE_MAX}`.execute(db);
  return found.rows;
}

/** An event with its body and effects; undefined: no such id. */
export async function traceEvent(db: Db, eventId: string): Promise<EventTrace | undefined> {
  const event = await eventRows(db)
    .select('body')
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  if (!event) return undefined;
  const { orderId, receivedAt } = event;
  if (orderId === null) {
    return { ...event, changes: [], orderSince: [], decisions: [], waiting: null };
  }
  const orderSince = await changesOfOrder(db, orderId, receivedAt);
  const decisions = await db
    .selectFrom('decision')
    .select(['decision_id as decisionId', 'at', 'order_delivery_id as orderDeliveryId'])
    .select(['outcome', 'mode'])
    .where('order_delivery_id', 'in', (eb) =>
      eb.selectFrom('delivery').select('order_delivery_id').where('order_id', '=', orderId),
    )
    .where('at', '>=', receivedAt)
    // By the number itself SQLite would read every decision there ever was.
    .orderBy(sql`+decision_id`)
    .limit(TRACE_MAX)
    .execute();
  const waiting = await db
    .selectFrom('refresh')
    .select(['due_at as dueAt', 'last_error as lastError'])
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  return {
    ...event,
    changes: orderSince.filter(({ cause }) => cause === `refresh:event:${eventId}`),
    orderSince,
    decisions,
    waiting: waiting ?? null,
  };
}
