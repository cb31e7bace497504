/** The streams and their runs, for people. */
import type { Selectable } from 'kysely';
import type { Db } from '../store/store.ts';
import type { RunOutcome, Tables } from '../store/tables.ts';

interface StreamOverview {
  readonly stream: string;
  readonly paused: boolean;
  /** Epoch ms. */
  readonly dueAt: number;
  readonly completeAt: number | null;
  readonly completeRows: number | null;
  readonly lastRunId: number | null;
  readonly lastOutcome: RunOutcome | null;
  readonly failures: number;
  readonly lastError: string | null;
}

export async function listStreams(db: Db): Promise<StreamOverview[]> {
  const rows = await db
    .selectFrom('stream_state as state')
    .leftJoin('sync_run as run', 'run.run_id', 'state.last_run_id')
    .selectAll('state')
    .select('run.outcome as last_outcome')
    .orderBy('state.stream')
    .execute();
  return rows.map((row) => ({
    stream: row.stream,
    paused: row.paused === 1,
    dueAt: row.due_at,
    completeAt: row.complete_at,
    completeRows: row.complete_rows,
    lastRunId: row.last_run_id,
    lastOutcome: row.last_outcome,
    failures: row.failures,
    lastError: row.last_error,
  }));
}

function overviewOf(row: Selectable<Tables['sync_run']>) {
  return {
    runId: row.run_id,
    stream: row.stream,
    cause: row.cause,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    pages: row.pages,
    rows: row.rows_seen,
    changed: row.rows_changed,
    unchanged: row.rows_unchanged,
    deleted: row.rows_deleted,
    held: row.rows_held,
    quarantined: row.rows_quarantined,
    bytes: row.bytes,
    resumes: row.resumes,
    reason: row.reason,
  };
}

type RunOverview = ReturnType<typeof overviewOf>;

/** The latest runs first. */
export async function listRuns(
  db: Db,
  stream: string | undefined,
  limit: number,
): Promise<RunOverview[]> {
  const all = db.selectFrom('sync_run').selectAll();
  const chosen = stream === undefined ? all : all.where('stream', '=', stream);
  const rows = await chosen.orderBy('run_id', 'desc').limit(limit).execute();
  return rows.map(overviewOf);
}

export async function readRun(db: Db, runId: number): Promise<RunOverview | undefined> {
  const row = await db
    .selectFrom('sync_run')
    .selectAll()
    .where('run_id', '=', runId)
    .executeTakeFirst();
  return row && overviewOf(row);
}
