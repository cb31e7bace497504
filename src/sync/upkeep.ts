/**
 * Upkeep of the tables of pulls: old runs are deleted, times are corrected when the clock was set
 * back, and every stream is pulled in full after a restore.
 */
import { sql } from 'kysely';
import type { Tx } from '../store/store.ts';
import { type ClockStepHandler, moveDueTimes, movePastTimes, SLICE_ROWS } from '../store/upkeep.ts';

/**
 * Deletes old runs. Runs stay from which a stream continues or which a person may still release:
 * open ones, the last of each stream, and those whose changes nobody has accepted yet. These are
 * too few to fill a slice, which would end all deleting.
 */
export async function deleteOldRuns(tx: Tx, before: number): Promise<number> {
  const isLast = sql`select last_run_id from stream_state where last_run_id is not null`;
  const { numAffectedRows } = await sql`delete from sync_run where run_id in (
    select run_id from (select * from sync_run order by run_id limit ${SLICE_ROWS})
    where ended_at < ${before} and change_guard is not 'open'
      and run_id not in (${isLast}))`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Milliseconds by which lists are made older when nobody saw the clock step: too old for a reject
 * to rest on them.
 */
const UNWATCHED_MS = 7 * 86_400_000;

export const syncClockStep: ClockStepHandler = {
  async back(tx, step) {
    const readAt = step.now - (step.isWatched ? 0 : UNWATCHED_MS);
    await sql`update stream_state set complete_at = min(complete_at + ${step.step}, ${readAt})
      where complete_at > ${step.now}`.execute(tx);
    await movePastTimes(tx, 'sync_run', ['started_at', 'ended_at'], step);
    await moveDueTimes(tx, 'stream_state', 'due_at', step);
  },
};

export async function requestFullPulls(tx: Tx, now: number): Promise<void> {
  // A run of before the backup would go on where it was, and read the rest alone.
  await tx
    .updateTable('sync_run')
    .set({ outcome: 'failed', ended_at: now, reason: 'a backup was restored meanwhile' })
    .where('ended_at', 'is', null)
    .execute();
  await tx.updateTable('stream_state').set({ due_at: now, requested: 'full' }).execute();
}

/**
 * Requests full pulls again of those of the streams whose last run was partial, or was complete and
 * had a list from a cache, which is older than the run.
 */
export async function requestFullAgain(
  tx: Tx,
  streams: readonly string[],
  now: number,
): Promise<void> {
  await sql`update stream_state set due_at = ${now}, requested = 'full'
    where stream in (select value from json_each(${JSON.stringify(streams)}))
      and requested is null
      and (select outcome from sync_run where stream = stream_state.stream
        order by run_id desc limit 1) in ('partial', 'complete')`.execute(tx);
}
