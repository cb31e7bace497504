/**
 * The relay's own state: endpoints, keys, messages, deliveries, the queue and the history, in
 * SQLite so that the queue survives a restart (in memory without a path). All of the relay's SQL
 * is in this folder. Every method is one statement or one transaction.
 */
import Database from 'better-sqlite3';
import { z } from 'zod';
import { StoreError } from '../../../lib/errors.ts';
import type {
  Attempt,
  Delivery,
  DeliveryStatus,
  Endpoint,
  Job,
  Message,
  NewJob,
  SigningKey,
} from '../model.ts';
import { RelayHistory } from './history.ts';
import { SCHEMA } from './schema.ts';

/** "Srly": marks the file as a relay's, so that it is never mixed up with a mirror. */
const APPLICATION_ID = 0x53726c79;
const BUSY_MS_MAX = 5_000;

interface EndpointRow extends Omit<Endpoint, 'eventTypes'> {
  readonly eventTypes: string | null;
}

const ENDPOINT = `SELECT id, url, description, event_types eventTypes,
  disabled_reason disabledReason, failing_since failingSince, created_at createdAt,
  updated_at updatedAt FROM endpoint`;
const MESSAGE = `SELECT id, event_type eventType, event_id eventId, body,
  created_at createdAt FROM message`;
const DELIVERY = `SELECT message_id messageId, endpoint_id endpointId, status,
  next_attempt_at nextAttemptAt FROM delivery`;
const JOB = `SELECT seq, message_id messageId, endpoint_id endpointId, number, kind,
  due_at dueAt, fault FROM job`;

const eventTypesSchema = z.array(z.string()).nullable();

function endpointOf(row: EndpointRow): Endpoint {
  return { ...row, eventTypes: eventTypesSchema.parse(JSON.parse(row.eventTypes ?? 'null')) };
}

/** What the outcome of an attempt changes besides the history. */
export interface Outcome {
  readonly attempt: Attempt;
  readonly job: Job;
  /** Null: the delivery stays as it was. */
  readonly status: DeliveryStatus | null;
  readonly retry: NewJob | null;
  readonly failingSince: number | null;
}

export class RelayStore {
  readonly #db: Database.Database;
  readonly history: RelayHistory;

  constructor(path: string | undefined) {
    this.#db = new Database(path ?? ':memory:', { timeout: BUSY_MS_MAX });
    this.#db.pragma('journal_mode = WAL');
    this.#db.pragma('synchronous = NORMAL');
    const owner = this.#db.pragma('application_id', { simple: true });
    if (owner !== 0 && owner !== APPLICATION_ID) {
      this.#db.close();
      throw new StoreError('relay.not_ours', 'this file is no relay state', {
        hint: 'give the relay a file of its own',
      });
    }
    this.#db.pragma(`application_id = ${APPLICATION_ID}`);
    this.#db.exec(SCHEMA);
    this.history = new RelayHistory(this.#db);
  }

  close(): void {
    this.#db.close();
  }

  /** Runs `work` in one transaction. */
  atomically<T>(work: () => T): T {
    return this.#db.transaction(work).immediate();
  }

  insertEndpoint(endpoint: Endpoint): void {
    this.#db
      .prepare(
        `INSERT INTO endpoint (id, url, description, event_types, disabled_reason, failing_since,
           created_at, updated_at) VALUES (@id, @url, @description, @eventTypes, @disabledReason,
           @failingSince, @createdAt, @updatedAt)`,
      )
      .run({ ...endpoint, eventTypes: JSON.stringify(endpoint.eventTypes) });
  }

  updateEndpoint(endpoint: Endpoint): void {
    this.#db
      .prepare(
        `UPDATE endpoint SET url = @url, description = @description, event_types = @eventTypes,
           disabled_reason = @disabledReason, failing_since = @failingSince,
           updated_at = @updatedAt WHERE id = @id`,
      )
      .run({ ...endpoint, eventTypes: JSON.stringify(endpoint.eventTypes) });
  }

  /** The history of its attempts goes with it. */
  deleteEndpoint(id: string): void {
    for (const table of ['job', 'attempt', 'delivery', 'signing_key']) {
      this.#db.prepare(`DELETE FROM ${table} WHERE endpoint_id = ?`).run(id);
    }
    this.#db.prepare('DELETE FROM endpoint WHERE id = ?').run(id);
  }

  endpoint(id: string): Endpoint | undefined {
    const row = this.#db.prepare<[string], EndpointRow>(`${ENDPOINT} WHERE id = ?`).get(id);
    return row && endpointOf(row);
  }

  /** In the order in which they were created. */
  endpoints(): Endpoint[] {
    return this.#db.prepare<[], EndpointRow>(`${ENDPOINT} ORDER BY rowid`).all().map(endpointOf);
  }

  /** The keys that still sign at `now`, the current one first. */
  liveKeys(endpointId: string, now: number): SigningKey[] {
    return this.#db
      .prepare<[string, number], SigningKey>(
        `SELECT secret, expires_at expiresAt FROM signing_key
         WHERE endpoint_id = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY seq DESC`,
      )
      .all(endpointId, now);
  }

  /** Makes `secret` the current key; the former one signs until `formerExpiresAt`. */
  addKey(endpointId: string, secret: string, formerExpiresAt: number): void {
    this.#db
      .prepare('UPDATE signing_key SET expires_at = ? WHERE endpoint_id = ? AND expires_at IS NULL')
      .run(formerExpiresAt, endpointId);
    this.#db
      .prepare('INSERT INTO signing_key (endpoint_id, secret) VALUES (?, ?)')
      .run(endpointId, secret);
  }

  insertMessage(message: Message): void {
    this.#db
      .prepare(
        `INSERT INTO message (id, event_type, event_id, body, created_at)
         VALUES (@id, @eventType, @eventId, @body, @createdAt)`,
      )
      .run(message);
  }

  message(id: string): Message | undefined {
    return this.#db.prepare<[string], Message>(`${MESSAGE} WHERE id = ?`).get(id);
  }

  /** True when the sender's own id was used at or after `since`. */
  hasEventId(eventId: string, since: number): boolean {
    return (
      this.#db
        .prepare('SELECT 1 FROM message WHERE event_id = ? AND created_at >= ?')
        .get(eventId, since) !== undefined
    );
  }

  delivery(messageId: string, endpointId: string): Delivery | undefined {
    return this.#db
      .prepare<[string, string], Delivery>(`${DELIVERY} WHERE message_id = ? AND endpoint_id = ?`)
      .get(messageId, endpointId);
  }

  /** Queues an attempt; a scheduled one makes its delivery pending. */
  enqueue(job: NewJob): void {
    this.#db
      .prepare(
        `INSERT INTO job (message_id, endpoint_id, number, kind, due_at, fault)
         VALUES (@messageId, @endpointId, @number, @kind, @dueAt, @fault)`,
      )
      .run(job);
    this.#db
      .prepare(
        `INSERT INTO delivery (message_id, endpoint_id, status, next_attempt_at)
         VALUES (@messageId, @endpointId, 'pending', @dueAt) ON CONFLICT DO NOTHING`,
      )
      .run(job);
    if (job.kind !== 'scheduled') return;
    this.#db
      .prepare(
        `UPDATE delivery SET status = 'pending', next_attempt_at = @dueAt
         WHERE message_id = @messageId AND endpoint_id = @endpointId`,
      )
      .run(job);
  }

  /** The first `limit` attempts to one endpoint that are due at `now`, those in flight included. */
  dueJobs(endpointId: string, now: number, limit: number): Job[] {
    return this.#db
      .prepare<[string, number, number], Job>(
        `${JOB} WHERE endpoint_id = ? AND due_at <= ? ORDER BY due_at, seq LIMIT ?`,
      )
      .all(endpointId, now, limit);
  }

  endpointsWithJobsDue(now: number): string[] {
    return this.#db
      .prepare<[number], { id: string }>(
        'SELECT id FROM endpoint e WHERE EXISTS (SELECT 1 FROM job WHERE endpoint_id = e.id ' +
          'AND due_at <= ?)',
      )
      .all(now)
      .map(({ id }) => id);
  }

  /** When the first attempt after `now` is due, or undefined when none waits. */
  nextDueAfter(now: number): number | undefined {
    return this.#db
      .prepare<[number], { dueAt: number }>(
        'SELECT due_at dueAt FROM job WHERE due_at > ? ORDER BY due_at LIMIT 1',
      )
      .get(now)?.dueAt;
  }

  /** Messages created in [since, until) that failed at this endpoint, oldest first. */
  failedSince(endpoint: Endpoint, since: number, until: number): string[] {
    return this.#db
      .prepare<[string, number, number], { id: string }>(
        `SELECT m.id FROM message m JOIN delivery d ON d.message_id = m.id
         WHERE d.endpoint_id = ? AND d.status = 'failed' AND m.created_at >= ? AND m.created_at < ?
         ORDER BY m.seq`,
      )
      .all(endpoint.id, since, until)
      .map(({ id }) => id);
  }

  /** Messages in [since, until) of its types that never went to this endpoint, oldest first. */
  missingSince(endpoint: Endpoint, since: number, until: number): string[] {
    const types = JSON.stringify(endpoint.eventTypes);
    return this.#db
      .prepare<[number, number, string, string, string], { id: string }>(
        `SELECT m.id FROM message m WHERE m.created_at >= ? AND m.created_at < ?
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE message_id = m.id AND endpoint_id = ?)
         AND (? = 'null' OR m.event_type IN (SELECT value FROM json_each(?))) ORDER BY m.seq`,
      )
      .all(since, until, endpoint.id, types, types)
      .map(({ id }) => id);
  }

  /** Forgets messages created before `until`, with their deliveries and attempts. */
  forgetMessages(until: number): void {
    const old = 'SELECT id FROM message WHERE created_at < ?';
    for (const table of ['job', 'attempt', 'delivery']) {
      this.#db.prepare(`DELETE FROM ${table} WHERE message_id IN (${old})`).run(until);
    }
    this.#db.prepare('DELETE FROM message WHERE created_at < ?').run(until);
  }

  /** Forgets an attempt whose message or endpoint is gone. */
  drop(job: Job): void {
    this.#db.prepare('DELETE FROM job WHERE seq = ?').run(job.seq);
  }

  /** Records an attempt and everything that follows from it, in one transaction. */
  finish(outcome: Outcome): void {
    const { attempt, job } = outcome;
    this.atomically(() => {
      this.drop(job);
      this.#insertAttempt(attempt);
      if (outcome.status === 'success') this.#dropScheduled(job.messageId, job.endpointId);
      if (outcome.status) this.#setStatus(job.messageId, job.endpointId, outcome.status);
      if (outcome.retry) this.enqueue(outcome.retry);
      this.#db
        .prepare('UPDATE endpoint SET failing_since = ? WHERE id = ?')
        .run(outcome.failingSince, job.endpointId);
    });
  }

  /** Gives up what waits for an endpoint, so that a recovery finds it later. */
  failPending(endpointId: string): void {
    this.#db.prepare('DELETE FROM job WHERE endpoint_id = ?').run(endpointId);
    this.#db
      .prepare(
        `UPDATE delivery SET status = 'failed', next_attempt_at = NULL
         WHERE endpoint_id = ? AND status = 'pending'`,
      )
      .run(endpointId);
  }

  #setStatus(messageId: string, endpointId: string, status: DeliveryStatus): void {
    this.#db
      .prepare(
        `UPDATE delivery SET status = ?, next_attempt_at = NULL
         WHERE message_id = ? AND endpoint_id = ?`,
      )
      .run(status, messageId, endpointId);
  }

  #dropScheduled(messageId: string, endpointId: string): void {
    this.#db
      .prepare(`DELETE FROM job WHERE message_id = ? AND endpoint_id = ? AND kind = 'scheduled'`)
      .run(messageId, endpointId);
  }

  #insertAttempt(attempt: Attempt): void {
    this.#db
      .prepare(
        `INSERT INTO attempt (id, message_id, endpoint_id, url, status, response_status, response,
           duration_ms, trigger, at) VALUES (@id, @messageId, @endpointId, @url, @status,
           @responseStatus, @response, @durationMs, @trigger, @at)`,
      )
      .run(attempt);
  }
}
