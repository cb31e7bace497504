/**
 * Decides one delivery in one transaction: notes a status change by somebody else, builds the
 * facts, asks the rules, plans the holds, writes the journal entry and, for an accept, enqueues the
 * push.
 */
import { enqueueDeliveryStatus } from '../outbox/enqueue.ts';
import type { Outcome } from '../rules/combine.ts';
import type { Tx } from '../store/store.ts';
import { acceptCapExceeded } from './accept/caps.ts';
import { holdForStaleData } from './accept/freshness.ts';
import { hourBegan, paceAccept, pausedAccept } from './accept/pace.ts';
import { holdForCooldown, reconsiderAccepted, wouldReconsider } from './accept/revocation.ts';
import { noteExternal } from './external.ts';
import { readSubject, type Subject } from './facts.ts';
import { holdForChanges } from './holds/changes.ts';
import {
  endHolds,
  type HoldPlan,
  holdsChange,
  holdsEndAt,
  planHolds,
  storeHolds,
} from './holds/holds.ts';
import { holdForOwnOrder } from './holds/own-order.ts';
import { holdForRestored } from './holds/restored.ts';
import {
  invalidFieldsChange,
  reportInvalidFields,
  resolveEvaluationErrors,
  resolveRevokedTooOften,
} from './incidents.ts';
import {
  askRules,
  basisOf,
  type Decided,
  type DecisionContext,
  groundsOf,
  type Judgement,
  type PendingContext,
  type RulesContext,
} from './judgement.ts';
import {
  acceptCanceledSince,
  hasOpenPush,
  openPush,
  overtakenBy,
  sendBefore,
  settledAccept,
  waitedTooLong,
} from './push.ts';
import { recordDecision, rememberEvaluation, unchangedDecision } from './record.ts';
import { finishPushedRejects } from './reject/finish-reject.ts';
import { holdOfSafeguard, safeguardHold, updateRejectEntry } from './reject/outcome.ts';
import { endEntry } from './reject/queue.ts';
import { holdForRepacked } from './reject/repacked.ts';
import { hasManualDecision } from './review/manual-decision.ts';

const DAY_MS = 86_400_000;

type Judged = Judgement & { readonly outcome: Outcome; readonly plan: HoldPlan };

/**
 * Finds the latest decision about the delivery, if it is still valid, or the earlier accept that is
 * valid again. An accept that was never sent is made again: at once if it waited too long, and if
 * the lines had changed, only when they have changed back.
 */
async function currentDecision(
  tx: Tx,
  judged: Judged,
  trigger: string,
): Promise<{ readonly decisionId: number; readonly isLatest: boolean } | undefined> {
  const last = await unchangedDecision(tx, judged);
  const { outcome, mode, subject } = judged;
  if (last === undefined) {
    if (outcome.kind !== 'accept' || mode !== 'live') return undefined;
    return settledAccept(tx, subject.delivery.order_delivery_id, groundsOf(judged));
  }
  const by = outcome.kind === 'accept' ? await overtakenBy(tx, last) : undefined;
  if (by === 'time' || (by === 'change' && trigger === 'changed')) return undefined;
  return { decisionId: last, isLatest: true };
}

/** Gives the hold that replaces an accept which would exceed a limit. */
async function heldByCap(tx: Tx, judged: Judged): Promise<Judged | undefined> {
  const { subject, rules, outcome, at } = judged;
  const over = await acceptCapExceeded(tx, subject, rules.ruleSet.settings, at);
  if (!over) return undefined;
  const detail = `accepts would exceed ${over.limit}`;
  const held = safeguardHold(undefined, { safeguard: 'cap', detail });
  return { ...judged, outcome: { ...held, missing: outcome.missing }, dueAt: over.lookAt };
}

/** Replaces an accept by a hold while accepting pauses, or if the accept would exceed a limit. */
async function withPace(tx: Tx, judged: Judged): Promise<Judged> {
  const { outcome, mode, rules, at } = judged;
  if (outcome.kind !== 'accept' || mode !== 'live') return judged;
  const { order_delivery_id: id } = judged.subject.delivery;
  const capped = await heldByCap(tx, judged);
  if (capped) return capped;
  const isCounted =
    (await waitedTooLong(tx, id)) || (await acceptCanceledSince(tx, id, hourBegan(at)));
  const accept = { accept: outcome, isCounted };
  const paused = await paceAccept(tx, accept, rules.ruleSet.settings, at);
  return paused ? { ...judged, outcome: paused.outcome, dueAt: paused.until } : judged;
}

/** Checks that may replace an accept or a reject by a hold, in their order. */
const PRECAUTIONS = [
  holdOfSafeguard,
  holdForRepacked,
  holdForRestored,
  holdForChanges,
  holdForStaleData,
  holdForCooldown,
  holdForOwnOrder,
];

/**
 * Evaluates a pending delivery and writes nothing. `operands` false leaves out the values that only
 * the journal needs.
 */
async function judge(
  tx: Tx,
  context: PendingContext,
  subject: Subject,
  operands: boolean,
): Promise<Judged> {
  const { rules, mode, freshness, now } = context;
  const { ruleSet } = rules;
  const asked = await askRules(tx, context, subject, operands);
  const plan = planHolds(ruleSet, asked.holds, asked.evaluation, now);
  let outcome = asked.evaluation.live;
  let lookAt = holdsEndAt(plan);
  const { evaluation } = asked;
  for (const precaution of PRECAUTIONS) {
    const held = await precaution(tx, { subject, ruleSet, evaluation, outcome, freshness, now });
    outcome = held?.outcome ?? outcome;
    lookAt = held?.lookAt ?? lookAt;
  }
  // A delivery is due after a day at most, so that no fault of the re-evaluation leaves it
  // forgotten.
  const dueAt = Math.min(lookAt ?? Infinity, now + DAY_MS);
  return { rules, mode, subject, ...asked, plan, outcome, at: now, dueAt };
}

/**
 * Minimum milliseconds in which an accept may be sent; with less, an accept could expire unsent and
 * be made again for ever.
 */
const TO_LEAVE_MS = 60_000;

async function pushAccept(tx: Tx, judged: Judged, decisionId: number) {
  const { subject, rules, at } = judged;
  const { order_id: orderId, order_delivery_id: orderDeliveryId, status: from } = subject.delivery;
  const change = { orderId, orderDeliveryId, from, to: 'accepted', decisionId } as const;
  // An accept expires, because the facts that it rests on age behind a pause or an outage.
  const until = Math.max(sendBefore(rules.ruleSet.settings, at), at + TO_LEAVE_MS);
  const valid = { onlyTheseLines: true, sendBefore: until, grounds: groundsOf(judged) };
  await enqueueDeliveryStatus(tx, { ...change, ...valid }, at);
}

function subjectOf(tx: Tx, { rules, now }: RulesContext, orderDeliveryId: number) {
  const { settings, rules: read } = rules.ruleSet;
  return readSubject(tx, orderDeliveryId, { now, settings, rules: read });
}

/**
 * Whether {@link decide} would change anything about a delivery whose delivery and order rows are
 * unchanged. Writes nothing.
 */
export async function wouldDecide(
  tx: Tx,
  context: PendingContext,
  orderDeliveryId: number,
): Promise<boolean> {
  const row = await tx
    .selectFrom('delivery as d')
    .select('d.status')
    .where('d.order_delivery_id', '=', orderDeliveryId)
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')))
    .executeTakeFirst();
  if (row?.status === 'accepted') return wouldReconsider(tx, context, orderDeliveryId);
  if (row?.status !== 'pending') return false;
  const subject = await subjectOf(tx, context, orderDeliveryId);
  if (!subject || (await hasManualDecision(tx, subject))) return false;
  const judged = await judge(tx, context, subject, false);
  const { outcome, plan, mode, rules, at } = judged;
  // A reject in its grace period is checked each time; there are few.
  if (outcome.kind === 'reject' && mode === 'live') return true;
  if (holdsChange(plan) || (await invalidFieldsChange(tx, subject))) return true;
  const current = await currentDecision(tx, judged, 'facts');
  if (current !== undefined) return !current.isLatest;
  if (outcome.kind !== 'accept' || mode !== 'live') return true;
  const held =
    (await heldByCap(tx, judged)) ?? (await pausedAccept(tx, outcome, rules.ruleSet.settings, at));
  if (!held) return true;
  return (await unchangedDecision(tx, { ...judged, outcome: held.outcome })) === undefined;
}

/**
 * Decides the delivery and gives the decision; undefined when nothing changed. `onPush` is called
 * before the commit.
 */
export async function decide(
  tx: Tx,
  context: DecisionContext,
  orderDeliveryId: number,
  onPush: () => void,
): Promise<Decided | undefined> {
  const { now, trigger, mode } = context;
  // A person or the end of a grace period may have enqueued a push meanwhile.
  if (await openPush(tx, orderDeliveryId)) return undefined;
  await noteExternal(tx, context, orderDeliveryId);
  const subject = await subjectOf(tx, context, orderDeliveryId);
  await resolveEvaluationErrors(tx, [orderDeliveryId], now);
  if (subject?.delivery.status === 'accepted') {
    return reconsiderAccepted(tx, context, subject, onPush);
  }
  if (subject?.delivery.status !== 'pending') return undefined;
  await resolveRevokedTooOften(tx, [orderDeliveryId], now);
  await reportInvalidFields(tx, subject, now);
  await finishPushedRejects(tx, now);
  const judged = await judge(tx, context, subject, true);
  if (await hasManualDecision(tx, subject)) {
    await endHolds(tx, [orderDeliveryId], now);
    const end = { by: 'person', detail: 'a person has decided', at: now };
    await endEntry(tx, orderDeliveryId, { ...end, state: 'stopped' });
    await rememberEvaluation(tx, { ...judged, dueAt: null });
    return undefined;
  }
  await storeHolds(tx, orderDeliveryId, judged.plan, now);
  const decided = await currentDecision(tx, judged, trigger);
  const judgement = decided === undefined ? await withPace(tx, judged) : judged;
  const { outcome } = judgement;
  const last = judgement === judged ? decided : await currentDecision(tx, judgement, trigger);
  if (last !== undefined) {
    const { decisionId } = last;
    await rememberEvaluation(tx, judgement, { decision_id: decisionId, basis: basisOf(judgement) });
    await updateRejectEntry(tx, judgement, decisionId);
    return undefined;
  }
  const decisionId = await recordDecision(tx, judgement, { actor: 'daemon', trigger });
  const rejectAt = await updateRejectEntry(tx, judgement, decisionId);
  if (outcome.kind === 'accept' && mode === 'live') {
    await pushAccept(tx, judgement, decisionId);
    onPush();
  }
  return { decisionId, orderDeliveryId, outcome, rejectAt };
}
