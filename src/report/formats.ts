/**
 * Output formats of a report for programs and the terminal: an aligned table for people, CSV (RFC
 * 4180), JSON, or NDJSON with one JSON object per line. Totals are in the table only: programs add
 * up themselves.
 */

import { type CsvManner, csvLine } from '../lib/csv.ts';
import { hasDecimalComma, visible } from '../lib/strings.ts';
import { createCellFormat, csvNumber, type Manner } from './cells.ts';
import type { Cell, RowSink } from './query.ts';
import type { ColumnKind } from './report-head.ts';
import { isNumeric, type ReportTable } from './table.ts';

export const FORMATS = ['table', 'csv', 'json', 'ndjson', 'xlsx', 'html', 'svg'] as const;
export type Format = (typeof FORMATS)[number];

/** Formats that are written row by row, so that the first rows do not wait for the last one. */
export type LineFormat = 'csv' | 'ndjson';

export function isLineFormat(format: Format): format is LineFormat {
  return format === 'csv' || format === 'ndjson';
}

export interface LineManner {
  readonly locale: string | undefined;
  /** Kind of a column, as it is declared. */
  readonly kindOf: (name: string) => ColumnKind | undefined;
}

function asObject(names: readonly string[], cells: readonly Cell[]): Record<string, Cell> {
  return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? null]));
}

function csvManner(names: readonly string[], { locale, kindOf }: LineManner): CsvManner {
  const comma = locale !== undefined && hasDecimalComma(locale);
  return {
    separator: comma ? ';' : ',',
    number: (value, column) => csvNumber(kindOf(names[column] ?? ''), value, comma),
  };
}

/** Creates a writer that turns rows into CSV or NDJSON lines, each without its line break. */
export function createLineWriter(
  format: LineFormat,
  manner: LineManner,
  line: (text: string) => void,
): RowSink {
  let names: readonly string[] = [];
  let csv: CsvManner | undefined;
  return {
    columns(found) {
      names = found;
      if (format === 'csv') csv = csvManner(names, manner);
      if (csv) line(csvLine(names, csv));
    },
    row: (cells) => line(csv ? csvLine(cells, csv) : JSON.stringify(asObject(names, cells))),
  };
}

/** CSV or NDJSON lines of a table that is in memory. */
export function linesOf(format: LineFormat, table: ReportTable, { locale }: Manner): string[] {
  const lines: string[] = [];
  const names = table.columns.map(({ name }) => name);
  const kinds = new Map(table.columns.map(({ name, kind }) => [name, kind]));
  const manner = { locale, kindOf: (name: string) => kinds.get(name) };
  const writer = createLineWriter(format, manner, (text) => lines.push(text));
  writer.columns(names);
  for (const row of table.rows) writer.row(row);
  return lines;
}

/** Rows as objects whose members are named after the columns. */
export function objectsOf({ columns, rows }: ReportTable): Record<string, Cell>[] {
  const names = columns.map(({ name }) => name);
  return rows.map((cells) => asObject(names, cells));
}

export interface TextTable {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Titles and rows as padded text for a terminal, with numbers aligned to the right. */
export function textTable({ columns, rows, totals }: ReportTable, manner: Manner): TextTable {
  const format = createCellFormat(manner, '-');
  const all = [...rows, ...totals];
  const shown = columns.map(({ name, kind }, index) => {
    const cells = all.map((row, at) => {
      const isBlank = at >= rows.length && row[index] === null;
      return isBlank ? '' : visible(format(kind, row[index] ?? null));
    });
    const column = [visible(name), ...cells];
    const width = Math.max(...column.map((text) => text.length));
    return isNumeric(kind) ? column.map((text) => text.padStart(width)) : column;
  });
  const lineAt = (at: number): string[] => shown.map((column) => column[at] ?? '');
  return { titles: lineAt(0), rows: all.map((_, at) => lineAt(at + 1)) };
}
