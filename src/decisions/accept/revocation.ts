/**
 * Revocation: a live hold rule with `applies_to: [pending, accepted]` may send a delivery that the
 * rules of this daemon accepted back to pending, as long as it has not shipped, and only so often a
 * day. A delivery whose accept was revoked is not accepted again before its cooldown is over, so
 * that the cause of the revocation has time to pass. A delivery that cannot be evaluated is not
 * revoked.
 */
import { sql } from 'kysely';
import { canonicalJson, sha256 } from '../../lib/json.ts';
import {
  decidingValues,
  type Evaluation,
  evaluate,
  factsInContext,
  type Outcome,
} from '../../rules/evaluate.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import type { Subject } from '../facts.ts';
import { reportRevokedTooOften, type ToldOf } from '../incidents.ts';
import {
  hasManualDecision,
  rememberEvaluation,
  type StoredEvaluation,
  storedEvaluation,
} from '../journal.ts';
import {
  basisOf,
  type DecisionContext,
  type Effect,
  type Judgement,
  type Planned,
  type RulesContext,
} from '../judgement.ts';
import { waitsForChanges } from './freshness.ts';

const DAY_MS = 86_400_000;
/** Milliseconds after which an accepted delivery without a tracking number counts as shipped. */
export const REVOKED_WITHIN_MS = 14 * DAY_MS;
const HELD = 'hold_rule';

interface Revocations {
  readonly count: number;
  readonly lastAt: number | null;
}

/**
 * How often the rules revoked the accept of this delivery in the last `ms`, and when last. A
 * revocation with a future timestamp was made before the clock was set back; it does not count,
 * because its cooldown would never end.
 */
export async function revocationsWithin(
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

/** Plans no further evaluation of a delivery that the rules did not accept, or that has shipped. */
async function forgetAccepted(tx: Tx, orderDeliveryId: number): Promise<void> {
  await tx
    .updateTable('evaluation')
    .set({ due_at: null, due_why: null })
    .where('order_delivery_id', '=', orderDeliveryId)
    .execute();
}

/**
 * Finds the evaluation by which the rules of this daemon accepted the delivery lately, as it is
 * stored; undefined if a later decision followed or the delivery has shipped.
 */
async function ourAccept(
  tx: Tx,
  orderDeliveryId: number,
  now: number,
): Promise<StoredEvaluation | undefined> {
  return tx
    .selectFrom('evaluation as e')
    .innerJoin('decision as n', 'n.decision_id', 'e.decision_id')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'e.order_delivery_id')
    .leftJoin('rule_set as s', 's.hash', 'n.rule_set_hash')
    .select(['n.evaluation', 's.words'])
    .where('e.order_delivery_id', '=', orderDeliveryId)
    .where('n.actor', '=', 'daemon')
    .where('n.outcome', '=', 'accept')
    .where('n.mode', '=', 'live')
    .where('n.at', '>', now - REVOKED_WITHIN_MS)
    .where('d.tracking_numbers', '=', '[]')
    .executeTakeFirst();
}

/** Whether a rule that is not off applies to accepted deliveries as well. */
export function asksAboutAccepted({ rules }: RuleSet): boolean {
  return rules.some(({ mode, appliesTo }) => mode !== 'off' && appliesTo.includes('accepted'));
}

type Judged = Judgement & { readonly outcome: Outcome };

/**
 * Evaluates an accepted delivery, whose accept rests on the given evaluation, under the rules in
 * force.
 */
function judgeAccepted(
  { rules, mode, now }: RulesContext,
  subject: Subject,
  accept: Evaluation,
): Judged {
  const { ruleSet } = rules;
  const seen = factsInContext(ruleSet, subject.facts);
  const evaluation = evaluate(ruleSet, subject.facts, {
    mode: mode === 'shadow' ? 'shadow' : 'live',
    // A hold rule whose time was up before the accept does not revoke that accept.
    lapsed: new Set(accept.rules.flatMap((rule) => (rule.lapsed ? [rule.hash] : []))),
    seen,
  });
  const outcome = evaluation.live;
  const valuesOf = (ids: readonly string[]) => decidingValues(ruleSet, seen, now, ids);
  const asked = { evaluation, valuesOf, holds: [] };
  return { rules, mode, subject, ...asked, outcome, at: now, dueAt: now + DAY_MS };
}

/** Digest of the live rules that are asked about accepted deliveries. */
function askedHash({ ruleSet: { rules, settings } }: Judged['rules']): string {
  const asked = rules.filter(({ mode, appliesTo }) => {
    return mode === 'live' && settings.mode === 'live' && appliesTo.includes('accepted');
  });
  return sha256(canonicalJson(asked.map(({ hash }) => hash)));
}

/**
 * Digest of what the outcome for an accepted delivery rests on, and of the rules that were asked.
 * The prefix keeps it apart from the digest of a pending delivery. Rules that only watch are left
 * out, so that nothing is revoked for what they say.
 */
function acceptedBasis(judged: Judged): string {
  const { rules, live } = judged.evaluation;
  const acting = { rules: rules.filter(({ mode }) => mode === 'live'), shadow: live };
  const evaluation = { ...judged.evaluation, ...acting };
  return `accepted ${basisOf({ ...judged, evaluation })} ${askedHash(judged.rules)}`;
}

/**
 * How the rules' result for an accepted delivery differs from the one stored with its evaluation.
 * New rules do not revoke earlier accepts: their first result is stored, and only a later change
 * revokes.
 */
async function changeOf(tx: Tx, judged: Judged): Promise<'rules' | 'result' | 'none'> {
  const { rules, subject } = judged;
  const last = await tx
    .selectFrom('evaluation')
    .select(['rules_key', 'basis'])
    .where('order_delivery_id', '=', subject.delivery.order_delivery_id)
    .executeTakeFirst();
  // The key of the rules is empty after a revocation of this delivery was canceled.
  const { rules_key: key = '', basis = '' } = last ?? {};
  const isSame = basis.startsWith('accepted ')
    ? basis.endsWith(` ${askedHash(rules)}`)
    : key.endsWith(rules.ruleSet.hash);
  if (key !== '' && !isSame) return 'rules';
  return basis === acceptedBasis(judged) ? 'none' : 'result';
}

/**
 * Plans whether the accept of a delivery is revoked: if a hold rule that applies to accepted
 * deliveries matches.
 */
export async function planAccepted(
  tx: Tx,
  context: DecisionContext,
  subject: Subject,
  { endRevoked }: Pick<ToldOf, 'endRevoked'>,
): Promise<Planned> {
  const { rules, mode, now, trigger } = context;
  const { ruleSet } = rules;
  const { order_delivery_id: id } = subject.delivery;
  const accept = await ourAccept(tx, id, now);
  if (accept === undefined) {
    return { isChange: true, effects: [...endRevoked, (own) => forgetAccepted(own, id)] };
  }
  const judgement = judgeAccepted(context, subject, storedEvaluation(accept));
  const { outcome } = judgement;
  const change = await changeOf(tx, judgement);
  const isAsked = asksAboutAccepted(ruleSet);
  // A revocation that may not be sent now is not stored as the result, so the next look finds it
  // again.
  const isNews =
    change === 'none' ? endRevoked.length > 0 : mode === 'live' || outcome.code !== HELD;
  const isChange = isAsked && isNews;
  const isHeld = outcome.code === HELD && !hasManualDecision(subject);
  const effects = isHeld ? [] : endRevoked;
  if (!isHeld || change === 'rules') {
    const keep: Effect = (own) =>
      rememberEvaluation(own, judgement, { basis: acceptedBasis(judgement) });
    return { isChange, effects: [...effects, keep] };
  }
  const waits = change === 'none' || mode !== 'live';
  if (waits || (await waitsForChanges(tx, ruleSet, subject))) return { isChange, effects };
  const { count } = await revocationsWithin(tx, id, DAY_MS, now);
  const { max_per_day: max } = ruleSet.settings.safeguards.revocation;
  if (count >= max) {
    const detail = { times: count, reason: outcome.reason };
    return { isChange, effects: [(own) => reportRevokedTooOften(own, id, detail, now)] };
  }
  return { isChange, effects: endRevoked, verdict: { judgement, trigger, push: 'pending' } };
}
