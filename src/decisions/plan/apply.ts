/**
 * Decides about one delivery in one transaction: notes what others did to it, plans, and applies
 * the plan, which is the effects before the decision, the journal entry, the reject's place in its
 * queue, and the push. After a kill either everything of it is there or nothing is.
 */
import { BugError } from '../../lib/errors.ts';
import { enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import type { Tx } from '../../store/store.ts';
import { noteExternal } from '../external.ts';
import {
  basisOf,
  type Decided,
  type DecisionContext,
  groundsOf,
  type Verdict,
} from '../judgement.ts';
import { openPush, sendBefore } from '../push.ts';
import { recordDecision, rememberEvaluation } from '../record.ts';
import { finishPushedRejects } from '../reject/finish-reject.ts';
import { updateRejectEntry } from '../reject/outcome.ts';
import { type Plan, planDecision } from './plan.ts';

/**
 * Minimum milliseconds in which an accept may be sent; with less, an accept could expire unsent and
 * be made again for ever.
 */
const TO_LEAVE_MS = 60_000;

async function enqueue(
  tx: Tx,
  { judgement, push: to = 'accepted' }: Verdict,
  decisionId: number,
): Promise<void> {
  const { subject, rules, at } = judgement;
  const { order_id: orderId, order_delivery_id: orderDeliveryId, status: from } = subject.delivery;
  const change = { orderId, orderDeliveryId, from, to, decisionId };
  // An accept expires, because the facts that it rests on age behind a pause or an outage.
  const until = Math.max(sendBefore(rules.ruleSet.settings, at), at + TO_LEAVE_MS);
  const valid = { onlyTheseLines: true, sendBefore: until, grounds: groundsOf(judgement) } as const;
  await enqueueDeliveryStatus(tx, to === 'accepted' ? { ...change, ...valid } : change, at);
}

/** Writes the plan; gives the decision, undefined: nothing new is decided. */
export async function applyPlan(
  tx: Tx,
  plan: Plan,
  onPush: () => void,
): Promise<Decided | undefined> {
  if (plan.tx !== tx) throw new BugError('bug.foreign_plan', 'a plan of another transaction');
  for (const effect of plan.effects) await effect(tx);
  const { verdict, orderDeliveryId } = plan;
  if (!verdict) return undefined;
  const { judgement, trigger, standing, push } = verdict;
  if (standing !== undefined) {
    const other = { decision_id: standing, basis: basisOf(judgement) };
    await rememberEvaluation(tx, judgement, other);
    await updateRejectEntry(tx, judgement, standing);
    return undefined;
  }
  const { outcome } = judgement;
  const decisionId = await recordDecision(tx, judgement, { actor: 'daemon', trigger });
  const rejectAt = await updateRejectEntry(tx, judgement, decisionId);
  if (push !== undefined) {
    await enqueue(tx, verdict, decisionId);
    onPush();
  }
  return { decisionId, orderDeliveryId, outcome, rejectAt };
}

/**
 * Decides about the delivery; gives the decision, undefined: nothing has changed. `onPush` is
 * called before the commit.
 */
export async function decide(
  tx: Tx,
  context: DecisionContext,
  orderDeliveryId: number,
  onPush: () => void,
): Promise<Decided | undefined> {
  if (await openPush(tx, orderDeliveryId)) return undefined;
  await noteExternal(tx, context, orderDeliveryId);
  await finishPushedRejects(tx, context.now);
  return applyPlan(tx, await planDecision(tx, context, orderDeliveryId), onPush);
}
