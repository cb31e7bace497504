/** Runs a report and makes a file of its result. */
import { chartDocument } from '../lib/chart/chart.ts';
import type { Clock } from '../lib/clock.ts';
import { renderHtml } from '../lib/html.ts';
import type { Manner } from './cells.ts';
import type { ReportDocument } from './document.ts';
import { type Format, linesOf, objectsOf, textTable } from './formats.ts';
import { pageOf } from './page.ts';
import type { ParameterValues } from './parameters.ts';
import type { Rows } from './pivot.ts';
import { type Query, type RowSink, runQuery } from './query.ts';
import { chartsOf } from './report-chart.ts';
import type { Report } from './report-file.ts';
import { createCollector, reachesLimit, requireColumns, shapeTable } from './table.ts';
import { workbookOf } from './xlsx.ts';

export interface Order {
  readonly report: Report;
  readonly values: ParameterValues;
  readonly manner: Manner;
  readonly rowsMax: number;
  readonly timeMaxMs: number;
  readonly store: Pick<Query, 'path' | 'busyTimeoutMs'>;
}

function queryOf({ report, values, rowsMax, store }: Order): Query {
  const { path, busyTimeoutMs } = store;
  return { path, busyTimeoutMs, sql: report.sql, file: report.file, values, rowsMax };
}

function asGiven(given: Rows): Rows {
  return given;
}

export type RunRows = (sink: RowSink) => Promise<{ readonly isCut: boolean }>;

/** Source that reads the report's rows from the mirror. */
export function rowsOfMirror(order: Order, clock: Clock): RunRows {
  return (sink) => runQuery(queryOf(order), order.timeMaxMs, clock, sink);
}

/** Makes a report document of rows from any source; throws its errors and shapeTable's. */
export async function documentOf(
  { report, values, manner }: Pick<Order, 'report' | 'values' | 'manner'>,
  clock: Clock,
  run: RunRows,
  seen: (given: Rows) => Rows = asGiven,
): Promise<ReportDocument & { readonly isCut: boolean }> {
  const collector = createCollector();
  const at = clock.now();
  const sink = {
    ...collector,
    columns(names: readonly string[]) {
      // Checks names before rows come: a slow report must not fail at its end.
      requireColumns(report, names);
      collector.columns(names);
    },
  };
  const { isCut } = await run(sink);
  const given = seen(collector.collected());
  const table = shapeTable(report, given, isCut, reachesLimit(report, values, given));
  return { report, given, table, values, manner, at, isCut };
}

/**
 * Runs the report on the mirror and keeps its rows; throws the errors of runQuery and shapeTable.
 * `seen` returns the rows as their reader may see them (masked), before anything is made of them.
 */
export function runReport(
  order: Order,
  clock: Clock,
  seen: (given: Rows) => Rows = asGiven,
): Promise<ReportDocument & { readonly isCut: boolean }> {
  return documentOf(order, clock, rowsOfMirror(order, clock), seen);
}

function alignedText({ report, table, manner }: ReportDocument): string {
  if (table.rows.length === 0 && report.empty !== undefined) return `${report.empty}\n`;
  const { titles, rows } = textTable(table, manner);
  const widths = titles.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const lines = [titles, ...rows].map((cells) =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** Mark at a CSV's start, without which spreadsheets assume the system's old encoding. */
const BYTE_ORDER_MARK = '\ufeff';

/** Makes the content of a file in the format wanted. */
export async function makeFile(document: ReportDocument, format: Format): Promise<Buffer> {
  const { table, manner } = document;
  if (format === 'xlsx') return workbookOf(document);
  return Buffer.from(textIn());

  function textIn(): string {
    switch (format) {
      case 'html':
        return pageOf(document);
      case 'svg':
        return `${renderHtml(chartDocument(...chartsOf(document)))}\n`;
      case 'json':
        return `${JSON.stringify(objectsOf(table), null, 2)}\n`;
      case 'csv':
      case 'ndjson': {
        const lines = linesOf(format, table, manner);
        const mark = format === 'csv' && manner.locale !== undefined ? BYTE_ORDER_MARK : '';
        return `${mark}${lines.map((line) => `${line}\n`).join('')}`;
      }
      default:
        return alignedText(document);
    }
  }
}
