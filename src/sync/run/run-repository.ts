/**
 * Repository of runs (`sync_run`) and stream states (`stream_state`). A page and the checkpoint
 * after it share one transaction: a kill loses only pages in progress. Only pages without anything
 * to write may wait for a later transaction (bulk/variant-pages.ts). Only a `complete` run makes
 * its stream fresher.
 */
import { sql } from 'kysely';
import type { WireCounts } from '../../client/http/usage.ts';
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
  /** Hash of all that determines how the list is read: program version, settings and options. */
  readonly reading: string;
  /** Position in the list from which the run resumes; `{}` at the start of a new run. */
  readonly checkpoint: JsonObject;
  readonly resumed: boolean;
}

/** Counts of one page, or of several. */
export interface PageCounts {
  /** Number of pages that the counts cover; absent: one. */
  readonly pages?: number;
  readonly rows: number;
  readonly changed: number;
  /** Rows among the changed ones that did not exist before; absent: none. */
  readonly inserted?: number;
  readonly unchanged: number;
  readonly quarantined: number;
  readonly bytes: number;
  readonly drastic?: Drastic;
  /** Rows whose key cannot be read; absent: none. */
  readonly unreadableKeys?: number;
  /** Rows of chunks whose keys changed since the last run; absent: all rows. */
  readonly changedKeys?: number;
  /** Retries and waits of the page's requests. */
  readonly wire?: WireCounts;
}

/** Adds the counts of two pages, of which `a` counts unchanged ones. */
export function sumOfPages(a: PageCounts | undefined, b: PageCounts): PageCounts {
  if (!a) return b;
  const of = (name: 'rows' | 'changed' | 'unchanged' | 'quarantined' | 'bytes'): number =>
    a[name] + b[name];
  const wireOf = (name: 'retries' | 'waits' | 'waitMs'): number =>
    (a.wire?.[name] ?? 0) + (b.wire?.[name] ?? 0);
  return {
    rows: of('rows'),
    changed: of('changed'),
    inserted: b.inserted ?? 0,
    ...(b.drastic ? { drastic: b.drastic } : {}),
    unchanged: of('unchanged'),
    quarantined: of('quarantined'),
    bytes: of('bytes'),
    pages: (a.pages ?? 1) + (b.pages ?? 1),
    wire: { retries: wireOf('retries'), waits: wireOf('waits'), waitMs: wireOf('waitMs') },
  };
}

type EndedOutcome = Exclude<RunOutcome, 'running'>;

export interface RunEnd {
  readonly outcome: EndedOutcome;
  readonly reason: string | null;
  /**
   * Rows that this attempt of the run deleted; the run's own count grows where they are deleted.
   */
  readonly rowsDeleted: number;
  /** Rows that the deletion guard kept from being deleted. */
  readonly rowsHeld: number;
  /** Differences between the service's counts and the rows, if only these make the run partial. */
  readonly countOff?: Readonly<Record<string, number>> | undefined;
  /**
   * Effect of the run on the change guard; absent: no change needs a look, and none was reverted.
   */
  readonly changes?: ChangesEnd | undefined;
  /** Age of the oldest answer from a cache, ms; absent: none came from a cache. */
  readonly ageMs?: number;
}

/** Effect of a run on the change guard (change-guard.ts). */
export interface ChangesEnd {
  /** Reason why people must look at the run's changes; absent: none. */
  readonly warning?: string | undefined;
  /** Earlier runs whose drastic changes were reverted; none of them is over beside a warning. */
  readonly over: readonly number[];
}

/** Incident of a run that changed most rows of its list at once. */
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

/** Adds the counts of a page to its run, in the page's own transaction. */
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
 * Adds the counts of rows merged after the last page, whose pages had counted them as unchanged.
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

/** Adds retries and waits that happened after the last page to the run. */
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

/** The stream's run before this one. */
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

/**
 * Tells whether the stored digests may come from several states of the list, some chunks from each.
 */
export async function mayBeMixed(
  db: Db,
  run: Pick<Run, 'stream' | 'runId' | 'resumed'>,
): Promise<boolean> {
  if (run.resumed) return true;
  const last = await runBefore(db, run);
  // A run that a person released may not have seen all rows, unlike a complete one.
  return last !== undefined && (last.outcome !== 'complete' || last.released_at !== null);
}

/**
 * Opens an incident for the run's drastic changes, or ends those of runs whose changes were
 * reverted. While the run itself is told, what was before them is what it is compared with.
 */
async function endChanges(
  tx: Tx,
  { runId, stream }: Pick<Run, 'runId' | 'stream'>,
  { warning, over }: ChangesEnd,
  now: number,
): Promise<void> {
  const set = (id: number, values: { change_guard: ChangeGuard; feed_to?: number }) =>
    tx.updateTable('sync_run').set(values).where('run_id', '=', id).execute();
  if (warning === undefined) {
    for (const id of over) await set(id, { change_guard: 'over' });
    await endIncidents(tx, MASS_CHANGE, over.map(String), now);
    return;
  }
  await set(runId, { change_guard: 'open', feed_to: await lastChange(tx) });
  const detail = { stream, reason: warning };
  await openIncident(tx, { ...MASS_CHANGE, key: String(runId), detail }, now);
}

/** Ends a run and writes the stream's state; `dueAt` is the stream's next due time. */
export async function endRun(
  store: Store,
  run: Run,
  end: RunEnd,
  now: number,
  dueAt: number,
): Promise<RunTotals> {
  return store.transaction(async (tx) => {
    // If the clock was set back, the stored start is earlier than the one in memory, and it counts.
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
    const isRead = totals.rows > 0 && (complete || end.outcome === 'partial');
    if (end.changes) await endChanges(tx, run, end.changes, now);
    const completeAt = started_at - (end.ageMs ?? 0);
    // A list from a cache must not make the stream look older than a newer run made it.
    const newest = sql<number>`max(coalesce(complete_at, 0), ${completeAt})`;
    await tx
      .updateTable('stream_state')
      .set((eb) => ({
        // An operator's request that was made during the run makes the stream due now.
        due_at: eb.case().when('requested', 'is', null).then(dueAt).else(now).end(),
        last_run_id: run.runId,
        failures: end.outcome === 'failed' ? eb('failures', '+', 1) : 0,
        last_error: complete ? null : end.reason,
        ...(complete
          ? { complete_at: end.ageMs ? newest : started_at, complete_rows: totals.rows }
          : {}),
        ...(isRead ? { reading: run.reading } : {}),
      }))
      .where('stream', '=', run.stream)
      .execute();
    return totals;
  });
}

/**
 * Ends a run that is open and will not go on, and tells of its changes. It counts as its stream's
 * latest run, so that a person can release it by the stream's name.
 */
export async function endUnfinished(
  store: Store,
  run: Pick<Run, 'runId' | 'stream'>,
  { reason, changes }: Pick<RunEnd, 'reason' | 'changes'>,
  now: number,
): Promise<void> {
  const told = [reason, changes?.warning].filter((one) => one !== undefined).join('; ');
  await store.transaction(async (tx) => {
    await tx
      .updateTable('sync_run')
      .set({ outcome: 'failed', ended_at: now, reason: told })
      .where('run_id', '=', run.runId)
      .execute();
    if (changes) await endChanges(tx, run, changes, now);
    await tx
      .updateTable('stream_state')
      .set({ last_run_id: run.runId })
      .where('stream', '=', run.stream)
      .execute();
  });
}

/**
 * Restarts an open run whose list no longer exists. The count of drastic changes stays, because the
 * mirror has these changes.
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
