/**
 * One delivery, one transaction: who changed it if somebody did, its facts, what the rules make of
 * them, how long it is held, the journal entry and, where the service must hear of it, the push.
 */
import { enqueueDeliveryStatus } from '../outbox/enqueue.ts';
import type { Outcome } from '../rules/combine.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Tx } from '../store/store.ts';
import { hourBegan, paceAccept } from './accept/pace.ts';
import { readSubject, type Subject } from './facts.ts';
import { askRules } from './holds/ask-rules.ts';
import { outcomeBehindChanges } from './holds/changes.ts';
import { endHolds, keepHolds } from './holds/holds.ts';
import { outcomeBehindOrder } from './holds/own-order.ts';
import { outcomeAfterReturn, reconsiderAccepted } from './holds/returns.ts';
import { resolveReturned, resolveUndecidable, tellMisfits } from './incidents.ts';
import { acceptCanceledSince, openPush, overtakenBy, sendBefore, waitedTooLong } from './push.ts';
import {
  type DecisionMode,
  type Judgement,
  lastIfSame,
  recordDecision,
  rememberEvaluation,
} from './record.ts';
import { followReject, outcomeBehindRails } from './reject/outcome.ts';
import { endEntry } from './reject/queue.ts';
import { settlePushed } from './reject/settle.ts';
import { isReviewed } from './review/touched.ts';
import type { LoadedRuleSet } from './rule-files.ts';
import { noteExternal } from './watch/external.ts';
import { markCompetitors } from './watch/mark.ts';
import { nextLook } from './watch/next-look.ts';
import { readsOf } from './watch/reads.ts';

export interface Decided {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly outcome: Outcome;
  /** When the grace of a reject that begins to wait is over. */
  readonly rejectAt?: number | undefined;
}

/** What a decision depends on besides the database. */
export interface DecisionContext {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Rules may read ages: then the delivery is looked at again this often. */
  readonly tickMs: number;
  readonly trigger: string;
}

type Judged = Judgement & { readonly evaluation: Evaluation; readonly outcome: Outcome };

/**
 * The last decision, if it need not be taken again. An accept that waited for too long, or met
 * other lines, was not sent: it is due once more, the latter where they have changed back before
 * anybody decided on them.
 */
async function standing(tx: Tx, judged: Judged, trigger: string): Promise<number | undefined> {
  const last = await lastIfSame(tx, judged);
  if (last === undefined || judged.outcome.kind !== 'accept') return last;
  const by = await overtakenBy(tx, last);
  return by === 'time' || (by === 'change' && trigger === 'changed') ? undefined : last;
}

/** The same, or the hold in the place of an accept while accepting pauses. */
async function withPace(tx: Tx, judged: Judged): Promise<Judged> {
  const { outcome, mode, rules, at } = judged;
  if (outcome.kind !== 'accept' || mode !== 'live') return judged;
  const { order_delivery_id: id } = judged.subject.delivery;
  const isCounted =
    (await waitedTooLong(tx, id)) || (await acceptCanceledSince(tx, id, hourBegan(at)));
  const accept = { accept: outcome, isCounted };
  const paused = await paceAccept(tx, accept, rules.ruleSet.settings, at);
  return paused ? { ...judged, outcome: paused.outcome, dueAt: paused.until } : judged;
}

async function judge(tx: Tx, context: DecisionContext, subject: Subject): Promise<Judged> {
  const { rules, mode, now } = context;
  const { ruleSet } = rules;
  const id = subject.delivery.order_delivery_id;
  const evaluation = await askRules(tx, context, subject);
  const holdAt = await keepHolds(tx, id, ruleSet, evaluation, now);
  await settlePushed(tx, now);
  const railed = await outcomeBehindRails(tx, subject, evaluation.live);
  const { settings } = ruleSet;
  const waiting = await outcomeBehindChanges(tx, ruleSet, subject, railed, now);
  const rested = await outcomeAfterReturn(tx, id, waiting.outcome, settings, now);
  const { outcome, until } = await outcomeBehindOrder(tx, subject, rested.outcome, now);
  const wakeAt = until ?? rested.coolsUntil ?? waiting.lookAt ?? holdAt;
  const look = nextLook(ruleSet, readsOf(ruleSet), context.tickMs, wakeAt, now);
  return { rules, mode, subject, evaluation, outcome, at: now, ...look };
}

/** In less an accept might never leave, and be decided anew without end. */
const TO_LEAVE_MS = 60_000;

async function pushAccept(tx: Tx, { subject, rules, at }: Judged, decisionId: number) {
  const { order_id: orderId, order_delivery_id: orderDeliveryId, status: from } = subject.delivery;
  const change = { orderId, orderDeliveryId, from, to: 'accepted', decisionId } as const;
  // Behind a stop, or an outage, the facts it rests on grow old.
  const until = Math.max(sendBefore(rules.ruleSet.settings, at), at + TO_LEAVE_MS);
  await enqueueDeliveryStatus(tx, { ...change, onlyTheseLines: true, sendBefore: until }, at);
}

/** Undefined when there was nothing new to decide. `onPush` is told before the commit. */
export async function decide(
  tx: Tx,
  context: DecisionContext,
  orderDeliveryId: number,
  onPush: () => void,
): Promise<Decided | undefined> {
  const { rules, now, trigger, mode } = context;
  // Since it was found due, a person or the end of a grace may have meant one.
  if (await openPush(tx, orderDeliveryId)) return undefined;
  await noteExternal(tx, context, orderDeliveryId);
  const at = { now, settings: rules.ruleSet.settings };
  const subject = await readSubject(tx, orderDeliveryId, at);
  await resolveUndecidable(tx, [orderDeliveryId], now);
  if (subject?.delivery.status === 'accepted') {
    return reconsiderAccepted(tx, context, subject, onPush);
  }
  if (subject?.delivery.status !== 'pending') return undefined;
  await resolveReturned(tx, [orderDeliveryId], now);
  await tellMisfits(tx, subject, now);
  // A push that came to nothing gives back what it had claimed.
  if (trigger === 'push') {
    await markCompetitors(tx, [orderDeliveryId], readsOf(rules.ruleSet), { now });
  }
  const judged = await judge(tx, context, subject);
  if (await isReviewed(tx, subject)) {
    await endHolds(tx, [orderDeliveryId], now);
    const end = { by: 'person', detail: 'a person has decided', at: now };
    await endEntry(tx, orderDeliveryId, { ...end, state: 'stopped' });
    await rememberEvaluation(tx, judged, undefined);
    return undefined;
  }
  const stands = await standing(tx, judged, trigger);
  const judgement = stands === undefined ? await withPace(tx, judged) : judged;
  const { outcome } = judgement;
  const last = judgement === judged ? stands : await standing(tx, judgement, trigger);
  if (last !== undefined) {
    await rememberEvaluation(tx, judgement, undefined);
    await followReject(tx, judgement, last);
    return undefined;
  }
  const decisionId = await recordDecision(tx, judgement, { actor: 'daemon', trigger });
  const rejectAt = await followReject(tx, judgement, decisionId);
  if (outcome.kind === 'accept' && mode === 'live') {
    await pushAccept(tx, judgement, decisionId);
    onPush();
  }
  return { decisionId, orderDeliveryId, outcome, rejectAt };
}
