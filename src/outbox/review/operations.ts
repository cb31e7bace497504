/**
 * What a person may do to outbox rows: have them taken up again, cancel them, and say what became
 * of one in doubt. Each act is in one transaction with its entry in the audit, and refuses what
 * makes no sense in the row's state. Many rows are named by a filter together with how many they
 * must be, so that nobody acts on more than was looked at. If one of them refuses, all do.
 */
import type { Clock } from '../../lib/clock.ts';
import { BugError, RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Asker, writeAudits } from '../../store/audit.ts';
import { inKeys, insertRows } from '../../store/bulk.ts';
import { endIncidents } from '../../store/incidents.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import { candidatesIn } from '../evidence/records.ts';
import { noteSeasonUnseen } from '../evidence/seasons.ts';
import { type Change, moveAll } from '../queue.ts';
import { quietTime } from '../reconcile.ts';
import { DIFFERENCE, isSeasonUnseen } from '../watch/differences.ts';
import { noteLost } from '../watch/lost.ts';
import { noteRecognised, requireUnclaimed } from './confirmation.ts';
import {
  type DeskRow,
  type Done,
  inSlices,
  type Selection,
  select,
  selected,
} from './selection.ts';

type Resolution =
  | { readonly as: 'absent' }
  /** It was taken in otherwise than it was sent, and that is known now. */
  | { readonly as: 'noted' }
  /** `id`: of the order, pending refund or style that it is; where nothing is made, null. */
  | { readonly as: 'confirmed'; readonly id: string | null };

export interface DeskDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Reads what a person says it is; throws RefusedError when it cannot be that. */
  readonly confirm: (row: DeskRow, id: string | null) => Promise<JsonObject>;
  /** As configured. */
  readonly quietMs: number;
  /** {@link ClockGuard.watchedSince} */
  readonly watchedSince: () => number;
  /** A row is due. */
  readonly nudge: () => void;
  readonly onMoved: (outboxId: number) => void;
}

export interface Desk {
  retry(selection: Selection, asker: Asker): Promise<Done>;
  cancel(selection: Selection, asker: Asker): Promise<Done>;
  resolve(
    outboxId: number,
    resolution: Resolution,
    asker: Asker,
  ): Promise<{ readonly outboxId: number; readonly state: OutboxState }>;
  /** What each of many has become must be said one by one. */
  resolveAbsent(selection: Selection, asker: Asker): Promise<Done>;
}

function byState(rows: readonly DeskRow[]): ReadonlyMap<OutboxState, readonly DeskRow[]> {
  return Map.groupBy(rows, ({ state }) => state);
}

function refuse(row: DeskRow, what: string, hint: string): never {
  const text = `outbox ${row.outboxId} is ${row.state} and cannot be ${what}`;
  throw new RefusedError('outbox.wrong_state', text, { hint });
}

async function audit(
  tx: Tx,
  at: number,
  asker: Asker,
  action: string,
  rows: readonly DeskRow[],
  detailOf: (row: DeskRow) => JsonObject = () => ({}),
): Promise<void> {
  const each = rows.map((row) => ({
    subject: `outbox:${row.outboxId}`,
    detail: { reference: row.reference, from: row.state, ...detailOf(row) },
  }));
  await writeAudits(tx, { ...asker, action }, each, at);
}

/**
 * Moves rows that are in one state. What is dead has ended before: who is told of ends must be
 * told of another one. Gives whether all of them were moved.
 */
async function moveOn(
  tx: Tx,
  from: OutboxState,
  rows: readonly DeskRow[],
  state: OutboxState,
  change: Change,
): Promise<boolean> {
  const ids = rows.map(({ outboxId }) => outboxId);
  const endsAgain = from === 'dead' && typeof change.ended_at === 'number';
  if (endsAgain) await moveAll(tx, ids, from, from, { ended_at: null });
  return (await moveAll(tx, ids, from, state, change)) === ids.length;
}

/** What `retry` does in each state: another try, or another look. */
function retried(row: DeskRow, now: number): { readonly state: OutboxState; change: Change } {
  if (row.state === 'dead') {
    return { state: 'queued', change: { ended_at: null, due_at: now, last_error: null } };
  }
  // Without its reason it does not rest any more: it is checked anew, whatever holds it.
  if (row.state === 'queued') return { state: 'queued', change: { due_at: now, last_error: null } };
  if (row.state === 'in_doubt') {
    return { state: 'in_doubt', change: { due_at: now, desk_reason: null } };
  }
  const isOver = row.state === 'refused' || row.state === 'canceled';
  const shown = `"selvedge outbox show ${row.outboxId}"`;
  const hint = isOver
    ? `hand it in again; under which reference tells ${shown}`
    : 'there is nothing to do about it';
  return refuse(row, 'tried again', hint);
}

/** The reason stands where whoever handed it in is told of it, in place of what it waited for. */
function canceled(row: DeskRow, now: number, { actor, reason }: Asker): Change {
  const mayBe = row.state === 'in_doubt' && row.deskReason !== null;
  if (row.state !== 'queued' && row.state !== 'dead' && !mayBe) {
    const hint =
      row.state === 'in_doubt'
        ? 'it is still being looked for; a row that is left to a person can be canceled'
        : 'what was sent cannot be called back';
    return refuse(row, 'canceled', hint);
  }
  const why = `${actor} canceled it: ${reason}`;
  return { ended_at: now, due_at: now, desk_reason: null, last_error: why };
}

/** What the last looks found and could not judge: a person has said that none of it is ours. */
async function lastCandidates(
  tx: Tx,
  rows: readonly DeskRow[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  const ids = rows.map(({ outboxId }) => outboxId);
  const looks = await tx
    .selectFrom('outbox_evidence')
    .select((eb) => ['outbox_id', 'detail', eb.fn.max('id').as('id')])
    .where(inKeys('outbox_id', ids))
    .where('found', '=', 'unclear')
    .groupBy('outbox_id')
    .execute();
  return new Map(
    looks.map(({ outbox_id: id, detail }) => {
      const { orderIds, pendingRefundIds } = candidatesIn([detail]);
      // The detail of a refund names its order as well; what is disowned is the refund.
      return [id, pendingRefundIds.length > 0 ? pendingRefundIds : orderIds];
    }),
  );
}

async function personSays(
  tx: Tx,
  rows: readonly DeskRow[],
  at: number,
  found: 'yes' | 'no',
  detailOf: (row: DeskRow) => JsonObject,
): Promise<void> {
  const entries = rows.map((row) => ({
    ...{ outbox_id: row.outboxId, detail: JSON.stringify(detailOf(row)) },
  }));
  const columns = ['outbox_id', 'detail'];
  await insertRows(tx, 'outbox_evidence', columns, entries, { at, source: 'person', found });
}

function requireOpenDoubt(row: DeskRow): void {
  if (row.state === 'in_doubt' || row.state === 'dead') return;
  refuse(row, 'resolved', 'only what is in doubt or dead can be');
}

/** Nothing of it may take effect any more. */
function requireAbsence(
  row: DeskRow,
  quiet: { readonly ms: number; readonly watchedSince: number },
  now: number,
): void {
  requireOpenDoubt(row);
  const { outboxId, inDoubtSince } = row;
  const since = Math.max(inDoubtSince ?? 0, quiet.watchedSince);
  if (row.state !== 'in_doubt' || now >= since + quiet.ms) return;
  const until = new Date(since + quiet.ms).toISOString();
  const text =
    since === inDoubtSince
      ? `outbox ${outboxId} may still take effect until ${until}`
      : `so soon after its start the daemon cannot tell that outbox ${outboxId} had its quiet time`;
  throw new RefusedError('outbox.too_early', text, {
    hint: `say so after ${until}, or leave it: it is looked for by itself`,
  });
}

async function requireAbsences(
  db: Tx | Store['db'],
  rows: readonly DeskRow[],
  deps: Pick<DeskDeps, 'clock' | 'quietMs' | 'watchedSince'>,
): Promise<void> {
  const quiet = { ms: await quietTime(db, deps.quietMs), watchedSince: deps.watchedSince() };
  for (const row of rows) requireAbsence(row, quiet, deps.clock.now());
}

async function sayAllAbsent(
  tx: Tx,
  deps: DeskDeps,
  rows: readonly DeskRow[],
  asker: Asker,
): Promise<void> {
  const now = deps.clock.now();
  await requireAbsences(tx, rows, deps);
  const candidates = await lastCandidates(tx, rows);
  const notOurs = ({ outboxId }: DeskRow) => [...(candidates.get(outboxId) ?? [])];
  await personSays(tx, rows, now, 'no', (row) => ({ ...asker, notOurs: notOurs(row) }));
  const change = {
    ...{ desk_reason: null, in_doubt_since: null, ended_at: null, due_at: now },
    // What the service answered was not it: the next sending is looked for by itself.
    result: null,
  };
  await tx
    .updateTable('outbox')
    .set({ order_id: null, shown_reference: null })
    .where('kind', '=', 'order')
    .where(
      inKeys(
        'outbox_id',
        rows.map(({ outboxId }) => outboxId),
      ),
    )
    .execute();
  for (const [from, some] of byState(rows)) {
    if (await moveOn(tx, from, some, 'queued', change)) continue;
    for (const row of some) refuse(row, 'resolved', 'look at it again');
  }
  await audit(tx, now, asker, 'outbox.absent', rows, (row) => ({ notOurs: notOurs(row) }));
}

async function sayAbsent(tx: Tx, deps: DeskDeps, row: DeskRow, asker: Asker): Promise<OutboxState> {
  await sayAllAbsent(tx, deps, [row], asker);
  return 'queued';
}

/** Ends the incident about a difference that stays. */
async function sayNoted(tx: Tx, deps: DeskDeps, row: DeskRow, asker: Asker): Promise<OutboxState> {
  const now = deps.clock.now();
  const isUnseen = await isSeasonUnseen(tx, row.outboxId);
  const differences = await endIncidents(tx, DIFFERENCE, [String(row.outboxId)], now);
  const lost = await noteLost(tx, row.outboxId, now);
  if (differences + lost === 0) {
    const text = `outbox ${row.outboxId} has no difference or loss that waits for a person`;
    const hint = `see: selvedge outbox show ${row.outboxId}`;
    throw new RefusedError('outbox.nothing_to_note', text, { hint });
  }
  if (isUnseen) await noteSeasonUnseen(tx, now);
  await audit(tx, now, asker, 'outbox.noted', [row]);
  return row.state;
}

const SAYINGS = { absent: sayAbsent, noted: sayNoted } as const;

async function sayConfirmed(
  deps: DeskDeps,
  row: DeskRow,
  id: string | null,
  asker: Asker,
): Promise<OutboxState> {
  requireOpenDoubt(row);
  const made = await deps.confirm(row, id);
  const now = deps.clock.now();
  await deps.store.transaction(async (tx) => {
    const [present] = await select(tx, { outboxId: row.outboxId });
    // A try that came while this was read has a doubt of its own, and maybe made another one.
    if (present?.attempts !== row.attempts) {
      const hint = `it was sent once more meanwhile; see: selvedge outbox show ${row.outboxId}`;
      refuse(row, 'resolved', hint);
    }
    await requireUnclaimed(tx, row, made);
    await personSays(tx, [row], now, 'yes', () => ({ ...asker, ...made }));
    const { orderId } = made;
    const change = {
      ...{ desk_reason: null, in_doubt_since: null, last_error: null },
      ...{ ended_at: now, due_at: now, result: JSON.stringify(made) },
      ...(typeof orderId === 'number' ? { order_id: orderId } : {}),
    };
    const moved = await moveOn(tx, row.state, [row], 'confirmed', change);
    if (!moved) refuse(row, 'resolved', 'look at it again');
    if (typeof orderId === 'number') await noteRecognised(tx, row, orderId, now);
    await audit(tx, now, asker, 'outbox.confirmed', [row], () => made);
  });
  return 'confirmed';
}

export function createDesk(deps: DeskDeps): Desk {
  const { store, clock } = deps;
  const told = (rows: readonly Pick<DeskRow, 'outboxId'>[]): void => {
    deps.nudge();
    for (const { outboxId } of rows) deps.onMoved(outboxId);
  };
  const actOn = async (
    selection: Selection,
    asker: Asker,
    action: 'outbox.retry' | 'outbox.cancel',
    act: (row: DeskRow, now: number) => { readonly state: OutboxState; readonly change: Change },
  ): Promise<Done> => {
    const chosen = await selected(store.db, selection);
    // One that refuses refuses for all.
    for (const row of chosen) act(row, clock.now());
    const actOnSome = async (tx: Tx, rows: readonly DeskRow[]): Promise<void> => {
      const now = clock.now();
      // What becomes of a row follows from its state.
      const steps = new Map(rows.map((row) => [row.state, act(row, now)]));
      for (const [from, some] of byState(rows)) {
        const step = steps.get(from);
        if (step) await moveOn(tx, from, some, step.state, step.change);
      }
      await audit(tx, now, asker, action, rows);
    };
    return inSlices(store, chosen, actOnSome, told);
  };
  return {
    retry: (selection, asker) => actOn(selection, asker, 'outbox.retry', retried),
    cancel: (selection, asker) =>
      actOn(selection, asker, 'outbox.cancel', (row, now) => ({
        state: 'canceled',
        change: canceled(row, now, asker),
      })),
    async resolve(outboxId, resolution, asker) {
      const [row] = await selected(store.db, { outboxId });
      if (!row) throw new BugError('bug.selection', 'a selection of one row gave none');
      const { as } = resolution;
      const state =
        as === 'confirmed'
          ? await sayConfirmed(deps, row, resolution.id, asker)
          : await store.transaction((tx) => SAYINGS[as](tx, deps, row, asker));
      told([row]);
      return { outboxId, state };
    },
    async resolveAbsent(selection, asker) {
      const chosen = await selected(store.db, selection);
      await requireAbsences(store.db, chosen, deps);
      const say = (tx: Tx, rows: readonly DeskRow[]) => sayAllAbsent(tx, deps, rows, asker);
      return inSlices(store, chosen, say, told);
    },
  };
}
