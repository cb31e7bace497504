/**
 * Deletes what is old enough, a few rows at a time. Only what is listed here: decisions, their
 * facts, pushes with their references, and the audit stay for ever, because they are the proof of
 * what was done and keep a reference from being sent twice.
 * Deleted rows do not come back, so their age is told by the trusted time of the clock guard.
 */
import { type RawBuilder, sql } from 'kysely';
import { type Timed, trustedNow } from '../clock-guard.ts';

/** Milliseconds. */
export interface RetentionLimits {
  readonly changes: number;
  readonly events: number;
  readonly runs: number;
  readonly incidents: number;
}

export interface Retention {
  /** Deletes one slice of each table and gives how many rows went. */
  slice(): Promise<number>;
}

export const SLICE_ROWS = 500;

type Statement = (before: number) => RawBuilder<unknown>;

/** By the order of the feed, which is that of time: its time has no index. */
const CHANGES: Statement = (before) => sql`
  delete from change where seq <= (
    select max(seq) from (select seq, at from change order by seq limit ${SLICE_ROWS})
    where at < ${before})`;

const EVENTS: Statement = (before) => sql`
  delete from webhook_event where event_id in (
    select event_id from webhook_event
    where received_at < ${before} and coalesce(last_duplicate_at, 0) < ${before}
    order by received_at limit ${SLICE_ROWS})`;

/**
 * Runs that a stream goes on from, or that somebody may still release, stay: those under way, and
 * the last one of each stream, and those whose changes nobody has accepted yet. So few of them
 * never fill a slice, which would end all deleting.
 */
const RUNS: Statement = (before) => sql`
  delete from sync_run where run_id in (
    select run_id from (select * from sync_run order by run_id limit ${SLICE_ROWS})
    where ended_at < ${before} and change_guard is not 'open'
      and run_id not in (select last_run_id from stream_state where last_run_id is not null))`;

const INCIDENTS: Statement = (before) => sql`
  delete from incident where id in (
    select id from incident where resolved_at < ${before} limit ${SLICE_ROWS})`;

export function createRetention({ store, clock }: Timed, limits: RetentionLimits): Retention {
  const statements: readonly (readonly [Statement, number])[] = [
    [CHANGES, limits.changes],
    [EVENTS, limits.events],
    [RUNS, limits.runs],
    [INCIDENTS, limits.incidents],
  ];
  return {
    async slice() {
      let rows = 0;
      const now = await trustedNow({ store, clock });
      for (const [statement, keepMs] of statements) {
        const before = now - keepMs;
        rows += await store.transaction(async (tx) => {
          const result = await statement(before).execute(tx);
          return Number(result.numAffectedRows ?? 0);
        });
      }
      return rows;
    },
  };
}
