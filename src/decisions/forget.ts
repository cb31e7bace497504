/**
 * Forgetting an order in the decisions: the facts go, and the texts in which values of facts may
 * stand are blanked. What was decided, by whom and by which rules stays, and so does the proof:
 * the chain holds the digests (journal.ts).
 */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { deleteByKeys, inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { digestsOf, forgottenEvaluation, keptDigests } from './journal.ts';

type Open = Readonly<Record<string, unknown>>;

const BLANK = 'forgotten';

function objectOf(value: unknown): Open {
  return isJsonObject(value) ? value : {};
}

/** An outcome without its sentence. */
function blankedOutcome(value: unknown): Open {
  return { ...objectOf(value), reason: BLANK };
}

/** What a rule said, without values of facts. */
function blankedRule(value: unknown): Open {
  const { message, record, clauses, ...rule } = objectOf(value);
  const bare = Array.isArray(clauses) ? clauses : [];
  return {
    ...rule,
    ...(message === undefined ? {} : { message: BLANK }),
    clauses: bare.map((clause) => ({ ...objectOf(clause), operands: [] })),
  };
}

function blankedEvaluation(text: string): Open {
  const { rules, live, shadow, ...rest } = objectOf(tryParseJson(text));
  return {
    ...rest,
    rules: Array.isArray(rules) ? rules.map(blankedRule) : [],
    live: blankedOutcome(live),
    shadow: blankedOutcome(shadow),
  };
}

/** Rejects that wait, in words; empty: nothing is under way. */
export async function waitingRejects(db: Db | Tx, orderId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('reject_entry')
    .select('order_delivery_id')
    .where('order_id', '=', orderId)
    .where('ended_at', 'is', null)
    .execute();
  return rows.map((row) => `a reject of delivery ${row.order_delivery_id} waits`);
}

/** A kept backtest shows some rejects in full. */
async function forgetReports(tx: Tx, deliveryIds: readonly number[]): Promise<void> {
  const theirs = sql`select value from json_each(${JSON.stringify(deliveryIds)})`;
  const own = sql`r.value->>'$.orderDeliveryId' in (${theirs})`;
  await sql`update backtest_report set report = json_set(report, '$.rejects', (
      select json_group_array(json(r.value)) from json_each(report, '$.rejects') r
      where not ${own}))
    where exists (select 1 from json_each(report, '$.rejects') r where ${own})`.execute(tx);
}

/** Gives how many decisions there were. */
export async function forgetDecisions(
  tx: Tx,
  orderId: number,
  deliveryIds: readonly number[],
): Promise<number> {
  const rows = await tx
    .selectFrom('decision')
    .select(['decision_id', 'facts_digest', 'actor', 'reason', 'shadow', 'evaluation'])
    .where((eb) => eb.or([eb('order_id', '=', orderId), inKeys('order_delivery_id', deliveryIds)]))
    .execute();
  for (const { decision_id, actor, reason, shadow, evaluation } of rows) {
    if (keptDigests(evaluation)) continue;
    const digests = digestsOf({ reason, shadow, evaluation });
    await tx
      .updateTable('decision')
      .set({
        // The reason of a person is in the audit as well.
        reason: actor === 'daemon' ? BLANK : reason,
        shadow: JSON.stringify(blankedOutcome(tryParseJson(shadow))),
        evaluation: forgottenEvaluation(digests, blankedEvaluation(evaluation)),
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
  await tx
    .updateTable('reject_entry')
    .set({ detail: null })
    .where('order_id', '=', orderId)
    .execute();
  await forgetReports(tx, deliveryIds);
  return rows.length;
}
