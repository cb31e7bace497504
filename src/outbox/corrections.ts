/**
 * Corrections: a refused or canceled document that was never sent may be submitted again under its
 * own reference. Its outbox row continues with the new content under the same number, and the old
 * content is kept. A document that may have had an effect is never corrected.
 */
import { sql } from 'kysely';
import { canonicalJson, type JsonObject, parseJsonObject } from '../lib/json.ts';
import { writeAudit } from '../store/audit.ts';
import type { Db, Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import { contentHash } from './documents.ts';

export interface DocumentOnFile {
  readonly outboxId: number;
  readonly state: OutboxState;
  readonly isOpen: boolean;
  readonly document: JsonObject;
  /** Whether the stored document has the same content as `document`. */
  readonly isSame: (document: JsonObject) => boolean;
}

const REVISIONS_MAX = 20;

/** Whether no attempt can have had an effect; an attempt that is under way may have one. */
export async function wasNeverSent(db: Db | Tx, outboxId: number): Promise<boolean> {
  const attempt = await db
    .selectFrom('outbox_attempt')
    .select('attempt')
    .where('outbox_id', '=', outboxId)
    .where((eb) => eb.or([eb('class', 'is', null), eb('class', '!=', 'not_processed')]))
    .limit(1)
    .executeTakeFirst();
  return attempt === undefined;
}

/**
 * Relation of a submitted document to the stored one with its reference. `repeat`: the same
 * document. `again`: the same, refused before, to be checked once more. `correct`: it replaces a
 * document that was refused or canceled. `conflict`: another document has the reference.
 */
export type Meeting = 'repeat' | 'again' | 'correct' | 'conflict';

/** Compares a submitted document with the stored one that has its reference. */
export async function meetingOf(
  db: Db | Tx,
  existing: DocumentOnFile,
  document: JsonObject,
): Promise<Meeting> {
  const { state, outboxId } = existing;
  const isSame = existing.isSame(document);
  const isOver = state === 'refused' || state === 'canceled';
  if (!isOver || !(await wasNeverSent(db, outboxId))) return isSame ? 'repeat' : 'conflict';
  if (!isSame) return 'correct';
  // A person canceled this very content, so only a person may have it sent after all.
  return state === 'refused' ? 'again' : 'repeat';
}

async function keepRevision(tx: Tx, outboxId: number, now: number): Promise<void> {
  const row = await tx
    .selectFrom('outbox')
    .select(['body', 'cause', 'created_at', 'state', 'problems', 'last_error', 'ended_at'])
    .where('outbox_id', '=', outboxId)
    .executeTakeFirstOrThrow();
  const last = await tx
    .selectFrom('outbox_revision')
    .select((eb) => eb.fn.max('revision').as('revision'))
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  const revision = (last?.revision ?? 0) + 1;
  const { created_at: submitted_at, ...rest } = row;
  await tx
    .insertInto('outbox_revision')
    .values({ outbox_id: outboxId, revision, ...rest, submitted_at, replaced_at: now })
    .execute();
  await tx
    .deleteFrom('outbox_revision')
    .where('outbox_id', '=', outboxId)
    .where('revision', '<=', revision - REVISIONS_MAX)
    .execute();
}

export interface Reopened {
  readonly body: JsonObject;
  readonly orderingKey: string;
  readonly expectedFrom: string | null;
  readonly cause: string;
}

/** Queues a refused or canceled document once more, with this content. */
export async function reopen(
  tx: Tx,
  existing: DocumentOnFile,
  { body: content, orderingKey, expectedFrom, cause }: Reopened,
  now: number,
): Promise<void> {
  const { outboxId, state } = existing;
  const body = canonicalJson(content);
  // A confirmation alone makes no other document, and is kept all the same.
  if (canonicalJson(existing.document) !== body) {
    await keepRevision(tx, outboxId, now);
    const act = { actor: cause, action: 'outbox.correct', subject: `outbox:${outboxId}` };
    const reason = `submitted again with other content; before it was ${state}`;
    await writeAudit(tx, { ...act, reason }, now);
  }
  await tx
    .updateTable('outbox')
    .set({
      state: 'queued',
      body,
      body_hash: contentHash(content),
      ordering_key: orderingKey,
      expected_from: expectedFrom,
      cause,
      // A later time in any case: it tells readers of before that this is another document.
      created_at: sql<number>`max(${now}, created_at + 1)`,
      due_at: now,
      ended_at: null,
      in_doubt_since: null,
      last_error: null,
      blocked_reason: null,
      result: null,
      order_id: null,
      problems: '[]',
    })
    .where('outbox_id', '=', outboxId)
    .where('state', '=', state)
    .execute();
  // Drops the callback about the document's earlier end, which does not hold any more.
  await tx
    .updateTable('intake')
    .set({ callback_due_at: null })
    .where('outbox_id', '=', outboxId)
    .execute();
}

export interface Revision {
  readonly revision: number;
  readonly document: JsonObject;
  readonly cause: string;
  readonly submittedAt: number;
  readonly state: string;
  readonly lastError: string | null;
  readonly replacedAt: number;
}

export async function revisionsOf(db: Db, outboxId: number): Promise<Revision[]> {
  const rows = await db
    .selectFrom('outbox_revision')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('revision')
    .execute();
  return rows.map((row) => ({
    revision: row.revision,
    document: parseJsonObject(row.body),
    cause: row.cause,
    state: row.state,
    submittedAt: row.submitted_at,
    lastError: row.last_error,
    replacedAt: row.replaced_at,
  }));
}
