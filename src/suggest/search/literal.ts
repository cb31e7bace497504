/** Literals: conditions on one fact, of which rules are made. */
import type { Column } from '../columns.ts';
import type { Side } from '../facts/field.ts';
import type { Population } from './population.ts';

export type Literal =
  | {
      readonly kind: 'number';
      readonly column: number;
      readonly side: Side;
      readonly limit: number;
    }
  | {
      readonly kind: 'choice';
      readonly column: number;
      /** Indexes of the column's names. */
      readonly values: readonly number[];
      /** Whether the fact must be known and none of the values. */
      readonly not: boolean;
    }
  | { readonly kind: 'flag'; readonly column: number; readonly value: boolean }
  | {
      readonly kind: 'many';
      readonly column: number;
      readonly value: number;
      readonly not: boolean;
    };

function inRow(column: Extract<Column, { kind: 'many' }>, row: number, value: number): boolean {
  for (let at = column.starts[row] ?? 0; at < (column.starts[row + 1] ?? 0); at += 1) {
    if (column.values[at] === value) return true;
  }
  return false;
}

function testOf(columns: readonly Column[], literal: Literal): (row: number) => boolean {
  const column = columns[literal.column];
  if (literal.kind === 'number' && column?.kind === 'number') {
    const { limit, side } = literal;
    const { values } = column;
    // A comparison with NaN is false, as it must be where the fact is not known.
    return side === '<='
      ? (row) => (values[row] ?? Number.NaN) <= limit
      : (row) => (values[row] ?? Number.NaN) > limit;
  }
  if (literal.kind === 'choice' && column?.kind === 'choice') {
    const within = new Uint8Array(column.names.length);
    for (const value of literal.values) within[value] = 1;
    const wanted = literal.not ? 0 : 1;
    return (row) => {
      const value = column.values[row] ?? -1;
      return value >= 0 && within[value] === wanted;
    };
  }
  if (literal.kind === 'flag' && column?.kind === 'flag') {
    const wanted = Number(literal.value);
    return (row) => column.values[row] === wanted;
  }
  if (literal.kind === 'many' && column?.kind === 'many') {
    return (row) => inRow(column, row, literal.value) !== literal.not;
  }
  return () => false;
}

/** Rows of `members` on which the literal is true. */
export function narrowed(
  columns: readonly Column[],
  members: Uint8Array,
  literal: Literal,
): Uint8Array {
  const test = testOf(columns, literal);
  const narrow = new Uint8Array(members.length);
  for (let row = 0; row < members.length; row += 1) {
    if (members[row] === 1 && test(row)) narrow[row] = 1;
  }
  return narrow;
}

/** Rows on which all literals are true. */
export function membersOf(
  columns: readonly Column[],
  size: number,
  literals: readonly Literal[],
): Uint8Array {
  return literals.reduce<Uint8Array>(
    (members, literal) => narrowed(columns, members, literal),
    new Uint8Array(size).fill(1),
  );
}

function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let at = 1; at <= k; at += 1) sum += Math.log2((n - k + at) / at);
  return sum;
}

/** Limits of a number that are told apart when the length of its description is counted. */
const LIMITS_MAX = 64;

/** Bits that describe a literal, among all that the population offers. */
export function costOf({ columns, orders }: Population, literal: Literal): number {
  const which = Math.log2(Math.max(2, columns.length)) + 1;
  const column = columns[literal.column];
  if (column?.kind === 'choice' && literal.kind === 'choice') {
    const all = column.names.length;
    const count = literal.values.length;
    return which + Math.log2(all + 1) + logChoose(all, Math.min(count, all - count));
  }
  if (column?.kind === 'many') return which + Math.log2(column.names.length + 1);
  const known = orders[literal.column]?.length ?? 0;
  return column?.kind === 'number' ? which + Math.log2(Math.min(LIMITS_MAX, known + 2)) : which;
}
