/**
 * Calls off accepts whose rules do not act any more: who has switched a rule off, or removed it,
 * must see nothing of it leave after that. What was not sent is canceled, what was is not sent
 * again, and all of it is decided anew. Gives how many were canceled.
 */
import { sql } from 'kysely';
import { DELIVERY_STATUS_KIND } from '../../outbox/enqueue.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { cancelUnsent } from '../stop/kill-switch.ts';

export const NOT_ACTING = 'its rules do not act any more';

export async function recallAccepts(
  tx: Tx,
  { rules, settings }: RuleSet,
  at: number,
): Promise<number> {
  const acting = settings.mode === 'live' ? rules.filter(({ mode }) => mode === 'live') : [];
  const ids = JSON.stringify(acting.map(({ id }) => id));
  // Another rule that accepted it as well still speaks for it.
  const which = sql<boolean>`(outbox.kind = ${DELIVERY_STATUS_KIND} and outbox.ended_at is null
    and exists (select 1 from decision n where n.actor = 'daemon' and n.outcome = 'accept'
      and n.decision_id = cast(substr(outbox.cause, length('decision:') + 1) AS integer)
      and not exists (select 1 from json_each(n.rules) r
        where r.value in (select value from json_each(${ids})))))`;
  return cancelUnsent(tx, NOT_ACTING, at, which);
}
