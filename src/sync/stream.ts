/**
 * A stream is one thing that is pulled from the service on a schedule. It hands its pages to the
 * run one by one and says at the end what it can prove; the run decides what that means.
 *
 * Outcomes: `complete` (every row accounted for), `partial` (the service or a row fell short),
 * `suspicious` (nothing where there was something: a person looks), `failed`. A run that was cut
 * off goes on from its checkpoint, until it has failed too often or has grown too old.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import type { Provenance } from '../mirror/entity.ts';
import type { ReadSequence } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
import {
  endRun,
  openRun,
  type PageCounts,
  type Run,
  type RunEnd,
  recordPage,
} from './run-ledger.ts';

export interface StreamRun {
  readonly run: Run;
  readonly signal: AbortSignal;
  /** Writes one page and the checkpoint behind it in one transaction. */
  page(
    checkpoint: JsonObject,
    write: (tx: Tx, provenance: Provenance) => Promise<PageCounts>,
  ): Promise<void>;
}

/** What the stream can say about its pull as a whole. */
export interface StreamEnd {
  /** What the service said it has; undefined when it does not say. */
  readonly expectedRows: number | undefined;
  /** Anything that speaks against completeness, in words. */
  readonly doubts: readonly string[];
}

export interface Stream {
  readonly name: string;
  /** What is asked for: a run with other options starts over. */
  readonly options: JsonObject;
  pull(context: StreamRun): Promise<StreamEnd>;
}

export interface RunnerDeps {
  readonly store: Store;
  readonly clock: Clock;
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

/** How long to wait after the nth failure in a row, in ms. */
export const FAILURE_WAITS_MS = [2_000, 10_000, 30_000, 120_000, 600_000] as const;

/** A run is given up after this many failures in a row, and the next one starts anew. */
const FAILURES_MAX = FAILURE_WAITS_MS.length;

function judge(
  end: StreamEnd,
  totals: { readonly rows: number; readonly quarantined: number },
  rowsBefore: number,
): RunEnd {
  const doubts = [...end.doubts];
  if (end.expectedRows !== undefined && end.expectedRows !== totals.rows) {
    doubts.push(`the service counts ${end.expectedRows} rows, ${totals.rows} came`);
  }
  if (totals.quarantined > 0) doubts.push(`${totals.quarantined} rows were quarantined`);
  if (totals.rows === 0 && rowsBefore > 0) {
    const reason = `no rows came; the last complete run had ${rowsBefore}`;
    return { outcome: 'suspicious', reason, rowsDeleted: 0 };
  }
  return doubts.length > 0
    ? { outcome: 'partial', reason: doubts.join('; '), rowsDeleted: 0 }
    : { outcome: 'complete', reason: null, rowsDeleted: 0 };
}

function createContext(
  deps: RunnerDeps,
  run: Run,
  signal: AbortSignal,
  totals: { rows: number; quarantined: number },
): StreamRun {
  return {
    run,
    signal,
    async page(checkpoint, write) {
      signal.throwIfAborted();
      const counts = await deps.store.transaction(async (tx) => {
        const provenance = {
          source: `run:${run.runId}`,
          readSeq: run.readSeq,
          at: deps.clock.now(),
        };
        const written = await write(tx, provenance);
        await recordPage(tx, run, checkpoint, written);
        return written;
      });
      totals.rows += counts.rows;
      totals.quarantined += counts.quarantined;
      // The driver is synchronous: without this the listener would not get a turn between pages.
      await nextTurn();
    },
  };
}

async function readRunState(store: Store, stream: string, runId: number) {
  const state = await store.db
    .selectFrom('stream_state')
    .select(['complete_rows', 'failures'])
    .where('stream', '=', stream)
    .executeTakeFirst();
  const run = await store.db
    .selectFrom('sync_run')
    .select(['rows_seen', 'rows_quarantined'])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  return {
    rowsBefore: state?.complete_rows ?? 0,
    failures: state?.failures ?? 0,
    totals: { rows: run.rows_seen, quarantined: run.rows_quarantined },
  };
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
  deps.log.warn(
    { stream: run.stream, runId: run.runId, reason, retryMs: waitMs },
    'run interrupted',
  );
  return { stream: run.stream, outcome: 'interrupted', rows: 0, changed: 0, reason };
}

/** Runs a stream once. `dueAt` is when it is due again after an ended run. */
export async function runStream(
  deps: RunnerDeps,
  stream: Stream,
  cause: string,
  dueAt: number,
  signal: AbortSignal,
): Promise<RunResult> {
  const { store, clock, log } = deps;
  const run = await openRun(store, {
    stream: stream.name,
    cause,
    options: stream.options,
    readSeq: await deps.sequence.next(),
    now: clock.now(),
  });
  const { rowsBefore, failures, totals } = await readRunState(store, stream.name, run.runId);
  log.info(
    { stream: stream.name, runId: run.runId, resumed: run.resumed, from: totals.rows },
    'run',
  );
  let end: RunEnd;
  try {
    end = judge(await stream.pull(createContext(deps, run, signal, totals)), totals, rowsBefore);
  } catch (thrown) {
    // A stop is no failure: the run stays open and goes on after the start.
    if (signal.aborted) throw thrown;
    const reason = toError(thrown).message;
    const wait = FAILURE_WAITS_MS[failures];
    if (wait !== undefined && failures < FAILURES_MAX) return interrupt(deps, run, reason, wait);
    end = { outcome: 'failed', reason, rowsDeleted: 0 };
  }
  const sums = await endRun(store, run, end, clock.now(), dueAt);
  const fields = {
    stream: stream.name,
    runId: run.runId,
    rows: sums.rows,
    changed: sums.changed,
    ms: clock.now() - run.startedAt,
    ...(end.reason === null ? {} : { reason: end.reason }),
  };
  const line = `${stream.name}: ${end.outcome}, ${sums.rows} rows`;
  if (end.outcome === 'complete') log.info(fields, line);
  else log.warn(fields, line);
  return {
    stream: stream.name,
    outcome: end.outcome,
    rows: sums.rows,
    changed: sums.changed,
    reason: end.reason,
  };
}
