/**
 * Upkeep of the outbox's tables: stored times follow jumps of the clock, and after a restore the
 * outcome of every open push is unknown.
 */
import { sql } from 'kysely';
import { inKeys } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { type ClockStepHandler, moveDueTimes, movePastTimes } from '../store/upkeep.ts';

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
