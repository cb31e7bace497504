/**
 * Which reject rules may act: those that a person armed in exactly their present text (with the
 * lists and tables they read), whose arming has not run out, while the breaker is whole.
 */
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { readBreaker } from './breaker.ts';

/** Ids of the reject rules of this set that are armed now. A copy under another id is not. */
export async function armedRuleIds(
  tx: Tx,
  ruleSet: RuleSet,
  now: number,
): Promise<ReadonlySet<string>> {
  const hashes = new Map(ruleSet.rules.map(({ id, hash }) => [id, hash]));
  const rows = await tx
    .selectFrom('arming')
    .select(['rule_id', 'rule_hash'])
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .execute();
  const armed = rows.filter((row) => hashes.get(row.rule_id) === row.rule_hash);
  if (armed.length === 0 || (await readBreaker(tx)) !== undefined) return new Set();
  return new Set(armed.map((row) => row.rule_id));
}
