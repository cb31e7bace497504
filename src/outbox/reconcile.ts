/**
 * Reconciliation: decides what a lookup means for its outbox row, and stores it. A match confirms
 * the push; several candidates, one that is unlike the document, or no proof within `reviewAfterMs`
 * are left to a person. A create that was not found is sent again only after a proof: two complete
 * lookups, both after the settlement delay and `everyMs` apart. The checks here are in the order of
 * "Absence" in docs/internals/mechanisms.md.
 */
import type { Clock } from '../lib/clock.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../lib/json.ts';
import { insertRow } from '../store/bulk.ts';
import { readStateSince, writeState } from '../store/state.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { learnSpelling } from './evidence/known-spellings.ts';
import { candidatesIn, claimsOf } from './evidence/records.ts';
import { noteSeasonShown } from './evidence/seasons.ts';
import type { AlsoConfirm, LookupResult, Matched, NotFound, OutboxItem } from './item.ts';
import { type Change, move } from './queue.ts';
import { type LookupPace, nextLookupAt } from './retry-policy.ts';
import { reportDifferences } from './watch/differences.ts';

/** Whether an effect that was not found may exist all the same. */
export function mayHaveMissed(lookup: LookupResult): boolean {
  return lookup.outcome === 'not_found' && lookup.complete === false;
}

export interface Lookup {
  readonly result: LookupResult;
  /** Start of the lookup: an effect that it did not find was absent at this time. */
  readonly startedAt: number;
  /** Whether the lookup may have missed the effect, and further ones will not tell more. */
  readonly isHopeless: boolean;
}

export interface Policy {
  /** {@link OutboxKind.creates} of the row's kind. */
  readonly creates: boolean;
  /** {@link OutboxKind.conflictEnds} of the row's kind. */
  readonly conflictEnds: boolean;
  readonly attemptsMax: number;
  readonly pace: LookupPace;
  /** Start of this process, or the last clock step: earlier times come from another clock. */
  readonly processStartedAt: number;
  readonly reviewAfterMs: number;
  /** Milliseconds until the read-back is repeated, or a status is set again. */
  readonly waitMs: number;
}

export interface Transition {
  readonly state: OutboxState;
  /** Whether the transition ends the row, so that no further step follows. */
  readonly ended: boolean;
  readonly reason: string | undefined;
  readonly change: Change;
}

function goesOn(state: OutboxState, change: Change): Transition {
  return { state, ended: false, reason: undefined, change };
}

function ended(state: OutboxState, now: number, reason?: string, change: Change = {}): Transition {
  const end = { in_doubt_since: null, ended_at: now, due_at: now };
  return { state, ended: true, reason, change: { ...change, ...end } };
}

/** Transition that leaves the row to a person. */
function blocked({ inDoubtSince }: OutboxItem, now: number, reason: string): Transition {
  const change = { blocked_reason: reason, in_doubt_since: inDoubtSince ?? now, due_at: now };
  return { state: 'in_doubt', ended: false, reason, change };
}

/** Start of the row's settlement delay. */
function settlingSince(item: OutboxItem, { processStartedAt }: Policy, now: number): number {
  return Math.max(item.inDoubtSince ?? now, processStartedAt);
}

function lookUpAgain(item: OutboxItem, policy: Policy, now: number): Transition {
  const dueAt = nextLookupAt(settlingSince(item, policy, now), policy.pace, now);
  return goesOn('in_doubt', { in_doubt_since: item.inDoubtSince ?? now, due_at: dueAt });
}

function lookUpAgainOrBlock(item: OutboxItem, policy: Policy, now: number): Transition {
  return now - (item.inDoubtSince ?? now) < policy.reviewAfterMs
    ? lookUpAgain(item, policy, now)
    : blocked(item, now, 'for too long it could be neither found nor proved absent');
}

/**
 * Times of complete lookups that found nothing; future ones were written before the clock was set
 * back and are left out.
 */
async function absences(tx: Tx, outboxId: number, now: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('outbox_evidence')
    .select('at')
    .where('outbox_id', '=', outboxId)
    .where('outcome', '=', 'not_found')
    .where('complete', '=', 1)
    .where('at', '<=', now)
    .orderBy('at')
    .execute();
  return rows.map(({ at }) => at);
}

const LATENESS_KEY = 'outbox.latest_effect_ms';
/**
 * Milliseconds after which the longest lateness is forgotten, where no effect since was late enough
 * to matter: the service may have been slow for a day.
 */
const LATENESS_KEPT_MS = 90 * 86_400_000;

/**
 * Longest time after a request at which its effect was still missing although it appeared later.
 */
export async function worstLateness(db: Tx | Store['db'], now: number): Promise<number> {
  const known = await readStateSince(db, LATENESS_KEY);
  return known && now - known.at < LATENESS_KEPT_MS ? Number(known.value) : 0;
}

/**
 * Settlement delay in milliseconds: as configured, but at least twice the longest known lateness.
 */
export async function settlementDelay(
  db: Tx | Store['db'],
  configuredMs: number,
  now: number,
): Promise<number> {
  return Math.max(configuredMs, 2 * (await worstLateness(db, now)));
}

/**
 * Learns how late effects can be, from a lookup that missed the effect before a later one found it.
 */
async function learnLateness(
  tx: Tx,
  { outboxId, inDoubtSince }: OutboxItem,
  clock: Clock,
  { processStartedAt, pace }: Policy,
): Promise<void> {
  if (inDoubtSince === null) return;
  const since = Math.max(inDoubtSince, processStartedAt);
  const last = (await absences(tx, outboxId, clock.now())).at(-1);
  if (last === undefined) return;
  const lateMs = last - since;
  const worst = await worstLateness(tx, clock.now());
  // A smaller lateness keeps the worst from being forgotten, where the configured delay is too
  // short for it.
  if (lateMs <= worst && lateMs * 2 <= pace.reconcileAfterMs) return;
  await writeState(tx, LATENESS_KEY, String(Math.max(lateMs, worst)), clock);
}

/**
 * Time between the first and the last complete lookup after `since` that found nothing; undefined:
 * there is none.
 */
async function absentForMs(
  tx: Tx,
  { outboxId }: OutboxItem,
  since: number,
  now: number,
): Promise<number | undefined> {
  const proof = (await absences(tx, outboxId, now)).filter((at) => at >= since);
  const [first, last] = [proof[0], proof.at(-1)];
  return first === undefined || last === undefined ? undefined : last - first;
}

/** Decides about a create whose effect was not found; undefined: it is proved absent. */
async function resolveMissingCreate(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Transition | undefined> {
  const { reconcileAfterMs, everyMs } = policy.pace;
  const settledAt = settlingSince(item, policy, now) + reconcileAfterMs;
  const provedMs = await absentForMs(tx, item, settledAt, now);
  if (provedMs === undefined) {
    // A push of an earlier process waits for a settlement delay in this process, however old it is;
    // but not again after each start for ever.
    const begun = item.inDoubtSince ?? now;
    const byClockMs =
      (await absentForMs(tx, item, begun + reconcileAfterMs, now)) ?? policy.reviewAfterMs;
    const isNewHere = byClockMs < policy.reviewAfterMs;
    return isNewHere ? lookUpAgain(item, policy, now) : lookUpAgainOrBlock(item, policy, now);
  }
  // The first lookup of the proof counts however late it came, even after an outage of days.
  if (provedMs < everyMs) return lookUpAgain(item, policy, now);
  if (item.result !== null) {
    return blocked(item, now, 'the service answered that it took it, and has it not');
  }
  return undefined;
}

async function lastAttempt(tx: Tx, { outboxId }: OutboxItem) {
  return tx
    .selectFrom('outbox_attempt')
    .select(['class', 'answer', 'ended_at'])
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt', 'desc')
    .executeTakeFirst();
}

/**
 * Maximum milliseconds for which a replica of the service still shows the status from before the
 * push.
 */
const SHOWN_LATE_MS = 120_000;
const PUT_BACK = 'the service took it and shows the status of before: somebody put it back';

/**
 * Decides about an update whose effect is not shown; undefined: it is sent again, which does no
 * harm.
 */
async function resolveMissingUpdate(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Transition | undefined> {
  if (item.result !== null) {
    // The answer proves the effect, too: only an old status shown long after the answer speaks
    // against it.
    const { ended_at: answeredAt } = (await lastAttempt(tx, item)) ?? {};
    const isEarly = Math.abs(now - (answeredAt ?? 0)) < SHOWN_LATE_MS;
    return isEarly ? lookUpAgain(item, policy, now) : ended('refused', now, PUT_BACK);
  }
  const last = policy.conflictEnds ? await lastAttempt(tx, item) : undefined;
  return last?.class === 'conflict' ? ended('refused', now, last.answer ?? undefined) : undefined;
}

/** Number of attempts at this row that may have had an effect. */
async function effectiveAttempts(tx: Tx, { outboxId }: OutboxItem): Promise<number> {
  const row = await tx
    .selectFrom('outbox_attempt')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('outbox_id', '=', outboxId)
    .where('class', '!=', 'not_processed')
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

async function resolveMissing(
  tx: Tx,
  item: OutboxItem,
  { result, isHopeless }: Lookup & { readonly result: NotFound },
  policy: Policy,
  now: number,
): Promise<Transition> {
  const { creates, attemptsMax, waitMs } = policy;
  if (mayHaveMissed(result)) {
    return (isHopeless ? lookUpAgainOrBlock : lookUpAgain)(item, policy, now);
  }
  // An answered push is looked up once more: the lookup may have read a lagging replica.
  if (item.state === 'sent') {
    return goesOn('in_doubt', { in_doubt_since: now, due_at: now + waitMs });
  }
  const resolve = creates ? resolveMissingCreate : resolveMissingUpdate;
  const own = await resolve(tx, item, policy, now);
  if (own) return own;
  const tried = await effectiveAttempts(tx, item);
  // A retry by a person allows as many attempts as before.
  if (tried > 0 && tried % attemptsMax === 0) {
    return ended('dead', now, `tried ${tried} times without an effect`);
  }
  return goesOn('queued', { in_doubt_since: null, due_at: creates ? now : now + waitMs });
}

/** Stored answer of the service, completed by values that the lookup found. */
function resultOf({ result }: OutboxItem, shown: JsonObject): string {
  const answer = tryParseJson(result ?? '');
  const given = Object.entries(isJsonObject(answer) ? answer : {}).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return JSON.stringify({ ...shown, ...Object.fromEntries(given) });
}

async function confirm(
  tx: Tx,
  item: OutboxItem,
  { result, shownReference }: Matched,
  now: number,
): Promise<Transition> {
  const orderId = result?.orderId;
  const known = result ? { result: resultOf(item, result) } : {};
  const shown = shownReference === undefined ? {} : { shown_reference: shownReference };
  const change = { last_error: null, ...known, ...shown };
  if (typeof orderId !== 'number') return ended('confirmed', now, undefined, change);
  const claims = item.kind === 'order' ? await claimsOf(tx, [orderId], item.outboxId) : undefined;
  const other = claims?.get(orderId);
  if (!other) return ended('confirmed', now, undefined, { ...change, order_id: orderId });
  const owner = `what outbox ${other.outboxId} (${other.reference}) has become`;
  return blocked(item, now, `order ${orderId} is ${owner}`);
}

async function transitionFor(
  tx: Tx,
  item: OutboxItem,
  { result, ...lookup }: Lookup,
  policy: Policy,
  now: number,
): Promise<Transition> {
  switch (result.outcome) {
    case 'matched':
      return confirm(tx, item, result, now);
    case 'superseded':
      return ended('refused', now, result.reason);
    case 'invalid': {
      const reason = result.problems
        .filter(({ severity }) => severity === 'error')
        .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
        .join('; ');
      return ended('refused', now, reason, { problems: JSON.stringify(result.problems) });
    }
    case 'ambiguous':
      return blocked(item, now, result.reason);
    case 'possible':
      return now < settlingSince(item, policy, now) + policy.pace.reconcileAfterMs
        ? lookUpAgain(item, policy, now)
        : blocked(item, now, result.reason);
    case 'not_found':
      return resolveMissing(tx, item, { ...lookup, result }, policy, now);
  }
}

/** Learns from an answered document how references and pre-orders are shown. */
async function learn(
  tx: Tx,
  { kind, reference, result }: OutboxItem,
  { shownReference, seasonSeen }: Matched,
  now: number,
): Promise<void> {
  if (seasonSeen === true) await noteSeasonShown(tx, now);
  // A push without an answer was matched by the spellings that are known already, so it teaches
  // none.
  if (result === null || shownReference === undefined) return;
  await learnSpelling(tx, kind, { sent: reference, shown: shownReference }, now);
}

/** Keeps the orders that may be this document as candidates, as long as the outcome is unknown. */
async function keepCandidates(
  tx: Tx,
  { outboxId, kind }: OutboxItem,
  result: LookupResult,
): Promise<void> {
  if (kind !== 'order') return;
  await tx.deleteFrom('outbox_candidate').where('outbox_id', '=', outboxId).execute();
  if (result.outcome !== 'possible' && result.outcome !== 'ambiguous') return;
  const { orderIds } = candidatesIn([JSON.stringify(result)]);
  const rows = orderIds.map((orderId) => ({ order_id: orderId, outbox_id: outboxId }));
  if (rows.length > 0) await tx.insertInto('outbox_candidate').values(rows).execute();
}

async function storeEvidence(
  tx: Tx,
  { outboxId }: OutboxItem,
  { result, startedAt }: Lookup,
): Promise<void> {
  const { outcome } = result;
  if (outcome === 'invalid') return;
  const isClear = outcome === 'matched' || outcome === 'not_found';
  await insertRow(tx, 'outbox_evidence', {
    outbox_id: outboxId,
    at: startedAt,
    source: 'look-up',
    outcome: isClear ? outcome : 'ambiguous',
    detail: JSON.stringify(result),
    complete: Number(!mayHaveMissed(result)),
  });
}

const tryOf = kept((db: Db, outboxId: Value<number>, createdAt: Value<number>) =>
  db
    .selectFrom('outbox')
    .select(['state', 'attempts', 'in_doubt_since'])
    .where('outbox_id', '=', outboxId)
    .where('created_at', '=', createdAt),
);

/**
 * Whether the row is still on the document and the attempt that were looked up: the ERP may have
 * corrected it, or a person may have sent it again.
 */
async function isUnchanged(tx: Tx, item: OutboxItem): Promise<boolean> {
  const [row] = await tryOf(tx, item.outboxId, item.createdAt);
  const { state, attempts, inDoubtSince } = item;
  return row?.state === state && row.attempts === attempts && row.in_doubt_since === inDoubtSince;
}

/**
 * Stores the result of a lookup and moves its row. Undefined: somebody else moved the row
 * meanwhile.
 */
export async function applyLookup(
  {
    store,
    clock,
    alsoConfirm,
  }: { readonly store: Store; readonly clock: Clock; readonly alsoConfirm?: AlsoConfirm },
  item: OutboxItem,
  lookup: Lookup,
  configured: Policy,
): Promise<Transition | undefined> {
  const { result } = lookup;
  return store.transaction(async (tx, onCommit) => {
    const now = clock.now();
    const { pace } = configured;
    const reconcileAfterMs = await settlementDelay(tx, pace.reconcileAfterMs, now);
    const policy = { ...configured, pace: { ...pace, reconcileAfterMs } };
    if (!(await isUnchanged(tx, item))) return undefined;
    await storeEvidence(tx, item, lookup);
    if (result.outcome === 'matched') await learnLateness(tx, item, clock, configured);
    const transition = await transitionFor(tx, item, lookup, policy, now);
    const { state, reason, change } = transition;
    let from: OutboxItem = item;
    // An answered push that was overtaken goes through `in_doubt`, the only allowed way to
    // `refused`.
    if (item.state === 'sent' && state === 'refused') {
      await move(tx, item, 'in_doubt', { in_doubt_since: now });
      from = { ...item, state: 'in_doubt' };
    }
    const error = reason === undefined ? {} : { last_error: reason };
    if (!(await move(tx, from, state, { ...change, ...error }))) return undefined;
    await keepCandidates(tx, item, result);
    if (result.outcome === 'matched' && state === 'confirmed') {
      await learn(tx, item, result, now);
      const { differences = [], holds = false, seasonSeen, result: made } = result;
      if (differences.length > 0) {
        const isSeasonUnseen = seasonSeen === false;
        const orderId = made?.orderId ?? null;
        await reportDifferences(tx, item, { orderId, differences, holds, isSeasonUnseen }, now);
      }
      await alsoConfirm?.(tx, item, onCommit);
    }
    return transition;
  });
}
