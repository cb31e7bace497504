/**
 * Acceptance by a person of a list that looks wrong and is right: most of its rows really changed
 * at once, the service's count of it is off for good, or the ERP removed most of its customers.
 */
import { sql } from 'kysely';
import { invariant, RefusedError } from '../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import {
  acceptCustomerLoss,
  type CustomerLoss,
  readCustomerLoss,
} from '../mirror/customer-loss.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import type { Timed } from '../store/clock-guard.ts';
import { endIncidents } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import { type CountsOff, describeDifferences, writeAcceptedCounts } from './run/counts.ts';
import { MASS_CHANGE } from './run/run-repository.ts';
import { countsIn } from './stream.ts';

export interface AcceptedChange {
  readonly stream: string;
  /**
   * Runs whose changes were accepted: the named one, and earlier runs of the stream that waited.
   */
  readonly runIds: readonly number[];
}

async function waitingRuns(tx: Tx, stream: string, runId: number): Promise<readonly number[]> {
  const rows = await tx
    .selectFrom('sync_run')
    .select('run_id')
    .where('stream', '=', stream)
    .where('run_id', '<=', runId)
    // As the text of its index, which a parameter would not be.
    .where('change_guard', '=', sql.lit('open'))
    .orderBy('run_id')
    .execute();
  return rows.map((row) => row.run_id);
}

/**
 * Accepts the changes of a run, and of earlier runs of its stream that wait, so that rules may use
 * them.
 */
export function acceptChange(
  { store, clock }: Timed,
  runId: number,
  asker: Actor,
): Promise<AcceptedChange> {
  return store.transaction(async (tx) => {
    const now = clock.now();
    const run = await tx
      .selectFrom('sync_run')
      .select('stream')
      .where('run_id', '=', runId)
      .executeTakeFirstOrThrow();
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
  /** Accepted differences of the counts, in words. */
  readonly accepted: string;
}

/**
 * Parses the count differences that a run has stored; undefined: not only its counts keep it from
 * being complete.
 */
export function countsOffIn(kept: string | null): CountsOff | undefined {
  const off = tryParseJson(kept ?? '');
  return isJsonObject(off) ? countsIn(off) : undefined;
}

/** Number of the run that is named by its number or by its stream; for a stream, its latest run. */
export async function runOf(db: Db, which: string): Promise<number> {
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

/** Accepts the count differences of a run, within the caller's transaction. */
export async function takeCounts(
  tx: Tx,
  { stream, off }: { readonly stream: string; readonly off: CountsOff },
  { actor, reason }: Actor,
  now: number,
): Promise<void> {
  await writeAcceptedCounts(tx, stream, { off, by: actor, reason, at: now });
}

/**
 * Accepts that the service's counts of the stream are permanently off by as much as in this run.
 */
export function acceptCount(
  { store, clock }: Timed,
  runId: number,
  asker: Actor,
): Promise<AcceptedCount> {
  return store.transaction(async (tx) => {
    const now = clock.now();
    const run = await tx
      .selectFrom('sync_run')
      .select(['stream', 'count_off'])
      .where('run_id', '=', runId)
      .executeTakeFirstOrThrow();
    const off = countsOffIn(run.count_off);
    invariant(off !== undefined, 'the run is partial for its counts alone');
    await takeCounts(tx, { stream: run.stream, off }, asker, now);
    // The stream is due at once, so that the person sees the effect without waiting for the
    // schedule.
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

/** Name of the ERP's customers among what a person may release; they have no runs. */
export const CUSTOMERS = 'customers';

/** The loss of customers that waits for a person; throws where none does. */
export async function waitingLoss(db: Db | Tx): Promise<CustomerLoss> {
  const loss = await readCustomerLoss(db);
  if (loss && !loss.isAccepted) return loss;
  throw new RefusedError('sync.nothing_lost', 'no loss of customers waits for a person');
}

/**
 * Accepts that the ERP has removed, or says nothing more of, most of its customers; `check` throws
 * when it is another loss than the person saw.
 */
export function acceptLoss(
  { store, clock }: Timed,
  asker: Actor,
  check: (gone: number) => void,
): Promise<CustomerLoss> {
  return store.transaction(async (tx) => {
    const loss = await waitingLoss(tx);
    check(loss.gone);
    await acceptCustomerLoss(tx, loss, asker, clock.now());
    return loss;
  });
}
