/** Lists that a person or the management API reads: messages, deliveries and attempts. */
import type Database from 'better-sqlite3';
import {
  type Attempt,
  type Delivery,
  type DeliveryStatus,
  type Message,
  PAGE_LIMIT_DEFAULT,
  PAGE_LIMIT_MAX,
  type Page,
  type PageQuery,
} from '../model.ts';

/** Filters of a list of messages, all of which must apply; times are epoch milliseconds. */
export interface MessageFilter extends PageQuery {
  readonly eventTypes?: readonly string[] | undefined;
  /** Time after which listed messages were created. */
  readonly after?: number | undefined;
  /** Time before which listed messages were created. */
  readonly before?: number | undefined;
  /** Endpoint to which listed messages were sent or are still to be sent. */
  readonly endpointId?: string | undefined;
  /**
   * State that at least one delivery of a listed message has; `unsent`: the message has no
   * delivery.
   */
  readonly status?: DeliveryStatus | 'unsent' | undefined;
}

export interface AttemptFilter extends PageQuery {
  readonly messageId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly status?: Attempt['status'] | undefined;
  /** Class of the answers' HTTP status: 200 for answers from 200 to 299, and so on. */
  readonly statusClass?: number | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
}

type Value = string | number;
type Condition = readonly [sql: string, ...values: Value[]];

const MESSAGE = `SELECT m.id, m.event_type eventType, m.event_id eventId, m.account, m.body,
  m.created_at createdAt FROM message m`;
const ATTEMPT = `SELECT a.id, a.message_id messageId, a.endpoint_id endpointId, a.url, a.status,
  a.response_status responseStatus, a.response, a.duration_ms durationMs, a.trigger, a.at
  FROM attempt a`;

function anyOf(column: string, values: readonly string[]): Condition {
  return [`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)];
}

function joined(conditions: readonly Condition[]): string {
  return conditions.map(([sql]) => sql).join(' AND ');
}

function valuesOf(conditions: readonly Condition[]): Value[] {
  return conditions.flatMap(([, ...values]) => values);
}

function messageConditions(filter: MessageFilter): Condition[] {
  const found: Condition[] = [];
  const { eventTypes, after, before, endpointId, status } = filter;
  if (eventTypes) found.push(anyOf('m.event_type', eventTypes));
  if (after !== undefined) found.push(['m.created_at > ?', after]);
  if (before !== undefined) found.push(['m.created_at < ?', before]);
  if (!endpointId && !status) return found;
  const wanted: Condition[] = [['d.message_id = m.id']];
  if (endpointId) wanted.push(['d.endpoint_id = ?', endpointId]);
  if (status && status !== 'unsent') wanted.push(['d.status = ?', status]);
  const route = `EXISTS (SELECT 1 FROM delivery d WHERE ${joined(wanted)})`;
  found.push([status === 'unsent' ? `NOT ${route}` : route, ...valuesOf(wanted)]);
  return found;
}

function attemptConditions(filter: AttemptFilter): Condition[] {
  const found: Condition[] = [];
  if (filter.messageId) found.push(['a.message_id = ?', filter.messageId]);
  if (filter.endpointId) found.push(['a.endpoint_id = ?', filter.endpointId]);
  if (filter.status) found.push(['a.status = ?', filter.status]);
  if (filter.after !== undefined) found.push(['a.at > ?', filter.after]);
  if (filter.before !== undefined) found.push(['a.at < ?', filter.before]);
  if (filter.statusClass !== undefined) {
    const from = filter.statusClass;
    found.push(['a.response_status BETWEEN ? AND ?', from, from + 99]);
  }
  if (filter.eventTypes) {
    const [sql, ...values] = anyOf('event_type', filter.eventTypes);
    found.push([`a.message_id IN (SELECT id FROM message WHERE ${sql})`, ...values]);
  }
  return found;
}

export class RelayHistory {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  messages(filter: MessageFilter = {}): Page<Message> {
    return this.#page<Message>('message', 'm', MESSAGE, messageConditions(filter), filter);
  }

  attempts(filter: AttemptFilter = {}): Page<Attempt> {
    return this.#page<Attempt>('attempt', 'a', ATTEMPT, attemptConditions(filter), filter);
  }

  attempt(id: string): Attempt | undefined {
    return this.#db.prepare<[string], Attempt>(`${ATTEMPT} WHERE a.id = ?`).get(id);
  }

  /** Deliveries of a message, in the order in which their endpoints were created. */
  deliveriesOf(messageId: string): Delivery[] {
    return this.#db
      .prepare<[string], Delivery>(
        `SELECT d.message_id messageId, d.endpoint_id endpointId, d.status,
           d.next_attempt_at nextAttemptAt FROM delivery d
         JOIN endpoint e ON e.id = d.endpoint_id WHERE d.message_id = ? ORDER BY e.rowid`,
      )
      .all(messageId);
  }

  /**
   * Rows after the row that the iterator names (or before it, when the iterator starts with `-`),
   * newest first. An iterator that names no row gives an empty page.
   */
  #page<T extends { readonly id: string }>(
    table: 'message' | 'attempt',
    alias: string,
    select: string,
    conditions: readonly Condition[],
    query: PageQuery,
  ): Page<T> {
    const limit = Math.max(1, Math.min(query.limit ?? PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX));
    const backwards = query.iterator?.startsWith('-') ?? false;
    const all = [...conditions];
    if (query.iterator) {
      const anchor = `(SELECT seq FROM ${table} WHERE id = ?)`;
      const id = query.iterator.replace(/^-/, '');
      all.push([`${alias}.seq ${backwards ? '>' : '<'} ${anchor}`, id]);
    }
    const where = all.length > 0 ? ` WHERE ${joined(all)}` : '';
    const rows = this.#db
      .prepare<Value[], T>(
        `${select}${where} ORDER BY ${alias}.seq ${backwards ? 'ASC' : 'DESC'} LIMIT ?`,
      )
      .all(...valuesOf(all), limit + 1);
    const data = backwards ? rows.slice(0, limit).reverse() : rows.slice(0, limit);
    const first = data[0];
    return {
      data,
      iterator: data.at(-1)?.id ?? query.iterator ?? null,
      prevIterator: first ? `-${first.id}` : null,
      done: rows.length <= limit,
    };
  }
}
