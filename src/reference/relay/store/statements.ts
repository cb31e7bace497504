/** Statements of the relay's store, prepared once: preparing costs more than running them. */
import type Database from 'better-sqlite3';
import type { Attempt, Delivery, Endpoint, Job, Message, NewJob, SigningKey } from '../model.ts';

/** An endpoint with its event types as JSON. */
export interface EndpointRow extends Omit<Endpoint, 'eventTypes'> {
  readonly eventTypes: string | null;
}

const ENDPOINT = `SELECT id, url, description, event_types eventTypes,
  disabled_reason disabledReason, failing_since failingSince, account, created_at createdAt,
  updated_at updatedAt FROM endpoint`;

const OLD_MESSAGES = 'SELECT id FROM message WHERE created_at < ? OR seq <= ?';

export function endpointStatements(db: Database.Database) {
  return {
    insert: db.prepare<[EndpointRow]>(
      `INSERT INTO endpoint (id, url, description, event_types, disabled_reason, failing_since,
         account, created_at, updated_at) VALUES (@id, @url, @description, @eventTypes,
         @disabledReason, @failingSince, @account, @createdAt, @updatedAt)`,
    ),
    update: db.prepare<[EndpointRow]>(
      `UPDATE endpoint SET url = @url, description = @description, event_types = @eventTypes,
         disabled_reason = @disabledReason, failing_since = @failingSince,
         updated_at = @updatedAt WHERE id = @id`,
    ),
    setFailingSince: db.prepare<[number | null, string]>(
      'UPDATE endpoint SET failing_since = ? WHERE id = ?',
    ),
    remove: db.prepare<[string]>('DELETE FROM endpoint WHERE id = ?'),
    /** Statements that delete everything that belongs to an endpoint. */
    removeParts: ['job', 'attempt', 'delivery', 'signing_key'].map((table) =>
      db.prepare<[string]>(`DELETE FROM ${table} WHERE endpoint_id = ?`),
    ),
    one: db.prepare<[string], EndpointRow>(`${ENDPOINT} WHERE id = ?`),
    all: db.prepare<[], EndpointRow>(`${ENDPOINT} ORDER BY rowid`),
    liveKeys: db.prepare<[string, number], SigningKey>(
      `SELECT secret, expires_at expiresAt FROM signing_key
       WHERE endpoint_id = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY seq DESC`,
    ),
    expireKey: db.prepare<[number, string]>(
      'UPDATE signing_key SET expires_at = ? WHERE endpoint_id = ? AND expires_at IS NULL',
    ),
    addKey: db.prepare<[string, string]>(
      'INSERT INTO signing_key (endpoint_id, secret) VALUES (?, ?)',
    ),
  };
}

export function messageStatements(db: Database.Database) {
  return {
    insert: db.prepare<[Message]>(
      `INSERT INTO message (id, event_type, event_id, account, body, created_at)
       VALUES (@id, @eventType, @eventId, @account, @body, @createdAt)`,
    ),
    one: db.prepare<[string], Message>(
      `SELECT id, event_type eventType, event_id eventId, account, body,
         created_at createdAt FROM message WHERE id = ?`,
    ),
    withEventId: db.prepare<[string, number]>(
      'SELECT 1 FROM message WHERE event_id = ? AND created_at >= ?',
    ),
    /** Statement that finds the newest message beyond the newest so many. */
    beyond: db.prepare<[number], { seq: number }>(
      'SELECT seq FROM message ORDER BY seq DESC LIMIT 1 OFFSET ?',
    ),
    /** Statements that delete old messages, after everything that belongs to them. */
    removeOld: [
      ...['job', 'attempt', 'delivery'].map(
        (table) => `DELETE FROM ${table} WHERE message_id IN (${OLD_MESSAGES})`,
      ),
      `DELETE FROM message WHERE id IN (${OLD_MESSAGES})`,
    ].map((sql) => db.prepare<[number, number]>(sql)),
    failedSince: db.prepare<[string, number, number], { id: string }>(
      `SELECT m.id FROM message m JOIN delivery d ON d.message_id = m.id
       WHERE d.endpoint_id = ? AND d.status = 'failed' AND m.created_at >= ? AND m.created_at < ?
       ORDER BY m.seq`,
    ),
    missingSince: db.prepare<
      [{ id: string; since: number; until: number; types: string; account: number | null }],
      { id: string }
    >(
      `SELECT m.id FROM message m WHERE m.created_at >= @since AND m.created_at < @until
       AND NOT EXISTS (SELECT 1 FROM delivery WHERE message_id = m.id AND endpoint_id = @id)
       AND (@account IS NULL OR m.account IS NULL OR m.account = @account)
       AND (@types = 'null' OR m.event_type IN (SELECT value FROM json_each(@types)))
       ORDER BY m.seq`,
    ),
  };
}

export function queueStatements(db: Database.Database) {
  return {
    insert: db.prepare<[NewJob]>(
      `INSERT INTO job (message_id, endpoint_id, number, kind, due_at, fault)
       VALUES (@messageId, @endpointId, @number, @kind, @dueAt, @fault)`,
    ),
    /**
     * Statement that makes the delivery of a scheduled attempt pending; that of another attempt
     * stays as it is.
     */
    expect: db.prepare<[NewJob]>(
      `INSERT INTO delivery (message_id, endpoint_id, status, next_attempt_at)
       VALUES (@messageId, @endpointId, 'pending', @dueAt)
       ON CONFLICT DO UPDATE SET status = 'pending', next_attempt_at = excluded.next_attempt_at
       WHERE @kind = 'scheduled'`,
    ),
    remove: db.prepare<[number]>('DELETE FROM job WHERE seq = ?'),
    removeScheduled: db.prepare<[string, string]>(
      `DELETE FROM job WHERE message_id = ? AND endpoint_id = ? AND kind = 'scheduled'`,
    ),
    removeOfEndpoint: db.prepare<[string]>('DELETE FROM job WHERE endpoint_id = ?'),
    failPending: db.prepare<[string]>(
      `UPDATE delivery SET status = 'failed', next_attempt_at = NULL
       WHERE endpoint_id = ? AND status = 'pending'`,
    ),
    setStatus: db.prepare<[Delivery['status'], string, string]>(
      `UPDATE delivery SET status = ?, next_attempt_at = NULL
       WHERE message_id = ? AND endpoint_id = ?`,
    ),
    insertAttempt: db.prepare<[Attempt]>(
      `INSERT INTO attempt (id, message_id, endpoint_id, url, status, response_status, response,
         duration_ms, trigger, at) VALUES (@id, @messageId, @endpointId, @url, @status,
         @responseStatus, @response, @durationMs, @trigger, @at)`,
    ),
    due: db.prepare<[string, number, number], Job>(
      `SELECT seq, message_id messageId, endpoint_id endpointId, number, kind, due_at dueAt, fault
       FROM job WHERE endpoint_id = ? AND due_at <= ? ORDER BY due_at, seq LIMIT ?`,
    ),
    endpointsDue: db.prepare<[number], { id: string }>(
      `SELECT id FROM endpoint e
       WHERE EXISTS (SELECT 1 FROM job WHERE endpoint_id = e.id AND due_at <= ?)`,
    ),
    nextDue: db.prepare<[number], { dueAt: number }>(
      'SELECT due_at dueAt FROM job WHERE due_at > ? ORDER BY due_at LIMIT 1',
    ),
  };
}
