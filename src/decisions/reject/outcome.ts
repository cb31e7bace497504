/**
 * Adapts an outcome to the queue of rejects: a reject begins its grace period instead of being
 * sent, a reject that a safeguard stopped is held, and one that the rules no longer want is
 * withdrawn. Called in the transaction of every pending delivery that is decided.
 */
import { sql } from 'kysely';
import { barcodeKeyIn } from '../../mirror/catalog/spelt.ts';
import type { Outcome } from '../../rules/evaluate.ts';
import type { Rule } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import type { Candidate, Judgement, Precaution } from '../judgement.ts';
import { beginEntry, endEntry, latestEntry, type RejectEntry } from './queue.ts';

/**
 * The hold that replaces an outcome to which a safeguard objects; its reason begins with the
 * safeguard's name.
 */
export function safeguardHold(
  ruleId: string | undefined,
  { safeguard, detail }: { readonly safeguard: string; readonly detail: string },
): Outcome {
  const rules = ruleId === undefined ? [] : [ruleId];
  return {
    kind: 'hold',
    code: 'safeguard',
    rules,
    reason: `safeguard ${safeguard}: ${detail}`,
    missing: [],
  };
}

/** Whether a person has decided since the reject, and then left the delivery to the rules again. */
async function hasPersonDecidedSince(tx: Tx, entry: RejectEntry): Promise<boolean> {
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
 * Holds a delivery because of an earlier objection of a safeguard. A delivery whose order the
 * service no longer has is held whatever the rules say. A delivery whose reject was stopped stays
 * held until a person has decided or it has changed; one whose reject is only postponed is held
 * while the rules want the reject.
 */
export async function holdOfSafeguard(
  tx: Tx,
  { subject: { delivery, past, orderIsGone }, outcome }: Candidate,
): Promise<Precaution | undefined> {
  if (orderIsGone) {
    const detail = `the service no longer has order ${delivery.order_id}`;
    return { outcome: safeguardHold(undefined, { safeguard: 'order', detail }) };
  }
  // A rule that may not reject holds for the safeguard that stopped its reject, while that lasts.
  if (outcome.kind === 'hold' && outcome.code !== 'not_armed') return undefined;
  if (!past.wasQueued) return undefined;
  const entry = await latestEntry(tx, delivery.order_delivery_id);
  if (entry === undefined || entry.safeguard === null) return undefined;
  const { state, safeguard, detail, ruleId } = entry;
  const isPostponed = state === 'waiting' && outcome.kind === 'reject';
  if (!isPostponed && state !== 'held' && state !== 'failed') return undefined;
  if (entry.deliveryHash !== delivery.content_hash) return undefined;
  if (await hasPersonDecidedSince(tx, entry)) return undefined;
  return { outcome: safeguardHold(ruleId, { safeguard, detail: detail ?? '' }) };
}

/**
 * Finds the reject by a rule after which this delivery was packed with pieces of the rejected one,
 * unless a person has decided about this delivery. Lines that are not known may be the same.
 */
async function rejectBefore(
  tx: Tx,
  { order_delivery_id: id, order_id: orderId }: Candidate['subject']['delivery'],
) {
  // CROSS JOIN keeps SQLite from reading all rejects of the past.
  const { rows } = await sql<{ readonly number: string; readonly ruleId: string }>`
    select coalesce(d.delivery_no, d.order_delivery_id) "number", r.rule_id "ruleId"
    from delivery d cross join reject_entry r on r.order_delivery_id = d.order_delivery_id
    where d.order_id = ${orderId} and d.order_delivery_id <> ${id}
      and r.state in ('pushing', 'rejected')
      and r.intent_at <= (select first_seen_at from delivery where order_delivery_id = ${id})
      and (not exists (select 1 from delivery_line l
          where l.order_delivery_id = d.order_delivery_id and l.barcode is not null)
        or exists (select 1 from delivery_line l
          where l.order_delivery_id = d.order_delivery_id and ${barcodeKeyIn('l.barcode')} in (
            select ${barcodeKeyIn('own.barcode')} from delivery_line own
            where own.order_delivery_id = ${id})))
      and not exists (select 1 from decision n
        where n.order_delivery_id = ${id} and n.actor like 'person:%')
    order by r.entry_id desc limit 1`.execute(tx);
  return rows[0];
}

/**
 * Holds a delivery that was packed again after an automatic reject, until a person has decided. The
 * order still wants the pieces, so the service packs them again: the rule would reject them again
 * and again, and each would count for the breaker.
 */
export async function holdForRepacked(
  tx: Tx,
  { subject: { delivery, past } }: Candidate,
): Promise<Precaution | undefined> {
  const before = past.wereOthersQueued ? await rejectBefore(tx, delivery) : undefined;
  if (!before) return undefined;
  const detail = `packed again after ${before.ruleId} had ${before.number} rejected`;
  return { outcome: safeguardHold(before.ruleId, { safeguard: 'repacked', detail }) };
}

/**
 * Finds the deciding reject rule with the longest grace period, in whatever order the files are;
 * among equals the first by id.
 */
function rejectingRule({ rules, outcome }: Judgement): Rule | undefined {
  const graceOf = ({ reject }: Rule): number => reject?.graceMs ?? 0;
  const [rule] = rules.ruleSet.rules
    .filter(({ id, action }) => action === 'reject' && outcome.rules.includes(id))
    .sort((a, b) => graceOf(b) - graceOf(a) || (a.id < b.id ? -1 : 1));
  return rule;
}

/**
 * Begins, keeps or ends the wait of a reject; call it once the decision is recorded. Gives the time
 * at which a newly waiting reject will be due.
 */
export async function updateRejectEntry(
  tx: Tx,
  judgement: Judgement,
  decisionId: number,
): Promise<number | undefined> {
  const { mode, subject, outcome, at, evaluation } = judgement;
  if (mode !== 'live') return undefined;
  const { order_delivery_id: id, content_hash: contentHash } = subject.delivery;
  const entry = subject.past.wasQueued ? await latestEntry(tx, id) : undefined;
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
