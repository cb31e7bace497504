/** Makes the chart of a report from the rows of its SELECT. */
import type { ChartData } from '../lib/chart/data.ts';
import { RefusedError } from '../lib/errors.ts';
import { createCellFormat, LOCALE, type Manner } from './cells.ts';
import type { Cell } from './query.ts';
import type { Report } from './report-file.ts';
import { addUp, kindIn, type Rows } from './table.ts';

/** Most values on the x axis of a chart. */
const XS_MAX = 1_000;
const EMPTY = 'There are no rows.';

type Chart = NonNullable<Report['chart']>;

function refuse(report: Report, says: string, hint: string): never {
  throw new RefusedError('report.bad_chart', `${report.file}: ${says}`, { hint });
}

function seriesOf({ y, series }: Chart, given: Rows) {
  const { columns, rows } = given;
  const at = (name: string): number => columns.indexOf(name);
  const several = [y].flat();
  if (series === undefined) {
    return several.map((name) => ({ name, value: at(name), takes: (): boolean => true }));
  }
  const [by, value] = [at(series), at(several[0] ?? '')];
  const names = new Set(rows.map((row) => row[by] ?? null));
  return [...names].map((key) => ({
    name: key === null ? '(none)' : String(key),
    value,
    takes: (row: readonly Cell[]): boolean => (row[by] ?? null) === key,
  }));
}

function compareText(a: Cell, b: Cell): number {
  return String(a) < String(b) ? -1 : 1;
}

/** Distinct values of the x axis: dates in order, all others as the SELECT sorts them. */
function xsOf({ rows }: Rows, index: number, isDate: boolean): Cell[] {
  const xs = [...new Set(rows.map((row) => row[index] ?? null))];
  return isDate ? xs.sort(compareText) : xs;
}

/**
 * Makes the chart of a report; rows with the same x and series are summed. Throws RefusedError
 * where y is no number or x has too many values.
 */
export function chartOf(report: Report, given: Rows, manner: Manner): ChartData {
  const { chart, file, title, empty } = report;
  if (!chart) {
    throw new RefusedError('report.no_chart', `${file}: it declares no chart`, {
      hint: 'add chart: { kind: bar, x: …, y: … } to its head, or take another format',
    });
  }
  const { kind, x, y } = chart;
  const index = given.columns.indexOf(x);
  const xKind = kindIn(report, given, x);
  const xs = xsOf(given, index, xKind === 'date');
  if (xs.length > XS_MAX) {
    const says = `${x} of its chart has ${xs.length} values (${XS_MAX} at most)`;
    refuse(report, says, 'narrow it by its parameters');
  }
  const byX = Map.groupBy(given.rows, (row) => row[index] ?? null);
  const series = seriesOf(chart, given).map(({ name, value, takes }) => ({
    name,
    values: xs.map((one) =>
      addUp((byX.get(one) ?? []).filter(takes).map((row) => row[value] ?? null)),
    ),
  }));
  const isKnown = series.some(({ values }) => values.some((one) => one !== null));
  if (given.rows.length > 0 && !isKnown) {
    refuse(
      report,
      `${[y].flat().join(', ')} of its chart is no number`,
      'name a column of numbers',
    );
  }
  const format = createCellFormat(manner, '(none)');
  const yKind = kindIn(report, given, [y].flat()[0] ?? '');
  return {
    title,
    kind,
    xName: x,
    xs: xs.map((one) => format(xKind, one)),
    isSequence: xKind !== 'text',
    series,
    locale: manner.locale ?? LOCALE,
    format: (value) => format(yKind, value),
    empty: empty ?? EMPTY,
  };
}
