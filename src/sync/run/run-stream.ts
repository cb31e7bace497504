/**
 * Runs a stream once: opens or resumes its run, writes its pages, and ends it with an outcome. A
 * failed run stays open and resumes from its checkpoint after a pause, until it has failed too
 * often without a page in between. A run without progress is aborted.
 *
 * How a long list is pulled, in four steps:
 *
 * 1. Split: the body arrives as a stream or page by page, and is cut into chunks of a few rows
 *    without parsing them (lib/json-rows.ts, client/v1/variants.ts).
 * 2. Digest: each chunk's SHA-256 is compared with the one stored by the last run. Equal chunks are
 *    unchanged: nothing of them is parsed or written (lib/json-rows/known.ts, mirror/list.ts).
 * 3. Compare: a reader thread parses the changed chunks and encodes their rows
 *    (bulk/page-reader.ts); each row's content hash is compared with the mirror (mirror/entity.ts).
 * 4. Write: a writer thread writes changed rows, the change feed, the chunks' digests and keys, and
 *    the run's checkpoint in one transaction per page (bulk/page-writer.ts). At the end of the
 *    list, the chunks' keys are diffed with the mirror (mirror/rows/full-diff.ts), and the run is
 *    assessed (assess-completeness.ts): only a complete one deletes.
 *
 * Write lock: SQLite has one writer. The main thread announces its writes, and the writer thread
 * lets it go first (store/writers/write-hand-off.ts). Run checkpoint: written by the thread that
 * writes the page; only pages without changes wait for the next one (bulk/variant-pages.ts). WAL
 * checkpoint: done by the writer thread while it runs, else by the main thread.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createUsageCounters, type UsageCounters } from '../../client/http/usage.ts';
import {
  isStoreUnusable,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Outages } from '../../lib/log/outages.ts';
import type { Logger } from '../../lib/log.ts';
import { compareChunks, writePage } from '../../mirror/list.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { changedRowsOf } from '../bulk/variant-pages.ts';
import { countsIn, type Stream, type StreamRun } from '../stream.ts';
import { asOldAs, unlessTooOld, withAge } from './answer-age.ts';
import {
  type AssessDeps,
  assessCompleteness,
  type RunCounts,
  type RunSums,
} from './assess-completeness.ts';
import { judgeChanges, readingOf } from './change-guard.ts';
import { openRun } from './open.ts';
import {
  endRun,
  mayBeMixed,
  type PageCounts,
  type Run,
  type RunEnd,
  recordPage,
  recordWire,
  restartRun,
  runTotals,
} from './run-repository.ts';

export interface RunnerDeps extends AssessDeps {
  readonly log: Logger;
  readonly sequence: ReadSequence;
  readonly outages: Outages;
}

export interface RunResult {
  readonly stream: string;
  readonly outcome: RunEnd['outcome'] | 'interrupted';
  readonly rows: number;
  readonly changed: number;
  readonly reason: string | null;
}

/** Milliseconds until a run resumes, after its first, second, … consecutive failure. */
const FAILURE_WAITS_MS: readonly number[] = [2_000, 10_000, 30_000, 120_000, 600_000];

/**
 * Milliseconds until a run resumes after a complete answer that breaks the contract, which hardly
 * changes by waiting longer.
 */
const BROKEN_ANSWER_WAITS_MS: readonly number[] = [2_000, 10_000];

/** Milliseconds without a written page after which a run is aborted, to resume later. */
const PROGRESS_MS = 600_000;

/**
 * Limits of the work in progress behind the page being written: changed rows, whose bytes are held,
 * and pages.
 */
const UNDER_WAY = { rows: 4_096, pages: 32 };

/** Errors after which the list must be read from its start: its pages expired or have no end. */
const LIST_IS_GONE: ReadonlySet<string> = new Set(['v2.page_token_expired', 'v2.page_loop']);

/** Code of the error for an answer that arrived complete and breaks the contract. */
const BROKEN_ANSWER = 'transport.broken_answer';

/** Signal that aborts when nobody has called `progress` for too long. */
function watchProgress(deps: RunnerDeps, outer: AbortSignal) {
  const stalled = new AbortController();
  const message = `no page for ${PROGRESS_MS / 60_000} minutes`;
  const give = (): void => stalled.abort(new RetryLaterError('sync.stalled', message));
  let timer = deps.clock.after(PROGRESS_MS, give);
  return {
    signal: AbortSignal.any([outer, stalled.signal]),
    progress(): void {
      timer.cancel();
      timer = deps.clock.after(PROGRESS_MS, give);
    },
    end: (): void => timer.cancel(),
  };
}

interface ContextParts {
  readonly signal: AbortSignal;
  readonly usage: UsageCounters;
  readonly writing: Queue;
  readonly onPage: (counts: PageCounts) => void;
  readonly progress: () => void;
}

function createContext(deps: RunnerDeps, run: Run, parts: ContextParts): StreamRun {
  const { store, clock } = deps;
  const { signal, usage, writing, onPage, progress } = parts;
  const notedBefore = countsIn(run.checkpoint.noted);
  const withNotes = (checkpoint: JsonObject): JsonObject => {
    const noted = { ...notedBefore, ...usage.notes() };
    return Object.keys(noted).length === 0 ? checkpoint : { ...checkpoint, noted };
  };
  const page: StreamRun['page'] = async (checkpoint: JsonObject, write) => {
    signal.throwIfAborted();
    const { readSeq } = await asOldAs(store.db, run, usage.ageMs());
    const counts = await store.transaction(async (tx) => {
      const at = clock.now();
      const provenance = { source: `run:${run.runId}`, readSeq, at };
      const counts = await write(tx, provenance);
      // Lists of variants count the bytes of their rows themselves; the bytes here are those of
      // other requests.
      const written = { ...counts, bytes: counts.bytes + usage.takeBytes() };
      await recordPage(tx, run, withNotes(checkpoint), { ...written, wire: usage.take() });
      return written;
    });
    onPage(counts);
    // The database driver is synchronous, so the listener gets a turn of the event loop between
    // pages.
    await nextTurn();
  };
  return {
    run,
    call: { signal, priority: 'pull', usage },
    page,
    progress,
    async listPage(checkpoint, entity, chunks) {
      const place = { stream: run.stream, part: '' };
      const compared = await compareChunks(store.db, entity, place, chunks);
      await page(checkpoint, async (tx, provenance) => ({
        ...(await writePage(tx, entity, place, compared, provenance)),
        bytes: 0,
      }));
    },
    known: (list) => deps.variants.known(run, list),
    async variantPage(checkpoint, list, batch) {
      signal.throwIfAborted();
      const wire = usage.take();
      const old = await asOldAs(store.db, run, usage.ageMs());
      const page = { run: old, list, checkpoint: withNotes(checkpoint), batch, wire };
      await writing.add(deps.variants.write(page).then(onPage), changedRowsOf(batch));
    },
  };
}

type Queue = ReturnType<typeof createQueue>;

/**
 * Queue of pages that are being written, in order, while the next ones arrive; its limits are
 * `max`.
 */
function createQueue(max: typeof UNDER_WAY) {
  const waiting: Promise<void>[] = [];
  let rows = 0;
  return {
    async add(work: Promise<void>, ownRows = 0): Promise<void> {
      rows += ownRows;
      const done = work.finally(() => {
        rows -= ownRows;
      });
      // A failure is awaited when the page's turn comes; until then it counts as handled.
      done.catch(() => undefined);
      waiting.push(done);
      while (rows > max.rows || waiting.length > max.pages) await waiting.shift();
    },
    async drain(): Promise<void> {
      await Promise.all(waiting.splice(0));
    },
    async settle(): Promise<void> {
      await Promise.allSettled(waiting.splice(0));
    },
  };
}

async function readRunState(store: Store, run: Run): Promise<RunState> {
  const state = await store.db
    .selectFrom('stream_state')
    .select(['complete_rows', 'failures'])
    .where('stream', '=', run.stream)
    .executeTakeFirst();
  const before = await store.db
    .selectFrom('sync_run')
    .select(['rows_seen', 'rows_quarantined', 'pages'])
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow();
  const sums: RunSums = {
    rows: before.rows_seen,
    // The worst is assumed: the pages before an interruption did not record which rows had no key.
    unreadableKeys: before.rows_quarantined,
    changedKeys: before.rows_seen,
  };
  const { complete_rows: rowsBefore, failures } = state ?? {};
  const { pages: pagesBefore } = before;
  return { rowsBefore: rowsBefore ?? 0, failures: failures ?? 0, sums, pagesBefore };
}

/** Leaves the run open, to resume from its checkpoint after a pause. */
async function interrupt(
  deps: RunnerDeps,
  run: Run,
  reason: string,
  wait: { readonly ownMs: number; readonly askedMs: number; readonly failures: number },
): Promise<RunResult> {
  const { ownMs, askedMs, failures } = wait;
  const waitMs = Math.max(ownMs, askedMs);
  const now = deps.clock.now();
  await deps.store.db
    .updateTable('stream_state')
    .set((eb) => {
      // A run that an operator requested meanwhile waits no longer than the service asks.
      const unlessWanted = (usual: number, wanted: number) =>
        eb.case().when('requested', 'is', null).then(usual).else(wanted).end();
      return {
        due_at: unlessWanted(now + waitMs, now + askedMs),
        failures: unlessWanted(failures, 0),
        last_error: reason,
      };
    })
    .where('stream', '=', run.stream)
    .execute();
  const { stream, runId } = run;
  deps.outages.note(stream, reason, { runId, retryMs: waitMs });
  return { stream, outcome: 'interrupted', rows: 0, changed: 0, reason };
}

interface RunState extends RunCounts {
  readonly sums: RunSums;
  readonly failures: number;
  /** Number of the run's pages that were recorded before this attempt. */
  readonly pagesBefore: number;
}

async function pullAndAssess(
  deps: RunnerDeps,
  stream: Stream,
  run: Run,
  signal: AbortSignal,
  state: RunState,
): Promise<RunEnd> {
  const { sums } = state;
  const isLong = stream.list?.isLong ?? false;
  const watch = watchProgress(deps, signal);
  const writing = createQueue(UNDER_WAY);
  const usage = createUsageCounters();
  const { progress } = watch;
  const onPage = (counts: PageCounts): void => {
    progress();
    sums.rows += counts.rows;
    sums.unreadableKeys += counts.unreadableKeys ?? 0;
    sums.changedKeys += counts.changedKeys ?? counts.rows;
  };
  try {
    // Clearing stale digests is not awaited: it continues while the first page is fetched.
    if (isLong) await writing.add(deps.variants.begin(run));
    else if (await mayBeMixed(deps.store.db, run))
      await deps.variants.invalidateDuplicates(run.stream);
    const parts = { signal: watch.signal, usage, writing, onPage, progress };
    const context = createContext(deps, run, parts);
    const pulled = await stream.pull(context);
    await writing.drain();
    if (isLong) await deps.variants.end(run.runId);
    const ageMs = usage.ageMs();
    const end = unlessTooOld(stream, pulled, ageMs);
    const old = await asOldAs(deps.store.db, run, ageMs);
    const settled = await assessCompleteness(deps, stream, old, end, {
      ...state,
      call: context.call,
    });
    return withAge(settled, ageMs);
  } finally {
    await writing.settle();
    // A failure here is ignored: unchanged pages that were not recorded are read again.
    if (isLong) await deps.variants.end(run.runId).catch(() => undefined);
    watch.end();
    await recordWire(deps.store, run.runId, usage.take());
  }
}

/** Milliseconds until the run resumes after this error; undefined: the run has failed. */
export function waitAfter(error: Error, failures: number): number | undefined {
  // The service will refuse the request again, so the stream waits for its own next time.
  if (error instanceof RefusedError) return undefined;
  const isBroken = error instanceof RetryLaterError && error.code === BROKEN_ANSWER;
  return (isBroken ? BROKEN_ANSWER_WAITS_MS : FAILURE_WAITS_MS)[failures];
}

/** Message of an error with its hint, for people. */
function reasonOf(error: Error): string {
  const hint = error instanceof SelvedgeError ? error.hint : undefined;
  return hint === undefined ? error.message : `${error.message}; ${hint}`;
}

/** Postpones the run after an error, or returns how it ends. */
async function afterFailure(
  deps: RunnerDeps,
  run: Run,
  error: Error,
  state: RunState,
): Promise<RunResult | RunEnd> {
  const isGone = error instanceof SelvedgeError && LIST_IS_GONE.has(error.code);
  if (isGone) await deps.store.transaction((tx) => restartRun(tx, run.runId));
  // Pages of a discarded list and unrecorded unchanged pages are no progress.
  const { pages } = await runTotals(deps.store.db, run.runId);
  const failures = pages > state.pagesBefore && !isGone ? 0 : state.failures;
  const reason = reasonOf(error);
  const ownMs = waitAfter(error, failures);
  const askedMs = error instanceof RetryLaterError ? (error.retryAfterMs ?? 0) : 0;
  if (ownMs !== undefined) {
    return interrupt(deps, run, reason, { ownMs, askedMs, failures: failures + 1 });
  }
  return { outcome: 'failed', reason, rowsDeleted: 0, rowsHeld: 0 };
}

function logEnd(deps: RunnerDeps, run: Run, end: RunEnd, result: RunResult): void {
  const { log, clock, outages } = deps;
  const { stream, rows, changed, reason } = result;
  const ms = clock.now() - run.startedAt;
  const { runId } = run;
  const { rowsDeleted: deleted } = end;
  const fields = { stream, runId, rows, changed, deleted, ms, ...(reason ? { reason } : {}) };
  const line = `${stream}: ${end.outcome}, ${rows} rows`;
  if (end.outcome === 'failed') {
    outages.note(stream, reason ?? 'unknown', { runId, outcome: 'failed' });
    return;
  }
  outages.over(stream);
  if (end.outcome === 'complete' && !end.changes?.warning) log.info(fields, line);
  else log.warn(fields, line);
}

/** Adds the change guard's result to the end of a run, whatever its outcome is. */
async function withChanges(
  deps: RunnerDeps,
  stream: Stream,
  run: Run,
  end: RunEnd,
): Promise<RunEnd> {
  const judging = { store: deps.store, countOf: deps.variants.countGroup };
  const isWhole = end.outcome === 'complete';
  const changes = await judgeChanges(judging, stream.list?.entity, run, isWhole);
  if (!changes?.warning) return { ...end, changes };
  return {
    ...end,
    changes,
    reason: end.reason ? `${end.reason}; ${changes.warning}` : changes.warning,
  };
}

/** Runs a stream once. `dueAt` maps the start of the run to the stream's next due time. */
export async function runStream(
  deps: RunnerDeps,
  stream: Stream,
  dueAt: (startedAt: number) => number,
  signal: AbortSignal,
): Promise<RunResult> {
  const { store, clock, log } = deps;
  const run = await openRun(store, {
    stream: stream.name,
    options: stream.options,
    reading: readingOf(stream),
    readSeq: await deps.sequence.next(),
    now: clock.now(),
  });
  const state = await readRunState(store, run);
  const from = state.sums.rows;
  const fields = { stream: stream.name, runId: run.runId, resumed: run.resumed, from };
  if (state.failures === 0) log.info(fields, 'run');
  else log.debug(fields, 'run');

  let end: RunEnd;
  try {
    end = await pullAndAssess(deps, stream, run, signal, state);
  } catch (thrown) {
    // An abort is no failure: the run stays open and resumes after the daemon's next start. An
    // unusable database needs a person and ends everything.
    if (signal.aborted || isStoreUnusable(thrown)) throw thrown;
    const after = await afterFailure(deps, run, toError(thrown), state);
    if ('stream' in after) return after;
    end = after;
  }
  end = await withChanges(deps, stream, run, end);
  const { rows, changed } = await endRun(store, run, end, clock.now(), dueAt(run.startedAt));
  const { outcome, reason } = end;
  const result = { stream: stream.name, outcome, rows, changed, reason };
  logEnd(deps, run, end, result);
  return result;
}
