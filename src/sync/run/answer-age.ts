/**
 * Answers that a cache on the way has kept: what they tell was so when the cache got them. A run
 * that has read such ones writes as a read of that time, so that nothing newer is overwritten or
 * deleted, and its stream is as fresh as the oldest of them.
 */
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import type { Run, RunEnd } from './ledger.ts';

/** Older answers are told with the run. */
const TOLD_MS = 60_000;

/** The number of the last run that had begun by then: of nothing newer is known that it was. */
export async function readSeqAsOf(db: Db, at: number): Promise<number> {
  const run = await db
    .selectFrom('sync_run')
    .select('read_seq')
    .where('started_at', '<=', at)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return run?.read_seq ?? 0;
}

/** The run, as old as the oldest answer that it has read. */
export async function asOldAs(db: Db, run: Run, ageMs: number): Promise<Run> {
  if (ageMs === 0) return run;
  const readSeq = await readSeqAsOf(db, run.startedAt - ageMs);
  return { ...run, readSeq: Math.min(run.readSeq, readSeq) };
}

/** The end of a run, with the age of what it has read. */
export function withAge(end: RunEnd, ageMs: number): RunEnd {
  if (ageMs === 0) return end;
  const told =
    `answers came out of a cache, up to ${formatDuration(ageMs)} old (Age), though every ` +
    'request forbids it (Cache-Control): whoever runs it must leave the service out';
  const reason = [end.reason, ageMs > TOLD_MS ? told : null].filter((part) => part !== null);
  return { ...end, ageMs, reason: reason.length === 0 ? null : reason.join('; ') };
}
