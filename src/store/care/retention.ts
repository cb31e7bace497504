/**
 * Deletes what is old enough, a few rows at a time. Only what is listed here: decisions, their
 * facts, pushes with their references, and the audit stay for ever, because they are the proof of
 * what was done and keep a reference from being sent twice.
 *
 * What is deleted is gone for good, and the clock may be wrong: a boot with one that is a year
 * ahead must not empty the tables before somebody sets it right. So a time is noted by which they
 * are cleared, that never goes on faster than `CATCH_UP` times what has passed while we ran.
 */
import { type RawBuilder, sql } from 'kysely';
import { CLOCK_MS_MIN, type Clock } from '../../lib/clock.ts';
import { readState, writeState } from '../state.ts';
import type { Store } from '../store.ts';

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

const CLEARED_KEY = 'retention_now';
/** A day in an hour: what a long stop left is cleared soon, and a wrong clock is seen sooner. */
const CATCH_UP = 24;

type Timed = { readonly store: Store; readonly clock: Clock };

/** The time by which is done what cannot be undone; at most that of the clock. */
export async function timeForGood({ store, clock }: Timed): Promise<number> {
  const noted = Number((await readState(store.db, CLEARED_KEY)) ?? Infinity);
  return Math.min(clock.now(), noted);
}

/** Lets that time go on by what has passed since the last call. */
function followTime({ store, clock }: Timed): () => Promise<number> {
  let calledAt = clock.monotonic();
  return async () => {
    const at = clock.monotonic();
    const noted = Number((await readState(store.db, CLEARED_KEY)) ?? Infinity);
    const now = Math.min(clock.now(), Math.floor(noted + CATCH_UP * (at - calledAt)));
    if (now < CLOCK_MS_MIN) return now;
    if (now !== noted) await writeState(store.db, CLEARED_KEY, String(now), clock);
    calledAt = at;
    return now;
  };
}

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
 * the last one of each stream. So few of them never fill a slice, which would end all deleting.
 */
const RUNS: Statement = (before) => sql`
  delete from sync_run where run_id in (
    select run_id from (select * from sync_run order by run_id limit ${SLICE_ROWS})
    where ended_at < ${before}
      and run_id not in (select last_run_id from stream_state where last_run_id is not null))`;

const INCIDENTS: Statement = (before) => sql`
  delete from incident where id in (
    select id from incident where resolved_at < ${before} limit ${SLICE_ROWS})`;

export function createRetention({ store, clock }: Timed, limits: RetentionLimits): Retention {
  const follow = followTime({ store, clock });
  const statements: readonly (readonly [Statement, number])[] = [
    [CHANGES, limits.changes],
    [EVENTS, limits.events],
    [RUNS, limits.runs],
    [INCIDENTS, limits.incidents],
  ];
  return {
    async slice() {
      let rows = 0;
      const now = await follow();
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
