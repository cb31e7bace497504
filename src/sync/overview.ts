/** Overviews of streams and runs for people. */

import { type Selectable, sql } from 'kysely';
import { RefusedError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest.ts';
import { daemonRuns } from '../store/lock.ts';
import { type IdPage, newestFirst } from '../store/pages.ts';
import { pauseOf, readPauses } from '../store/pauses.ts';
import type { Db } from '../store/store.ts';
import type { RunOutcome, Tables } from '../store/tables.ts';
import { nextRunAfter } from './schedule.ts';

/** Number of upcoming runs shown per schedule. */
const NEXT_TIMES = 3;

/** Configuration of a stream that the overview shows. */
interface StreamSettings {
  /** Cron pattern of the stream's runs, in UTC. */
  readonly schedule: string;
  /** Maximum age of the stream's data, ms. */
  readonly freshness: number;
}

export interface StreamOverview {
  readonly stream: string;
  readonly paused: boolean;
  /** Time at which the stream's next run is due, epoch ms. */
  readonly dueAt: number;
  /** Level of the account, which lacks the stream; null: the level has the stream. */
  readonly notAtLevel: string | null;
  /**
   * Cron pattern of the stream's runs; null: it is switched off, or the account's level lacks it.
   */
  readonly schedule: string | null;
  /** Next times that the schedule names, epoch ms, without jitter. */
  readonly nextTimes: readonly number[];
  /** Maximum age of the stream's data, ms; null: no limit is known. */
  readonly freshnessMs: number | null;
  /** Whether the stream's data is older than its maximum age. */
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

export function unknownStream(name: string, names: readonly string[]): RefusedError {
  const near = nearestName(name, names);
  const hint = near === undefined ? `the streams are ${names.join(', ')}` : `did you mean ${near}?`;
  return new RefusedError('sync.unknown_stream', `there is no stream ${name}`, { hint });
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
    // The number increases with each start of a read; of two reads of a row, the one that started
    // later is right.
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
    // State of the change guard for this run (docs/internals/pulls.md).
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

export interface RunFilter {
  readonly stream?: string | undefined;
  readonly outcome?: RunOutcome | undefined;
}

/** Runs that match the filter, the latest first. */
export async function findRuns(
  db: Db,
  { stream, outcome }: RunFilter,
  page: IdPage,
): Promise<RunOverview[]> {
  let query = db.selectFrom('sync_run').selectAll();
  if (stream !== undefined) query = query.where('stream', '=', stream);
  if (outcome !== undefined) query = query.where('outcome', '=', sql.lit(outcome));
  const rows = await newestFirst(query, 'run_id', page);
  return rows.map(overviewOf);
}

/** Number of a stream's last ended runs from which its figures are computed. */
const FIGURE_RUNS = 50;

export interface RunFigures {
  /** Number of ended runs by outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Median and 95th percentile of the duration of complete runs, ms; null: none was complete. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Rows per second over all complete runs together; null: nothing was read, or in no time. */
  readonly rowsPerSecond: number | null;
}

/** The value that this share of the sorted values does not exceed; null: there are no values. */
function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

/** Computes the figures of a stream from its last {@link FIGURE_RUNS} ended runs. */
export async function readRunFigures(db: Db, stream: string): Promise<RunFigures> {
  const runs = await db
    .selectFrom('sync_run')
    .select(['outcome', 'started_at', 'ended_at', 'rows_seen'])
    .where('stream', '=', stream)
    .where('ended_at', 'is not', null)
    .orderBy('run_id', 'desc')
    .limit(FIGURE_RUNS)
    .execute();
  const complete = runs.filter(({ outcome }) => outcome === 'complete');
  const durations = complete.map((run) => Math.max(0, (run.ended_at ?? 0) - run.started_at));
  const sorted = durations.toSorted((a, b) => a - b);
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  const rows = sum(complete.map((run) => run.rows_seen));
  const seconds = sum(durations) / 1_000;
  const byOutcome = Map.groupBy(runs, ({ outcome }) => outcome);
  return {
    outcomes: Object.fromEntries([...byOutcome].map(([outcome, of]) => [outcome, of.length])),
    p50Ms: quantile(sorted, 0.5),
    p95Ms: quantile(sorted, 0.95),
    rowsPerSecond: rows > 0 && seconds > 0 ? rows / seconds : null,
  };
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
  /**
   * Rows of the stream's last complete run, as an estimate of the run's length; null: none was
   * complete.
   */
  readonly rowsBefore: number | null;
  /** Reason why the run was postponed; null: it was not. */
  readonly lastError: string | null;
}

/** Progress of a requested run once the daemon has begun it, and whether a daemon runs. */
export async function readProgress(
  db: Db,
  stream: string,
  now: number,
): Promise<{ readonly progress: RunProgress | undefined; readonly isAlive: boolean }> {
  const isAlive = await daemonRuns(db, now);
  const state = await db
    .selectFrom('stream_state')
    .select(['requested', 'complete_rows', 'last_error', 'due_at'])
    .where('stream', '=', stream)
    .executeTakeFirst();
  const [run] = await findRuns(db, { stream }, { limit: 1 });
  if (!state || !run || state.requested !== null) return { progress: undefined, isAlive };
  const { complete_rows: rowsBefore } = state;
  // While its run is in progress, a stream is due, and the stored error is that of an earlier run.
  const lastError = state.due_at > now ? state.last_error : null;
  return { progress: { run, rowsBefore, lastError }, isAlive };
}
