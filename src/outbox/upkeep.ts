/**
 * Upkeep of the outbox's tables: stored times follow jumps of the clock, and after a restore the
 * outcome of every open push is unknown.
 */
import { sql } from 'kysely';
import { parseJsonObject } from '../lib/json.ts';
import { inKeys } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import {
  type ClockStepHandler,
  moveDueTimes,
  movePastTimes,
  type Permitted,
  type RestoreSteps,
} from '../store/upkeep.ts';
import { contentHash } from './documents.ts';

export const outboxClockStep: ClockStepHandler = {
  async back(tx, step) {
    // Expiry times move before the times of creation, which tell which accepts the fast clock made.
    const { step: by, now } = step;
    await sql`update outbox
      set body = json_set(body, '$.sendBefore', cast(body->>'$.sendBefore' + ${by} as integer))
      where ended_at is null and created_at > ${now}
        and body->>'$.sendBefore' is not null`.execute(tx);
    await movePastTimes(tx, 'outbox', ['created_at', 'in_doubt_since', 'ended_at'], step);
    await movePastTimes(tx, 'outbox_attempt', ['ended_at'], step);
    await movePastTimes(tx, 'outbox_evidence', ['at'], step);
    await moveDueTimes(tx, 'outbox', 'due_at', step);
    await moveDueTimes(tx, 'intake', 'callback_due_at', step);
    await moveDueTimes(tx, 'outcome', 'callback_due_at', step);
  },
};

/** Leaves to a person what is unknown of these pushes: a person canceled them since the backup. */
export async function leaveCanceled(tx: Tx, outboxIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('outbox')
    .set({ blocked_reason: 'a person canceled it after the backup that was restored' })
    .where(inKeys('outbox_id', outboxIds))
    .where('state', '=', 'in_doubt')
    .execute();
}

/**
 * Marks the outcome of every open push as unknown: it may have been sent since the backup was made.
 * A push whose outcome was unknown then may have been sent once more, so its settlement delay
 * starts again.
 */
export async function markPushesUnknown(tx: Tx, now: number): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('outbox')
    .set({ state: 'in_doubt', in_doubt_since: now, due_at: now })
    .where('state', 'in', ['queued', 'sending', 'sent', 'in_doubt'])
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

// Pushes that another machine may have sent before this one took over: it had a permit for them,
// and nobody knows the outcome.

const ROWS = 500;

/** Permits whose attempt has no outcome here. */
async function openOf(tx: Tx, permits: readonly Permitted[]): Promise<Permitted[]> {
  const ended = new Set<string>();
  for (let start = 0; start < permits.length; start += ROWS) {
    const ids = permits.slice(start, start + ROWS).map(({ outboxId }) => outboxId);
    const rows = await tx
      .selectFrom('outbox_attempt')
      .select(['outbox_id', 'attempt'])
      .where(inKeys('outbox_id', ids))
      .where('ended_at', 'is not', null)
      .execute();
    for (const row of rows) ended.add(`${row.outbox_id} ${row.attempt}`);
  }
  return permits.filter(({ outboxId, attempt }) => !ended.has(`${outboxId} ${attempt}`));
}

/** Whether the push of a permit is known as it was permitted. */
async function isKnown(tx: Tx, permit: Permitted): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select(['kind', 'reference', 'body', 'ended_at'])
    .where('outbox_id', '=', permit.outboxId)
    .executeTakeFirst();
  if (row === undefined) return false;
  if (row.kind !== permit.kind || row.reference !== permit.reference) return false;
  // A push that has ended since was looked up, and may have been corrected.
  return row.ended_at !== null || contentHash(parseJsonObject(row.body)) === permit.bodyHash;
}

/** Marks as unknown what may have been sent; gives the permits whose push is not known here. */
export const doubtPermitted: RestoreSteps['doubtPermitted'] = async (tx, permits, now) => {
  const open = await openOf(tx, permits);
  const missing: Permitted[] = [];
  for (const permit of open) if (!(await isKnown(tx, permit))) missing.push(permit);
  const ids = open.map(({ outboxId }) => outboxId);
  const { numUpdatedRows } = await tx
    .updateTable('outbox')
    .set({ state: 'in_doubt', in_doubt_since: now, due_at: now })
    .where((eb) =>
      eb.or([
        eb('state', 'in', ['sending', 'sent', 'in_doubt']),
        eb.and([eb('state', '=', 'queued'), inKeys('outbox_id', ids)]),
      ]),
    )
    .executeTakeFirst();
  return { inDoubt: Number(numUpdatedRows), missing };
};
