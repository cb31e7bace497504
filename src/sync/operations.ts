/**
 * Operator actions on pulls: run now, release a suspicious run, accept a list that looks wrong and
 * is right, retry quarantined rows. All of it is state in the database that the planner reads next.
 * Throws RefusedError when the request makes no sense.
 */

import type { MemberName } from '../client/v1/dialect.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { nearestName } from '../lib/nearest.ts';
import type { ListDiff } from '../mirror/rows/full-diff.ts';
import { type Asker, writeAudit } from '../store/audit.ts';
import type { SqlValue } from '../store/bulk.ts';
import { endIncidents } from '../store/incidents.ts';
import { describePause, pauseOf, readPauses, resumeStep } from '../store/pauses.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { retryQuarantine } from './quarantine.ts';
import { type AssessDeps, deleteRows, listDiffOf } from './run/assess-completeness.ts';
import {
  type CountsOff,
  DUPLICATES,
  describeDifferences,
  writeAcceptedCounts,
} from './run/counts.ts';
import { deletionGuardReason } from './run/deletion-guard.ts';
import { ensureState } from './run/open.ts';
import { MASS_CHANGE } from './run/run-repository.ts';
import { countsIn, type SeenBy, type Stream } from './stream.ts';

// A person's acceptance of a list that looks wrong and is right: most of its rows really changed
// at once, or its count is off permanently. Throws RefusedError when there is nothing to accept.

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
}

interface AcceptedChange {
  readonly stream: string;
  /** The run and earlier runs of the stream that were waiting as well. */
  readonly runIds: readonly number[];
}

function refuse(runId: number, row: { readonly stream: string; readonly outcome: string }): never {
  if (row.outcome === 'running') {
    throw new RefusedError('sync.still_running', `run ${runId} has not ended yet`, {
      hint: `wait for it: selvedge sync runs ${row.stream}`,
    });
  }
  throw new RefusedError('sync.no_change_waits', `nothing waits for what run ${runId} changed`, {
    hint: `see what became of it: selvedge sync show ${runId}`,
  });
}

async function waitingRuns(tx: Tx, stream: string, runId: number): Promise<readonly number[]> {
  const rows = await tx
    .selectFrom('sync_run')
    .select('run_id')
    .where('stream', '=', stream)
    .where('run_id', '<=', runId)
    .where('change_guard', '=', 'open')
    .orderBy('run_id')
    .execute();
  return rows.map((row) => row.run_id);
}

/** Accepts the changes of the run and of earlier waiting runs, so that rules act on them. */
export function acceptChange(
  { store, clock }: Deps,
  runId: number,
  asker: Asker,
): Promise<AcceptedChange> {
  return store.transaction(async (tx) => {
    const now = clock.now();
    const run = await tx
      .selectFrom('sync_run')
      .select(['stream', 'outcome', 'change_guard'])
      .where('run_id', '=', runId)
      .executeTakeFirst();
    if (!run) throw new RefusedError('sync.unknown_run', `there is no run ${runId}`);
    if (run.change_guard !== 'open') refuse(runId, run);
    const runIds = await waitingRuns(tx, run.stream, runId);
    for (const id of runIds) {
      await tx
        .updateTable('sync_run')
        .set({ change_guard: 'accepted' })
        .where('run_id', '=', id)
        .execute();
    }
    await endIncidents(tx, MASS_CHANGE, runIds.map(String), now);
    const act = { action: 'sync.accept_change', subject: `run:${runId}`, detail: { runIds } };
    await writeAudit(tx, { ...asker, ...act }, now);
    return { stream: run.stream, runIds };
  });
}

interface AcceptedCount {
  readonly stream: string;
  readonly runId: number;
  readonly accepted: string;
}

/** Count differences stored with a run, if they alone keep it from being complete. */
function countsOffIn(kept: string | null): CountsOff | undefined {
  const off = tryParseJson(kept ?? '');
  return isJsonObject(off) ? countsIn(off) : undefined;
}

/** Resolves a run number, or the latest run of a stream. */
async function runOf(db: Db | Tx, which: string): Promise<number> {
  if (/^\d+$/.test(which)) return Number(which);
  const state = await db
    .selectFrom('stream_state')
    .select('last_run_id')
    .where('stream', '=', which)
    .executeTakeFirst();
  if (state?.last_run_id) return state.last_run_id;
  throw new RefusedError('sync.no_run', `${which} has not run yet`, {
    hint: `selvedge sync run ${which}`,
  });
}

/** Stores a run's count differences as accepted, within the caller's transaction. */
async function takeCounts(
  tx: Tx,
  { stream, off }: { readonly stream: string; readonly off: CountsOff },
  { actor, reason }: Asker,
  now: number,
): Promise<void> {
  await writeAcceptedCounts(tx, stream, { off, by: actor, reason, at: now });
}

/** Accepts that the stream's counts are permanently off by as much as they were in the run. */
function acceptCount({ store, clock }: Deps, which: string, asker: Asker): Promise<AcceptedCount> {
  return store.transaction(async (tx) => {
    const now = clock.now();
    const runId = await runOf(tx, which);
    const run = await tx
      .selectFrom('sync_run')
      .select(['stream', 'outcome', 'reason', 'count_off'])
      .where('run_id', '=', runId)
      .executeTakeFirst();
    if (!run) throw new RefusedError('sync.unknown_run', `there is no run ${runId}`);
    const off = countsOffIn(run.count_off);
    if (!off) {
      const why = run.reason === null ? '' : `: ${run.reason}`;
      const words = `run ${runId} of ${run.stream} is ${run.outcome}, and not for its count alone`;
      throw new RefusedError('sync.count_not_off', `${words}${why}`, {
        hint: `see: selvedge sync runs ${run.stream}`,
      });
    }
    await takeCounts(tx, { stream: run.stream, off }, asker, now);
    // Runs the stream now, so that the person sees the effect without waiting for the schedule.
    await tx
      .updateTable('stream_state')
      .set({ due_at: now })
      .where('stream', '=', run.stream)
      .execute();
    const act = { action: 'sync.accept_count', subject: `stream:${run.stream}` };
    await writeAudit(tx, { ...asker, ...act, detail: { runId, off } }, now);
    return { stream: run.stream, runId, accepted: describeDifferences(off) };
  });
}

export interface OperationsDeps extends AssessDeps {
  /** Configured streams that the account's level lacks, each with that level. */
  readonly notAtLevel?: Readonly<Record<string, string>>;
  readonly streams: readonly Stream[];
  /** Member names of the account. */
  readonly names?: readonly MemberName[];
  /** Wakes the planner because a stream is due. */
  readonly wakeUp: () => void;
  /** Called when decisions no longer wait for an accepted change. */
  readonly onAccepted: () => void;
}

interface Released {
  readonly stream: string;
  readonly runId: number;
  readonly rowsDeleted: number;
}

export interface SyncOperations {
  runNow(stream: string, full: boolean, asker: Asker): Promise<void>;
  /** Carries out what a suspicious run held back, and counts the run as complete. */
  release(runId: number, asker: Asker): Promise<Released>;
  /** Lets decisions use what the run changed, although it was most of its list at once. */
  acceptChange(runId: number, asker: Asker): Promise<AcceptedChange>;
  /**
   * Accepts that a stream's counts are permanently off by as much as in a run, given by number or
   * as the stream's latest.
   */
  acceptCount(which: string, asker: Asker): Promise<AcceptedCount>;
  /** Returns how many rows can be read now; their sources are pulled again. */
  retryQuarantine(asker: Asker): Promise<{ readonly understood: number; readonly left: number }>;
}

export function unknownStream(name: string, names: readonly string[]): RefusedError {
  const near = nearestName(name, names);
  const hint = near === undefined ? `the streams are ${names.join(', ')}` : `did you mean ${near}?`;
  return new RefusedError('sync.unknown_stream', `there is no stream ${name}`, { hint });
}

function known(deps: OperationsDeps, name: string): Stream {
  const stream = deps.streams.find((one) => one.name === name);
  if (stream) return stream;
  const level = deps.notAtLevel?.[name];
  if (level !== undefined) {
    throw new RefusedError('sync.not_at_level', `${name} does not exist at level ${level}`, {
      hint: 'if the account has it, raise service.v1.level',
    });
  }
  const names = deps.streams.map((one) => one.name);
  throw unknownStream(name, names);
}

async function requireNotPaused({ store }: OperationsDeps, stream: string): Promise<void> {
  const pause = pauseOf(await readPauses(store.db), 'stream', stream);
  if (!pause) return;
  throw new RefusedError('sync.paused', `${stream} is ${describePause(pause)}`, {
    hint: resumeStep(pause),
  });
}

/** Loads a held run, or one that only its counts keep from being complete. */
async function heldRun(db: Db | Tx, runId: number) {
  const run = await db
    .selectFrom('sync_run')
    .select(['stream', 'outcome', 'read_seq', 'started_at', 'rows_seen', 'count_off'])
    .where('run_id', '=', runId)
    .executeTakeFirst();
  if (!run) throw new RefusedError('sync.unknown_run', `there is no run ${runId}`);
  const isOffOnly = run.outcome === 'partial' && run.count_off !== null;
  if (run.outcome !== 'suspicious' && !isOffOnly) {
    throw new RefusedError('sync.not_held', `run ${runId} is ${run.outcome}, not suspicious`);
  }
  const newer = await db
    .selectFrom('sync_run')
    .select(['run_id', 'outcome'])
    .where('stream', '=', run.stream)
    .where('run_id', '>', runId)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newer) {
    throw new RefusedError('sync.newer_run', `run ${newer.run_id} of ${run.stream} is newer`, {
      hint: `it is ${newer.outcome}; see: selvedge sync runs ${run.stream}`,
    });
  }
  return run;
}

/**
 * Refuses a large deletion, because the person accepted the count and has not seen how much would
 * be deleted.
 */
async function requireLittle(
  deps: OperationsDeps,
  stream: Stream & { readonly list: NonNullable<Stream['list']> },
  diff: ListDiff,
): Promise<void> {
  const tooMuch = await deletionGuardReason(deps, stream, stream.list, diff, new Map());
  if (tooMuch === undefined) return;
  throw new RefusedError('sync.beyond_deletion_guard', tooMuch, {
    hint: `selvedge sync accept-count ${stream.name}, and look at the run that follows`,
  });
}

/** Keys that a release deletes from the list. */
async function missingOf(
  deps: OperationsDeps,
  stream: Stream,
  seenBy: SeenBy,
  off: CountsOff | undefined,
): Promise<readonly SqlValue[]> {
  const { list } = stream;
  if (!list) return [];
  const diff = await listDiffOf(deps, stream, seenBy);
  if (!off) return diff.missing;
  if (diff.duplicates > (off[DUPLICATES] ?? 0)) {
    throw new RefusedError('sync.rows_twice', `${diff.duplicates} rows came twice`, {
      hint: `selvedge sync accept-count ${stream.name}, and look at the run that follows`,
    });
  }
  await requireLittle(deps, { ...stream, list }, diff);
  return diff.missing;
}

async function release(deps: OperationsDeps, runId: number, asker: Asker): Promise<Released> {
  const { store, clock } = deps;
  const run = await heldRun(store.db, runId);
  const off = run.outcome === 'partial' ? countsOffIn(run.count_off) : undefined;
  const stream = known(deps, run.stream);
  const seenBy = { runId, readSeq: run.read_seq, startedAt: run.started_at };
  // Checked in every transaction, because a run may have begun since, and rows that it found
  // unchanged do not show that.
  const check = (tx: Tx): Promise<unknown> => heldRun(tx, runId);
  const { list, others = [] } = stream;
  const missing = await missingOf(deps, stream, seenBy, off);
  if (list) await deleteRows(deps, list.entity, seenBy, missing, check);
  for (const { entity, missing } of others) {
    const keys = await missing(store.db, seenBy);
    await deleteRows(deps, entity, seenBy, keys, check);
  }
  return store.transaction(async (tx) => {
    await check(tx);
    // Includes rows deleted by an earlier release that was interrupted.
    const { rows_deleted: rowsDeleted } = await tx
      .updateTable('sync_run')
      .set({
        outcome: 'complete',
        reason: `released by ${asker.actor}: ${asker.reason}`,
        released_at: clock.now(),
        rows_held: 0,
      })
      .where('run_id', '=', runId)
      .returning('rows_deleted')
      .executeTakeFirstOrThrow();
    await tx.deleteFrom('absence').where('stream', '=', run.stream).execute();
    await tx
      .updateTable('stream_state')
      .set({
        complete_at: run.started_at,
        complete_rows: run.rows_seen,
        failures: 0,
        last_error: null,
      })
      .where('stream', '=', run.stream)
      .execute();
    if (off) await takeCounts(tx, { stream: run.stream, off }, asker, clock.now());
    const act = { action: 'sync.release', subject: `run:${runId}` };
    const detail = { deleted: rowsDeleted, ...(off && { accepted: off }) };
    await writeAudit(tx, { ...asker, ...act, detail }, clock.now());
    return { stream: run.stream, runId, rowsDeleted };
  });
}

export function createSyncOperations(deps: OperationsDeps): SyncOperations {
  const { store, clock } = deps;
  return {
    async runNow(name, full, asker) {
      const stream = known(deps, name);
      await requireNotPaused(deps, name);
      await ensureState(store.db, name, clock.now());
      await store.transaction(async (tx) => {
        await tx
          .updateTable('stream_state')
          .set({ requested: full ? 'full' : 'run', due_at: clock.now(), failures: 0 })
          .where('stream', '=', stream.name)
          .execute();
        const action = full ? 'sync.run_full' : 'sync.run';
        await writeAudit(tx, { ...asker, action, subject: name }, clock.now());
      });
      deps.wakeUp();
    },
    release: (runId, asker) => release(deps, runId, asker),
    async acceptChange(runId, asker) {
      const accepted = await acceptChange(deps, runId, asker);
      deps.onAccepted();
      return accepted;
    },
    async acceptCount(which, asker) {
      if (!/^\d+$/.test(which)) known(deps, which);
      const accepted = await acceptCount(deps, which, asker);
      deps.wakeUp();
      return accepted;
    },
    async retryQuarantine(asker) {
      const result = await retryQuarantine(deps);
      const act = { action: 'sync.retry_quarantine', subject: 'quarantine', detail: result };
      await store.transaction((tx) => writeAudit(tx, { ...asker, ...act }, clock.now()));
      deps.wakeUp();
      return result;
    },
  };
}
