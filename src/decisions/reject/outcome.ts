/**
 * What becomes of the rules' word where rejects are concerned: a reject begins its grace instead of
 * being sent, one that a rail stopped is held for people, and one that the rules no longer want is
 * withdrawn. Called for every pending delivery that is decided, in that transaction.
 */
import type { Outcome } from '../../rules/combine.ts';
import type { Rule } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import type { Subject } from '../facts.ts';
import type { Judgement } from '../judgement.ts';
import { beginEntry, endEntry, latestEntry, type RejectEntry } from './queue.ts';

/** The hold that a rail makes of an outcome; the rail's name is the reason's first word. */
export function railHold(
  ruleId: string | undefined,
  { rail, detail }: { readonly rail: string; readonly detail: string },
): Outcome {
  const rules = ruleId === undefined ? [] : [ruleId];
  return { kind: 'hold', code: 'rail', rules, reason: `rail ${rail}: ${detail}`, missing: [] };
}

/** A person has decided since the reject was meant, and left it to the rules again. */
async function hasSpoken(tx: Tx, entry: RejectEntry): Promise<boolean> {
  const row = await tx
    .selectFrom('decision')
    .select('decision_id')
    .where('order_delivery_id', '=', entry.orderDeliveryId)
    .where('decision_id', '>', entry.decisionId)
    .where('actor', 'like', 'person:%')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * The outcome behind what rails have decided already, as far as is settled (see `settle.ts`). What
 * the service has no order of is nobody's to decide, whatever the rules say. A delivery that a rail
 * stopped is not accepted behind its back: it stays held until a person has spoken or it has
 * changed. One that a rail only puts off is held while the rules go on to want the reject.
 */
export async function outcomeBehindRails(
  tx: Tx,
  { delivery, orderIsGone }: Pick<Subject, 'delivery' | 'orderIsGone'>,
  outcome: Outcome,
): Promise<Outcome> {
  if (orderIsGone) {
    const detail = `the service no longer has order ${delivery.order_id}`;
    return railHold(undefined, { rail: 'order', detail });
  }
  if (outcome.kind === 'hold') return outcome;
  const entry = await latestEntry(tx, delivery.order_delivery_id);
  if (entry === undefined || entry.rail === null) return outcome;
  const { state, rail, detail, ruleId } = entry;
  const stands = async () =>
    entry.deliveryHash === delivery.content_hash && !(await hasSpoken(tx, entry));
  const held = railHold(ruleId, { rail, detail: detail ?? '' });
  // By the latest entry, as the table in docs/internals/mechanisms.md has it.
  switch (state) {
    case 'rejected':
    case 'stopped':
    case 'withdrawn':
    case 'pushing':
      return outcome;
    case 'waiting':
      return outcome.kind === 'reject' && (await stands()) ? held : outcome;
    case 'held':
    case 'failed':
      return (await stands()) ? held : outcome;
  }
}

/**
 * Of the deciding reject rules the one that must stand till the end: that with the longest grace,
 * whatever the order of the files; of equal ones the first by its id.
 */
function rejectingRule({ rules, outcome }: Judgement): Rule | undefined {
  const graceOf = ({ reject }: Rule): number => reject?.graceMs ?? 0;
  const [rule] = rules.ruleSet.rules
    .filter(({ id, action }) => action === 'reject' && outcome.rules.includes(id))
    .sort((a, b) => graceOf(b) - graceOf(a) || (a.id < b.id ? -1 : 1));
  return rule;
}

/**
 * Begins, keeps or ends the wait of a reject; call it once the decision is recorded. Gives when a
 * reject that begins to wait will be due.
 */
export async function followReject(
  tx: Tx,
  judgement: Judgement,
  decisionId: number,
): Promise<number | undefined> {
  const { mode, subject, outcome, at, evaluation } = judgement;
  if (mode !== 'live') return undefined;
  const { order_delivery_id: id, content_hash: contentHash } = subject.delivery;
  const entry = await latestEntry(tx, id);
  const waits = entry?.state === 'waiting';
  if (outcome.kind !== 'reject') {
    if (waits && evaluation.live.kind !== 'reject') {
      const detail = `the rules now say ${outcome.kind}: ${outcome.reason}`;
      await endEntry(tx, id, { state: 'withdrawn', by: 'daemon', detail, at });
    }
    return undefined;
  }
  const rule = rejectingRule(judgement);
  if (!rule) return undefined;
  if (waits && entry.ruleHash === rule.hash && entry.deliveryHash === contentHash) return undefined;
  const detail = 'the delivery or the rule has changed, a new grace begins';
  await endEntry(tx, id, { state: 'withdrawn', by: 'daemon', detail, at });
  return beginEntry(tx, { subject, rule, decisionId, at });
}
