/**
 * Handles answers that a cache on the way kept: they were true when the cache got them. A run that
 * read such answers writes as a read of that time, so that it overwrites or deletes nothing newer,
 * and its stream is only as fresh as the oldest of them.
 */
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import type { Stream, StreamEnd } from '../stream.ts';
import type { Run, RunEnd } from './run-repository.ts';

/** Age in milliseconds from which answers out of a cache are mentioned in the run's reason. */
const REPORTED_MS = 60_000;

/** Sequence number of the last run that had begun at the time `at`; 0: none had. */
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

/** Dates a run back by the age of the oldest answer that it has read. */
export async function asOldAs(db: Db, run: Run, ageMs: number): Promise<Run> {
  if (ageMs === 0) return run;
  const readSeq = await readSeqAsOf(db, run.startedAt - ageMs);
  return { ...run, readSeq: Math.min(run.readSeq, readSeq) };
}

/**
 * Adds a doubt when the answers are older than the stream's freshness, so that nothing is deleted.
 */
export function unlessTooOld(
  { name, freshnessMs = Number.POSITIVE_INFINITY }: Stream,
  end: StreamEnd,
  ageMs: number,
): StreamEnd {
  if (ageMs <= freshnessMs) return end;
  const limit = `streams.${name}.freshness (${formatDuration(freshnessMs)})`;
  const doubt = `the list is ${formatDuration(ageMs)} old, more than ${limit} allows`;
  return { ...end, doubts: [...end.doubts, doubt] };
}

/** Adds the age of the answers from a cache to the end of a run. */
export function withAge(end: RunEnd, ageMs: number): RunEnd {
  if (ageMs === 0) return end;
  const notice =
    `answers came out of a cache, up to ${formatDuration(ageMs)} old (Age), though every ` +
    'request forbids it (Cache-Control): its operator must leave the service out';
  const reason = [end.reason, ageMs > REPORTED_MS ? notice : null].filter((part) => part !== null);
  return { ...end, ageMs, reason: reason.length === 0 ? null : reason.join('; ') };
}
