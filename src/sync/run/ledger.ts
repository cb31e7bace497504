/**
 * Runs of streams (`sync_run`) and what they leave behind (`stream_state`). A page and the
 * checkpoint after it are one transaction: a kill at any point loses the pages that are under way,
 * a few of a long list and else one.
 * Only pages in which there was nothing to write may wait for it (bulk/proved.ts).
 * Only `complete` moves a stream's clock.
 */
import { sql } from 'kysely';
import type { WireCounts } from '../../client/http/tally.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { WriteCounts } from '../../mirror/entity.ts';
import { type Drastic, drasticIn, sumOfDrastic } from '../../mirror/rows/drastic.ts';
import { lastChange } from '../../store/bulk.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import type { ChangeGuard, RunOutcome } from '../../store/tables.ts';

export interface Run {
  readonly runId: number;
  readonly stream: string;
  readonly readSeq: number;
  readonly startedAt: number;
  /** By which program and settings its list is read. */
  readonly reading: string;
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
  /** Of the changed ones: those that were not there before; absent: none. */
  readonly inserted?: number;
  readonly unchanged: number;
  readonly quarantined: number;
  readonly bytes: number;
  /** Absent: nothing. */
  readonly drastic?: Drastic;
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
  /** Of a partial run that only its counts are in the way of: by how much they are off. */
  readonly countOff?: Readonly<Record<string, number>> | undefined;
  /** Absent: the run changed nothing that needs a look, and none that did is over. */
  readonly changes?: ChangesEnd | undefined;
  /** Age of the oldest answer, if caches have kept some; absent: none has. */
  readonly ageMs?: number;
}

/** How a run bears on the change guard (change-guard.ts). */
export interface ChangesEnd {
  /** Why people must look at what it changed; absent: they need not. */
  readonly told?: string | undefined;
  /** Earlier runs whose changes were taken back. */
  readonly over: readonly number[];
}

/** Of a run that changed most rows of its list at once. */
export const MASS_CHANGE = { kind: 'mass_change', entity: 'sync_run' } as const;

async function addDrastic(tx: Tx, runId: number, more: Drastic): Promise<void> {
  const row = await tx
    .selectFrom('sync_run')
    .select(['rows_drastic', 'drastic'])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  const { rows, counts } = sumOfDrastic(drasticIn(row), more);
  await tx
    .updateTable('sync_run')
    .set({ rows_drastic: rows, drastic: JSON.stringify(counts) })
    .where('run_id', '=', runId)
    .execute();
}

/** Adds a page to its run, in the page's own transaction. */
export async function recordPage(
  tx: Tx,
  run: Run,
  checkpoint: JsonObject,
  counts: PageCounts,
): Promise<void> {
  const { pages = 1, rows, changed, inserted = 0, unchanged, quarantined, bytes, wire } = counts;
  await sql`update sync_run set checkpoint = ${JSON.stringify(checkpoint)},
    pages = pages + ${pages},
    rows_seen = rows_seen + ${rows}, rows_changed = rows_changed + ${changed},
    rows_new = rows_new + ${inserted}, rows_unchanged = rows_unchanged + ${unchanged},
    rows_quarantined = rows_quarantined + ${quarantined}, bytes = bytes + ${bytes},
    retries = retries + ${wire?.retries ?? 0}, waits = waits + ${wire?.waits ?? 0},
    wait_ms = wait_ms + ${wire?.waitMs ?? 0}
    where run_id = ${run.runId}`.execute(tx);
  if (counts.drastic && counts.drastic.rows > 0) await addDrastic(tx, run.runId, counts.drastic);
}

/**
 * Adds what was made of the run's rows after its last page, where they were counted as unchanged.
 */
export async function recordJoined(
  tx: Tx,
  runId: number,
  { inserted, changed, drastic }: Pick<WriteCounts, 'inserted' | 'changed' | 'drastic'>,
): Promise<void> {
  const written = inserted + changed;
  if (written === 0) return;
  await tx
    .updateTable('sync_run')
    .set((eb) => ({
      rows_changed: eb('rows_changed', '+', written),
      rows_unchanged: sql<number>`max(0, rows_unchanged - ${written})`,
      rows_new: eb('rows_new', '+', inserted),
    }))
    .where('run_id', '=', runId)
    .execute();
  if (drastic.rows > 0) await addDrastic(tx, runId, drastic);
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

/** Tells people of what the run changed, or that what an earlier one did is taken back. */
async function endChanges(
  tx: Tx,
  { runId, stream }: Run,
  { told, over }: ChangesEnd,
  now: number,
): Promise<void> {
  const set = (id: number, values: { change_guard: ChangeGuard; feed_to?: number }) =>
    tx.updateTable('sync_run').set(values).where('run_id', '=', id).execute();
  for (const id of over) await set(id, { change_guard: 'over' });
  await endIncidents(tx, MASS_CHANGE, over.map(String), now);
  if (told === undefined) return;
  await set(runId, { change_guard: 'open', feed_to: await lastChange(tx) });
  const detail = { stream, reason: told };
  await openIncident(tx, { ...MASS_CHANGE, key: String(runId), detail }, now);
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
        count_off: end.countOff ? JSON.stringify(end.countOff) : null,
      })
      .where('run_id', '=', run.runId)
      .returning('started_at')
      .executeTakeFirstOrThrow();
    const totals = await runTotals(tx, run.runId);
    const complete = end.outcome === 'complete';
    if (end.changes) await endChanges(tx, run, end.changes, now);
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
        ...(complete || end.outcome === 'partial' ? { reading: run.reading } : {}),
      }))
      .where('stream', '=', run.stream)
      .execute();
    return totals;
  });
}

/**
 * Starts an open run over: what it has counted so far belongs to a list that is no more. What it
 * has changed drastically stays: the mirror has it.
 */
export async function restartRun(tx: Tx, runId: number): Promise<void> {
  await tx
    .updateTable('sync_run')
    .set({
      checkpoint: '{}',
      pages: 0,
      rows_seen: 0,
      rows_changed: 0,
      rows_new: 0,
      rows_unchanged: 0,
      rows_quarantined: 0,
    })
    .where('run_id', '=', runId)
    .execute();
}
