/**
 * Acts of people in the journal: decisions of one person that follow each other faster than anybody
 * can look at a delivery, with the same outcome and reason, are one act on many deliveries.
 */
import type { Db } from '../store/store.ts';

export interface Act {
  /** Number of the act; decisions of one act share it. */
  readonly act: number;
  /** Name of the person, `external` or that of a token, see {@link isPerson}. */
  readonly actor: string;
}

/** Actor of what was decided in the service, by nobody knows how many people. */
const IN_SERVICE = 'external';
const TOKEN = 'token:';

/** Name that a person has at the console and at the command line alike. */
function nameOf(actor: string): string {
  return actor.replace(/^person:(?:cli:)?/, '');
}

/** Whether it is known that a person decided: not a program, and not somebody in the service. */
export function isPerson(actor: string | undefined): boolean {
  return actor !== undefined && actor !== IN_SERVICE && !actor.startsWith(TOKEN);
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
    acts.set(id, { act, actor: nameOf(actor) });
  }
  return acts;
}
