/**
 * What a run is worth. `complete`: every row is accounted for, so that rows which the list no
 * longer has are deleted (softly). `partial`: something fell short, nothing is deleted.
 * `suspicious`: what came cannot be right (nothing where there was something, or more deletions
 * than the fuse allows); nothing is deleted until a person has released the run.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { endList, markDeleted } from '../../mirror/list.ts';
import { forgetUnmet } from '../../mirror/quarantine.ts';
import type { ListCensus } from '../../mirror/rows/census.ts';
import type { EntityDefinition } from '../../mirror/rows/prepared.ts';
import { insertKeys, type SqlValue } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { VariantPages } from '../bulk/variant-pages.ts';
import type { SeenBy, Stream, StreamEnd, StreamRun } from '../stream.ts';
import { beyondFuse } from './fuse.ts';
import { type Run, type RunEnd, runBefore } from './ledger.ts';

export interface SettleDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly variants: VariantPages;
}

/** What was counted while the pages came. */
export interface RunSums {
  rows: number;
  keyless: number;
  rekeyed: number;
}

/** What came, and how many rows the last complete run had. */
export interface RunCounts {
  readonly sums: Readonly<RunSums>;
  readonly rowsBefore: number;
}

/** Rows that are marked in one transaction. */
const SLICE = 1_000;

/** Of each kind, in one run; what is left is asked for in the next one. */
const ASKED_MAX = 100;

const NOTHING = { rowsDeleted: 0, rowsHeld: 0 };

async function newlyQuarantined({ store, clock }: SettleDeps, run: Run): Promise<number> {
  const row = await store.db
    .selectFrom('quarantine')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('source', '=', `run:${run.runId}`)
    .where(({ eb, and, or }) => {
      // In two seasons, or before the run was started over; never one from a clock that was ahead.
      const since = eb('first_seen_at', '>', run.startedAt);
      const metTwice = and([since, eb('first_seen_at', '<=', clock.now())]);
      return or([eb('times', '=', 1), metTwice]);
    })
    .executeTakeFirstOrThrow();
  return row.n;
}

async function doubtsOf(
  deps: SettleDeps,
  run: Run,
  end: StreamEnd,
  sums: Readonly<RunSums>,
): Promise<string[]> {
  const doubts = [...end.doubts];
  if (end.expectedRows !== undefined && end.expectedRows !== sums.rows) {
    doubts.push(`the service counts ${end.expectedRows} rows, ${sums.rows} came`);
  }
  const bad = await newlyQuarantined(deps, run);
  if (bad > 0) doubts.push(`${bad} rows were quarantined`);
  else if (sums.keyless > 0) doubts.push(`${sums.keyless} rows have no key that can be read`);
  return doubts;
}

/** Whether the run before this one ended well: then an unchanged list means unchanged rows. */
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

export function censusOf(deps: SettleDeps, stream: Stream, run: SeenBy): Promise<ListCensus> {
  const { list, name } = stream;
  if (!list) return Promise.resolve({ live: 0, duplicates: 0, missing: [] });
  if (list.census) return list.census(deps.store.db, run);
  const { table, key } = list.entity;
  // Off the main thread: a collection of V2 may have many rows as well.
  return deps.variants.census({ table, key }, name, `run:${run.runId}`);
}

/**
 * Marks the rows as deleted, a slice at a time, so that nobody waits long. `check` throws when a
 * slice must not be marked any more. Each slice is counted with its run: a stop loses none of it.
 */
export async function deleteRows(
  deps: SettleDeps,
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
    // The driver is synchronous: without this the listener would wait until all are marked.
    await nextTurn();
  }
  return deleted;
}

async function noteAbsences(
  tx: Tx,
  { runId }: Run,
  list: string,
  keys: readonly SqlValue[],
): Promise<void> {
  const absent = { stream: list, run_id: runId };
  await insertKeys(tx, 'absence', 'key', keys.map(String), absent);
}

/** Of the missing rows those that the run before this one missed as well; notes the others. */
async function missingTwice(
  store: Store,
  run: Run,
  list: string,
  missing: readonly SqlValue[],
): Promise<readonly SqlValue[]> {
  return store.transaction(async (tx) => {
    // Only runs in a row can agree: one in between may have seen the row.
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

type Parts = StreamEnd['parts'];

/** `when`: what a person sees to before the release. */
function held(run: Run, reason: string, when: string, { missing }: ListCensus): RunEnd {
  const text = `${reason}; ${when}: selvedge sync release ${run.runId}`;
  return { outcome: 'suspicious', reason: text, rowsDeleted: 0, rowsHeld: missing.length };
}

const AFTER_A_LOOK = 'look at the service, then';
const IF_RIGHT = 'if that is right';

/** What stands behind the end of the list as it came is no part of it any more. */
async function endParts({ store }: SettleDeps, stream: Stream, parts: Parts): Promise<void> {
  if (stream.list && parts) await store.transaction((tx) => endList(tx, stream.name, parts));
}

/** What a row that stands in the list more than once says about it. */
function cameTwice({ duplicates, twice }: ListCensus): readonly string[] {
  if (duplicates === 0) return [];
  const why = 'the list moved while it was read, or has them twice';
  return [`${duplicates} rows came twice, such as ${twice}: ${why}`];
}

async function settleList(
  deps: SettleDeps,
  stream: Stream,
  run: Run,
  { parts = new Map(), canSlip = false }: StreamEnd,
): Promise<RunEnd> {
  const { list } = stream;
  if (!list) return { outcome: 'complete', reason: null, ...NOTHING };
  const census = await censusOf(deps, stream, run);
  const { missing } = census;
  const doubts = cameTwice(census);
  const tooMuch = await beyondFuse(deps, stream, list, census, parts);
  if (tooMuch !== undefined) {
    return held(run, [...doubts, tooMuch].join('; '), AFTER_A_LOOK, census);
  }
  const [doubt] = doubts;
  if (doubt !== undefined) return { outcome: 'partial', reason: doubt, ...NOTHING };
  // A run that was cut off has read two lists: rows can slip between them as between pages.
  const mayHaveSlipped = list.isPaged || canSlip || run.resumed;
  const gone = mayHaveSlipped ? await missingTwice(deps.store, run, run.stream, missing) : missing;
  if (!mayHaveSlipped) await forgetAbsences(deps.store, run);
  const rowsDeleted = await deleteRows(deps, list.entity, run, gone);
  // A later read has found some of them: the next run asks again, whatever its list looks like.
  if (rowsDeleted < gone.length) {
    await deps.store.transaction((tx) => noteAbsences(tx, run, run.stream, gone));
  }
  return { outcome: 'complete', reason: null, rowsDeleted, rowsHeld: 0 };
}

/** What a run is worth that has not accounted for every row. */
async function settleDoubtful(
  deps: SettleDeps,
  stream: Stream,
  run: Run,
  doubts: readonly string[],
  { parts, hasFewer }: { readonly parts: Parts; readonly hasFewer: boolean },
): Promise<RunEnd> {
  const reason = doubts.join('; ');
  const { list } = stream;
  if (list && parts && hasFewer) {
    // Counted only where rows are missing at all: the census of a long list takes a while.
    await endParts(deps, stream, parts);
    const census = await censusOf(deps, stream, run);
    const tooMuch = await beyondFuse(deps, stream, list, census, parts);
    if (tooMuch !== undefined) return held(run, `${reason}; ${tooMuch}`, AFTER_A_LOOK, census);
  }
  return { outcome: 'partial', reason, ...NOTHING };
}

/** What the run is worth; deletes what may be deleted. */
async function judge(
  deps: SettleDeps,
  stream: Stream,
  run: Run,
  end: StreamEnd,
  { sums, rowsBefore }: RunCounts,
): Promise<RunEnd> {
  const { parts } = end;
  const doubts = await doubtsOf(deps, run, end, sums);
  if (sums.rows === 0 && rowsBefore > 0) {
    await endParts(deps, stream, parts);
    const empty = `no rows came; the last complete run had ${rowsBefore}`;
    const reason = [...doubts, empty].join('; ');
    return held(run, reason, IF_RIGHT, await censusOf(deps, stream, run));
  }
  if (end.suspicion !== undefined) {
    const reason = [...doubts, end.suspicion].join('; ');
    return held(run, reason, IF_RIGHT, await censusOf(deps, stream, run));
  }
  if (doubts.length > 0) {
    const hasFewer = sums.rows < rowsBefore;
    return settleDoubtful(deps, stream, run, doubts, { parts, hasFewer });
  }
  await endParts(deps, stream, parts);
  const isAsBefore = sums.rekeyed === 0 && !run.resumed && (await lastWasComplete(deps.store, run));
  if (isAsBefore && sums.rows === rowsBefore) {
    return { outcome: 'complete', reason: null, ...NOTHING };
  }
  return settleList(deps, stream, run, end);
}

/**
 * Marks what is missing from the rows of the list: this run and the one before it have both looked
 * for it, no read since that began has met it, and its own address does not know it. How much that
 * may be was asked before.
 */
async function settleOthers(
  deps: SettleDeps,
  stream: Stream,
  run: Run,
  call: StreamRun['call'],
): Promise<number> {
  const { store } = deps;
  const before = await runBefore(store.db, run);
  let deleted = 0;
  for (const { entity, missing, isGone } of stream.others ?? []) {
    const list = `${run.stream}/${entity.entity}`;
    const twice = await missingTwice(store, run, list, await missing(store.db, run));
    if (!before || twice.length === 0) continue;
    const unmet = new Set(await missing(store.db, before));
    const gone = new Set<SqlValue>();
    for (const key of twice.filter((one) => unmet.has(one)).slice(0, ASKED_MAX)) {
      if (await isGone(key, call)) gone.add(key);
    }
    deleted += await deleteRows(deps, entity, run, [...gone]);
    const left = twice.filter((key) => !gone.has(key));
    await store.transaction((tx) => noteAbsences(tx, run, list, left));
  }
  return deleted;
}

/** Judges the run, deletes what may be deleted, and lets go of bad rows that are no more. */
export async function settleRun(
  deps: SettleDeps,
  stream: Stream,
  run: Run,
  end: StreamEnd,
  { call, ...counts }: RunCounts & Pick<StreamRun, 'call'>,
): Promise<RunEnd> {
  const judgement = await judge(deps, stream, run, end, counts);
  if (judgement.outcome === 'complete' && stream.list) {
    const { entity } = stream.list.entity;
    const met = { source: `run:${run.runId}`, startedAt: run.startedAt };
    await deps.store.transaction((tx) => forgetUnmet(tx, entity, met));
    await stream.list.settled?.(deps.store.db, run.startedAt);
    const others = await settleOthers(deps, stream, run, call);
    return { ...judgement, rowsDeleted: judgement.rowsDeleted + others };
  }
  return judgement;
}
