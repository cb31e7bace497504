/**
 * Manual review: a person retries or cancels outbox rows, or resolves one whose outcome is unknown.
 * Each act shares a transaction with its audit entry, and refuses what makes no sense in the row's
 * state. Many rows are selected by a filter together with their expected number, so that nobody
 * acts on rows that were not seen. If one row refuses, no row is changed.
 */
import type { Clock } from '../../lib/clock.ts';
import { BugError, RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Actor, writeAudits } from '../../store/audit.ts';
import { inKeys, insertRows } from '../../store/bulk.ts';
import { endIncidents } from '../../store/incidents.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import { candidatesIn } from '../evidence/records.ts';
import { noteSeasonUnseen } from '../evidence/seasons.ts';
import { type Change, moveAll } from '../queue.ts';
import { settlementDelay } from '../reconcile.ts';
import { DIFFERENCE, isSeasonUnseen } from '../watch/differences.ts';
import { noteLost } from '../watch/lost.ts';
import { noteRecognised, requireUnclaimed } from './confirmation.ts';
import { isNotable, noteRefused } from './noting.ts';
import {
  type Done,
  inSlices,
  type Looked,
  type ReviewRow,
  type Selection,
  select,
  selected,
} from './selection.ts';

type Resolution =
  | {
      readonly as: 'absent';
      /** Reference that a person typed, to confirm that the row is sent again. */
      readonly reference?: string | undefined;
    }
  /** Takes note of what stays: a difference, an order that is gone, or a refusal. */
  | { readonly as: 'noted' }
  /**
   * `id` names the order, pending refund or style that was made; null for kinds that make nothing.
   */
  | { readonly as: 'confirmed'; readonly id: string | null };

export interface ReviewDeps {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * Reads the object that a person claims from the service; throws a RefusedError when the claim
   * cannot be true.
   */
  readonly confirm: (row: ReviewRow, id: string | null) => Promise<JsonObject>;
  readonly reconcileAfterMs: number;
  readonly processStartedAt: () => number;
  readonly wakeUp: () => void;
  readonly onMoved: (outboxId: number) => void;
}

export interface OutboxReview {
  /** Finds the rows that the act would change; throws what the act would. */
  would(act: ManyAct, selection: Looked): Promise<readonly ReviewRow[]>;
  /** Finds the row that a resolution would change; throws what it would. Reads a claimed object. */
  wouldResolve(outboxId: number, resolution: Resolution): Promise<ReviewRow>;
  retry(selection: Selection, asker: Actor): Promise<Done>;
  cancel(selection: Selection, asker: Actor): Promise<Done>;
  resolve(
    outboxId: number,
    resolution: Resolution,
    asker: Actor,
  ): Promise<{ readonly outboxId: number; readonly state: OutboxState }>;
  /**
   * Resolves many rows as absent; a confirmation names one id, so rows are confirmed one by one.
   */
  resolveAbsent(selection: Selection, asker: Actor): Promise<Done>;
}

export type ManyAct = 'retry' | 'cancel' | 'absent';

function byState(rows: readonly ReviewRow[]): ReadonlyMap<OutboxState, readonly ReviewRow[]> {
  return Map.groupBy(rows, ({ state }) => state);
}

function refuse(row: ReviewRow, what: string, hint: string): never {
  const text = `outbox ${row.outboxId} is ${row.state} and cannot be ${what}`;
  throw new RefusedError('outbox.wrong_state', text, { hint });
}

async function audit(
  tx: Tx,
  at: number,
  asker: Actor,
  action: string,
  rows: readonly ReviewRow[],
  detailOf: (row: ReviewRow) => JsonObject = () => ({}),
): Promise<void> {
  const each = rows.map((row) => ({
    subject: `outbox:${row.outboxId}`,
    detail: { reference: row.reference, from: row.state, ...detailOf(row) },
  }));
  await writeAudits(tx, { ...asker, action }, each, at);
}

/**
 * Moves rows of one state; returns whether all of them moved. A dead row that ends again is
 * reopened first, so that the trigger reports its new end.
 */
async function moveOn(
  tx: Tx,
  from: OutboxState,
  rows: readonly ReviewRow[],
  state: OutboxState,
  change: Change,
): Promise<boolean> {
  const ids = rows.map(({ outboxId }) => outboxId);
  const endsAgain = from === 'dead' && typeof change.ended_at === 'number';
  if (endsAgain) await moveAll(tx, ids, from, from, { ended_at: null });
  return (await moveAll(tx, ids, from, state, change)) === ids.length;
}

/** Transition of a row that a person retries: another attempt, or another lookup. */
function retried(row: ReviewRow, now: number): { readonly state: OutboxState; change: Change } {
  if (row.state === 'dead') {
    return { state: 'queued', change: { ended_at: null, due_at: now, last_error: null } };
  }
  // Without its last error the row no longer waits for a pause: it is checked again in any case.
  if (row.state === 'queued') return { state: 'queued', change: { due_at: now, last_error: null } };
  if (row.state === 'in_doubt') {
    return { state: 'in_doubt', change: { due_at: now, blocked_reason: null } };
  }
  const isOver = row.state === 'refused' || row.state === 'canceled';
  const shown = `"selvedge outbox show ${row.outboxId}"`;
  const hint = isOver
    ? `submit it again; ${shown} says under which reference`
    : 'there is nothing to do about it';
  return refuse(row, 'tried again', hint);
}

function requireCancelable(row: ReviewRow): void {
  const mayBe = row.state === 'in_doubt' && row.blockedReason !== null;
  if (row.state === 'queued' || row.state === 'dead' || mayBe) return;
  const hint =
    row.state === 'in_doubt'
      ? 'it is still being looked up; a row that needs a person can be canceled'
      : 'a push that was sent cannot be called back';
  refuse(row, 'canceled', hint);
}

/**
 * Change of a row that a person cancels. The reason replaces the last error, where the ERP sees it.
 */
function canceled(row: ReviewRow, now: number, { actor, reason }: Actor): Change {
  requireCancelable(row);
  const why = `${actor} canceled it: ${reason}`;
  return { ended_at: now, due_at: now, blocked_reason: null, last_error: why };
}

/**
 * Ids in each row's last ambiguous lookup; a person who resolves the row as absent disowns them.
 */
async function lastCandidates(
  tx: Tx,
  rows: readonly ReviewRow[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  const ids = rows.map(({ outboxId }) => outboxId);
  const lookups = await tx
    .selectFrom('outbox_evidence')
    .select((eb) => ['outbox_id', 'detail', eb.fn.max('id').as('id')])
    .where(inKeys('outbox_id', ids))
    .where('outcome', '=', 'ambiguous')
    .groupBy('outbox_id')
    .execute();
  return new Map(
    lookups.map(({ outbox_id: id, detail }) => {
      const { orderIds, pendingRefundIds } = candidatesIn([detail]);
      // The detail of a refund's lookup names its order as well; only the refund is disowned.
      return [id, pendingRefundIds.length > 0 ? pendingRefundIds : orderIds];
    }),
  );
}

async function recordStatement(
  tx: Tx,
  rows: readonly ReviewRow[],
  at: number,
  outcome: 'matched' | 'not_found',
  detailOf: (row: ReviewRow) => JsonObject,
): Promise<void> {
  const entries = rows.map((row) => {
    return { outbox_id: row.outboxId, detail: JSON.stringify(detailOf(row)) };
  });
  const columns = ['outbox_id', 'detail'];
  await insertRows(tx, 'outbox_evidence', columns, entries, { at, source: 'person', outcome });
}

function requireUnresolved(row: ReviewRow): void {
  if (row.state === 'in_doubt' || row.state === 'dead') return;
  refuse(row, 'resolved', 'only rows that are in_doubt or dead can be');
}

/** Refuses an absence while the push may still take effect. */
function requireAbsence(
  row: ReviewRow,
  delay: { readonly ms: number; readonly processStartedAt: number },
  now: number,
): void {
  requireUnresolved(row);
  const { outboxId, inDoubtSince } = row;
  const since = Math.max(inDoubtSince ?? 0, delay.processStartedAt);
  if (row.state !== 'in_doubt' || now >= since + delay.ms) return;
  const until = new Date(since + delay.ms).toISOString();
  const text =
    since === inDoubtSince
      ? `outbox ${outboxId} may still take effect until ${until}`
      : `the daemon has just started: outbox ${outboxId} must wait its settlement delay once more`;
  throw new RefusedError('outbox.too_early', text, {
    hint: `say so after ${until}, or wait: it is looked up automatically`,
  });
}

async function requireAbsences(
  db: Tx | Store['db'],
  rows: readonly ReviewRow[],
  deps: Pick<ReviewDeps, 'clock' | 'reconcileAfterMs' | 'processStartedAt'>,
): Promise<void> {
  const now = deps.clock.now();
  const ms = await settlementDelay(db, deps.reconcileAfterMs, now);
  const delay = { ms, processStartedAt: deps.processStartedAt() };
  for (const row of rows) requireAbsence(row, delay, now);
}

async function resolveAbsences(
  tx: Tx,
  deps: ReviewDeps,
  rows: readonly ReviewRow[],
  asker: Actor,
): Promise<void> {
  const now = deps.clock.now();
  await requireAbsences(tx, rows, deps);
  const candidates = await lastCandidates(tx, rows);
  const notOurs = ({ outboxId }: ReviewRow) => [...(candidates.get(outboxId) ?? [])];
  await recordStatement(tx, rows, now, 'not_found', (row) => ({
    actor: asker.actor,
    reason: asker.reason,
    notOurs: notOurs(row),
  }));
  const change = {
    blocked_reason: null,
    in_doubt_since: null,
    ended_at: null,
    due_at: now,
    // The old answer was about something else; the next attempt is looked up on its own.
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

/** Refuses a reference that was typed to confirm the row, and is another one. */
function requireTyped({ reference }: ReviewRow, typed: string | undefined): void {
  if (typed === undefined || typed.trim() === reference) return;
  throw new RefusedError('outbox.unconfirmed', 'sending again must be confirmed', {
    hint: `name its reference: --reference ${reference}`,
  });
}

async function requireNotable(db: Tx | Store['db'], { outboxId }: ReviewRow): Promise<void> {
  if (await isNotable(db, outboxId)) return;
  const text = `outbox ${outboxId} has no difference, loss or refusal that waits for a person`;
  const hint = `see: selvedge outbox show ${outboxId}`;
  throw new RefusedError('outbox.nothing_to_note', text, { hint });
}

/** Ends the incident about a difference or loss that a person accepts; a refusal waits no more. */
async function resolveNoted(
  tx: Tx,
  deps: ReviewDeps,
  row: ReviewRow,
  asker: Actor,
): Promise<OutboxState> {
  const now = deps.clock.now();
  const isUnseen = await isSeasonUnseen(tx, row.outboxId);
  await requireNotable(tx, row);
  await endIncidents(tx, DIFFERENCE, [String(row.outboxId)], now);
  await noteLost(tx, row.outboxId, now);
  await noteRefused(tx, row.outboxId);
  if (isUnseen) await noteSeasonUnseen(tx, now);
  await audit(tx, now, asker, 'outbox.noted', [row]);
  return row.state;
}

async function resolveConfirmed(
  deps: ReviewDeps,
  row: ReviewRow,
  id: string | null,
  asker: Actor,
): Promise<OutboxState> {
  requireUnresolved(row);
  const made = await deps.confirm(row, id);
  const now = deps.clock.now();
  await deps.store.transaction(async (tx) => {
    const [present] = await select(tx, { outboxId: row.outboxId });
    // An attempt that began during the read of the claimed object has an outcome of its own, and a
    // correction is another document.
    if (present?.attempts !== row.attempts || present.createdAt !== row.createdAt) {
      const what = 'it was sent once more, or corrected, meanwhile';
      refuse(row, 'resolved', `${what}; see: selvedge outbox show ${row.outboxId}`);
    }
    await requireUnclaimed(tx, row, made);
    const { actor, reason } = asker;
    await recordStatement(tx, [row], now, 'matched', () => ({ actor, reason, ...made }));
    const { orderId } = made;
    const change = {
      blocked_reason: null,
      in_doubt_since: null,
      last_error: null,
      ended_at: now,
      due_at: now,
      result: JSON.stringify(made),
      ...(typeof orderId === 'number' ? { order_id: orderId } : {}),
    };
    const moved = await moveOn(tx, row.state, [row], 'confirmed', change);
    if (!moved) refuse(row, 'resolved', 'look at it again');
    if (typeof orderId === 'number') await noteRecognised(tx, row, orderId, now);
    await audit(tx, now, asker, 'outbox.confirmed', [row], () => made);
  });
  return 'confirmed';
}

export function createOutboxReview(deps: ReviewDeps): OutboxReview {
  const { store, clock } = deps;
  const announce = (rows: readonly Pick<ReviewRow, 'outboxId'>[]): void => {
    deps.wakeUp();
    for (const { outboxId } of rows) deps.onMoved(outboxId);
  };
  const would = async (act: ManyAct, selection: Looked): Promise<readonly ReviewRow[]> => {
    const chosen = await selected(store.db, selection);
    const require = act === 'retry' ? retried : requireCancelable;
    if (act === 'absent') await requireAbsences(store.db, chosen, deps);
    else for (const row of chosen) require(row, clock.now());
    return chosen;
  };
  const oneRow = async (outboxId: number): Promise<ReviewRow> => {
    const [row] = await selected(store.db, { outboxId });
    if (!row) throw new BugError('bug.selection', 'a selection of one row gave none');
    return row;
  };
  const actOn = async (
    selection: Selection,
    asker: Actor,
    name: 'retry' | 'cancel',
    act: (row: ReviewRow, now: number) => { readonly state: OutboxState; readonly change: Change },
  ): Promise<Done> => {
    // All rows are checked before the first change: if one refuses, no row is changed.
    const chosen = await would(name, selection);
    const actOnSome = async (tx: Tx, rows: readonly ReviewRow[]): Promise<void> => {
      const now = clock.now();
      const steps = new Map(rows.map((row) => [row.state, act(row, now)]));
      for (const [from, some] of byState(rows)) {
        const step = steps.get(from);
        if (step) await moveOn(tx, from, some, step.state, step.change);
      }
      await audit(tx, now, asker, `outbox.${name}`, rows);
    };
    return inSlices(store, chosen, actOnSome, announce);
  };
  const sayAbsent =
    (asker: Actor) =>
    (tx: Tx, rows: readonly ReviewRow[]): Promise<void> =>
      resolveAbsences(tx, deps, rows, asker);
  return {
    would,
    async wouldResolve(outboxId, resolution) {
      const row = await oneRow(outboxId);
      if (resolution.as === 'absent') await requireAbsences(store.db, [row], deps);
      else if (resolution.as === 'noted') await requireNotable(store.db, row);
      else {
        requireUnresolved(row);
        await requireUnclaimed(store.db, row, await deps.confirm(row, resolution.id));
      }
      return row;
    },
    retry: (selection, asker) => actOn(selection, asker, 'retry', retried),
    cancel: (selection, asker) =>
      actOn(selection, asker, 'cancel', (row, now) => ({
        state: 'canceled',
        change: canceled(row, now, asker),
      })),
    async resolve(outboxId, resolution, asker) {
      const row = await oneRow(outboxId);
      let state: OutboxState = 'queued';
      if (resolution.as === 'confirmed') {
        state = await resolveConfirmed(deps, row, resolution.id, asker);
      } else if (resolution.as === 'noted') {
        state = await store.transaction((tx) => resolveNoted(tx, deps, row, asker));
      } else {
        requireTyped(row, resolution.reference);
        const { left } = await inSlices(store, [row], sayAbsent(asker), () => undefined);
        if (left.length > 0) refuse(row, 'resolved', 'it has changed meanwhile; look at it again');
      }
      announce([row]);
      return { outboxId, state };
    },
    async resolveAbsent(selection, asker) {
      const chosen = await would('absent', selection);
      return inSlices(store, chosen, sayAbsent(asker), announce);
    },
  };
}
