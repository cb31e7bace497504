/**
 * Figures of each rule from the journal of the last 30 days: on how many deliveries it matched,
 * what people then did, and how often one of its conditions alone stood in the way. Reads every
 * evaluation of that time, so it runs in a process of its own (trial.ts).
 */
import { sql } from 'kysely';
import type { RuleResult } from '../../rules/evaluate.ts';
import type { Db } from '../../store/store.ts';
import type { RuleFigures } from '../../surface/reading.ts';
import { storedEvaluation } from '../journal.ts';
import { actualOutcomesOf } from './actual-outcomes.ts';

const DAY_MS = 86_400_000;
const MONTH_DAYS = 30;
const PAGE_ROWS = 500;

interface Tally {
  /** Time of the rule's last match by delivery id, in epoch milliseconds. */
  readonly matched: Map<number, number>;
  readonly near: Set<number>;
}

/** Whether all but one of a rule's several conditions are as the rule wants them. */
function isNear({ clauses }: RuleResult): boolean {
  const missed = clauses.filter(({ value, negated }) => value !== !negated);
  return clauses.length > 1 && missed.length === 1 && missed[0]?.value !== 'unknown';
}

function addTo(tallies: Map<string, Tally>, rule: RuleResult, delivery: number, at: number): void {
  if (rule.value !== true && !isNear(rule) && !tallies.has(rule.id)) return;
  const tally = tallies.get(rule.id) ?? { matched: new Map(), near: new Set() };
  tallies.set(rule.id, tally);
  if (rule.value === true) tally.matched.set(delivery, at);
  else if (isNear(rule)) tally.near.add(delivery);
  else tally.near.delete(delivery);
}

async function* decisionsSince(db: Db, since: number) {
  const { first } = await db
    .selectFrom('decision')
    // By the number itself SQLite would go through all decisions before that time.
    .select(sql<number | null>`min(+decision_id)`.as('first'))
    .where('at', '>=', since)
    .executeTakeFirstOrThrow();
  if (first === null) return;
  let last = first - 1;
  for (;;) {
    const rows = await db
      .selectFrom('decision as d')
      .leftJoin('rule_set as s', 's.hash', 'd.rule_set_hash')
      .select(['d.decision_id', 'd.order_delivery_id', 'd.at', 'd.evaluation', 's.words'])
      .where('d.decision_id', '>', last)
      // The plus keeps SQLite from using the index on the time, so that rows come in the order of
      // their ids and each page goes on where the last one ended.
      .where(sql<number>`+d.at`, '>=', since)
      .where('d.actor', '=', 'daemon')
      .orderBy('d.decision_id')
      .limit(PAGE_ROWS)
      .execute();
    yield* rows;
    last = rows.at(-1)?.decision_id ?? last;
    if (rows.length < PAGE_ROWS) return;
  }
}

function figuresOf(
  id: string,
  { matched, near }: Tally,
  actual: ReadonlyMap<number, string>,
  now: number,
): RuleFigures {
  const since = (days: number) =>
    [...matched.values()].filter((at) => at >= now - days * DAY_MS).length;
  const ended = (end: string) =>
    [...matched.keys()].filter((one) => actual.get(one) === end).length;
  return {
    id,
    day: since(1),
    week: since(7),
    month: matched.size,
    accepted: ended('accepted by people'),
    rejected: ended('rejected by people'),
    nearMisses: near.difference(matched).size,
  };
}

/** Figures of each rule that matched a delivery, or nearly did. */
export async function ruleFigures(db: Db, now: number): Promise<readonly RuleFigures[]> {
  const since = now - MONTH_DAYS * DAY_MS;
  const tallies = new Map<string, Tally>();
  for await (const row of decisionsSince(db, since)) {
    const { order_delivery_id: delivery, at } = row;
    for (const rule of storedEvaluation(row).rules) addTo(tallies, rule, delivery, at);
  }
  const actual = await actualOutcomesOf(db, { since, until: Number.MAX_SAFE_INTEGER });
  return [...tallies].map(([id, tally]) => figuresOf(id, tally, actual, now));
}
