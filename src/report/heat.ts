/** Strengths of the ground behind numbers of the kind `heat`. */
import type { Cell } from './query.ts';
import type { ReportTable } from './table.ts';

/** From 1 to this, and below zero from -1 to minus this. */
const HEAT_MAX = 4;

/** Strength of a cell; 0: none. */
export type Heat = (column: number, cell: Cell) => number;

/** Columns of a pivot share one scale; any other column has its own. */
export function createHeat({ columns, rows }: Pick<ReportTable, 'columns' | 'rows'>): Heat {
  const largest = columns.map(({ kind }, index) => {
    if (kind !== 'heat') return 0;
    return rows.reduce((most, row) => {
      const cell = row[index];
      return typeof cell === 'number' ? Math.max(most, Math.abs(cell)) : most;
    }, 0);
  });
  const shared = Math.max(0, ...largest.filter((_, index) => columns[index]?.isPivoted));
  return (column, cell) => {
    const most = columns[column]?.isPivoted ? shared : (largest[column] ?? 0);
    if (typeof cell !== 'number' || cell === 0 || most === 0 || (largest[column] ?? 0) === 0)
      return 0;
    return Math.sign(cell) * Math.ceil((HEAT_MAX * Math.abs(cell)) / most);
  };
}
