/** Evidence for and against a proposal: everything that people decided where it applies. */
import type { Period } from '../decisions/simulation/history.ts';
import { decimalOf, sumOfUnits } from '../lib/money.ts';
import type { Evidence, Stake } from '../surface/suggestion.ts';
import { isPerson } from './acts.ts';
import { type Examples, VOTE } from './examples.ts';
import { isAsked, type Question } from './question.ts';
import type { Statistics } from './statistics.ts';

const DAY_MS = 86_400_000;

/** Adds up deliveries and their values. */
export function createStake({ amount, currency, currencies }: Examples) {
  const amounts = new Map<string, number | null>();
  let deliveries = 0;
  return {
    add(row: number): void {
      deliveries += 1;
      const value = amount[row] ?? Number.NaN;
      if (Number.isNaN(value)) return;
      const unit = currencies[currency[row] ?? -1] ?? '?';
      const before = amounts.get(unit) ?? (amounts.has(unit) ? null : 0);
      amounts.set(unit, sumOfUnits([before, value]));
    },
    done: (): Stake => ({
      deliveries,
      amounts: Object.fromEntries(
        [...amounts].sort().map(([unit, sum]) => [unit, sum === null ? null : decimalOf(sum)]),
      ),
    }),
  };
}

/** Rows on which the proposal's conditions are true, and that the question is about. */
export function askedRows(
  examples: Examples,
  question: Question,
  members: Uint8Array,
  { since, until }: Period,
): readonly number[] {
  const rows: number[] = [];
  for (let row = 0; row < examples.rows; row += 1) {
    const at = examples.votedAt[row] ?? 0;
    if (members[row] !== 1 || at < since || at >= until) continue;
    if (isAsked(examples, question, row)) rows.push(row);
  }
  return rows;
}

export function evidenceOf(
  examples: Examples,
  { wanted }: Question,
  rows: readonly number[],
  part: Period,
): Evidence {
  const [agreed, disagreed, undecided] = [1, 2, 3].map(() => createStake(examples));
  const acts = new Set<number>();
  const otherwise = new Set<number>();
  for (const row of rows) {
    const vote = examples.vote[row];
    if (vote === VOTE.UNDECIDED) undecided?.add(row);
    else {
      const act = examples.act[row] ?? -1;
      acts.add(act);
      if (vote !== wanted) otherwise.add(act);
      (vote === wanted ? agreed : disagreed)?.add(row);
    }
  }
  const nothing: Stake = { deliveries: 0, amounts: {} };
  return {
    ...part,
    agreed: agreed?.done() ?? nothing,
    disagreed: disagreed?.done() ?? nothing,
    undecided: undecided?.done() ?? nothing,
    acts: acts.size,
    otherwise: otherwise.size,
  };
}

/** Days, people and customers on which a proposal rests. */
export interface Ground {
  readonly days: number;
  readonly people: number;
  /** Share of the acts that the person with most of them did. */
  readonly ofOnePerson: number;
  readonly customers: number;
  /** Share of the deliveries that the customer with most of them got. */
  readonly ofOneCustomer: number;
}

function largestShare(counts: ReadonlyMap<number, number>): number {
  let [most, all] = [0, 0];
  for (const count of counts.values()) {
    most = Math.max(most, count);
    all += count;
  }
  return all === 0 ? 1 : most / all;
}

export function groundOf(
  examples: Examples,
  { wanted }: Question,
  rows: readonly number[],
): Ground {
  const days = new Set<number>();
  const people = new Map<number, number>();
  const customers = new Map<number, number>();
  const acts = new Set<number>();
  const count = (counts: Map<number, number>, key: number): void => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  for (const row of rows) {
    if (examples.vote[row] !== wanted) continue;
    days.add(Math.floor((examples.votedAt[row] ?? 0) / DAY_MS));
    count(customers, examples.customer[row] ?? -1);
    const act = examples.act[row] ?? -1;
    if (acts.has(act)) continue;
    acts.add(act);
    const person = examples.person[row] ?? -1;
    if (isPerson(examples.people[person])) count(people, person);
  }
  return {
    days: days.size,
    people: people.size,
    ofOnePerson: largestShare(people),
    customers: customers.size,
    ofOneCustomer: largestShare(customers),
  };
}

interface Hits {
  hits: number;
  all: number;
}

/** Counts acts that agree among all acts and all that was left alone. */
function hitsOf(examples: Examples, { wanted }: Question, rows: readonly number[]): Hits {
  const acts = new Set<number>();
  const counts: Hits = { hits: 0, all: 0 };
  for (const row of rows) {
    const act = examples.act[row] ?? -1;
    if (act >= 0 && acts.has(act)) continue;
    acts.add(act);
    counts.all += 1;
    if (examples.vote[row] === wanted) counts.hits += 1;
  }
  return counts;
}

/**
 * Probability that whole days are so different by chance. Where the time tells what is decided, the
 * mood of a few days would else be taken for hundreds of independent decisions.
 */
export function chanceOfDays(
  examples: Examples,
  question: Question,
  rows: readonly number[],
  part: Period,
  statistics: Statistics,
): number {
  const all = new Uint8Array(examples.rows).fill(1);
  const inside = new Set(rows);
  const days = new Map<string, { agreed: number; all: number }>();
  for (const row of askedRows(examples, question, all, part)) {
    const day = Math.floor((examples.at[row] ?? 0) / DAY_MS);
    const key = `${inside.has(row)} ${day}`;
    const count = days.get(key) ?? { agreed: 0, all: 0 };
    days.set(key, count);
    count.all += 1;
    if (examples.vote[row] === question.wanted) count.agreed += 1;
  }
  const within: Hits = { hits: 0, all: 0 };
  const total: Hits = { hits: 0, all: 0 };
  for (const [key, count] of days) {
    const isAgreed = Number(2 * count.agreed > count.all);
    for (const sum of key.startsWith('true') ? [within, total] : [total]) {
      sum.all += 1;
      sum.hits += isAgreed;
    }
  }
  return statistics.chance(within, total);
}

/** Probability that the rows agree so much more than all of the part by chance. */
export function chanceOf(
  examples: Examples,
  question: Question,
  rows: readonly number[],
  part: Period,
  statistics: Statistics,
): number {
  const all = new Uint8Array(examples.rows).fill(1);
  const asked = askedRows(examples, question, all, part);
  const within = hitsOf(examples, question, rows);
  // An act on many deliveries may lie on both sides, and counts on each.
  const inside = new Set(rows);
  const outside = hitsOf(
    examples,
    question,
    asked.filter((row) => !inside.has(row)),
  );
  const total = { hits: within.hits + outside.hits, all: within.all + outside.all };
  return statistics.chance(within, total);
}
