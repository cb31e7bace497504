/**
 * Operator commands for pulls: run a stream now; release a run that was held, changed most of its
 * rows, or has a wrong count; read quarantined rows again. Each command changes only the database,
 * where the planner sees it at its next look. Throws RefusedError when the request makes no sense.
 */
import { sql } from 'kysely';
import type { MemberName } from '../client/v1/schemas.ts';
import { RefusedError } from '../lib/errors.ts';
import type { ListDiff } from '../mirror/rows/full-diff.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import type { SqlValue } from '../store/bulk.ts';
import { describePause, pauseOf, readPauses, resumeStep } from '../store/pauses.ts';
import type { Db, Tx } from '../store/store.ts';
import {
  acceptChange,
  acceptCount,
  acceptLoss,
  CUSTOMERS,
  countsOffIn,
  runOf,
  takeCounts,
  waitingLoss,
} from './accept.ts';
import { unknownStream } from './overview.ts';
import { retryQuarantine } from './quarantine.ts';
import { type AssessDeps, deleteRows, listDiffOf } from './run/assess-completeness.ts';
import { type CountsOff, DUPLICATES, describeDifferences } from './run/counts.ts';
import { deletionGuardReason } from './run/deletion-guard.ts';
import { ensureState } from './run/open.ts';
import type { SeenBy, Stream } from './stream.ts';

export interface OperationsDeps extends AssessDeps {
  /**
   * Streams that are configured and that the account's level lacks, each with the level that has
   * it.
   */
  readonly notAtLevel?: Readonly<Record<string, string>>;
  /** Streams that are switched off; what their runs left can still be released. */
  readonly switchedOff?: readonly string[];
  readonly streams: readonly Stream[];
  /** Member names of the account. */
  readonly names?: readonly MemberName[];
  /** Wakes the planner, because a stream is due; undefined: none runs. */
  readonly wakeUp?: (() => void) | undefined;
  /** Called when decisions no longer wait for a mass change, because a person accepted it. */
  readonly onAccepted: () => void;
  /** Called when orders are to be read again. */
  readonly onRefetchRequested?: () => void;
}

interface Deleted {
  readonly stream: string;
  readonly runId: number;
  readonly rowsDeleted: number;
  /** Count differences that the release accepted, in words; null: none. */
  readonly acceptedCount: string | null;
}

interface Released extends Deleted {
  /** Whether the run counts as complete by the release; otherwise the stream's next run is due. */
  readonly released: boolean;
  /** Runs whose mass change the rules may use by the release. */
  readonly changedRuns: readonly number[];
}

export interface SyncOperations {
  /** Whether a daemon does at once what it is asked for; else it does so when it starts. */
  readonly isAwake: boolean;
  /** Throws what {@link runNow} of the stream would throw. */
  requirePullable(stream: string): Promise<void>;
  runNow(stream: string, full: boolean, asker: Actor): Promise<void>;
  /**
   * Releases a run, named by its number or by its stream (then its latest run): deletes the rows
   * that a suspicious run held back, lets decisions use a mass change, and accepts counts that are
   * off for good.
   */
  release(which: string | number, asker: Actor, expected?: ExpectedRelease): Promise<Released>;
  /** Tells what {@link release} of the run would delete; throws what it would throw. */
  previewRelease(which: string | number): Promise<ReleasePreview>;
  /** Reads the sources of those quarantined rows again that can be read by now. */
  retryQuarantine(asker: Actor): Promise<Retried>;
  /** Counts the rows that {@link retryQuarantine} would read again, and those that it would not. */
  previewQuarantine(): Promise<Retried>;
}

/**
 * Number of rows to delete that a person saw before the release; the release is refused if it
 * differs by now.
 */
interface ExpectedRelease {
  readonly deletes: number;
}

export interface ReleasePreview {
  readonly stream: string;
  readonly runId: number;
  /** Rows that the release would delete (softly). */
  readonly deletes: number;
  /** Keys of the first rows that the release would delete. */
  readonly firstKeys: readonly string[];
  /** Whether the release lets rules use the run's mass change. */
  readonly acceptsChange: boolean;
  /** Count differences that the release would accept, in words; null: none. */
  readonly acceptsCount: string | null;
  /** Reason why the release deletes nothing at once although it accepts a count; null: none. */
  readonly later: string | null;
}

interface Retried {
  readonly understood: number;
  readonly left: number;
}

function known(deps: OperationsDeps, name: string): Stream {
  const stream = deps.streams.find((one) => one.name === name);
  if (stream) return stream;
  const level = deps.notAtLevel?.[name];
  if (level !== undefined) {
    throw new RefusedError('sync.not_at_level', `${name} does not exist at level ${level}`, {
      hint: 'if the account has it, raise service.dialect.v1.level',
    });
  }
  if (deps.switchedOff?.includes(name)) {
    throw new RefusedError('sync.switched_off', `${name} is switched off`, {
      hint: `switch it on (streams.off), and restart the daemon`,
    });
  }
  const names = deps.streams.map((one) => one.name);
  throw unknownStream(name, names);
}

/** Tells whether the stream is not pulled and may have been pulled before. */
function isNotPulled({ notAtLevel, switchedOff }: OperationsDeps, name: string): boolean {
  return notAtLevel?.[name] !== undefined || (switchedOff?.includes(name) ?? false);
}

/** Tells whether the change of an earlier run of the stream waits for a person. */
async function hasOpenChange(db: Db, stream: string): Promise<boolean> {
  const open = await db
    .selectFrom('sync_run')
    .select('run_id')
    .where('stream', '=', stream)
    // As the text of its index, which a parameter would not be.
    .where('change_guard', '=', sql.lit('open'))
    .limit(1)
    .executeTakeFirst();
  return open !== undefined;
}

async function requireNotPaused({ store }: OperationsDeps, stream: string): Promise<void> {
  const pause = pauseOf(await readPauses(store.db), 'stream', stream);
  if (!pause) return;
  throw new RefusedError('sync.paused', `${stream} is ${describePause(pause)}`, {
    hint: resumeStep(pause),
  });
}

/**
 * A run that was held as suspicious, or that is partial only for its counts. Refuses other runs,
 * and those after which the stream ran again.
 */
async function heldRun(db: Db | Tx, runId: number) {
  const run = await db
    .selectFrom('sync_run')
    .select(['stream', 'outcome', 'read_seq', 'started_at', 'rows_seen', 'count_off'])
    .where('run_id', '=', runId)
    .executeTakeFirst();
  if (!run) throw new RefusedError('sync.unknown_run', `there is no run ${runId}`);
  const isOffOnly = run.outcome === 'partial' && run.count_off !== null;
  if (run.outcome !== 'suspicious' && !isOffOnly) {
    throw new RefusedError('sync.not_held', `run ${runId} is ${run.outcome}, not suspicious`, {
      hint: `its reason says why: selvedge sync show ${runId}`,
    });
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
      hint: `it is ${newer.outcome}; see: selvedge sync show ${run.stream}`,
    });
  }
  return run;
}

/**
 * Refuses a release beyond the deletion guard: a person who accepts a count has not seen how much
 * would be deleted.
 */
async function requireLittle(
  deps: OperationsDeps,
  stream: Stream & { readonly list: NonNullable<Stream['list']> },
  diff: ListDiff,
): Promise<void> {
  const tooMuch = await deletionGuardReason(deps, stream, stream.list, diff, new Map());
  if (tooMuch === undefined) return;
  throw new RefusedError('sync.beyond_deletion_guard', tooMuch, {
    hint: `selvedge sync release ${stream.name}, and look at the run that follows`,
  });
}

/** Keys of the rows that a release deletes from the stream's main list. */
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
      hint: `selvedge sync release ${stream.name}, and look at the run that follows`,
    });
  }
  await requireLittle(deps, { ...stream, list }, diff);
  return diff.missing;
}

/** A held run, with its stream and the count differences that it stored. */
async function heldOf(deps: OperationsDeps, runId: number) {
  const run = await heldRun(deps.store.db, runId);
  const off = run.outcome === 'partial' ? countsOffIn(run.count_off) : undefined;
  const stream = known(deps, run.stream);
  const seenBy = { runId, readSeq: run.read_seq, startedAt: run.started_at };
  return { run, off, stream, seenBy };
}

/** Keys of the rows that a release would delete, those of the main list first. */
async function keysToDelete(
  deps: OperationsDeps,
  { stream, seenBy, off }: Omit<Awaited<ReturnType<typeof heldOf>>, 'run'>,
): Promise<readonly SqlValue[]> {
  const keys = [...(await missingOf(deps, stream, seenBy, off))];
  for (const { missing } of stream.others ?? []) {
    keys.push(...(await missing(deps.store.db, seenBy)));
  }
  return keys;
}

function requireSeen(now: number, expected: ExpectedRelease | undefined): void {
  const { deletes = now } = expected ?? {};
  if (now === deletes) return;
  const message = `the release would delete ${now} rows by now, not ${deletes}`;
  throw new RefusedError('sync.changed', message, { hint: 'look at the run again' });
}

async function releaseHeld(
  deps: OperationsDeps,
  runId: number,
  asker: Actor,
  expected: ExpectedRelease | undefined,
): Promise<Deleted> {
  const { store, clock } = deps;
  const held = await heldOf(deps, runId);
  if (expected) requireSeen((await keysToDelete(deps, held)).length, expected);
  const { run, off, stream, seenBy } = held;
  // This check is repeated in each transaction of the release: a run may have begun since, and rows
  // that it found unchanged carry no mark of it.
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
    // The run's count also has rows that an earlier, interrupted try of the release deleted.
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
    const acceptedCount = off ? describeDifferences(off) : null;
    return { stream: run.stream, runId, rowsDeleted, acceptedCount };
  });
}

const NEEDS_LOOK = new Set(['sync.beyond_deletion_guard', 'sync.rows_twice']);

/**
 * Releases a run that is partial for its counts. Where deleting at once would be too much, only the
 * counts are accepted, and the next run decides on the rows.
 */
async function releaseCounted(
  deps: OperationsDeps,
  runId: number,
  asker: Actor,
  expected: ExpectedRelease | undefined,
): Promise<Deleted & { readonly released: boolean }> {
  try {
    return { ...(await releaseHeld(deps, runId, asker, expected)), released: true };
  } catch (error) {
    if (!(error instanceof RefusedError) || !NEEDS_LOOK.has(error.code)) throw error;
  }
  requireSeen(0, expected);
  const { accepted, ...run } = await acceptCount(deps, runId, asker);
  return { ...run, rowsDeleted: 0, acceptedCount: accepted, released: false };
}

async function releaseKind(
  deps: OperationsDeps,
  { runId, isOff }: { readonly runId: number; readonly isOff: boolean },
  asker: Actor,
  expected: ExpectedRelease | undefined,
): Promise<Deleted & { readonly released: boolean }> {
  const released = isOff
    ? await releaseCounted(deps, runId, asker, expected)
    : { ...(await releaseHeld(deps, runId, asker, expected)), released: true };
  deps.wakeUp?.();
  return released;
}

/** The run that a release names, and the parts of it that wait for a person. */
async function waitingRun(deps: OperationsDeps, named: string | number) {
  const { db } = deps.store;
  const which = String(named);
  const isByName = !/^\d+$/.test(which);
  if (isByName && !isNotPulled(deps, which)) known(deps, which);
  const runId = await runOf(db, which);
  const run = await db
    .selectFrom('sync_run')
    .select(['stream', 'outcome', 'change_guard', 'count_off'])
    .where('run_id', '=', runId)
    .executeTakeFirst();
  if (!run) throw new RefusedError('sync.unknown_run', `there is no run ${runId}`);
  const { stream, outcome } = run;
  // A stream's name means all that waits of it, a number that run.
  const isChanged = isByName ? await hasOpenChange(db, stream) : run.change_guard === 'open';
  const isOff = outcome === 'partial' && countsOffIn(run.count_off) !== undefined;
  // Held rows are released before a change is accepted: if they are refused, nothing is accepted.
  const isHeld = outcome === 'suspicious' || isOff || !isChanged;
  return { stream, runId, isChanged, isOff, isHeld };
}

/** Number of no run: the ERP's customers have none. */
const NO_RUN = 0;

async function releaseLoss(
  deps: OperationsDeps,
  asker: Actor,
  expected: ExpectedRelease | undefined,
): Promise<Released> {
  const { what } = await acceptLoss(deps, asker, (gone) => requireSeen(gone, expected));
  deps.onAccepted();
  const about = { stream: CUSTOMERS, runId: NO_RUN, rowsDeleted: 0, changedRuns: [] };
  return { ...about, acceptedCount: `the loss of ${what}`, released: false };
}

async function previewLoss({ store }: OperationsDeps): Promise<ReleasePreview> {
  const { what, gone } = await waitingLoss(store.db);
  const about = { stream: CUSTOMERS, runId: NO_RUN, acceptsChange: false, firstKeys: [] };
  return { ...about, deletes: gone, acceptsCount: `the loss of ${what}`, later: null };
}

async function release(
  deps: OperationsDeps,
  named: string | number,
  asker: Actor,
  expected: ExpectedRelease | undefined,
): Promise<Released> {
  if (named === CUSTOMERS) return releaseLoss(deps, asker, expected);
  const waiting = await waitingRun(deps, named);
  const { stream, runId, isChanged, isHeld } = waiting;
  if (!isHeld) requireSeen(0, expected);
  const nothing = { stream, runId, rowsDeleted: 0, acceptedCount: null, released: false };
  const released = isHeld ? await releaseKind(deps, waiting, asker, expected) : nothing;
  if (!isChanged) return { ...released, changedRuns: [] };
  const { runIds } = await acceptChange(deps, runId, asker);
  deps.onAccepted();
  return { ...released, changedRuns: runIds };
}

/** Number of keys to delete that a person is shown. */
const FIRST_KEYS = 20;

async function previewRelease(
  deps: OperationsDeps,
  named: string | number,
): Promise<ReleasePreview> {
  if (named === CUSTOMERS) return previewLoss(deps);
  const { stream, runId, isChanged, isHeld } = await waitingRun(deps, named);
  const nothing = { deletes: 0, firstKeys: [], acceptsCount: null, later: null };
  const about = { stream, runId, acceptsChange: isChanged };
  if (!isHeld) return { ...about, ...nothing };
  const held = await heldOf(deps, runId);
  const acceptsCount = held.off ? describeDifferences(held.off) : null;
  try {
    const keys = await keysToDelete(deps, held);
    const firstKeys = keys.slice(0, FIRST_KEYS).map(String);
    return { ...about, deletes: keys.length, firstKeys, acceptsCount, later: null };
  } catch (error) {
    if (!(error instanceof RefusedError) || !NEEDS_LOOK.has(error.code)) throw error;
    return { ...about, ...nothing, acceptsCount, later: error.message };
  }
}

async function retryNow(deps: OperationsDeps, asker: Actor): Promise<Retried> {
  const { store, clock } = deps;
  const retried = await retryQuarantine(deps);
  const act = { action: 'sync.retry_quarantine', subject: 'quarantine', detail: retried };
  await writeAudit(store.db, { ...asker, ...act }, clock.now());
  deps.wakeUp?.();
  deps.onRefetchRequested?.();
  return retried;
}

export function createSyncOperations(deps: OperationsDeps): SyncOperations {
  const { store, clock } = deps;
  const pullable = async (name: string): Promise<Stream> => {
    const stream = known(deps, name);
    await requireNotPaused(deps, name);
    return stream;
  };
  return {
    isAwake: deps.wakeUp !== undefined,
    async requirePullable(name) {
      await pullable(name);
    },
    async runNow(name, full, asker) {
      const stream = await pullable(name);
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
      deps.wakeUp?.();
    },
    release: (which, asker, expected) => release(deps, which, asker, expected),
    previewRelease: (which) => previewRelease(deps, which),
    retryQuarantine: (asker) => retryNow(deps, asker),
    previewQuarantine: () => retryQuarantine(deps, false),
  };
}
