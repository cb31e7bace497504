/**
 * Which reject rules may act: those that a person armed in exactly their present text (with the
 * lists and tables they read), whose arming has not run out, while the breaker is whole.
 */
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { readBreaker } from './breaker.ts';

/** Why an arming ended that nobody ended. */
const ANOTHER_TEXT = 'the rule, or a list or table that it reads, has another text';

/**
 * Ends the arming of rules that have another text in this set, or are not in it; gives those that
 * were armed until now. A text that comes back is armed by a person or not at all.
 */
export async function disarmChanged(
  tx: Tx,
  { rules }: RuleSet,
  at: number,
): Promise<readonly string[]> {
  const hashes = new Map(rules.map(({ id, hash }) => [id, hash]));
  const rows = await tx
    .selectFrom('arming')
    .select(['arming_id', 'rule_id', 'rule_hash', 'expires_at'])
    .where('ended_at', 'is', null)
    .execute();
  const changed = rows.filter((row) => hashes.get(row.rule_id) !== row.rule_hash);
  if (changed.length === 0) return [];
  const ids = changed.map((row) => row.arming_id);
  await tx
    .updateTable('arming')
    .set({ ended_at: at, ended_by: 'daemon', end_reason: ANOTHER_TEXT })
    .where('arming_id', 'in', ids)
    .execute();
  return changed.filter((row) => row.expires_at > at).map((row) => row.rule_id);
}

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
