/**
 * Holds what the service packed again after a rule had its delivery rejected. The order still wants
 * the pieces, so the service packs them again: the rule would reject them again and again, and each
 * would count for the breaker.
 */
import { sql } from 'kysely';
import type { Tx } from '../../store/store.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { safeguardHold } from './outcome.ts';

/**
 * Finds the reject by a rule after which this delivery was packed with pieces of the rejected one,
 * unless a person has decided about this delivery. Lines that are not known may be the same.
 */
async function rejectBefore(tx: Tx, { order_delivery_id: id, order_id: orderId }: Packed) {
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
          join delivery_line own on own.barcode = l.barcode
          where l.order_delivery_id = d.order_delivery_id and own.order_delivery_id = ${id}))
      and not exists (select 1 from decision n
        where n.order_delivery_id = ${id} and n.actor like 'person:%')
    order by r.entry_id desc limit 1`.execute(tx);
  return rows[0];
}

type Packed = Candidate['subject']['delivery'];

/** Holds a delivery that was packed again after an automatic reject, until a person has decided. */
export async function holdForRepacked(
  tx: Tx,
  { subject: { delivery } }: Candidate,
): Promise<Precaution | undefined> {
  const before = await rejectBefore(tx, delivery);
  if (!before) return undefined;
  const detail = `packed again after ${before.ruleId} had ${before.number} rejected`;
  return { outcome: safeguardHold(before.ruleId, { safeguard: 'repacked', detail }) };
}
