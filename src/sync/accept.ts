/**
 * What a person may say of a list that looks wrong and is right: that most of its rows really have
 * changed at once. Throws RefusedError when there is nothing to accept.
 */
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { type Asker, writeAudit } from '../store/audit.ts';
import { endIncidents } from '../store/incidents.ts';
import type { Store, Tx } from '../store/store.ts';
import { MASS_CHANGE } from './run/ledger.ts';

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
}

export interface AcceptedChange {
  readonly stream: string;
  /** Also earlier runs of the stream that waited. */
  readonly runIds: readonly number[];
}

function refuse(runId: number, row: { readonly stream: string; readonly outcome: string }): never {
  if (row.outcome === 'running') {
    throw new RefusedError('sync.still_running', `run ${runId} has not ended yet`, {
      hint: `wait for it: selvedge sync runs ${row.stream}`,
    });
  }
  throw new RefusedError('sync.no_change_waits', `nothing waits for what run ${runId} changed`, {
    hint: 'runs that wait are incidents: selvedge report run incidents',
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

/** Lets the rules go by what the run changed, and earlier ones of its stream. */
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
