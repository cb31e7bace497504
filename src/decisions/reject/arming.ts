/**
 * Reject rules that may act: a person armed exactly their present text (with the lists and tables
 * they read), the arming has not expired, and the breaker has not tripped.
 */
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { keptForAll } from '../../store/transaction/together.ts';
import { readBreaker } from './breaker.ts';

interface OpenArming {
  readonly ruleId: string;
  /** Whether the rule set still has exactly the text that was armed. */
  readonly isSame: boolean;
  /** Time at which the arming ends by itself, in epoch milliseconds. */
  readonly expiresAt: number;
}

const openRows = keptForAll((db) =>
  db
    .selectFrom('arming')
    .select(['rule_id', 'rule_hash', 'expires_at'])
    .where('ended_at', 'is', null),
);

/** Armings that nobody has ended yet; some of them may have expired. */
export async function openArmings(tx: Db | Tx, { rules }: RuleSet): Promise<readonly OpenArming[]> {
  const hashes = new Map(rules.map(({ id, hash }) => [id, hash]));
  const rows = await openRows(tx);
  return rows.map(({ rule_id: ruleId, rule_hash: hash, expires_at: expiresAt }) => {
    return { ruleId, isSame: hashes.get(ruleId) === hash, expiresAt };
  });
}

const DAY_MS = 86_400_000;
/** Longest time before the end of an arming in which people are warned; at most half of it. */
const WARN_MS_MAX = 7 * DAY_MS;

/** Armings that end soon, so that people can arm their rules again before these only hold. */
export async function endingArmings(db: Db | Tx, now: number) {
  const rows = await db
    .selectFrom('arming')
    .select(['rule_id', 'at', 'expires_at'])
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .execute();
  const soon = rows.filter(({ at, expires_at: end }) => {
    return end - now <= Math.min(WARN_MS_MAX, (end - at) / 2);
  });
  return soon.map(({ rule_id: ruleId, expires_at: expiresAt }) => ({ ruleId, expiresAt }));
}

/**
 * Ids of the reject rules of this set that are armed now; a copy of a rule under another id is not.
 */
export async function armedRuleIds(
  tx: Db | Tx,
  ruleSet: RuleSet,
  now: number,
): Promise<ReadonlySet<string>> {
  if (ruleSet.rules.every(({ action }) => action !== 'reject')) return new Set();
  const open = await openArmings(tx, ruleSet);
  const armed = open.filter(({ isSame, expiresAt }) => isSame && expiresAt > now);
  if (armed.length === 0 || (await readBreaker(tx)) !== undefined) return new Set();
  return new Set(armed.map(({ ruleId }) => ruleId));
}
