/**
 * Decides about one delivery in one transaction: notes what others did to it, plans, and applies
 * the plan, which is the effects before the decision, the journal entry, the reject's place in its
 * queue, and the push. After a kill either everything of it is there or nothing is.
 */
import { sql } from 'kysely';
import { BugError } from '../../lib/errors.ts';
import { enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { noteExternal } from '../external.ts';
import { recordDecision, rememberEvaluation } from '../journal.ts';
import {
  basisOf,
  type Decided,
  type DecisionContext,
  groundsOf,
  sendBefore,
  type Verdict,
} from '../judgement.ts';
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

const standingWith = kept(
  (_db: Db, id: Value<number>) => sql<{
    readonly [Name in 'pushed' | 'decided' | 'queued']: number;
  }>`select exists (select 1 from outbox
        where order_delivery_id = ${id} and ended_at is null) pushed,
      exists (select 1 from decision where order_delivery_id = ${id}) decided,
      exists (select 1 from reject_entry
        where order_delivery_id = ${id} and ended_at is null) queued`,
);

/** Whether a push of the delivery is open, it was ever decided, and waits for a reject. */
async function standingOf(tx: Tx, orderDeliveryId: number) {
  const [row] = await standingWith(tx, orderDeliveryId);
  return {
    isPushed: row?.pushed === 1,
    isDecided: row?.decided === 1,
    isQueued: row?.queued === 1,
  };
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
  const { isPushed, isDecided, isQueued } = await standingOf(tx, orderDeliveryId);
  if (isPushed) return undefined;
  await noteExternal(tx, context, orderDeliveryId, isDecided);
  if (isQueued) await finishPushedRejects(tx, context.now);
  return applyPlan(tx, await planDecision(tx, context, orderDeliveryId), onPush);
}
