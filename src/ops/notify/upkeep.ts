/** Upkeep of the notifications' tables: times follow the clock, and old messages go. */
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
    // News that begin from now on must not count as told.
    await movePastTimes(tx, 'notification_told', ['until'], step);
    await movePastTimes(tx, 'notification', ['at'], step);
    await moveDueTimes(tx, 'notification', 'due_at', step);
  },
};

/** Deletes some messages that ended long ago and gives how many; the audit keeps what was told. */
export async function deleteOldNotifications(tx: Tx, before: number): Promise<number> {
  const old = sql`select notification_id from notification
    where ended_at < ${before} limit ${SLICE_ROWS}`;
  const { numAffectedRows } = await sql`delete from notification
    where notification_id in (${old})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
