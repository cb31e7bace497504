/**
 * Corrections: a document that was refused, or called off, and that never left for the service may
 * be handed in again under its own reference. Its row goes on with the new content, under the same
 * number; what it said before is kept. What was sent once, and may have had an effect, never is.
 */
import { canonicalJson, type JsonObject, parseJsonObject, sha256 } from '../lib/json.ts';
import { writeAudit } from '../store/audit.ts';
import type { Db, Tx } from '../store/store.ts';
import type { DocumentOnFile } from './enqueue.ts';

/** Contents that are kept of one document, the newest. */
const REVISIONS_MAX = 20;

/** Whether none of its attempts can have had an effect; one that is under way may. */
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
 * `repeat`: it is that document already. `again`: it was refused, and is to be checked once more.
 * `correct`: it takes the place of what was refused or called off. `conflict`: the reference is
 * taken.
 */
export type Meeting = 'repeat' | 'again' | 'correct' | 'conflict';

/** What follows when a document is handed in under a reference that has one. */
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
  // A person called off this very content; to send it all the same is for a person, too.
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
  const { created_at: handed_in_at, ...rest } = row;
  await tx
    .insertInto('outbox_revision')
    .values({ outbox_id: outboxId, revision, ...rest, handed_in_at, replaced_at: now })
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

/** Queues a document once more that was refused or called off, with this content. */
export async function reopen(
  tx: Tx,
  existing: DocumentOnFile,
  { body: content, orderingKey, expectedFrom, cause }: Reopened,
  now: number,
): Promise<void> {
  const { outboxId, state } = existing;
  const body = canonicalJson(content);
  if (!existing.isSame(content)) {
    await keepRevision(tx, outboxId, now);
    const act = { actor: cause, action: 'outbox.correct', subject: `outbox:${outboxId}` };
    const reason = `handed in again with other content; before it was ${state}`;
    await writeAudit(tx, { ...act, reason }, now);
  }
  await tx
    .updateTable('outbox')
    .set({
      ...{
        state: 'queued',
        body,
        body_hash: sha256(body),
        ordering_key: orderingKey,
        expected_from: expectedFrom,
      },
      ...{ cause, created_at: now, due_at: now, ended_at: null, in_doubt_since: null },
      ...{ last_error: null, blocked_reason: null, result: null, order_id: null, problems: '[]' },
    })
    .where('outbox_id', '=', outboxId)
    .where('state', '=', state)
    .execute();
  // Of the end that is over nobody needs to hear any more.
  await tx
    .updateTable('intake')
    .set({ callback_due_at: null })
    .where('outbox_id', '=', outboxId)
    .execute();
}

/** What a document said before, and how that ended. */
export interface Revision {
  readonly revision: number;
  readonly document: JsonObject;
  readonly cause: string;
  readonly handedInAt: number;
  readonly state: string;
  readonly lastError: string | null;
  readonly replacedAt: number;
}

/** Oldest first. */
export async function revisionsOf(db: Db, outboxId: number): Promise<Revision[]> {
  const rows = await db
    .selectFrom('outbox_revision')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('revision')
    .execute();
  return rows.map(({ revision, body, cause, state, ...row }) => ({
    ...{ revision, document: parseJsonObject(body), cause, state },
    handedInAt: row.handed_in_at,
    lastError: row.last_error,
    replacedAt: row.replaced_at,
  }));
}
