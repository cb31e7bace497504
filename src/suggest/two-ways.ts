/** Cells in which people decide alike deliveries in two ways, without saying who does which. */

import type { Period } from '../decisions/simulation/history.ts';
import type { Db } from '../store/store.ts';
import type { TwoWays } from '../surface/suggestion.ts';
import type { ChoiceColumn, Column } from './columns.ts';
import { askedRows } from './evidence.ts';
import { type Examples, VOTE } from './examples.ts';
import { choiceField } from './facts/fields.ts';
import { learnedFrom, type Question } from './question.ts';
import { costOf, type Literal, membersOf, narrowed } from './search/literal.ts';
import {
  type Counts,
  countsOf,
  LABEL,
  type Population,
  populationOf,
} from './search/population.ts';
import { type Found, scan } from './search/scan.ts';
import { minus, shareOf } from './search/score.ts';
import type { Statistics } from './statistics.ts';
import { conditionsFor, shown } from './text/conditions.ts';

interface Cell {
  readonly literals: readonly Literal[];
  /** Split of the people in it. */
  readonly people: Extract<Literal, { kind: 'choice' }>;
}

const DEPTH_MAX = 5;
/** Bits that a split must tell beyond its description. */
const SPLIT_BITS = 12;
/** Difference of the shares of two ways, where they are sought and where they are proved. */
const DIFFERENCE_MIN = 0.4;
/** Decisions on each side of two ways. */
const SIDE_MIN = 10;
const WEIGHTS = { other: 1, undecided: 0 };

/** The opposite of a literal, where its fact is known. */
function oppositeOf(columns: readonly Column[], literal: Literal): Literal | undefined {
  if (literal.kind === 'flag') return { ...literal, value: !literal.value };
  if (literal.kind !== 'number') return { ...literal, not: !literal.not };
  const column = columns[literal.column];
  const side = literal.side === '<=' ? '>' : '<=';
  if (column?.kind !== 'number' || !column.field.sides.includes(side)) return undefined;
  return { ...literal, side };
}

function isTwoWays(counts: Counts, { counts: part }: Found): boolean {
  const rest = minus(counts, part);
  const sides = [part, rest].map(({ target, other }) => target + other);
  const difference = Math.abs(shareOf(part) - shareOf(rest));
  return difference >= DIFFERENCE_MIN && sides.every((count) => count >= SIDE_MIN);
}

/**
 * Cells in which people decide in two ways.
 * @param person index of the column that tells who decided; its decisions alone are examples.
 */
function findCells(population: Population, person: number): readonly Cell[] {
  const cells: Cell[] = [];
  const split = (members: Uint8Array, literals: readonly Literal[]): void => {
    const counts = countsOf(population.labels, members);
    const found = scan({ population, members, counts, weights: WEIGHTS });
    const paid = found
      .map((one) => ({ one, bits: one.gain - costOf(population, one.literal) }))
      .filter(({ bits }) => bits >= SPLIT_BITS)
      .toSorted((a, b) => b.bits - a.bits);
    const [first] = paid;
    if (!first) return;
    const { literal } = first.one;
    if (literal.column === person) {
      const isCell = literal.kind === 'choice' && isTwoWays(counts, first.one);
      if (isCell) cells.push({ literals, people: literal });
      return;
    }
    if (literals.length >= DEPTH_MAX) return;
    for (const side of [literal, oppositeOf(population.columns, literal)]) {
      if (!side) continue;
      split(narrowed(population.columns, members, side), [...literals, side]);
    }
  };
  split(new Uint8Array(population.size).fill(1), []);
  return cells;
}

export interface Way {
  readonly question: Question;
  readonly members: Uint8Array;
  readonly shown: TwoWays;
}

/** Probability of chance below which a difference between people is told. */
const CHANCE_MAX = 1e-4;
const UNKNOWN_ROLE = 'in the service';
const NO_SESSION = 'operator';

/** Roles in which people signed in last, by the actor of their decisions. */
async function rolesOf(db: Db, people: readonly string[]): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('console_session')
    .select(['name', 'role'])
    .orderBy('session_id')
    .execute();
  const byName = new Map<string, string>(rows.map(({ name, role }) => [name, role]));
  return people.map((actor) => {
    if (actor === 'external') return UNKNOWN_ROLE;
    return byName.get(actor) ?? NO_SESSION;
  });
}

function personColumn({ person, people }: Examples): ChoiceColumn {
  const field = choiceField({ path: 'person', read: () => null });
  return { kind: 'choice', field, values: person, names: people };
}

interface Group {
  readonly acts: Set<number>;
  readonly accepted: Set<number>;
  readonly people: Set<number>;
}

/** Acts on the rows, by the side of the split on which their person is. */
function groupsIn(
  examples: Examples,
  rows: readonly number[],
  split: Extract<Literal, { kind: 'choice' }>,
): readonly [Group, Group] {
  const empty = (): Group => ({ acts: new Set(), accepted: new Set(), people: new Set() });
  const groups = [empty(), empty()] as const;
  for (const row of rows) {
    const [person, act] = [examples.person[row] ?? -1, examples.act[row] ?? -1];
    if (person < 0 || act < 0) continue;
    const group = groups[split.values.includes(person) ? 0 : 1];
    group.acts.add(act);
    group.people.add(person);
    if (examples.vote[row] === VOTE.ACCEPT) group.accepted.add(act);
  }
  return groups;
}

function isProved([a, b]: readonly [Group, Group], statistics: Statistics): boolean {
  const share = ({ acts, accepted }: Group) => accepted.size / Math.max(1, acts.size);
  const [more, less] = share(a) >= share(b) ? [a, b] : [b, a];
  if (share(more) - share(less) < DIFFERENCE_MIN) return false;
  const within = { hits: more.accepted.size, all: more.acts.size };
  const total = {
    hits: within.hits + less.accepted.size,
    all: within.all + less.acts.size,
  };
  return statistics.chance(within, total) <= CHANCE_MAX;
}

interface Asked {
  readonly examples: Examples;
  readonly questions: readonly Question[];
  readonly parts: { readonly learned: Period; readonly checked: Period; readonly all: Period };
  readonly statistics: Statistics;
}

/** Two ways that the earlier part shows and the later one confirms. */
export async function twoWaysOf(db: Db, asked: Asked): Promise<readonly Way[]> {
  const { examples, questions, parts, statistics } = asked;
  if (examples.people.length < 2) return [];
  const roles = await rolesOf(db, examples.people);
  const columns = [...examples.columns, personColumn(examples)];
  const person = columns.length - 1;
  return questions
    .filter(({ wanted }) => wanted === VOTE.ACCEPT)
    .flatMap((question) => {
      const from = learnedFrom(examples, question, parts.learned.until);
      const labels = from.labels.map((label) => (label === LABEL.UNDECIDED ? LABEL.NONE : label));
      const population = populationOf(columns, from.rows, labels);
      return findCells(population, person).flatMap(({ literals, people }): readonly Way[] => {
        const members = membersOf(columns, examples.rows, literals);
        const rowsIn = (part: Period) => askedRows(examples, question, members, part);
        if (!isProved(groupsIn(examples, rowsIn(parts.checked), people), statistics)) return [];
        const ways = groupsIn(examples, rowsIn(parts.all), people).map((group) => ({
          roles: [...new Set([...group.people].map((one) => roles[one] ?? NO_SESSION))].sort(),
          people: group.people.size,
          acts: group.acts.size,
          accepted: group.accepted.size,
        }));
        const conditions = conditionsFor(columns, literals, false).map(shown);
        const rule =
          question.rule === undefined ? null : (examples.holdRules[question.rule] ?? null);
        return [{ question, members, shown: { rule, conditions, ways } }];
      });
    });
}
