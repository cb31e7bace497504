/**
 * Taking back: a live hold rule with `applies_to: [pending, accepted]` may send back to pending
 * what the rules of this daemon accepted, as long as it has not shipped, and only so often a day. A
 * delivery that was taken back is not accepted again at once: whatever made the rules waver must
 * be over for a while. What cannot be evaluated takes nothing back.
 */
import { sql } from 'kysely';
import { parseDuration } from '../../lib/units.ts';
import { enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import type { Outcome } from '../../rules/combine.ts';
import { type Evaluation, evaluate } from '../../rules/evaluate.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import type { Decided, DecisionContext } from '../decide.ts';
import type { Subject } from '../facts.ts';
import { resolveReturned, tellReturned } from '../incidents.ts';
import { recordDecision, rememberEvaluation } from '../record.ts';
import { isReviewed } from '../review/touched.ts';
import { nextLook } from '../watch/next-look.ts';
import { readsOf } from '../watch/reads.ts';
import { waitsForChanges } from './changes.ts';

const DAY_MS = 86_400_000;
/** What has no tracking number after this long has left without one. */
const TAKEN_BACK_WITHIN_MS = 14 * DAY_MS;
const COOLDOWN_MS_DEFAULT = 3_600_000;

interface Returns {
  readonly count: number;
  readonly lastAt: number | null;
}

/**
 * How often the rules took this delivery back in the last while, and when last. What they took back
 * in a time to come was before the clock was set back: to wait for that would have no end.
 */
async function returnsWithin(
  tx: Tx,
  orderDeliveryId: number,
  ms: number,
  now: number,
): Promise<Returns> {
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
async function forgetLook(tx: Tx, orderDeliveryId: number, now: number): Promise<void> {
  await resolveReturned(tx, [orderDeliveryId], now);
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
    .where('n.at', '>', now - TAKEN_BACK_WITHIN_MS)
    .where('d.tracking_numbers', '=', '[]')
    .executeTakeFirst();
  return row && JSON.parse(row.evaluation);
}

/** An accepted delivery under the rules that also ask about such. */
export async function reconsiderAccepted(
  tx: Tx,
  context: DecisionContext,
  subject: Subject,
  onPush: () => void,
): Promise<Decided | undefined> {
  const { rules, mode, now, trigger, tickMs } = context;
  const { ruleSet } = rules;
  const { order_delivery_id: orderDeliveryId, order_id: orderId } = subject.delivery;
  const accept = await ourAccept(tx, orderDeliveryId, now);
  if (accept === undefined) {
    await forgetLook(tx, orderDeliveryId, now);
    return undefined;
  }
  const evaluation = evaluate(ruleSet, subject.facts, {
    mode: mode === 'shadow' ? 'shadow' : 'live',
    // A hold that had lasted its time, and then spoke for the accept, does not take it back.
    lapsed: new Set(accept.rules.flatMap((rule) => (rule.lapsed ? [rule.hash] : []))),
  });
  const outcome = evaluation.live;
  // What may not be taken back now may be soon.
  const again = outcome.code === 'hold_rule' && mode !== 'live' ? now + tickMs : null;
  const look = nextLook(ruleSet, readsOf(ruleSet), tickMs, again, now);
  const judgement = { rules, mode, subject, evaluation, outcome, at: now, ...look };
  await rememberEvaluation(tx, judgement, undefined);
  if (outcome.code !== 'hold_rule' || (await isReviewed(tx, subject))) {
    await resolveReturned(tx, [orderDeliveryId], now);
    return undefined;
  }
  if (mode !== 'live' || (await waitsForChanges(tx, ruleSet, subject))) return undefined;
  const { count } = await returnsWithin(tx, orderDeliveryId, DAY_MS, now);
  const { max_per_day: max } = ruleSet.settings.rails.returns;
  if (count >= max) {
    await tellReturned(tx, orderDeliveryId, { times: count, reason: outcome.reason }, now);
    return undefined;
  }
  await resolveReturned(tx, [orderDeliveryId], now);
  const decisionId = await recordDecision(tx, judgement, { actor: 'daemon', trigger });
  const change = { orderId, orderDeliveryId, from: 'accepted', to: 'pending' } as const;
  await enqueueDeliveryStatus(tx, { ...change, decisionId }, now);
  onPush();
  return { decisionId, orderDeliveryId, outcome };
}

/** Until when a delivery that was taken back must not be accepted; undefined when it may be. */
async function coolsUntil(
  tx: Tx,
  orderDeliveryId: number,
  { rails }: RuleSet['settings'],
  now: number,
): Promise<number | undefined> {
  const cooldown = parseDuration(rails.returns.cooldown) ?? COOLDOWN_MS_DEFAULT;
  const { lastAt } = await returnsWithin(tx, orderDeliveryId, cooldown, now);
  return lastAt === null ? undefined : lastAt + cooldown;
}

/** The outcome of a pending delivery, which waits a while after it was taken back. */
export async function outcomeAfterReturn(
  tx: Tx,
  orderDeliveryId: number,
  outcome: Outcome,
  settings: RuleSet['settings'],
  now: number,
): Promise<{ readonly outcome: Outcome; readonly coolsUntil: number | undefined }> {
  if (outcome.kind !== 'accept') return { outcome, coolsUntil: undefined };
  const until = await coolsUntil(tx, orderDeliveryId, settings, now);
  if (until === undefined) return { outcome, coolsUntil: undefined };
  const reason = `taken back before; not accepted again until ${new Date(until).toISOString()}`;
  const waiting = { ...outcome, kind: 'hold', code: 'hold_rule', rules: [], reason } as const;
  return { outcome: waiting, coolsUntil: until };
}
