/**
 * Forgets an order in the decisions: the facts are deleted, and the texts that may contain values
 * of facts are blanked. The outcome, the actor and the rules of each decision stay, and so does the
 * proof: the hash chain contains digests of the texts (journal.ts).
 */
import { sql } from 'kysely';
import { tryParseJson } from '../lib/json.ts';
import { deleteByKeys, inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { forgetPeople } from '../store/tables/people.ts';
import {
  blankedOutcome,
  digestsOf,
  FORGOTTEN_TEXT,
  forgottenEvaluation,
  keptDigests,
  unpackEvaluation,
} from './journal.ts';

/** Describes rejects of the order that wait, each in a sentence; empty: none waits. */
export async function waitingRejects(db: Db | Tx, orderId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('reject_entry')
    .select('order_delivery_id')
    .where('order_id', '=', orderId)
    .where('ended_at', 'is', null)
    .execute();
  return rows.map((row) => `a reject of delivery ${row.order_delivery_id} waits`);
}

/** Removes these deliveries from kept backtest reports, which show some rejects in full. */
async function forgetReports(tx: Tx, deliveryIds: readonly number[]): Promise<void> {
  const theirs = sql`select value from json_each(${JSON.stringify(deliveryIds)})`;
  const own = sql`r.value->>'$.orderDeliveryId' in (${theirs})`;
  await sql`update backtest_report set report = json_set(report, '$.rejects', (
      select json_group_array(json(r.value)) from json_each(report, '$.rejects') r
      where not ${own}))
    where exists (select 1 from json_each(report, '$.rejects') r where ${own})`.execute(tx);
}

/** Forgets the order's decisions and gives how many there were. */
export async function forgetDecisions(
  tx: Tx,
  orderId: number,
  deliveryIds: readonly number[],
): Promise<number> {
  const rows = await tx
    .selectFrom('decision')
    .leftJoin('rule_set', 'rule_set.hash', 'decision.rule_set_hash')
    .select(['decision_id', 'facts_digest', 'actor', 'reason', 'shadow', 'evaluation', 'words'])
    .where((eb) => eb.or([eb('order_id', '=', orderId), inKeys('order_delivery_id', deliveryIds)]))
    .execute();
  for (const { decision_id, actor, reason, shadow, words, ...row } of rows) {
    const evaluation = unpackEvaluation({ evaluation: row.evaluation, words });
    if (keptDigests(evaluation)) continue;
    const digests = digestsOf({ reason, shadow, evaluation });
    await tx
      .updateTable('decision')
      .set({
        // A person's reason stays, because the audit has it as well.
        reason: actor === 'daemon' ? FORGOTTEN_TEXT : reason,
        shadow: JSON.stringify(blankedOutcome(tryParseJson(shadow))),
        evaluation: forgottenEvaluation(digests, evaluation),
      })
      .where('decision_id', '=', decision_id)
      .execute();
  }
  await deleteByKeys(
    tx,
    'fact_snapshot',
    'digest',
    rows.map((row) => row.facts_digest),
  );
  await forgetPeople(tx, 'reject_entry', sql`order_id = ${orderId}`);
  await forgetReports(tx, deliveryIds);
  await deleteByKeys(tx, 'delivery_note', 'order_delivery_id', deliveryIds);
  await deleteByKeys(tx, 'delivery_assignment', 'order_delivery_id', deliveryIds);
  return rows.length;
}
