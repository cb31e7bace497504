/**
 * Shapes the rows of a report as they are shown: pivoted, with the kind of each column and with
 * totals. Totals never add two currencies: where there is a column `currency`, each has a row of
 * its own.
 */
import { RefusedError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest.ts';
import type { ParameterValues } from './parameters.ts';
import { pivotRows, ROW_TOTAL, type Rows } from './pivot.ts';
import type { Cell, RowSink } from './query.ts';
import type { Report } from './report-file.ts';
import type { ColumnKind } from './report-head.ts';
import { declaredKind, headingOf } from './words/columns.ts';

export interface TableColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Whether the column's name is a value of the pivot's column, which is data and no SQL name. */
  readonly isPivoted: boolean;
}

export interface ReportTable {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly Cell[])[];
  /** Rows of sums below the table; empty: there are none. */
  readonly totals: readonly (readonly Cell[])[];
  /** Sentences below the table on what its rows do not show. */
  readonly notes: readonly string[];
}

/** Most cells of a report whose rows are all held in memory. */
const CELLS_MAX = 500_000;

export const CURRENCY = 'currency';
/** Label of a row of sums, and of one whose rows may not be all. */
export const TOTAL = 'total';
export const TOTAL_OF_SHOWN = 'total of the rows shown';

export function isNumeric(kind: ColumnKind): boolean {
  return kind !== 'text' && kind !== 'date';
}

/** Creates a row sink that keeps all rows in memory. */
export function createCollector(): RowSink & { readonly collected: () => Rows } {
  let columns: readonly string[] = [];
  const rows: (readonly Cell[])[] = [];
  return {
    columns(names) {
      columns = names;
    },
    row(cells) {
      rows.push(cells);
    },
    collected: () => ({ columns, rows }),
  };
}

/** Refuses a report whose head names columns that its SELECT does not return. */
export function requireColumns(report: Report, given: readonly string[]): void {
  const { pivot, totals = [], groups = [], above = [], chart, formats, columns, rates } = report;
  const named: (readonly [string, string])[] = [
    ...Object.keys(formats).map((name) => ['formats', name] as const),
    ...Object.keys(columns).map((name) => ['columns', name] as const),
    ...Object.keys(rates).map((name) => ['rates', name] as const),
    ...totals.map((name) => ['totals', name] as const),
    ...groups.map((name) => ['groups', name] as const),
    ...above.map((name) => ['above', name] as const),
    ...(pivot ? pivotColumns(pivot).map((name) => ['pivot', name] as const) : []),
    ...(chart ? chartColumns(chart).map((name) => ['chart', name] as const) : []),
  ];
  const wrong = named.find(([, name]) => !given.includes(name));
  if (!wrong) return;
  const [place, name] = wrong;
  const near = nearestName(name, given);
  throw new RefusedError('report.bad_column', `${report.file}: ${place} names ${name}`, {
    hint: near === undefined ? `the SELECT gives ${given.join(', ')}` : `did you mean ${near}?`,
  });
}

function pivotColumns({ rows, column, value, order }: NonNullable<Report['pivot']>): string[] {
  return [...rows, column, value, ...(order === undefined ? [] : [order])];
}

function chartColumns({ x, label, y, series }: NonNullable<Report['chart']>): string[] {
  return [x, label ?? [], y, series ?? []].flat();
}

const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)?$/;

/** Kind of a column of which the head says nothing: number, ISO 8601 date, or text. */
function kindOf(values: readonly Cell[]): ColumnKind {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return 'text';
  if (known.every((value) => typeof value === 'number')) return 'number';
  return known.every((value) => typeof value === 'string' && DATE.test(value)) ? 'date' : 'text';
}

/** Kind of a column of the SELECT: as the head declares it, else by its values. */
export function kindIn(
  report: Pick<Report, 'formats' | 'isOwn'>,
  { columns, rows }: Rows,
  name: string,
): ColumnKind {
  const index = columns.indexOf(name);
  return declaredKind(report, name) ?? kindOf(rows.map((row) => row[index] ?? null));
}

/**
 * Sum of the numbers, null without any. Amounts have four decimals at most, so floating-point noise
 * is rounded away.
 */
export function addUp(values: readonly Cell[]): number | null {
  const known = values.filter((value) => typeof value === 'number');
  if (known.length === 0) return null;
  return Number(known.reduce((sum, value) => sum + value, 0).toFixed(4));
}

interface Shaped {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly Cell[])[];
}

function shape(report: Report, given: Rows): Shaped {
  const { pivot, totals = [] } = report;
  const kindFor = (name: string): ColumnKind => kindIn(report, given, name);
  if (!pivot) {
    const columns = given.columns.map((name) => ({ name, kind: kindFor(name), isPivoted: false }));
    return { columns, rows: given.rows };
  }
  const { names, rows } = pivotRows(report.file, pivot, given, totals.includes(pivot.value));
  const across = pivot.rows.length;
  const kind = kindFor(pivot.value);
  const total = kind === 'heat' ? 'number' : kind;
  const columns = names.map((name, index): TableColumn => {
    if (index < across) return { name, kind: kindFor(name), isPivoted: false };
    const isTotal = totals.length > 0 && index === names.length - 1;
    return { name, kind: isTotal ? total : kind, isPivoted: !isTotal };
  });
  return { columns, rows };
}

interface Summed extends Shaped {
  /** Name of a row of sums. */
  readonly label: string;
}

/** Indices of the columns that have a sum below them. */
function summedIn({ pivot, totals = [] }: Report, columns: readonly TableColumn[]): Set<number> {
  return new Set(
    columns.flatMap(({ name, isPivoted }, index) => {
      const isSum = pivot ? totals.length > 0 && name === ROW_TOTAL : totals.includes(name);
      return isSum || (isPivoted && totals.length > 0) ? [index] : [];
    }),
  );
}

/** Sums of rows in the columns where `isSummed`; `key` is their currency. */
function sumRow(
  { columns, rows, label: word }: Summed,
  isSummed: (index: number) => boolean,
  [by, key]: readonly [index: number, key: Cell],
): Cell[] {
  const label = columns.findIndex((_, index) => !isSummed(index) && index !== by);
  return columns.map((_, index): Cell => {
    if (isSummed(index)) return addUp(rows.map((row) => row[index] ?? null));
    if (index === by) return key;
    return index === label ? word : null;
  });
}

/** Puts the percents of the totals into their row of sums. */
function withRates({ rates }: Report, { columns }: Shaped, sums: readonly Cell[]): Cell[] {
  const sumOf = (name: string): Cell => sums[columns.findIndex((one) => one.name === name)] ?? null;
  return sums.map((sum, index) => {
    const [part, whole] = (rates[columns[index]?.name ?? ''] ?? []).map(sumOf);
    if (typeof part !== 'number' || typeof whole !== 'number' || whole === 0) return sum;
    return Number(((100 * part) / whole).toFixed(1));
  });
}

/** Grand totals, each sum once: a row for all, and one of the amounts of each currency. */
function totalsOf(report: Report, shaped: Summed): Cell[][] {
  const { columns, rows, label } = shaped;
  const summed = summedIn(report, columns);
  if (summed.size === 0 || rows.length === 0) return [];
  const isAmount = (index: number): boolean => columns[index]?.kind === 'amount';
  const amounts = [...summed].filter(isAmount);
  const by = amounts.length > 0 ? columns.findIndex(({ name }) => name === CURRENCY) : -1;
  const groups = by < 0 ? new Map([[null, rows]]) : Map.groupBy(rows, (row) => row[by] ?? null);
  const told = [...groups].filter(([, members]) =>
    members.some((row) => amounts.some((index) => row[index] !== null)),
  );
  if (told.length < 2) {
    const whole = sumRow(shaped, (index) => summed.has(index), [by, told[0]?.[0] ?? null]);
    return [withRates(report, shaped, whole)];
  }
  const isCount = (index: number): boolean => summed.has(index) && !isAmount(index);
  const counts = withRates(report, shaped, sumRow(shaped, isCount, [by, null]));
  const money = told.map(([key, members]) =>
    sumRow({ columns, rows: members, label }, (index) => amounts.includes(index), [by, key]),
  );
  return amounts.length === summed.size ? money : [counts, ...money];
}

function notesOf(report: Report, given: Rows, isCut: boolean): string[] {
  const { totals = [] } = report;
  const notes = isCut
    ? [`There are more than ${given.rows.length} rows; the others are left out.`]
    : [];
  const amounts = totals.filter((name) => declaredKind(report, name) === 'amount');
  const unknown = amounts.filter((name) => {
    const index = given.columns.indexOf(name);
    return given.rows.some((row) => row[index] === null);
  });
  for (const name of unknown) {
    const heading = headingOf(report, {}, name);
    notes.push(`Where ${heading} is not known, the total is without it.`);
  }
  return notes;
}

/** Whether the SELECT gave all rows that its own LIMIT lets through; there may be more. */
export function reachesLimit({ sql }: Report, values: ParameterValues, { rows }: Rows): boolean {
  const [, name = '', count] = /\blimit\s+(?::(\w+)|(\d+))\s*;?\s*$/i.exec(sql) ?? [];
  return rows.length >= Number(count ?? values[name] ?? Number.NaN);
}

/**
 * Shapes rows as the report's head declares; throws RefusedError where that is not possible.
 * `isPart`: its own LIMIT may have left out rows; `isCut`: the reader's has.
 */
export function shapeTable(
  report: Report,
  given: Rows,
  isCut: boolean,
  isPart = false,
): ReportTable {
  requireColumns(report, given.columns);
  const shaped = shape(report, given);
  const cells = shaped.columns.length * shaped.rows.length;
  if (cells > CELLS_MAX) {
    const message = `${report.file}: it has ${cells} cells (${CELLS_MAX} at most)`;
    throw new RefusedError('report.too_many_cells', message, {
      hint: 'narrow it by its parameters or --limit, or write csv or ndjson',
    });
  }
  const label = isCut || isPart ? TOTAL_OF_SHOWN : TOTAL;
  const totals = totalsOf(report, { ...shaped, label });
  const notes = notesOf(report, given, isCut);
  if (isPart && totals.length > 0) {
    notes.unshift(`${given.rows.length} rows at most are shown; totals are of these.`);
  }
  return { ...shaped, totals, notes };
}
