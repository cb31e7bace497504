/** Background shades for numbers of the column kind `heat`. */
import type { Cell } from './query.ts';
import type { ReadableTable } from './words/readable.ts';

/** Strongest shade: levels go from 1 to this, and for numbers below zero from -1 to minus this. */
const HEAT_MAX = 4;

/** Function that gives the shade of a cell in a row; 0: no shade. */
export type Heat = (column: number, cell: Cell, row: number) => number;

/** Shade of a number; `most` is the largest absolute value of its scale. */
export function heatLevel(cell: Cell, most: number): number {
  if (typeof cell !== 'number' || cell === 0 || most === 0) return 0;
  return Math.sign(cell) * Math.ceil((HEAT_MAX * Math.abs(cell)) / most);
}

/**
 * Creates a table's shades, of all rows or of those that are `shaded`; columns of a pivot share one
 * scale, others have their own.
 */
export function createHeat({
  columns,
  rows,
  shaded: only,
}: Pick<ReadableTable, 'columns' | 'rows' | 'shaded'>): Heat {
  const shaded = new Set(only ?? rows.keys());
  const counted = rows.filter((_, at) => shaded.has(at));
  const largest = columns.map(({ kind }, index) => {
    if (kind !== 'heat') return 0;
    return counted.reduce((most, row) => {
      const cell = row[index];
      return typeof cell === 'number' ? Math.max(most, Math.abs(cell)) : most;
    }, 0);
  });
  const shared = Math.max(0, ...largest.filter((_, index) => columns[index]?.isPivoted));
  return (column, cell, row) => {
    if (!shaded.has(row)) return 0;
    const most = columns[column]?.isPivoted ? shared : (largest[column] ?? 0);
    return (largest[column] ?? 0) === 0 ? 0 : heatLevel(cell, most);
  };
}
