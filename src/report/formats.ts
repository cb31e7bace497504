/** How a report is written: aligned for people, CSV (RFC 4180), JSON, or a JSON line a row. */
import { csvLine } from '../lib/csv.ts';
import type { Cell, RowSink } from './query.ts';

export const FORMATS = ['table', 'csv', 'json', 'ndjson'] as const;
export type Format = (typeof FORMATS)[number];

export interface Paper {
  line(text: string): void;
  /** A line for programs, as it is. */
  data(text: string): void;
  json(value: unknown): void;
  table(titles: readonly string[], rows: readonly (readonly string[])[]): void;
}

export interface ReportWriter extends RowSink {
  close(): void;
}

/** CSV and NDJSON are written row by row; a table and JSON when all rows are there. */
export function createReportWriter(format: Format, paper: Paper): ReportWriter {
  let names: readonly string[] = [];
  const kept: (readonly Cell[])[] = [];
  const asObject = (cells: readonly Cell[]): Record<string, Cell> =>
    Object.fromEntries(names.map((name, index) => [name, cells[index] ?? null]));
  return {
    columns(found) {
      names = found;
      if (format === 'csv') paper.data(csvLine(names));
    },
    row(cells) {
      if (format === 'csv') paper.data(csvLine(cells));
      else if (format === 'ndjson') paper.line(JSON.stringify(asObject(cells)));
      else kept.push(cells);
    },
    close() {
      if (format === 'json') paper.json(kept.map(asObject));
      if (format !== 'table') return;
      const shown = kept.map((cells) => cells.map((cell) => (cell === null ? '-' : String(cell))));
      paper.table(names, shown);
    },
  };
}
