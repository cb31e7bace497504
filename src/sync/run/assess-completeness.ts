/**
 * Assesses whether a run saw its whole list. `complete`: every row is accounted for, so rows
 * missing from the list are deleted (softly). `partial`: some rows are not accounted for, and
 * nothing is deleted. `suspicious`: the list cannot be right (empty where it was not, or more
 * deletions than the deletion guard allows); nothing is deleted until a person releases the run.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isNotFound } from '../../client/http/answer.ts';
import type { Clock } from '../../lib/clock.ts';
import { hasDuplicates } from '../../mirror/catalog/duplicates.ts';
import { endList, markDeleted } from '../../mirror/list.ts';
import { clearResolvedQuarantine } from '../../mirror/quarantine.ts';
import type { ListDiff } from '../../mirror/rows/full-diff.ts';
import type { EntityDefinition } from '../../mirror/rows/prepared.ts';
import { insertKeys, type SqlValue } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { VariantPages } from '../bulk/variant-pages.ts';
import type { SeenBy, Stream, StreamEnd, StreamRun } from '../stream.ts';
import {
  type AcceptedCounts,
  acceptedCounts,
  assessCounts,
  type CountsOff,
  DUPLICATES,
  isSmallShift,
} from './counts.ts';
import { deletionGuardReason } from './deletion-guard.ts';
import { type Run, type RunEnd, runBefore } from './run-repository.ts';

// When a list moved while it was read page by page, rows may have slipped between the pages. Rows
// that the mirror has and the run did not see are then requested each at its own address: one that
// exists is written, the others count as missing.

/** Maximum number of rows requested one by one; with more, the list is read again. */
const MISSED_MAX = 300;

interface Missed {
  /**
   * Keys of rows that do not exist at their address; undefined: too many rows to request one by
   * one.
   */
  readonly missing: readonly SqlValue[] | undefined;
  readonly asked: number;
}

function describeTooManyMissed(rows: number): string {
  const why = `more than the ${MISSED_MAX} that are asked for one by one`;
  return `the list moved while it was read, and ${rows} rows did not come: ${why}`;
}

function describeMissed(asked: number): string {
  return `the list moved while it was read: ${asked} rows were asked for one by one`;
}

async function askForMissed(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { lookUp }: List,
  run: Run,
  missing: readonly SqlValue[],
  call: StreamRun['call'],
): Promise<Missed> {
  if (missing.length === 0) return { missing, asked: 0 };
  if (!lookUp || missing.length > MISSED_MAX) return { missing: undefined, asked: 0 };
  const gone: SqlValue[] = [];
  for (const key of missing) {
    try {
      const { write, isSoldOut } = await lookUp(String(key), call);
      const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at: clock.now() };
      await store.transaction((tx) => write(tx, provenance));
      // A row without stock that the list does not name is sold out, hence gone.
      if (isSoldOut) gone.push(key);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      gone.push(key);
    }
  }
  return { missing: gone, asked: missing.length };
}

// A row that one run did not see may have slipped between pages; it counts as gone only when the
// next run does not see it either.

/** Notes rows that the run did not see, for the next run to confirm. */
async function noteAbsences(
  tx: Tx,
  { runId }: Run,
  list: string,
  keys: readonly SqlValue[],
): Promise<void> {
  const absent = { stream: list, run_id: runId };
  await insertKeys(tx, 'absence', 'key', keys.map(String), absent);
}

/** Returns those of the missing rows that the previous run missed as well, and notes the others. */
async function missingTwice(
  store: Store,
  run: Run,
  list: string,
  missing: readonly SqlValue[],
): Promise<readonly SqlValue[]> {
  return store.transaction(async (tx) => {
    // Only two consecutive runs can confirm an absence: a run in between may have seen the row.
    const last = await runBefore(tx, run);
    const known = await tx
      .selectFrom('absence')
      .select('key')
      .where('stream', '=', list)
      .where('run_id', '=', last?.runId ?? 0)
      .execute();
    const before = new Set(known.map(({ key }) => key));
    await tx.deleteFrom('absence').where('stream', '=', list).execute();
    await noteAbsences(
      tx,
      run,
      list,
      missing.filter((one) => !before.has(String(one))),
    );
    return missing.filter((key) => before.has(String(key)));
  });
}

async function forgetAbsences(store: Store, run: Run): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.deleteFrom('absence').where('stream', '=', run.stream).execute();
  });
}

export interface AssessDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly variants: VariantPages;
}

/** Sums over the pages of a run. */
export interface RunSums {
  rows: number;
  unreadableKeys: number;
  changedKeys: number;
}

/** Sums over the pages of a run, and the row count of the last complete run. */
export interface RunCounts {
  readonly sums: Readonly<RunSums>;
  readonly rowsBefore: number;
}

/** Number of rows that one transaction marks as deleted. */
const SLICE = 1_000;

/**
 * Maximum number of rows per list and run that are requested at their own address; the next run
 * asks for the rest.
 */
const ASKED_MAX = 100;

const NOTHING = { rowsDeleted: 0, rowsHeld: 0 };

/** Number of rows that the run saw and could not read; they only prove that something exists. */
async function quarantinedBy({ store }: AssessDeps, run: Run): Promise<number> {
  const row = await store.db
    .selectFrom('quarantine')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('source', '=', `run:${run.runId}`)
    .executeTakeFirstOrThrow();
  return row.n;
}

/**
 * Arguments against the run's completeness, and whether rows may merely have shifted between pages.
 */
interface Doubts {
  readonly words: readonly string[];
  /**
   * Differences of the counts, when the doubts concern these alone, so that a person may accept
   * them.
   */
  readonly off: CountsOff | undefined;
  readonly hasShifted: boolean;
}

/** Doubts for rows that the list has by its length and that did not come. */
function gapOf({ list }: Stream, end: StreamEnd, { rows }: Readonly<RunSums>) {
  const { expectedRows, counts = [] } = end;
  const gap = (expectedRows ?? rows) - rows;
  if (gap === 0) return { words: [], hasShifted: false };
  if (list?.isPaged && isSmallShift(Math.abs(gap), rows)) return { words: [], hasShifted: true };
  const short = counts.flatMap(({ what, shortPages = 0 }) =>
    shortPages > 0 ? [`${shortPages} pages of ${what} were short`] : [],
  );
  return {
    words: [...short, `the list has ${expectedRows} rows, ${rows} came`],
    hasShifted: false,
  };
}

async function doubtsOf(
  deps: AssessDeps,
  stream: Stream,
  run: Run,
  end: StreamEnd,
  {
    sums,
    accepted,
  }: { readonly sums: Readonly<RunSums>; readonly accepted: AcceptedCounts | undefined },
): Promise<Doubts> {
  const counts = assessCounts(end.counts ?? [], accepted, stream.list?.isPaged ?? false);
  const gap = gapOf(stream, end, sums);
  const others = [...end.doubts, ...gap.words];
  const bad = await quarantinedBy(deps, run);
  if (bad > 0) others.push(`${bad} rows cannot be read: "selvedge report run quarantine"`);
  else if (sums.unreadableKeys > 0)
    others.push(`${sums.unreadableKeys} rows have no key that can be read`);
  const isOfCounts = others.length === 0 && !counts.isUnsteady && counts.doubts.length > 0;
  return {
    words: [...counts.doubts, ...others],
    off: isOfCounts ? counts.off : undefined,
    hasShifted: counts.hasShifted || gap.hasShifted,
  };
}

/** Tells whether the previous run was complete, so that an unchanged list means unchanged rows. */
async function lastWasComplete(store: Store, run: Run): Promise<boolean> {
  const last = await runBefore(store.db, run);
  const waiting = await store.db
    .selectFrom('absence')
    .select('key')
    .where('stream', '=', run.stream)
    .limit(1)
    .executeTakeFirst();
  return last?.outcome === 'complete' && waiting === undefined;
}

export function listDiffOf(deps: AssessDeps, stream: Stream, run: SeenBy): Promise<ListDiff> {
  const { list, name } = stream;
  if (!list) return Promise.resolve({ live: 0, duplicates: 0, missing: [] });
  if (list.diff) return list.diff(deps.store.db, run);
  const { table, key } = list.entity;
  // The comparison leaves the main thread, because a V2 collection may have many rows, too.
  return deps.variants.diff({ table, key }, name, `run:${run.runId}`);
}

/**
 * Marks rows as deleted, a slice at a time, so that other writers wait little. `check` throws when
 * a slice must no longer be marked. The run's count grows with each slice, so that it is right
 * after an interruption.
 */
export async function deleteRows(
  deps: AssessDeps,
  entity: EntityDefinition,
  run: SeenBy,
  keys: readonly SqlValue[],
  check?: (tx: Tx) => Promise<unknown>,
): Promise<number> {
  let deleted = 0;
  for (let start = 0; start < keys.length; start += SLICE) {
    deleted += await deps.store.transaction(async (tx) => {
      await check?.(tx);
      const marked = await markDeleted(tx, entity, keys.slice(start, start + SLICE), {
        source: `run:${run.runId}`,
        readSeq: run.readSeq,
        at: deps.clock.now(),
      });
      await tx
        .updateTable('sync_run')
        .set((eb) => ({ rows_deleted: eb('rows_deleted', '+', marked) }))
        .where('run_id', '=', run.runId)
        .execute();
      return marked;
    });
    // The database driver is synchronous, so the event loop gets a turn for the listener.
    await nextTurn();
  }
  return deleted;
}

type List = NonNullable<Stream['list']>;
type Parts = StreamEnd['parts'];
type AssessInput = RunCounts & Pick<StreamRun, 'call'>;

/** End of a run that is held for a person; `when` says what to check before the release. */
function held(run: Run, reason: string, when: string, { missing }: ListDiff): RunEnd {
  const text = `${reason}; ${when}: selvedge sync release ${run.runId}`;
  return { outcome: 'suspicious', reason: text, rowsDeleted: 0, rowsHeld: missing.length };
}

const AFTER_A_LOOK = 'look at the service, then';
const IF_RIGHT = 'if that is right';

/** Drops stored chunks beyond the end of the list as it was read. */
async function endParts({ store }: AssessDeps, stream: Stream, parts: Parts): Promise<void> {
  if (stream.list && parts) await store.transaction((tx) => endList(tx, stream.name, parts));
}

/** Merges rows that occur in several places of the list, once it was read to its end. */
async function joinRows(deps: AssessDeps, stream: Stream, run: Run, parts: Parts): Promise<void> {
  if (!stream.list?.isLong || !parts || !(await hasDuplicates(deps.store.db, run.stream))) return;
  await endParts(deps, stream, parts);
  await deps.variants.join(run);
}

/** Describes in words that the list has some rows more than once. */
function describeDuplicates(
  { duplicates, duplicate }: ListDiff,
  isKnown: boolean,
  stream: string,
): string {
  const why = 'the list moved while it was read, or has them twice';
  // Only the next run knows whether each season or brand repeats these rows.
  const next = isKnown ? `; if it always has: selvedge sync release ${stream}` : '';
  return `${duplicates} rows came twice, such as ${duplicate}: ${why}${next}`;
}

/** The circumstances under which the list was read, by which its rows are judged. */
interface Reading {
  readonly end: StreamEnd;
  readonly accepted: AcceptedCounts | undefined;
  readonly hasShifted: boolean;
  readonly call: StreamRun['call'];
}

/** Number of duplicate rows that no person has accepted. */
function unsaid({ duplicates }: ListDiff, accepted: AcceptedCounts | undefined): number {
  return duplicates === accepted?.off[DUPLICATES] ? 0 : duplicates;
}

/** Deletes the rows that are gone, as far as the run can tell, and returns how many. */
async function deleteGone(
  deps: AssessDeps,
  { list }: { readonly list: List },
  run: Run,
  missing: readonly SqlValue[],
  mayHaveSlipped: boolean,
): Promise<number> {
  const gone = mayHaveSlipped ? await missingTwice(deps.store, run, run.stream, missing) : missing;
  if (!mayHaveSlipped) await forgetAbsences(deps.store, run);
  const rowsDeleted = await deleteRows(deps, list.entity, run, gone);
  // A later read found some of these rows, so the next run compares all keys again, even if its
  // list is unchanged.
  if (rowsDeleted < gone.length) {
    await deps.store.transaction((tx) => noteAbsences(tx, run, run.stream, gone));
  }
  return rowsDeleted;
}

async function assessList(
  deps: AssessDeps,
  stream: Stream,
  run: Run,
  { end, accepted, hasShifted, call }: Reading,
): Promise<RunEnd> {
  const { list } = stream;
  if (!list) return { outcome: 'complete', reason: null, ...NOTHING };
  const diff = await listDiffOf(deps, stream, run);
  const unaccepted = unsaid(diff, accepted);
  const isShift = unaccepted > 0 && list.isPaged && isSmallShift(unaccepted, diff.live);
  const isMoved = hasShifted || isShift;
  const { missing, asked } = isMoved
    ? await askForMissed(deps, list, run, diff.missing, call)
    : { missing: diff.missing, asked: 0 };
  const isKnown = !list.entity.isSummed || (await hasDuplicates(deps.store.db, stream.name));
  const doubts = unaccepted > 0 && !isShift ? [describeDuplicates(diff, isKnown, stream.name)] : [];
  if (missing === undefined) doubts.push(describeTooManyMissed(diff.missing.length));
  const left = { ...diff, missing: missing ?? diff.missing };
  const tooMuch = await deletionGuardReason(deps, stream, list, left, end.guarded ?? new Map());
  if (tooMuch !== undefined) return held(run, [...doubts, tooMuch].join('; '), AFTER_A_LOOK, left);
  if (doubts.length > 0 || missing === undefined) {
    const countOff = missing === undefined ? undefined : { [DUPLICATES]: unaccepted };
    return { outcome: 'partial', reason: doubts.join('; '), countOff, ...NOTHING };
  }
  // The mirror has one version of each duplicate row; the digest of a chunk with another version
  // would prove nothing.
  if (isShift || diff.hasNewPlaces) await deps.variants.invalidateDuplicates(stream.name);
  // A resumed run has read two states of the list, between which rows can slip as between pages.
  const mayHaveSlipped = list.isPaged || (end.canSlip ?? false) || run.resumed;
  const rowsDeleted = await deleteGone(deps, { list }, run, missing, mayHaveSlipped);
  const reason = asked > 0 ? describeMissed(asked) : null;
  return { outcome: 'complete', reason, rowsDeleted, rowsHeld: 0 };
}

/** Decides the outcome of a run that has not accounted for every row. */
async function assessDoubtful(
  deps: AssessDeps,
  stream: Stream,
  run: Run,
  { words, off }: Doubts,
  { parts, guarded = new Map() }: StreamEnd,
  hasFewer: boolean,
): Promise<RunEnd> {
  const reason = words.join('; ');
  const { list } = stream;
  if (list && parts && (hasFewer || off)) await endParts(deps, stream, parts);
  if (list && parts && hasFewer) {
    // The keys are compared only when rows are missing, because that takes a while for a long list.
    const diff = await listDiffOf(deps, stream, run);
    const tooMuch = await deletionGuardReason(deps, stream, list, diff, guarded);
    if (tooMuch !== undefined) return held(run, `${reason}; ${tooMuch}`, AFTER_A_LOOK, diff);
  }
  if (!off) return { outcome: 'partial', reason, ...NOTHING };
  const always = `if its count is always off like that: selvedge sync release ${run.stream}`;
  return { outcome: 'partial', reason: `${reason}; ${always}`, countOff: off, ...NOTHING };
}

/** Decides the outcome of a run, and deletes the rows that may be deleted. */
async function judge(
  deps: AssessDeps,
  stream: Stream,
  run: Run,
  end: StreamEnd,
  { sums, rowsBefore, call }: AssessInput,
): Promise<RunEnd> {
  const { parts } = end;
  await joinRows(deps, stream, run, parts);
  const accepted = await acceptedCounts(deps.store.db, run.stream);
  const doubts = await doubtsOf(deps, stream, run, end, { sums, accepted });
  const { words, hasShifted } = doubts;
  if (sums.rows === 0 && rowsBefore > 0) {
    await endParts(deps, stream, parts);
    const empty = `no rows came; the last complete run had ${rowsBefore}`;
    const reason = [...words, empty].join('; ');
    return held(run, reason, IF_RIGHT, await listDiffOf(deps, stream, run));
  }
  if (end.suspicion !== undefined) {
    const reason = [...words, end.suspicion].join('; ');
    return held(run, reason, IF_RIGHT, await listDiffOf(deps, stream, run));
  }
  if (words.length > 0) {
    const hasFewer = sums.rows < rowsBefore;
    return assessDoubtful(deps, stream, run, doubts, end, hasFewer);
  }
  await endParts(deps, stream, parts);
  const isAsBefore =
    sums.changedKeys === 0 && !run.resumed && (await lastWasComplete(deps.store, run));
  if (isAsBefore && sums.rows === rowsBefore && !hasShifted) {
    return { outcome: 'complete', reason: null, ...NOTHING };
  }
  return assessList(deps, stream, run, { end, accepted, hasShifted, call });
}

/**
 * Marks rows of the stream's other lists as deleted when this run and the previous one missed them,
 * no read since then saw them, and their own address does not know them. The stream has checked
 * before that they are few.
 */
async function deleteFromOtherLists(
  deps: AssessDeps,
  stream: Stream,
  run: Run,
  call: StreamRun['call'],
): Promise<number> {
  const { store } = deps;
  const before = await runBefore(store.db, run);
  let deleted = 0;
  for (const { entity, missing, isGone } of stream.others ?? []) {
    const list = `${run.stream}/${entity.entity}`;
    const missed = await missingTwice(store, run, list, await missing(store.db, run));
    if (!before || missed.length === 0) continue;
    const missedBefore = new Set(await missing(store.db, before));
    const gone = new Set<SqlValue>();
    for (const key of missed.filter((one) => missedBefore.has(one)).slice(0, ASKED_MAX)) {
      if (await isGone(key, call)) gone.add(key);
    }
    deleted += await deleteRows(deps, entity, run, [...gone]);
    const left = missed.filter((key) => !gone.has(key));
    await store.transaction((tx) => noteAbsences(tx, run, list, left));
  }
  return deleted;
}

/**
 * Decides the outcome of a run, deletes the rows that may be deleted, and clears quarantined rows
 * that are gone.
 */
export async function assessCompleteness(
  deps: AssessDeps,
  stream: Stream,
  run: Run,
  end: StreamEnd,
  settled: AssessInput,
): Promise<RunEnd> {
  const judgement = await judge(deps, stream, run, end, settled);
  if (judgement.outcome === 'complete' && stream.list) {
    const { entity } = stream.list.entity;
    const wholeRead = { source: `run:${run.runId}`, startedAt: run.startedAt };
    await deps.store.transaction((tx) => clearResolvedQuarantine(tx, entity, wholeRead));
    await stream.list.settled?.(deps.store.db, run.startedAt);
    const others = await deleteFromOtherLists(deps, stream, run, settled.call);
    return { ...judgement, rowsDeleted: judgement.rowsDeleted + others };
  }
  return judgement;
}
