/**
 * Runs a stream once: opens its run (or goes on with the one that was cut off), writes its pages,
 * and ends it with an outcome. A run that fails stays open and goes on from its checkpoint after
 * a pause, until it has failed too often. A run that makes no progress is cut off.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RetryLaterError, SelvedgeError, toError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import { compareSegments, forgetDigests, writeCompared } from '../../mirror/list.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import type { Stream, StreamRun } from '../stream.ts';
import {
  endRun,
  openRun,
  type PageCounts,
  type Run,
  type RunEnd,
  recordPage,
  restartRun,
} from './ledger.ts';
import { type RunSums, type SettleDeps, settleRun } from './settle.ts';

export interface RunnerDeps extends SettleDeps {
  readonly log: Logger;
  readonly sequence: ReadSequence;
}

export interface RunResult {
  readonly stream: string;
  readonly outcome: RunEnd['outcome'] | 'interrupted';
  readonly rows: number;
  readonly changed: number;
  readonly reason: string | null;
}

export interface RunAsk {
  readonly cause: string;
  /** When the stream is due again after an ended run. */
  readonly dueAt: number;
  /** Compare every row, whatever the digests say. */
  readonly full?: boolean;
}

/** How long to wait after the nth failure in a row, in ms. */
const FAILURE_WAITS_MS = [2_000, 10_000, 30_000, 120_000, 600_000] as const;

/** A run that writes no page for this long is cut off, and goes on later. */
const PROGRESS_MS = 600_000;

/** Pages of variants that wait to be written; each holds its bytes. */
const WRITING_MAX = 2;

/** The pages of a list are gone: what was read of it belongs to no list any more. */
const LIST_IS_GONE = 'v2.page_token_expired';

/** A signal that aborts when nobody has called `progress` for too long. */
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

function createContext(
  deps: RunnerDeps,
  run: Run,
  signal: AbortSignal,
  writing: Queue,
  onPage: (counts: PageCounts) => void,
): StreamRun {
  const { store, clock } = deps;
  const page: StreamRun['page'] = async (checkpoint: JsonObject, write) => {
    signal.throwIfAborted();
    const counts = await store.transaction(async (tx) => {
      const at = clock.now();
      const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at };
      const written = await write(tx, provenance);
      await recordPage(tx, run, checkpoint, written);
      return written;
    });
    onPage(counts);
    // The driver is synchronous: without this the listener would not get a turn between pages.
    await nextTurn();
  };
  return {
    run,
    signal,
    page,
    async listPage(checkpoint, part, entity, segments) {
      const place = { stream: run.stream, part };
      const compared = await compareSegments(store.db, place, segments);
      await page(checkpoint, async (tx, provenance) => ({
        ...(await writeCompared(tx, entity, place, compared, provenance)),
        bytes: 0,
      }));
    },
    async variantPage(checkpoint, list, batch) {
      signal.throwIfAborted();
      await writing.add(deps.variants.write({ run, list, checkpoint, batch }).then(onPage));
    },
  };
}

type Queue = ReturnType<typeof createQueue>;

/** Pages that are being written while the next ones arrive: a few, in order. */
function createQueue(waitingMax: number) {
  const waiting: Promise<void>[] = [];
  return {
    async add(work: Promise<void>): Promise<void> {
      // Awaited in its turn; until then a failure must not count as unhandled.
      work.catch(() => undefined);
      waiting.push(work);
      while (waiting.length > waitingMax) await waiting.shift();
    },
    async drain(): Promise<void> {
      await Promise.all(waiting.splice(0));
    },
    async settle(): Promise<void> {
      await Promise.allSettled(waiting.splice(0));
    },
  };
}

async function readRunState(store: Store, run: Run) {
  const state = await store.db
    .selectFrom('stream_state')
    .select(['complete_rows', 'failures'])
    .where('stream', '=', run.stream)
    .executeTakeFirst();
  const before = await store.db
    .selectFrom('sync_run')
    .select(['rows_seen', 'rows_quarantined'])
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow();
  const sums: RunSums = {
    rows: before.rows_seen,
    quarantined: before.rows_quarantined,
    // Of the pages before a stop it is no longer known which rows had no key.
    keyless: before.rows_quarantined,
    rekeyed: before.rows_seen,
  };
  return { rowsBefore: state?.complete_rows ?? 0, failures: state?.failures ?? 0, sums };
}

/** Leaves the run open, to go on from its checkpoint after a pause. */
async function interrupt(
  deps: RunnerDeps,
  run: Run,
  reason: string,
  waitMs: number,
): Promise<RunResult> {
  await deps.store.db
    .updateTable('stream_state')
    .set((eb) => ({
      due_at: deps.clock.now() + waitMs,
      failures: eb('failures', '+', 1),
      last_error: reason,
    }))
    .where('stream', '=', run.stream)
    .execute();
  const { stream, runId } = run;
  deps.log.warn({ stream, runId, reason, retryMs: waitMs }, 'run interrupted');
  return { stream, outcome: 'interrupted', rows: 0, changed: 0, reason };
}

async function pullAndSettle(
  deps: RunnerDeps,
  stream: Stream,
  run: Run,
  signal: AbortSignal,
  state: { readonly sums: RunSums; readonly rowsBefore: number },
): Promise<RunEnd> {
  const { sums, rowsBefore } = state;
  const watch = watchProgress(deps, signal);
  const writing = createQueue(WRITING_MAX);
  try {
    const context = createContext(deps, run, watch.signal, writing, (counts) => {
      watch.progress();
      sums.rows += counts.rows;
      sums.quarantined += counts.quarantined;
      sums.keyless += counts.keyless ?? 0;
      sums.rekeyed += counts.rekeyed ?? counts.rows;
    });
    const end = await stream.pull(context);
    await writing.drain();
    return await settleRun(deps, stream, run, end, sums, rowsBefore);
  } finally {
    await writing.settle();
    watch.end();
  }
}

function logEnd(log: Logger, run: Run, end: RunEnd, result: RunResult, ms: number): void {
  const { stream, rows, changed, reason } = result;
  const { runId } = run;
  const { rowsDeleted: deleted } = end;
  const fields = { stream, runId, rows, changed, deleted, ms, ...(reason ? { reason } : {}) };
  const line = `${stream}: ${end.outcome}, ${rows} rows`;
  if (end.outcome === 'complete' || end.outcome === 'skipped') log.info(fields, line);
  else log.warn(fields, line);
}

/** Runs a stream once. */
export async function runStream(
  deps: RunnerDeps,
  stream: Stream,
  ask: RunAsk,
  signal: AbortSignal,
): Promise<RunResult> {
  const { store, clock, log } = deps;
  if (ask.full) await store.transaction((tx) => forgetDigests(tx, stream.name));
  const run = await openRun(store, {
    stream: stream.name,
    cause: ask.cause,
    options: stream.options,
    readSeq: await deps.sequence.next(),
    now: clock.now(),
  });
  const state = await readRunState(store, run);
  const from = state.sums.rows;
  log.info({ stream: stream.name, runId: run.runId, resumed: run.resumed, from }, 'run');
  let end: RunEnd;
  try {
    end = await pullAndSettle(deps, stream, run, signal, state);
  } catch (thrown) {
    // A stop is no failure: the run stays open and goes on after the start.
    if (signal.aborted) throw thrown;
    const reason = toError(thrown).message;
    if (thrown instanceof SelvedgeError && thrown.code === LIST_IS_GONE) {
      await store.transaction((tx) => restartRun(tx, run.runId));
    }
    const wait = FAILURE_WAITS_MS[state.failures];
    if (wait !== undefined) return interrupt(deps, run, reason, wait);
    end = { outcome: 'failed', reason, rowsDeleted: 0, rowsHeld: 0 };
  }
  const totals = await endRun(store, run, end, clock.now(), ask.dueAt);
  const { rows, changed } = totals;
  const { outcome, reason } = end;
  const result = { stream: stream.name, outcome, rows, changed, reason };
  logEnd(log, run, end, result, clock.now() - run.startedAt);
  return result;
}
