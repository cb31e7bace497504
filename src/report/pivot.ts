/** A pivot: the values of one column become columns, and rows that share the others become one. */
import { RefusedError } from '../lib/errors.ts';
import type { Cell } from './query.ts';
import type { Report } from './report-file.ts';

type Pivot = NonNullable<Report['pivot']>;

export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Most columns of a pivot: more than fit on a sheet of paper, and still few enough to read. */
const COLUMNS_MAX = 200;

/** Name of the column with the sum of each row. */
export const ROW_TOTAL = 'total';

const NO_NAME = '(none)';

function badPivot(file: string, says: string, hint: string): RefusedError {
  return new RefusedError('report.bad_pivot', `${file}: ${says}`, { hint });
}

/** Order of two cells: numbers before texts, null last. */
function compare(a: Cell, b: Cell): number {
  const rank = (cell: Cell): number => {
    if (cell === null) return 2;
    return typeof cell === 'number' ? 0 : 1;
  };
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (a === b) return 0;
  return String(a) < String(b) ? -1 : 1;
}

function nameOf(cell: Cell): string {
  return cell === null || cell === '' ? NO_NAME : String(cell);
}

/** Joins a cell with the one that already has its place in the pivot; only numbers can be added. */
function joined(file: string, before: Cell | undefined, cell: Cell, pivot: Pivot): Cell {
  if (before === undefined || before === null) return cell;
  if (cell === null) return before;
  if (typeof before === 'number' && typeof cell === 'number') {
    return Number((before + cell).toFixed(4));
  }
  const says = `two rows have the same place in the pivot, and ${pivot.value} is no number`;
  throw badPivot(file, says, 'name more columns in pivot.rows, or group in the SELECT');
}

/** Names of the pivot's new columns, sorted by the least value of `order` in each. */
function newColumns(file: string, pivot: Pivot, { columns, rows }: Rows): string[] {
  const across = columns.indexOf(pivot.column);
  const order = pivot.order === undefined ? -1 : columns.indexOf(pivot.order);
  const found = new Map<string, Cell>();
  for (const row of rows) {
    const name = nameOf(row[across] ?? null);
    const rank = order < 0 ? null : (row[order] ?? null);
    const known = found.get(name);
    if (known === undefined || compare(rank, known) < 0) found.set(name, rank);
  }
  if (found.size > COLUMNS_MAX) {
    const says = `${pivot.column} would make ${found.size} columns (${COLUMNS_MAX} at most)`;
    const hint = 'narrow it by its parameters, or pivot a column with fewer values';
    throw new RefusedError('report.too_many_columns', `${file}: ${says}`, { hint });
  }
  return [...found].sort(([, a], [, b]) => compare(a, b)).map(([name]) => name);
}

/** Refuses a pivot without a place for some column, which would be lost without notice. */
function requireAllUsed(file: string, pivot: Pivot, columns: readonly string[]): void {
  const used = [...pivot.rows, pivot.column, pivot.value, pivot.order];
  const unused = columns.find((name) => !used.includes(name));
  if (unused === undefined) return;
  const hint = 'name it in pivot.rows, or take it out of the SELECT';
  throw badPivot(file, `the pivot has no place for ${unused}`, hint);
}

/** Pivots rows, in order of first appearance; `withTotal` adds a column of sums. */
export function pivotRows(file: string, pivot: Pivot, given: Rows, withTotal: boolean) {
  const { columns, rows } = given;
  requireAllUsed(file, pivot, columns);
  const added = newColumns(file, pivot, given);
  const names = [...pivot.rows, ...added, ...(withTotal ? [ROW_TOTAL] : [])];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw badPivot(file, `the pivot has two columns ${twice}`, 'rename one of them in the SELECT');
  }
  const heads = pivot.rows.map((name) => columns.indexOf(name));
  const [across, value] = [columns.indexOf(pivot.column), columns.indexOf(pivot.value)];
  const lines = new Map<string, { readonly head: Cell[]; readonly cells: Map<string, Cell> }>();
  for (const row of rows) {
    const head = heads.map((index) => row[index] ?? null);
    const key = JSON.stringify(head);
    const line = lines.get(key) ?? { head, cells: new Map() };
    lines.set(key, line);
    const name = nameOf(row[across] ?? null);
    line.cells.set(name, joined(file, line.cells.get(name), row[value] ?? null, pivot));
  }
  const shown = [...lines.values()].map(({ head, cells }) => {
    const across = added.map((name) => cells.get(name) ?? null);
    const known = across.filter((cell) => typeof cell === 'number');
    const total = Number(known.reduce((sum, cell) => sum + cell, 0).toFixed(4));
    return [...head, ...across, ...(withTotal ? [total] : [])];
  });
  return { names, rows: shown };
}
