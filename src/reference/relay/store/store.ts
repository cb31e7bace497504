/**
 * The relay's own state: endpoints, keys, messages, deliveries, the queue and the history, in
 * SQLite so that the queue survives a restart (in memory without a path). All of the relay's SQL is
 * in this folder. Every method is one statement or one transaction.
 */
import { existsSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { StoreError } from '../../../lib/errors.ts';
import type {
  Attempt,
  DeliveryStatus,
  Endpoint,
  Job,
  Message,
  NewJob,
  SigningKey,
} from '../model.ts';
import { RelayHistory } from './history.ts';
import {
  type EndpointRow,
  endpointStatements,
  messageStatements,
  queueStatements,
} from './statements.ts';

/** Tables of the relay's state. `seq` is the order in which rows were written. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS endpoint (
  id TEXT PRIMARY KEY, url TEXT NOT NULL, description TEXT NOT NULL, event_types TEXT,
  disabled_reason TEXT, failing_since INTEGER, account INTEGER, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS signing_key (
  seq INTEGER PRIMARY KEY, endpoint_id TEXT NOT NULL, secret TEXT NOT NULL, expires_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS signing_key_endpoint ON signing_key (endpoint_id);
CREATE TABLE IF NOT EXISTS message (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, event_type TEXT NOT NULL, event_id TEXT,
  account INTEGER, body BLOB NOT NULL, created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS message_created ON message (created_at);
CREATE INDEX IF NOT EXISTS message_event_id ON message (event_id) WHERE event_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS delivery (
  message_id TEXT NOT NULL, endpoint_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('success', 'pending', 'failed')),
  next_attempt_at INTEGER, PRIMARY KEY (message_id, endpoint_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivery_endpoint ON delivery (endpoint_id, status);
CREATE TABLE IF NOT EXISTS job (
  seq INTEGER PRIMARY KEY, message_id TEXT NOT NULL, endpoint_id TEXT NOT NULL,
  number INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('scheduled', 'manual', 'duplicate')),
  due_at INTEGER NOT NULL, fault TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS job_endpoint_due ON job (endpoint_id, due_at, seq);
CREATE INDEX IF NOT EXISTS job_message ON job (message_id);
CREATE INDEX IF NOT EXISTS job_due ON job (due_at);
CREATE TABLE IF NOT EXISTS attempt (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, message_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL, url TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('success', 'failed')),
  response_status INTEGER NOT NULL, response TEXT NOT NULL, duration_ms INTEGER NOT NULL,
  trigger TEXT NOT NULL CHECK (trigger IN ('scheduled', 'manual')), at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS attempt_message ON attempt (message_id, seq);
CREATE INDEX IF NOT EXISTS attempt_endpoint ON attempt (endpoint_id, seq);
`;

/**
 * Application id "Srly" that marks the file as a relay's, so that it is never taken for a mirror.
 */
const APPLICATION_ID = 0x53726c79;
const BUSY_MS_MAX = 5_000;

const eventTypesSchema = z.array(z.string()).nullable();

function endpointOf(row: EndpointRow): Endpoint {
  return { ...row, eventTypes: eventTypesSchema.parse(JSON.parse(row.eventTypes ?? 'null')) };
}

function rowOf(endpoint: Endpoint): EndpointRow {
  return { ...endpoint, eventTypes: JSON.stringify(endpoint.eventTypes) };
}

function openDatabase(path: string | undefined): Database.Database {
  // The file has signing secrets, so only its owner may read it. SQLite gives its mode to the log
  // and the log's index.
  if (path !== undefined && !existsSync(path)) writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
  const db = new Database(path ?? ':memory:', { timeout: BUSY_MS_MAX });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  const owner = db.pragma('application_id', { simple: true });
  if (owner !== 0 && owner !== APPLICATION_ID) {
    db.close();
    throw new StoreError('relay.not_ours', 'this file is no relay state', {
      hint: 'give the relay a file of its own',
    });
  }
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.exec(SCHEMA);
  // A file of 0.1.0 has no accounts: its endpoints receive the events of all.
  for (const table of ['endpoint', 'message']) {
    const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck();
    if (columns.all(table).includes('account')) continue;
    db.exec(`ALTER TABLE ${table} ADD COLUMN account INTEGER`);
  }
  return db;
}

/** Changes that follow from an attempt. */
export interface Outcome {
  readonly attempt: Attempt;
  readonly job: Job;
  /** New status of the delivery; null: it stays as it was. */
  readonly status: DeliveryStatus | null;
  readonly retry: NewJob | null;
  readonly failingSince: number | null;
}

export class RelayStore {
  readonly #db: Database.Database;
  readonly #endpoints: ReturnType<typeof endpointStatements>;
  readonly #messages: ReturnType<typeof messageStatements>;
  readonly #queue: ReturnType<typeof queueStatements>;
  readonly history: RelayHistory;

  constructor(path: string | undefined) {
    this.#db = openDatabase(path);
    this.#endpoints = endpointStatements(this.#db);
    this.#messages = messageStatements(this.#db);
    this.#queue = queueStatements(this.#db);
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
    this.#endpoints.insert.run(rowOf(endpoint));
  }

  updateEndpoint(endpoint: Endpoint): void {
    this.#endpoints.update.run(rowOf(endpoint));
  }

  /** Deletes an endpoint with the history of its attempts. */
  deleteEndpoint(id: string): void {
    for (const remove of this.#endpoints.removeParts) remove.run(id);
    this.#endpoints.remove.run(id);
  }

  endpoint(id: string): Endpoint | undefined {
    const row = this.#endpoints.one.get(id);
    return row && endpointOf(row);
  }

  /** All endpoints in the order in which they were created. */
  endpoints(): Endpoint[] {
    return this.#endpoints.all.all().map(endpointOf);
  }

  /** Keys of the endpoint that still sign at `now`, the current one first. */
  liveKeys(endpointId: string, now: number): SigningKey[] {
    return this.#endpoints.liveKeys.all(endpointId, now);
  }

  /** Makes `secret` the current key; the former one signs until `formerExpiresAt`. */
  addKey(endpointId: string, secret: string, formerExpiresAt: number): void {
    this.#endpoints.expireKey.run(formerExpiresAt, endpointId);
    this.#endpoints.addKey.run(endpointId, secret);
  }

  insertMessage(message: Message): void {
    this.#messages.insert.run(message);
  }

  message(id: string): Message | undefined {
    return this.#messages.one.get(id);
  }

  /** Tells whether a message with the sender's own id was sent at or after `since`. */
  hasEventId(eventId: string, since: number): boolean {
    return this.#messages.withEventId.get(eventId, since) !== undefined;
  }

  /** Messages created in [since, until) that failed at this endpoint, oldest first. */
  failedSince(endpoint: Endpoint, since: number, until: number): string[] {
    return this.#messages.failedSince.all(endpoint.id, since, until).map(({ id }) => id);
  }

  /**
   * Messages in [since, until) of the endpoint's types that were never sent to it, oldest first.
   */
  missingSince({ id, eventTypes, account }: Endpoint, since: number, until: number): string[] {
    const types = JSON.stringify(eventTypes);
    return this.#messages.missingSince
      .all({ id, since, until, types, account })
      .map((row) => row.id);
  }

  /** Deletes messages created before `until` or beyond the newest `max`, with their history. */
  forgetMessages(until: number, max: number): void {
    const last = this.#messages.beyond.get(max)?.seq ?? 0;
    for (const remove of this.#messages.removeOld) remove.run(until, last);
  }

  /** Queues an attempt; a scheduled one makes its delivery pending. */
  enqueue(job: NewJob): void {
    this.#queue.insert.run(job);
    this.#queue.expect.run(job);
  }

  /**
   * The first `limit` attempts to one endpoint that are due at `now`, those in progress included.
   */
  dueJobs(endpointId: string, now: number, limit: number): Job[] {
    return this.#queue.due.all(endpointId, now, limit);
  }

  endpointsWithJobsDue(now: number): string[] {
    return this.#queue.endpointsDue.all(now).map(({ id }) => id);
  }

  /** Time at which the first attempt after `now` is due; undefined: none waits. */
  nextDueAfter(now: number): number | undefined {
    return this.#queue.nextDue.get(now)?.dueAt;
  }

  /** Removes an attempt whose message or endpoint is gone. */
  drop(job: Job): void {
    this.#queue.remove.run(job.seq);
  }

  /** Records an attempt and everything that follows from it, in one transaction. */
  finish({ attempt, job, status, retry, failingSince }: Outcome): void {
    const { messageId, endpointId } = job;
    this.atomically(() => {
      this.drop(job);
      this.#queue.insertAttempt.run(attempt);
      if (status === 'success') this.#queue.removeScheduled.run(messageId, endpointId);
      if (status) this.#queue.setStatus.run(status, messageId, endpointId);
      if (retry) this.enqueue(retry);
      this.#endpoints.setFailingSince.run(failingSince, endpointId);
    });
  }

  /** Lets deliveries that wait for an endpoint fail, so that a recovery finds them later. */
  failPending(endpointId: string): void {
    this.#queue.removeOfEndpoint.run(endpointId);
    this.#queue.failPending.run(endpointId);
  }
}
