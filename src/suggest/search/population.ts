/**
 * Examples of one question, such as "of what no rule decided, what did people accept?", as the
 * search sees them: a label for each, and the columns of their facts.
 */
import type { Column } from '../columns.ts';

/** Labels: decided as the question asks, otherwise, not at all; 0 is left out of the search. */
export const LABEL = { NONE: 0, TARGET: 1, OTHER: 2, UNDECIDED: 3 } as const;

/** Counts of labels. */
export interface Counts {
  readonly target: number;
  readonly other: number;
  readonly undecided: number;
}

export interface Population {
  readonly size: number;
  readonly labels: Uint8Array;
  readonly columns: readonly Column[];
  /** Indexes of each number column's known rows in ascending order of their values. */
  readonly orders: readonly (Int32Array | undefined)[];
}

/** The column with these rows alone. */
function projected(column: Column, rows: Int32Array): Column {
  if (column.kind === 'number') {
    return {
      ...column,
      values: Float64Array.from(rows, (row) => column.values[row] ?? Number.NaN),
    };
  }
  if (column.kind === 'choice') {
    return { ...column, values: Int32Array.from(rows, (row) => column.values[row] ?? -1) };
  }
  if (column.kind === 'flag') {
    return { ...column, values: Int8Array.from(rows, (row) => column.values[row] ?? -1) };
  }
  const starts = new Int32Array(rows.length + 1);
  const values: number[] = [];
  for (const [at, row] of rows.entries()) {
    for (let i = column.starts[row] ?? 0; i < (column.starts[row + 1] ?? 0); i += 1) {
      values.push(column.values[i] ?? -1);
    }
    starts[at + 1] = values.length;
  }
  return { ...column, starts, values: Int32Array.from(values) };
}

function orderOf(column: Column): Int32Array | undefined {
  if (column.kind !== 'number') return undefined;
  const { values } = column;
  const known: number[] = [];
  for (let at = 0; at < values.length; at += 1) {
    if (!Number.isNaN(values[at])) known.push(at);
  }
  return Int32Array.from(known).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
}

export function populationOf(
  columns: readonly Column[],
  rows: Int32Array,
  labels: Uint8Array,
): Population {
  const own = columns.map((column) => projected(column, rows));
  return { size: rows.length, labels, columns: own, orders: own.map(orderOf) };
}

export function countsOf(labels: Uint8Array, members: Uint8Array): Counts {
  const counts = [0, 0, 0, 0];
  for (let at = 0; at < labels.length; at += 1) {
    if (members[at] === 1) {
      const label = labels[at] ?? 0;
      counts[label] = (counts[label] ?? 0) + 1;
    }
  }
  return { target: counts[1] ?? 0, other: counts[2] ?? 0, undecided: counts[3] ?? 0 };
}
