/**
 * Revocation: a live hold rule with `applies_to: [pending, accepted]` may send back to pending what
 * the rules of this daemon accepted, as long as it has not shipped, and only so often a day. A
 * delivery whose accept was revoked is not accepted again before its cooldown is over: whatever
 * made the rules waver must have passed. A delivery that cannot be evaluated is not revoked.
 */
import { sql } from 'kysely';
import { parseDuration } from '../../lib/units.ts';
import { enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import type { Outcome } from '../../rules/combine.ts';
import { decidingValues, type Evaluation, evaluate, factsInContext } from '../../rules/evaluate.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { readSubject, type Subject } from '../facts.ts';
import { waitsForChanges } from '../holds/changes.ts';
import { isRevokedTooOften, resolveRevokedTooOften, tellRevokedTooOften } from '../incidents.ts';
import {
  basisOf,
  type Decided,
  type DecisionContext,
  type Judgement,
  type RulesContext,
} from '../judgement.ts';
import { recordDecision, rememberEvaluation } from '../record.ts';
import { hasManualDecision } from '../review/manual-decision.ts';

const DAY_MS = 86_400_000;
/** What has no tracking number after this long has left without one. */
const REVOKED_WITHIN_MS = 14 * DAY_MS;
const COOLDOWN_MS_DEFAULT = 3_600_000;

interface Revocations {
  readonly count: number;
  readonly lastAt: number | null;
}

/**
 * How often the rules revoked the accept of this delivery in the last `ms`, and when last. A
 * revocation with a future timestamp was before the clock was set back: to wait for it would have
 * no end.
 */
async function revocationsWithin(
  tx: Tx,
  orderDeliveryId: number,
  ms: number,
  now: number,
): Promise<Revocations> {
  const row = await tx
    .selectFrom('decision as n')
    .innerJoin('outbox', 'outbox.decision_id', 'n.decision_id')
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.max('n.at').as('last_at')])
    .where('n.order_delivery_id', '=', orderDeliveryId)
    .where('n.actor', '=', 'daemon')
    .where('n.at', '>', now - ms)
    .where('n.at', '<=', now)
    .where(sql<string>`outbox.body->>'$.status'`, '=', 'pending')
    .where('outbox.state', 'not in', ['canceled', 'refused'])
    .executeTakeFirstOrThrow();
  return { count: Number(row.count), lastAt: row.last_at };
}

/** Nothing about this delivery is ours to decide any more. */
async function forgetAccepted(tx: Tx, orderDeliveryId: number, now: number): Promise<void> {
  await resolveRevokedTooOften(tx, [orderDeliveryId], now);
  await tx
    .updateTable('evaluation')
    .set({ due_at: null, due_why: null })
    .where('order_delivery_id', '=', orderDeliveryId)
    .execute();
}

/**
 * The evaluation by which the rules of this daemon accepted it lately, if that was the latest
 * decision and it has not shipped.
 */
async function ourAccept(
  tx: Tx,
  orderDeliveryId: number,
  now: number,
): Promise<Evaluation | undefined> {
  const row = await tx
    .selectFrom('evaluation as e')
    .innerJoin('decision as n', 'n.decision_id', 'e.decision_id')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'e.order_delivery_id')
    .select('n.evaluation')
    .where('e.order_delivery_id', '=', orderDeliveryId)
    .where('n.actor', '=', 'daemon')
    .where('n.outcome', '=', 'accept')
    .where('n.mode', '=', 'live')
    .where('n.at', '>', now - REVOKED_WITHIN_MS)
    .where('d.tracking_numbers', '=', '[]')
    .executeTakeFirst();
  return row && JSON.parse(row.evaluation);
}

/** Whether rules ask about accepted deliveries as well. */
function asksAboutAccepted({ rules }: RuleSet): boolean {
  return rules.some(({ mode, appliesTo }) => mode !== 'off' && appliesTo.includes('accepted'));
}

type Judged = Judgement & { readonly outcome: Outcome };

/** A delivery that was accepted by this evaluation, under the rules as they are now. */
function judgeAccepted(
  { rules, mode, now }: RulesContext,
  subject: Subject,
  accept: Evaluation,
): Judged {
  const { ruleSet } = rules;
  const seen = factsInContext(ruleSet, subject.facts);
  const evaluation = evaluate(ruleSet, subject.facts, {
    mode: mode === 'shadow' ? 'shadow' : 'live',
    // A hold that had lasted its time, and then spoke for the accept, does not revoke it.
    lapsed: new Set(accept.rules.flatMap((rule) => (rule.lapsed ? [rule.hash] : []))),
    seen,
  });
  const outcome = evaluation.live;
  const valuesOf = (ids: readonly string[]) => decidingValues(ruleSet, seen, now, ids);
  const asked = { evaluation, valuesOf, holds: [] };
  return { rules, mode, subject, ...asked, outcome, at: now, dueAt: now + DAY_MS };
}

/**
 * What the rules say of an accepted delivery, as it is remembered: never that of a decision about a
 * pending one.
 */
function saidOf(judged: Judged): string {
  return `accepted ${basisOf(judged)}`;
}

/**
 * How the rules' word differs from what is remembered. New rules do not go through what was
 * accepted before: their first word is remembered, and only another one later revokes an accept.
 */
async function changeOf(tx: Tx, judged: Judged): Promise<'rules' | 'word' | 'none'> {
  const { rules, subject } = judged;
  const last = await tx
    .selectFrom('evaluation')
    .select(['rules_key', 'basis'])
    .where('order_delivery_id', '=', subject.delivery.order_delivery_id)
    .executeTakeFirst();
  // An empty key: its revocation was called off.
  const key = last?.rules_key ?? '';
  if (key !== '' && !key.endsWith(rules.ruleSet.hash)) return 'rules';
  return last?.basis === saidOf(judged) ? 'none' : 'word';
}

/** Whether {@link reconsiderAccepted} would change anything. Writes nothing. */
export async function wouldReconsider(
  tx: Tx,
  context: RulesContext,
  orderDeliveryId: number,
): Promise<boolean> {
  const { rules, now } = context;
  const { settings } = rules.ruleSet;
  const accept = await ourAccept(tx, orderDeliveryId, now);
  if (accept === undefined) return true;
  if (!asksAboutAccepted(rules.ruleSet)) return false;
  const subject = await readSubject(tx, orderDeliveryId, { now, settings });
  if (!subject) return false;
  const judged = judgeAccepted(context, subject, accept);
  const change = await changeOf(tx, judged);
  if (change === 'none') return isRevokedTooOften(tx, orderDeliveryId);
  // What may not be revoked now is not remembered either.
  return context.mode === 'live' || judged.outcome.code !== 'hold_rule';
}

/** Revokes the accept of a delivery where a hold rule asks for it. */
export async function reconsiderAccepted(
  tx: Tx,
  context: DecisionContext,
  subject: Subject,
  onPush: () => void,
): Promise<Decided | undefined> {
  const { rules, mode, now, trigger } = context;
  const { ruleSet } = rules;
  const { order_delivery_id: orderDeliveryId, order_id: orderId } = subject.delivery;
  const accept = await ourAccept(tx, orderDeliveryId, now);
  if (accept === undefined) {
    await forgetAccepted(tx, orderDeliveryId, now);
    return undefined;
  }
  const judged = judgeAccepted(context, subject, accept);
  const { outcome } = judged;
  const change = await changeOf(tx, judged);
  const isHeld = outcome.code === 'hold_rule' && !(await hasManualDecision(tx, subject));
  if (!isHeld) await resolveRevokedTooOften(tx, [orderDeliveryId], now);
  if (!isHeld || change === 'rules') {
    await rememberEvaluation(tx, judged, { basis: saidOf(judged) });
    return undefined;
  }
  if (change === 'none' || mode !== 'live') return undefined;
  if (await waitsForChanges(tx, ruleSet, subject)) return undefined;
  const { count } = await revocationsWithin(tx, orderDeliveryId, DAY_MS, now);
  const { max_per_day: max } = ruleSet.settings.rails.returns;
  if (count >= max) {
    await tellRevokedTooOften(tx, orderDeliveryId, { times: count, reason: outcome.reason }, now);
    return undefined;
  }
  await resolveRevokedTooOften(tx, [orderDeliveryId], now);
  const decisionId = await recordDecision(tx, judged, { actor: 'daemon', trigger });
  const push = { orderId, orderDeliveryId, from: 'accepted', to: 'pending' } as const;
  await enqueueDeliveryStatus(tx, { ...push, decisionId }, now);
  onPush();
  return { decisionId, orderDeliveryId, outcome };
}

/** When the cooldown after a revoked accept is over; undefined when there is none. */
async function cooldownEnd(
  tx: Tx,
  orderDeliveryId: number,
  { rails }: RuleSet['settings'],
  now: number,
): Promise<number | undefined> {
  const cooldown = parseDuration(rails.returns.cooldown) ?? COOLDOWN_MS_DEFAULT;
  const { lastAt } = await revocationsWithin(tx, orderDeliveryId, cooldown, now);
  return lastAt === null ? undefined : lastAt + cooldown;
}

/** The outcome of a pending delivery: a hold until the cooldown after a revoked accept is over. */
export async function outcomeAfterCooldown(
  tx: Tx,
  orderDeliveryId: number,
  outcome: Outcome,
  settings: RuleSet['settings'],
  now: number,
): Promise<{ readonly outcome: Outcome; readonly until: number | undefined }> {
  if (outcome.kind !== 'accept') return { outcome, until: undefined };
  const until = await cooldownEnd(tx, orderDeliveryId, settings, now);
  if (until === undefined) return { outcome, until: undefined };
  const reason = `taken back before; not accepted again until ${new Date(until).toISOString()}`;
  const waiting = { ...outcome, kind: 'hold', code: 'hold_rule', rules: [], reason } as const;
  return { outcome: waiting, until };
}
