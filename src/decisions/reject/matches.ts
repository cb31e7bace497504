/**
 * Deliveries on which a rule matched while it was not armed. A person must look at some of them
 * before the rule may be armed, and each look is recorded.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';

export interface Match {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly at: number;
  readonly evaluation: Evaluation;
}

/** The latest match of each delivery by exactly this text that nobody has looked at yet. */
export async function unseenMatches(db: Db, ruleHash: string, limit: number): Promise<Match[]> {
  const rows = await db
    .selectFrom('decision as d')
    .select((eb) => [
      eb.fn.max('d.decision_id').as('decision_id'),
      'd.order_delivery_id',
      'd.at',
      'd.evaluation',
    ])
    // A search for the hash as text first: parsing the JSON of every decision is slow.
    .where(sql<boolean>`instr(d.evaluation, ${ruleHash}) > 0`)
    .where(
      sql<boolean>`exists (select 1 from json_each(d.evaluation, '$.rules') as r
        where r.value->>'$.hash' = ${ruleHash} and r.value->>'$.value' = 1)`,
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('match_seen as m')
            .select('m.decision_id')
            .where('m.rule_hash', '=', ruleHash)
            .whereRef('m.order_delivery_id', '=', 'd.order_delivery_id'),
        ),
      ),
    )
    .groupBy('d.order_delivery_id')
    .orderBy('decision_id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    decisionId: row.decision_id,
    orderDeliveryId: row.order_delivery_id,
    at: row.at,
    evaluation: JSON.parse(row.evaluation),
  }));
}

/** How many deliveries somebody has looked at, by exactly this text. */
export async function seenCount(db: Db | Tx, ruleHash: string): Promise<number> {
  const row = await db
    .selectFrom('match_seen')
    .select((eb) => eb.fn.count<number>('order_delivery_id').distinct().as('count'))
    .where('rule_hash', '=', ruleHash)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

const EVALUATION = z.object({
  rules: z.array(z.object({ hash: z.string(), value: z.union([z.boolean(), z.string()]) })),
});

function isMatch(evaluation: string, ruleHash: string): boolean {
  const { rules } = EVALUATION.parse(tryParseJson(evaluation));
  return rules.some(({ hash, value }) => hash === ruleHash && value === true);
}

/** Writes down that somebody looked at these decisions; each must be a match of that text. */
export async function markSeen(
  tx: Tx,
  ruleHash: string,
  decisions: readonly number[],
  who: { readonly actor: string; readonly at: number },
): Promise<number> {
  const rows = await tx
    .selectFrom('decision')
    .select(['decision_id', 'order_delivery_id', 'evaluation'])
    .where(inKeys('decision_id', decisions))
    .execute();
  const matches = rows.filter(({ evaluation }) => isMatch(evaluation, ruleHash));
  if (matches.length < decisions.length) {
    throw new RefusedError('rules.no_match', 'not all of these decisions are matches of the rule');
  }
  for (const { decision_id, order_delivery_id } of matches) {
    await tx
      .insertInto('match_seen')
      .values({ rule_hash: ruleHash, decision_id, order_delivery_id, ...who })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  return seenCount(tx, ruleHash);
}
