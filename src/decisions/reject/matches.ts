/**
 * Deliveries on which a reject rule matched while it was not armed. A person must look at some of
 * them before the rule may be armed, and each look is recorded.
 */
import { sql } from 'kysely';
import { RefusedError } from '../../lib/errors.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import { inKeys } from '../../store/bulk.ts';
import { type IdPage, newestFirst } from '../../store/pages.ts';
import type { Db, Tx } from '../../store/store.ts';
import { storedEvaluation } from '../journal.ts';

export interface Match {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly at: number;
  readonly evaluation: Evaluation;
}

/** SQL: whether the rule with this hash matched in decision `d`. */
function isMatch(ruleHash: string) {
  // The first condition follows from the second; with it SQLite finds the few by their index.
  return sql<boolean>`(d.matched <> '[]' and instr(d.matched, ${ruleHash}) > 0)`;
}

/** The latest match of each delivery by exactly this rule text that nobody has looked at yet. */
export async function unseenMatches(db: Db, ruleHash: string, page: IdPage): Promise<Match[]> {
  const latest = db
    .selectFrom('decision as d')
    .leftJoin('rule_set as s', 's.hash', 'd.rule_set_hash')
    .select((eb) => [
      eb.fn.max('d.decision_id').as('decision_id'),
      'd.order_delivery_id',
      'd.at',
      'd.evaluation',
      's.words',
    ])
    .where(isMatch(ruleHash))
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
    // The plus sign keeps SQLite on the matches: by deliveries it would read every decision.
    .groupBy(sql`+d.order_delivery_id`);
  const query = db.selectFrom(latest.as('m')).selectAll();
  const rows = await newestFirst(query, 'm.decision_id', page);
  return rows.map((row) => ({
    decisionId: row.decision_id,
    orderDeliveryId: row.order_delivery_id,
    at: row.at,
    evaluation: storedEvaluation(row),
  }));
}

/** Number of deliveries matched by exactly this rule text that somebody has looked at. */
export async function seenCount(db: Db | Tx, ruleHash: string): Promise<number> {
  const row = await db
    .selectFrom('match_seen')
    .select((eb) => eb.fn.count<number>('order_delivery_id').distinct().as('count'))
    .where('rule_hash', '=', ruleHash)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Matches among these decisions; throws where one is no match of exactly this rule text. */
export async function matchesAmong(db: Db | Tx, ruleHash: string, decisions: readonly number[]) {
  const matches = await db
    .selectFrom('decision as d')
    .select(['decision_id', 'order_delivery_id'])
    .where(inKeys('decision_id', decisions))
    .where(isMatch(ruleHash))
    .execute();
  if (matches.length < decisions.length) {
    throw new RefusedError('rules.no_match', 'not all of these decisions are matches of the rule');
  }
  return matches;
}

/**
 * Records that somebody looked at these decisions; each must be a match of exactly this rule text.
 */
export async function markSeen(
  tx: Tx,
  ruleHash: string,
  decisions: readonly number[],
  who: { readonly actor: string; readonly at: number },
): Promise<number> {
  const matches = await matchesAmong(tx, ruleHash, decisions);
  for (const { decision_id, order_delivery_id } of matches) {
    await tx
      .insertInto('match_seen')
      .values({ rule_hash: ruleHash, decision_id, order_delivery_id, ...who })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  return seenCount(tx, ruleHash);
}
