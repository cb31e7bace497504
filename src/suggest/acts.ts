/**
 * Acts of people in the journal: decisions of one person that follow each other faster than anybody
 * can look at a delivery, with the same outcome and reason, are one act on many deliveries.
 */
import type { Db } from '../store/store.ts';

export interface Act {
  /** Number of the act; decisions of one act share it. */
  readonly act: number;
  readonly actor: string;
}

/** Milliseconds within which nobody looks at the next delivery and decides about it. */
const LOOK_MS = 1_000;

/** Acts by decision, of all decisions of people in the period. */
export async function readActs(
  db: Db,
  { since, until }: { readonly since: number; readonly until: number },
): Promise<ReadonlyMap<number, Act>> {
  const rows = await db
    .selectFrom('decision')
    .select(['decision_id', 'at', 'actor', 'outcome', 'reason'])
    .where('at', '>=', since)
    .where('at', '<', until)
    .where('actor', '<>', 'daemon')
    .orderBy('at')
    .orderBy('decision_id')
    .execute();
  const acts = new Map<number, Act>();
  const latest = new Map<string, { readonly at: number; readonly act: number }>();
  let count = 0;
  for (const { decision_id: id, at, actor, outcome, reason } of rows) {
    const key = [actor, outcome, reason].join('\n');
    const before = latest.get(key);
    const isSame = before !== undefined && at - before.at <= LOOK_MS;
    const act = isSame ? before.act : count;
    if (!isSame) count += 1;
    latest.set(key, { at, act });
    acts.set(id, { act, actor });
  }
  return acts;
}
