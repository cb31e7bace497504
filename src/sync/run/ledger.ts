/**
 * Runs of streams (`sync_run`) and what they leave behind (`stream_state`). A page and the
 * checkpoint after it are one transaction: a kill at any point loses the pages that are under way,
 * a few of a long list and else one.
 * Only pages in which there was nothing to write may wait for it (bulk/proved.ts).
 * Only `complete` moves a stream's clock.
 */
import { sql } from 'kysely';
import type { WireCounts } from '../../client/http/tally.ts';
import { canonicalJson, type JsonObject, parseJsonObject } from '../../lib/json.ts';
import { forgetDigests } from '../../mirror/list.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import type { RunOutcome } from '../../store/tables.ts';

export interface Run {
  readonly runId: number;
  readonly stream: string;
  readonly readSeq: number;
  readonly startedAt: number;
  /** Where to go on; `{}` at the start of a new run. */
  readonly checkpoint: JsonObject;
  readonly resumed: boolean;
}

/** What one page did, or several. */
export interface PageCounts {
  /** Absent: one. */
  readonly pages?: number;
  readonly rows: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly quarantined: number;
  readonly bytes: number;
  /** Rows whose key cannot be read; absent: none. */
  readonly keyless?: number;
  /** Rows of segments with other keys than the last time; absent: all of them. */
  readonly rekeyed?: number;
  /** What its requests cost besides themselves. */
  readonly wire?: WireCounts;
}

type EndedOutcome = Exclude<RunOutcome, 'running'>;

export interface RunEnd {
  readonly outcome: EndedOutcome;
  readonly reason: string | null;
  /** By this attempt; they are counted with the run where they are deleted. */
  readonly rowsDeleted: number;
  /** Rows that would have been deleted, had the fuse allowed it. */
  readonly rowsHeld: number;
  /** Of the oldest answer, if caches have kept some; absent: they came from the service. */
  readonly ageMs?: number;
}

export interface RunRequest {
  readonly stream: string;
  /** A run with other options does not go on where this one stopped. */
  readonly options: JsonObject;
  readonly readSeq: number;
  readonly now: number;
}

/** A stream that nobody has heard of yet is due now. */
export async function ensureState(db: Db, stream: string, now: number): Promise<void> {
  await db
    .insertInto('stream_state')
    .values({
      stream,
      due_at: now,
      last_run_id: null,
      complete_at: null,
      complete_rows: null,
      last_error: null,
      requested: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** What it has read so far would count as read with these options. */
const BEGUN_OTHERWISE =
  'begun with other settings or by another version: a new run has taken its place';

async function resumable(tx: Tx, request: RunRequest, options: string): Promise<Run | undefined> {
  const open = await tx
    .selectFrom('sync_run')
    .select(['run_id', 'read_seq', 'started_at', 'checkpoint', 'options'])
    .where('stream', '=', request.stream)
    .where('outcome', '=', 'running')
    .orderBy('run_id', 'desc')
    .executeTakeFirst();
  if (!open) return undefined;
  if (open.options !== options) {
    await tx
      .updateTable('sync_run')
      .set({ outcome: 'failed', ended_at: request.now, reason: BEGUN_OTHERWISE })
      .where('run_id', '=', open.run_id)
      .execute();
    return undefined;
  }
  await tx
    .updateTable('sync_run')
    .set((eb) => ({ resumes: eb('resumes', '+', 1) }))
    .where('run_id', '=', open.run_id)
    .execute();
  return {
    runId: open.run_id,
    stream: request.stream,
    readSeq: open.read_seq,
    startedAt: open.started_at,
    checkpoint: parseJsonObject(open.checkpoint),
    resumed: true,
  };
}

/** What the operator asked of the stream; asked once, done once. */
async function takeWish(tx: Tx, stream: string): Promise<'run' | 'full' | null> {
  const row = await tx
    .selectFrom('stream_state')
    .select('requested')
    .where('stream', '=', stream)
    .executeTakeFirst();
  if (!row?.requested) return null;
  await tx
    .updateTable('stream_state')
    .set({ requested: null })
    .where('stream', '=', stream)
    .execute();
  return row.requested;
}

/**
 * Goes on with the stream's unfinished run, or starts a new one. What the operator asked for is
 * taken off in the same transaction: a wish is either still there or has its run.
 */
export async function openRun(store: Store, request: RunRequest): Promise<Run> {
  const options = canonicalJson(request.options);
  return store.transaction(async (tx) => {
    const wish = await takeWish(tx, request.stream);
    // Every row is compared, whatever the digests say.
    if (wish === 'full') await forgetDigests(tx, request.stream);
    const open = await resumable(tx, request, options);
    if (open && wish === 'full') {
      // What it has compared so far was compared by digests.
      await restartRun(tx, open.runId);
      return { ...open, checkpoint: {} };
    }
    if (open) return open;
    const row = await tx
      .insertInto('sync_run')
      .values({
        stream: request.stream,
        cause: wish === null ? 'schedule' : 'operator',
        started_at: request.now,
        ended_at: null,
        read_seq: request.readSeq,
        options,
        checkpoint: '{}',
        reason: null,
        released_at: null,
      })
      .returning('run_id')
      .executeTakeFirstOrThrow();
    return {
      runId: row.run_id,
      stream: request.stream,
      readSeq: request.readSeq,
      startedAt: request.now,
      checkpoint: {},
      resumed: false,
    };
  });
}

/** Adds a page to its run, in the page's own transaction. */
export async function recordPage(
  tx: Tx,
  run: Run,
  checkpoint: JsonObject,
  counts: PageCounts,
): Promise<void> {
  const { pages = 1, rows, changed, unchanged, quarantined, bytes, wire } = counts;
  await sql`update sync_run set checkpoint = ${JSON.stringify(checkpoint)},
    pages = pages + ${pages},
    rows_seen = rows_seen + ${rows}, rows_changed = rows_changed + ${changed},
    rows_unchanged = rows_unchanged + ${unchanged},
    rows_quarantined = rows_quarantined + ${quarantined}, bytes = bytes + ${bytes},
    retries = retries + ${wire?.retries ?? 0}, waits = waits + ${wire?.waits ?? 0},
    wait_ms = wait_ms + ${wire?.waitMs ?? 0}
    where run_id = ${run.runId}`.execute(tx);
}

/** Adds what the requests behind the last page cost. */
export async function recordWire(store: Store, runId: number, wire: WireCounts): Promise<void> {
  if (wire.retries === 0 && wire.waits === 0) return;
  await store.db
    .updateTable('sync_run')
    .set((eb) => ({
      retries: eb('retries', '+', wire.retries),
      waits: eb('waits', '+', wire.waits),
      wait_ms: eb('wait_ms', '+', wire.waitMs),
    }))
    .where('run_id', '=', runId)
    .execute();
}

export interface RunTotals {
  readonly rows: number;
  readonly changed: number;
  readonly pages: number;
}

export async function runTotals(db: Db | Tx, runId: number): Promise<RunTotals> {
  const row = await db
    .selectFrom('sync_run')
    .select(['rows_seen', 'rows_changed', 'pages'])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  return {
    rows: row.rows_seen,
    changed: row.rows_changed,
    pages: row.pages,
  };
}

interface RunBefore extends Pick<Run, 'runId' | 'readSeq' | 'startedAt'> {
  readonly outcome: RunOutcome;
  readonly released_at: number | null;
}

/** The run of the stream before this one. */
export async function runBefore(
  db: Db | Tx,
  { stream, runId }: Pick<Run, 'stream' | 'runId'>,
): Promise<RunBefore | undefined> {
  return db
    .selectFrom('sync_run')
    .select(['run_id as runId', 'read_seq as readSeq', 'started_at as startedAt'])
    .select(['outcome', 'released_at'])
    .where('stream', '=', stream)
    .where('run_id', '<', runId)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Whether what is known of the list may come from several lists, one piece from each. */
export async function mayBeMixed(
  db: Db,
  run: Pick<Run, 'stream' | 'runId' | 'resumed'>,
): Promise<boolean> {
  if (run.resumed) return true;
  const last = await runBefore(db, run);
  // What a person releases may be worth less than complete otherwise.
  return last !== undefined && (last.outcome !== 'complete' || last.released_at !== null);
}

/** Ends a run and writes the stream's state; `dueAt` is when the stream runs next. */
export async function endRun(
  store: Store,
  run: Run,
  end: RunEnd,
  now: number,
  dueAt: number,
): Promise<RunTotals> {
  return store.transaction(async (tx) => {
    // Dated back since it was opened, if the clock was set back meanwhile.
    const { started_at } = await tx
      .updateTable('sync_run')
      .set({
        outcome: end.outcome,
        reason: end.reason,
        ended_at: now,
        rows_held: end.rowsHeld,
      })
      .where('run_id', '=', run.runId)
      .returning('started_at')
      .executeTakeFirstOrThrow();
    const totals = await runTotals(tx, run.runId);
    const complete = end.outcome === 'complete';
    const completeAt = started_at - (end.ageMs ?? 0);
    // An old list takes nothing away from what is known better.
    const newest = sql<number>`max(coalesce(complete_at, 0), ${completeAt})`;
    await tx
      .updateTable('stream_state')
      .set((eb) => ({
        // A wish that came meanwhile is not put off to the stream's next time.
        due_at: eb.case().when('requested', 'is', null).then(dueAt).else(now).end(),
        last_run_id: run.runId,
        failures: end.outcome === 'failed' ? eb('failures', '+', 1) : 0,
        last_error: complete ? null : end.reason,
        ...(complete
          ? { complete_at: end.ageMs ? newest : started_at, complete_rows: totals.rows }
          : {}),
      }))
      .where('stream', '=', run.stream)
      .execute();
    return totals;
  });
}

/** Starts an open run over: what it has counted so far belongs to a list that is no more. */
export async function restartRun(tx: Tx, runId: number): Promise<void> {
  await tx
    .updateTable('sync_run')
    .set({
      checkpoint: '{}',
      pages: 0,
      rows_seen: 0,
      rows_changed: 0,
      rows_unchanged: 0,
      rows_quarantined: 0,
    })
    .where('run_id', '=', runId)
    .execute();
}
