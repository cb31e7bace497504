/**
 * A person's acceptance of a list that looks wrong and is right: most of its rows really changed at
 * once, or its count is off permanently. Throws RefusedError when there is nothing to accept.
 */
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { type Asker, writeAudit } from '../store/audit.ts';
import { endIncidents } from '../store/incidents.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { type CountsOff, toldOfOff, writeAcceptedCounts } from './run/counts.ts';
import { MASS_CHANGE } from './run/ledger.ts';
import { countsIn } from './stream.ts';

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
}

export interface AcceptedChange {
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

export interface AcceptedCount {
  readonly stream: string;
  readonly runId: number;
  readonly accepted: string;
}

/** Count differences stored with a run, if they alone keep it from being complete. */
export function countsOffIn(kept: string | null): CountsOff | undefined {
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
export async function takeCounts(
  tx: Tx,
  { stream, off }: { readonly stream: string; readonly off: CountsOff },
  { actor, reason }: Asker,
  now: number,
): Promise<void> {
  await writeAcceptedCounts(tx, stream, { off, by: actor, reason, at: now });
}

/** Accepts that the stream's counts are permanently off by as much as they were in the run. */
export function acceptCount(
  { store, clock }: Deps,
  which: string,
  asker: Asker,
): Promise<AcceptedCount> {
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
    return { stream: run.stream, runId, accepted: toldOfOff(off) };
  });
}
