/**
 * Finds cells of alike deliveries in which people decide in two ways. The examples are split again
 * and again by whatever tells most of the outcome; where the person tells more than every fact, a
 * cell is found.
 */
import type { Column } from '../columns.ts';
import { costOf, type Literal, narrowed } from './literal.ts';
import { type Counts, countsOf, type Population } from './population.ts';
import { type Found, scan } from './scan.ts';
import { minus, shareOf } from './score.ts';

export interface Cell {
  readonly literals: readonly Literal[];
  /** Split of the people in it. */
  readonly people: Extract<Literal, { kind: 'choice' }>;
}

const DEPTH_MAX = 5;
/** Bits that a split must tell beyond its description. */
const SPLIT_BITS = 12;
/** Difference of the shares of two ways. */
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
export function findCells(population: Population, person: number): readonly Cell[] {
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
