/**
 * Which reject rules may act: those that a person armed in exactly their present text (with the
 * lists and tables they read), whose arming has not run out, while the breaker is whole.
 */
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { readBreaker } from './breaker.ts';

/** Armings that have neither ended nor run out, and whether this set has exactly their text. */
export async function openArmings(
  tx: Tx,
  { rules }: RuleSet,
  now: number,
): Promise<readonly { readonly ruleId: string; readonly isSame: boolean }[]> {
  const hashes = new Map(rules.map(({ id, hash }) => [id, hash]));
  const rows = await tx
    .selectFrom('arming')
    .select(['rule_id', 'rule_hash'])
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .execute();
  return rows.map(({ rule_id: ruleId, rule_hash: hash }) => {
    return { ruleId, isSame: hashes.get(ruleId) === hash };
  });
}

/** Rules whose arming has run out, and that nobody has written down as disarmed yet. */
export async function runOutRuleIds(db: Db | Tx, until: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('arming')
    .select('rule_id')
    .where('ended_at', 'is', null)
    .where('expires_at', '<=', until)
    .execute();
  return rows.map(({ rule_id: ruleId }) => ruleId);
}

/** Ids of the reject rules of this set that are armed now. A copy under another id is not. */
export async function armedRuleIds(
  tx: Tx,
  ruleSet: RuleSet,
  now: number,
): Promise<ReadonlySet<string>> {
  const armed = (await openArmings(tx, ruleSet, now)).filter(({ isSame }) => isSame);
  if (armed.length === 0 || (await readBreaker(tx)) !== undefined) return new Set();
  return new Set(armed.map(({ ruleId }) => ruleId));
}
