/** Stored events for people: a list, one event with its effects, and new ones. */
import { sql } from 'kysely';
import type { Db } from '../store/store.ts';

export interface EventFilter {
  /** Full name, or without its prefix: `delivery_created`. */
  readonly type?: string | undefined;
  readonly orderId?: number | undefined;
  /** Epoch ms. */
  readonly since?: number | undefined;
  /** Only those that come after this one in the list. */
  readonly after?: Pick<EventRow, 'receivedAt' | 'eventId'> | undefined;
  readonly limit: number;
}

export interface EventRow {
  readonly eventId: string;
  /** Epoch ms, here and below; `sentAt` is the relay's time of the first attempt. */
  readonly receivedAt: number;
  readonly sentAt: number;
  readonly type: string | null;
  readonly orderId: number | null;
  /** `refresh`: its order is read again; `stored`: nothing to read. */
  readonly outcome: 'refresh' | 'stored';
  readonly duplicates: number;
  readonly lastDuplicateAt: number | null;
  readonly secretName: string;
}

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

export function listEvents(db: Db, filter: EventFilter): Promise<EventRow[]> {
  const { type, orderId, since, after, limit } = filter;
  let query = eventRows(db);
  if (type !== undefined) query = query.where('type', 'in', [type, `sales_order.${type}`]);
  if (orderId !== undefined) query = query.where('order_id', '=', orderId);
  if (since !== undefined) query = query.where('received_at', '>=', since);
  if (after !== undefined) {
    const { receivedAt, eventId } = after;
    query = query
      .where('received_at', '<=', receivedAt)
      .where((eb) => eb.or([eb('received_at', '<', receivedAt), eb('event_id', '>', eventId)]));
  }
  return query.orderBy('received_at', 'desc').orderBy('event_id').limit(limit).execute();
}

/** Events that arrived since then, new or repeated; the earliest first. */
export async function eventsFrom(db: Db, from: number): Promise<EventRow[]> {
  const rows = await eventRows(db)
    .where((eb) => eb.or([eb('received_at', '>=', from), eb('last_duplicate_at', '>=', from)]))
    .execute();
  return rows.sort((a, b) => arrivedAt(a) - arrivedAt(b));
}

/** Last arrival of the event. */
export function arrivedAt({ receivedAt, lastDuplicateAt }: EventRow): number {
  return Math.max(receivedAt, lastDuplicateAt ?? 0);
}

export interface EventTrace extends EventRow {
  readonly body: Buffer;
  /** Changes from the read triggered by this event. */
  readonly changes: readonly TraceChange[];
  /** All changes of its order since; reads of several events are one. */
  readonly orderSince: readonly TraceChange[];
  /** Decisions about the order's deliveries since. */
  readonly decisions: readonly TraceDecision[];
  /** Pending read of its order, with the last error. */
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
  // Keys are texts. `cross join` keeps SQLite from scanning all changes.
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
    .where('order_id', '=', orderId)
    .where('at', '>=', receivedAt)
    .orderBy('decision_id')
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
