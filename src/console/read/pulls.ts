/** Reads one run in full for its page. */
import type { Db } from '../../store/store.ts';
import { describeDrift, driftOfStream } from '../../sync/drift.ts';
import { type RunOverview, readRun } from '../../sync/overview.ts';
import { type AcceptedCounts, acceptedCounts } from '../../sync/run/counts.ts';

interface SampledChange {
  readonly seq: number;
  readonly at: number;
  readonly entity: string;
  readonly key: string;
  readonly op: string;
  /** Changed members as JSON, each with its value before and after. */
  readonly diff: string;
}

interface UnreadRow {
  readonly entity: string;
  readonly path: string;
  readonly reason: string;
  readonly times: number;
}

export interface RunView {
  readonly run: RunOverview;
  /** Rows of the stream's last complete run, as an estimate of the total; null: there was none. */
  readonly rowsBefore: number | null;
  /** Error because of which the run was put off; null: it was not. */
  readonly lastError: string | null;
  /** Sentences about members that the service sends and Selvedge does not know. */
  readonly drift: readonly string[];
  readonly accepted: AcceptedCounts | null;
  /** Rows of the run that could not be read, with the reasons. */
  readonly unread: readonly UnreadRow[];
  readonly changes: readonly SampledChange[];
  /** Whether the run has held something back that a person may release. */
  readonly isWaiting: boolean;
}

const SAMPLE = 20;

async function changesOf(db: Db, run: RunOverview): Promise<SampledChange[]> {
  if (run.changed === 0 && run.deleted === 0) return [];
  const range = await db
    .selectFrom('sync_run')
    .select(['feed_from', 'feed_to'])
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow();
  // Runs that began after this one ended bound the search in a change feed of millions of rows.
  const later = await db
    .selectFrom('sync_run')
    .select((eb) => eb.fn.min('feed_from').as('from'))
    .where('run_id', '>', run.runId)
    .where('started_at', '>', run.endedAt ?? Number.MAX_SAFE_INTEGER)
    .executeTakeFirst();
  const to: number | null = range.feed_to ?? later?.from ?? null;
  let query = db
    .selectFrom('change')
    .select(['seq', 'at', 'entity', 'key', 'op', 'diff'])
    .where('seq', '>', range.feed_from)
    .where('cause', '=', `run:${run.runId}`)
    .orderBy('seq')
    .limit(SAMPLE);
  if (to !== null) query = query.where('seq', '<=', to);
  return query.execute();
}

async function unreadOf(db: Db, runId: number): Promise<UnreadRow[]> {
  const rows = await db
    .selectFrom('quarantine')
    .select(['entity', 'path', 'reason', 'times'])
    .where('source', '=', `run:${runId}`)
    .orderBy('id')
    .limit(SAMPLE)
    .execute();
  return rows;
}

/** Reads a run with its details; undefined: there is no such run. */
export async function readRunView(db: Db, runId: number): Promise<RunView | undefined> {
  const run = await readRun(db, runId);
  if (!run) return undefined;
  const state = await db
    .selectFrom('stream_state')
    .select(['complete_rows', 'last_error'])
    .where('stream', '=', run.stream)
    .executeTakeFirst();
  const { count_off: countOff } = await db
    .selectFrom('sync_run')
    .select('count_off')
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  const isOff = run.outcome === 'partial' && countOff !== null;
  return {
    run,
    rowsBefore: state?.complete_rows ?? null,
    lastError: run.outcome === 'running' ? (state?.last_error ?? null) : null,
    drift: (await driftOfStream(db, run.stream)).flatMap(describeDrift),
    accepted: (await acceptedCounts(db, run.stream)) ?? null,
    unread: await unreadOf(db, runId),
    changes: await changesOf(db, run),
    isWaiting: run.outcome === 'suspicious' || isOff || run.changes === 'open',
  };
}
