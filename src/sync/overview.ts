/** The streams and their runs, for people. */
import type { Selectable } from 'kysely';
import { pauseOf, readPauses } from '../store/pauses.ts';
import type { Db } from '../store/store.ts';
import type { RunOutcome, Tables } from '../store/tables.ts';
import { nextRunAfter } from './schedule.ts';

/** Times of a schedule that are shown ahead. */
const NEXT_TIMES = 3;

/** What the configuration says of a stream. */
interface StreamSettings {
  /** Cron pattern, UTC. */
  readonly schedule: string;
  /** How old its data may get, ms. */
  readonly freshness: number;
}

interface StreamOverview {
  readonly stream: string;
  readonly paused: boolean;
  /** Epoch ms. */
  readonly dueAt: number;
  /** The level of the account, which does not have the stream; null: it has. */
  readonly notAtLevel: string | null;
  /** Null: the configuration has the stream switched off, or it is not at the account's level. */
  readonly schedule: string | null;
  /** The times that the schedule names next, epoch ms; jitter comes on top. */
  readonly nextTimes: readonly number[];
  /** How old its data may get; null: no limit is known. */
  readonly freshnessMs: number | null;
  /** Older than that. */
  readonly stale: boolean;
  readonly completeAt: number | null;
  readonly completeRows: number | null;
  readonly lastRunId: number | null;
  readonly lastOutcome: RunOutcome | null;
  readonly failures: number;
  readonly lastError: string | null;
}

function nextTimes(schedule: string, now: number): number[] {
  const times: number[] = [];
  for (let after = now; times.length < NEXT_TIMES; ) {
    const next = nextRunAfter(schedule, after);
    if (next === undefined) break;
    times.push(next);
    after = next;
  }
  return times;
}

function planOf(settings: StreamSettings | undefined, completeAt: number | null, now: number) {
  if (!settings) return { schedule: null, nextTimes: [], freshnessMs: null, stale: false };
  const { schedule, freshness } = settings;
  return {
    schedule,
    nextTimes: nextTimes(schedule, now),
    freshnessMs: freshness,
    stale: now - (completeAt ?? 0) > freshness,
  };
}

export async function listStreams(
  db: Db,
  settings: Readonly<Record<string, StreamSettings>>,
  now: number,
  notAtLevel: Readonly<Record<string, string>> = {},
  dataDir?: string,
): Promise<StreamOverview[]> {
  const pauses = await readPauses(db, dataDir);
  const rows = await db
    .selectFrom('stream_state as state')
    .leftJoin('sync_run as run', 'run.run_id', 'state.last_run_id')
    .selectAll('state')
    .select('run.outcome as last_outcome')
    .orderBy('state.stream')
    .execute();
  const known = new Set(rows.map(({ stream }) => stream));
  const never = Object.entries(notAtLevel).filter(([stream]) => !known.has(stream));
  const absent = never.map(([stream, level]): StreamOverview => {
    const nothing = { completeAt: null, completeRows: null, lastRunId: null, lastOutcome: null };
    const plan = planOf(undefined, null, now);
    const at = { stream, paused: false, dueAt: 0, notAtLevel: level };
    return { ...at, ...plan, ...nothing, failures: 0, lastError: null };
  });
  const present = rows.map(
    (row): StreamOverview => ({
      stream: row.stream,
      notAtLevel: notAtLevel[row.stream] ?? null,
      paused: pauseOf(pauses, 'stream', row.stream) !== undefined,
      dueAt: row.due_at,
      ...planOf(settings[row.stream], row.complete_at, now),
      completeAt: row.complete_at,
      completeRows: row.complete_rows,
      lastRunId: row.last_run_id,
      lastOutcome: row.last_outcome,
      failures: row.failures,
      lastError: notAtLevel[row.stream] === undefined ? row.last_error : null,
    }),
  );
  return [...present, ...absent].sort((a, b) => (a.stream < b.stream ? -1 : 1));
}

function overviewOf(row: Selectable<Tables['sync_run']>) {
  return {
    runId: row.run_id,
    // Numbers every start of a read: what started later knows better.
    generation: row.read_seq,
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
    drastic: row.rows_drastic,
    // What became of that: see docs/internals/pulls.md.
    changes: row.change_guard,
    quarantined: row.rows_quarantined,
    bytes: row.bytes,
    retries: row.retries,
    waits: row.waits,
    waitMs: row.wait_ms,
    resumes: row.resumes,
    reason: row.reason,
  };
}

export type RunOverview = ReturnType<typeof overviewOf>;

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

export interface RunProgress {
  readonly run: RunOverview;
  /** Rows of the stream's last complete run: about as many will come. */
  readonly rowsBefore: number | null;
  /** Why it was put off. */
  readonly lastError: string | null;
}

/** The run that was asked for, once the daemon has begun it, and whether there is a daemon. */
export async function readProgress(
  db: Db,
  stream: string,
  now: number,
): Promise<{ readonly progress: RunProgress | undefined; readonly isAlive: boolean }> {
  const lease = await db
    .selectFrom('lease')
    .select('expires_at')
    .where('name', '=', 'daemon')
    .executeTakeFirst();
  const isAlive = (lease?.expires_at ?? 0) > now;
  const state = await db
    .selectFrom('stream_state')
    .select(['requested', 'complete_rows', 'last_error', 'due_at'])
    .where('stream', '=', stream)
    .executeTakeFirst();
  const [run] = await listRuns(db, stream, 1);
  if (!state || !run || state.requested !== null) return { progress: undefined, isAlive };
  const { complete_rows: rowsBefore } = state;
  // While a run is under way its stream is due, and an error is that of the run before it.
  const lastError = state.due_at > now ? state.last_error : null;
  return { progress: { run, rowsBefore, lastError }, isAlive };
}
