/** Rounds limits: of all numbers between two neighbouring values, people would have written one. */
import type { Column } from './columns.ts';
import type { Literal } from './search/literal.ts';

/** Share of a granule that is an error of binary fractions. */
const ROUNDING = 1e-9;

/** Smallest multiple of the coarsest granule in an interval that includes `from` and not `to`. */
function roundest(from: number, to: number, granules: readonly number[]): number {
  for (const granule of granules) {
    const multiple = Number((Math.ceil(from / granule - ROUNDING) * granule).toFixed(4));
    if (multiple >= from && multiple < to) return multiple;
  }
  return from;
}

/** The literal with a round limit that keeps apart the same values of these rows. */
export function rounded(
  columns: readonly Column[],
  members: Uint8Array,
  literal: Literal,
): Literal {
  const column = columns[literal.column];
  if (literal.kind !== 'number' || column?.kind !== 'number') return literal;
  let [below, above] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let row = 0; row < column.values.length; row += 1) {
    const value = column.values[row] ?? Number.NaN;
    if (members[row] !== 1 || Number.isNaN(value)) continue;
    if (value <= literal.limit) below = Math.max(below, value);
    else above = Math.min(above, value);
  }
  const { granules, step } = column.field;
  const smallest = granules.at(-1) ?? step;
  if (!Number.isFinite(below)) return literal;
  // A limit that people can write, even where two values lie closer together.
  const from = Math.ceil(below / smallest - ROUNDING) * smallest;
  const end = Number.isFinite(above) ? above : below + step;
  return { ...literal, limit: roundest(from, Math.max(end, from + step), granules) };
}
