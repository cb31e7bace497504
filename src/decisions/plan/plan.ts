/**
 * Plans the decision about one delivery: reads its state and its facts, asks the rules and the
 * precautions, and says what is to be written; writes nothing. A pass plans in a snapshot, to see
 * whether anything would change; a decision is planned and applied in one transaction.
 */

import { sql } from 'kysely';
import { BugError } from '../../lib/errors.ts';
import { enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import type { Outcome } from '../../rules/evaluate.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { planAccepted } from '../accept/revocation.ts';
import { noteExternal } from '../external.ts';
import { readSubject, type Subject, UnknownStatus } from '../facts.ts';
import {
  endHolds,
  type HoldPlan,
  holdsChange,
  holdsEndAt,
  planHolds,
  storeHolds,
} from '../holds.ts';
import { type ToldOf, toldOf } from '../incidents.ts';
import {
  hasManualDecision,
  recordDecision,
  rememberEvaluation,
  unchangedDecision,
} from '../journal.ts';
import {
  askRules,
  basisOf,
  type Decided,
  type DecisionContext,
  type Effect,
  groundsOf,
  type Judgement,
  type Planned,
  sendBefore,
  type Verdict,
} from '../judgement.ts';
import { overtakenBy, settledAccept } from '../push.ts';
import { finishPushedRejects } from '../reject/finish-reject.ts';
import { updateRejectEntry } from '../reject/outcome.ts';
import { endEntry } from '../reject/queue.ts';
import { withPrecautions } from './precautions.ts';

const DAY_MS = 86_400_000;

/** A plan holds only in the transaction that made it. */
interface Plan extends Planned {
  readonly tx: Tx;
  readonly orderDeliveryId: number;
}

/** `look` leaves out the values that only the journal needs. */
type Depth = 'look' | 'act';

type Judged = Judgement & { readonly outcome: Outcome; readonly plan: HoldPlan };

const NOTHING: Planned = { isChange: false, effects: [] };

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
  const last = unchangedDecision(judged);
  const { outcome, mode, subject } = judged;
  if (last === undefined) {
    if (outcome.kind !== 'accept' || mode !== 'live' || !subject.past.isDecided) return undefined;
    return settledAccept(tx, subject.delivery.order_delivery_id, groundsOf(judged));
  }
  const by = outcome.kind === 'accept' ? await overtakenBy(tx, last) : undefined;
  if (by === 'time' || (by === 'change' && trigger === 'changed')) return undefined;
  return { decisionId: last, isLatest: true };
}

function candidateOf(judged: Judged, { freshness, now }: DecisionContext) {
  const { subject, rules, evaluation, outcome } = judged;
  return { subject, ruleSet: rules.ruleSet, evaluation, outcome, freshness, now };
}

/** Evaluates a pending delivery, with the precautions that are asked each time. */
async function judge(
  tx: Tx,
  context: DecisionContext,
  subject: Subject,
  depth: Depth,
): Promise<Judged> {
  const { rules, mode, now } = context;
  const asked = await askRules(tx, context, subject, depth === 'act');
  const plan = planHolds(rules.ruleSet, asked.holds, asked.evaluation, now);
  const base = { rules, mode, subject, ...asked, plan, at: now, dueAt: null };
  const first = { ...base, outcome: asked.evaluation.live };
  const found = await withPrecautions(tx, candidateOf(first, context), 'judged');
  const lookAt = found.lookAt ?? holdsEndAt(plan) ?? Infinity;
  // A delivery is due after a day at most, so that no fault of the re-evaluation leaves it
  // forgotten.
  return { ...first, outcome: found.outcome, dueAt: Math.min(lookAt, now + DAY_MS) };
}

/** Plans the end of what the rules planned: a person has decided about the delivery. */
function leftToPerson({ rules, mode, now }: DecisionContext, subject: Subject): readonly Effect[] {
  const { order_delivery_id: id } = subject.delivery;
  const end = { by: 'person', detail: 'a person has decided', state: 'stopped', at: now } as const;
  const left = { rules, mode, subject, at: now, dueAt: null };
  return [
    (tx) => endHolds(tx, [id], now),
    (tx) => endEntry(tx, id, end),
    (tx) => rememberEvaluation(tx, left),
  ];
}

async function planPending(
  tx: Tx,
  context: DecisionContext,
  subject: Subject,
  told: ToldOf,
  depth: Depth,
): Promise<Planned> {
  const { now, trigger } = context;
  const fields = told.tellFields(subject);
  const before = [...told.endRevoked, ...fields];
  if (hasManualDecision(subject)) {
    return { isChange: false, effects: [...before, ...leftToPerson(context, subject)] };
  }
  const judged = await judge(tx, context, subject, depth);
  const isLive = judged.mode === 'live';
  let last = await currentDecision(tx, judged, trigger);
  let judgement = judged;
  let pace: Effect | undefined;
  if (last === undefined && judged.outcome.kind === 'accept' && isLive) {
    const found = await withPrecautions(tx, candidateOf(judged, context), 'new');
    pace = found.effect;
    if (found.outcome !== judged.outcome) {
      judgement = { ...judged, outcome: found.outcome, dueAt: found.lookAt ?? judged.dueAt };
      last = await currentDecision(tx, judgement, trigger);
    }
  }
  const { order_delivery_id: id } = subject.delivery;
  const holds: Effect = (own) => storeHolds(own, id, judged.plan, now);
  return {
    isChange:
      // A reject in its grace period is checked each time; there are few.
      (judged.outcome.kind === 'reject' && isLive) ||
      holdsChange(judged.plan) ||
      fields.length > 0 ||
      pace !== undefined ||
      last?.isLatest !== true,
    effects: [...before, holds, ...(pace ? [pace] : [])],
    verdict: {
      judgement,
      trigger,
      standing: last?.decisionId,
      push: isLive && judgement.outcome.kind === 'accept' ? 'accepted' : undefined,
    },
  };
}

/** Plans the decision about the delivery; writes nothing. */
export async function planDecision(
  tx: Tx,
  context: DecisionContext,
  orderDeliveryId: number,
  depth: Depth = 'act',
): Promise<Plan> {
  const plan = { tx, orderDeliveryId, ...NOTHING };
  const { settings, rules: read } = context.rules.ruleSet;
  const asked = { now: context.now, settings, rules: read };
  const subject = await readSubject(tx, orderDeliveryId, asked).catch((error: unknown) => {
    // In a status that nobody knows it cannot be read, which a decision tells, and no pass.
    if (depth === 'look' && error instanceof UnknownStatus) return undefined;
    throw error;
  });
  // A person or the end of a grace period may have enqueued a push meanwhile.
  if (subject?.past.isPushed) return plan;
  const { status } = subject?.delivery ?? {};
  const told = await toldOf(tx, orderDeliveryId, context.now);
  let planned = NOTHING;
  if (subject && status === 'accepted') planned = await planAccepted(tx, context, subject, told);
  if (subject && status === 'pending')
    planned = await planPending(tx, context, subject, told, depth);
  return { ...plan, ...planned, effects: [...told.endFailed, ...planned.effects] };
}

// Decides about one delivery in one transaction: notes what others did to it, plans, and applies
// the plan, which is the effects before the decision, the journal entry, the reject's place in its
// queue, and the push. After a kill either everything of it is there or nothing is.

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

/** Whether a push of the delivery is open, it was ever decided, and waits for a reject. */
const standingWith = kept(
  (_db: Db, id: Value<number>) => sql<{
    readonly [Name in 'pushed' | 'decided' | 'queued']: number;
  }>`select exists (select 1 from outbox
        where order_delivery_id = ${id} and ended_at is null) pushed,
      exists (select 1 from decision where order_delivery_id = ${id}) decided,
      exists (select 1 from reject_entry
        where order_delivery_id = ${id} and ended_at is null) queued`,
);

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
  const [standing] = await standingWith(tx, orderDeliveryId);
  if (standing?.pushed === 1) return undefined;
  await noteExternal(tx, context, orderDeliveryId, standing?.decided === 1);
  if (standing?.queued === 1) await finishPushedRejects(tx, context.now);
  return applyPlan(tx, await planDecision(tx, context, orderDeliveryId), onPush);
}
