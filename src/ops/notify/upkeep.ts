/** Upkeep of the notifications' tables: follows a clock set back, deletes old messages. */
import { sql } from 'kysely';
import type { Tx } from '../../store/store.ts';
import {
  type ClockStepHandler,
  moveDueTimes,
  movePastTimes,
  SLICE_ROWS,
} from '../../store/upkeep.ts';

export const notifyClockStep: ClockStepHandler = {
  async back(tx, step) {
    // Moves the time up to which a channel is told, so that news from now on do not count as told.
    await movePastTimes(tx, 'notification_told', ['until'], step);
    await movePastTimes(tx, 'notification', ['at'], step);
    await moveDueTimes(tx, 'notification', 'due_at', step);
  },
};

/**
 * Deletes a slice of the messages that ended before a time and returns the number of rows; the
 * audit keeps what was told.
 */
export async function deleteOldNotifications(tx: Tx, before: number): Promise<number> {
  const old = sql`select notification_id from notification
    where ended_at < ${before} limit ${SLICE_ROWS}`;
  const { numAffectedRows } = await sql`delete from notification
    where notification_id in (${old})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
