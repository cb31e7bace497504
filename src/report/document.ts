/** A finished report with everything that its pages, files and tables show. */
import type { Manner } from './cells.ts';
import type { ParameterValues } from './parameters.ts';
import type { Rows } from './pivot.ts';
import type { Report } from './report-file.ts';
import type { ReportTable } from './table.ts';
import { labelOf } from './words/columns.ts';

export interface ReportDocument {
  readonly report: Report;
  /** Rows as the SELECT returned them, from which the chart is made. */
  readonly given: Rows;
  readonly table: ReportTable;
  readonly values: ParameterValues;
  readonly manner: Manner;
  /** Epoch ms when the report was run. */
  readonly at: number;
}

/** Parameters and time of a run in words: `Style S-1001 · 2026-01-05 09:00 Europe/Berlin`. */
export function describeRun({ report, values, manner, at }: ReportDocument): string {
  const told = Object.entries(report.params).flatMap(([name, parameter]) => {
    const { type } = parameter;
    const value = values[name];
    // A parameter with an empty text restricts nothing, so it is not named.
    if (value === undefined || value === '') return [];
    const shown = type === 'time' ? localTime(Number(value), manner) : value;
    return [`${labelOf(name, parameter)} ${shown}`];
  });
  return [...told, `${localTime(at, manner)} ${manner.timeZone}`].join(' · ');
}

function localTime(at: number, { locale, timeZone }: Manner): string {
  // The Swedish locale writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat(locale ?? 'sv-SE', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
  });
  return format.format(at);
}
