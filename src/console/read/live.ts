/** Counts that every page shows and polls for. */
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { countWaiting, heldOf, type WaitingKind, waitingCounts } from '../../ops/waiting.ts';
import type { Db } from '../../store/store.ts';

export interface LiveCounts {
  readonly held: number;
  /** Number of documents that wait for a person. */
  readonly attention: number;
  /** Number of things that wait for a person, by kind. */
  readonly waiting: Readonly<Record<WaitingKind | 'total', number>>;
  /** Id of the latest decision: another one means that lists may have changed. */
  readonly decisionId: number;
  /** Id of the latest ended run: another one means that the pages of pulls may have changed. */
  readonly runId: number;
  /** Epoch ms when the latest event arrived; null: none yet. */
  readonly eventAt: number | null;
  /** Runs that are under way. */
  readonly runs: readonly LiveRun[];
}

/** Progress of a run. */
interface LiveRun {
  readonly runId: number;
  readonly stream: string;
  readonly rows: number;
  /** Rows of the stream's last complete run, as an estimate of the total; null: there was none. */
  readonly of: number | null;
}

/** Milliseconds for which the counts are kept: many pages ask. */
const FRESH_MS = 1_000;

/** Most runs whose progress is shown; more never run at once. */
const RUNS_MAX = 12;

async function runsOf(db: Db): Promise<readonly LiveRun[]> {
  const { rows } = await sql<LiveRun>`select r.run_id "runId", r.stream, r.rows_seen rows,
      s.complete_rows "of"
    from stream_state s join sync_run r on r.run_id = (
      select max(run_id) from sync_run where stream = s.stream)
    where r.outcome = 'running' order by r.run_id limit ${RUNS_MAX}`.execute(db);
  return rows;
}

async function count(db: Db): Promise<LiveCounts> {
  const { rows } = await sql<Omit<LiveCounts, 'runs' | 'held' | 'attention' | 'waiting'>>`select
    (select coalesce(max(decision_id), 0) from decision) "decisionId",
    coalesce((select run_id from sync_run where outcome <> 'running'
      order by run_id desc limit 1), 0) "runId",
    (select max(received_at) from webhook_event) "eventAt"`.execute(db);
  const nothing = { decisionId: 0, runId: 0, eventAt: null };
  const waiting = await countWaiting(db);
  return {
    held: heldOf(waiting).count,
    attention: waiting.documents.count,
    waiting: waitingCounts(waiting),
    ...(rows[0] ?? nothing),
    runs: await runsOf(db),
  };
}

/** Creates the counter, which counts once a second at most, however many pages ask. */
export function createLiveCounts(db: Db, clock: Clock): () => Promise<LiveCounts> {
  let known: { readonly at: number; readonly counts: Promise<LiveCounts> } | undefined;
  return () => {
    const now = clock.monotonic();
    if (!known || now - known.at >= FRESH_MS) known = { at: now, counts: count(db) };
    return known.counts;
  };
}
