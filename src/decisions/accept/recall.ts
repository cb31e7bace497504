/**
 * Calls off accepts whose rules do not act any more: who has switched a rule off, or removed it,
 * must see nothing of it leave after that. What was not sent is canceled, what was is not sent
 * again, and all of it is decided anew. Gives how many were canceled.
 */
import { sql } from 'kysely';
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { cancelUnsent, pushesOfRules } from '../unsent.ts';

export const NOT_ACTING = 'its rules do not act any more';

export async function recallAccepts(
  tx: Tx,
  { rules, settings }: RuleSet,
  at: number,
): Promise<number> {
  const acting = settings.mode === 'live' ? rules.filter(({ mode }) => mode === 'live') : [];
  const ids = JSON.stringify(acting.map(({ id }) => id));
  // Another rule that accepted it as well still speaks for it.
  const which = sql<boolean>`n.outcome = 'accept' and not exists (
    select 1 from json_each(n.rules) r where r.value in (select value from json_each(${ids})))`;
  return cancelUnsent(tx, NOT_ACTING, at, pushesOfRules(which));
}
