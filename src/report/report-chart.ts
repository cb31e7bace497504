/** Makes the chart of a report from the rows of its SELECT. */
import type { ChartData } from '../lib/chart/data.ts';
import { RefusedError } from '../lib/errors.ts';
import { sortSizes } from '../lib/sizes.ts';
import { createCellFormat, LOCALE, type Manner } from './cells.ts';
import type { ReportDocument } from './document.ts';
import type { ParameterValues } from './parameters.ts';
import type { Rows } from './pivot.ts';
import type { Cell } from './query.ts';
import type { Report } from './report-file.ts';
import type { ColumnKind } from './report-head.ts';
import { addUp, CURRENCY, kindIn } from './table.ts';
import { headingOf, valueInWords } from './words/columns.ts';

/** Most values on the x axis of a chart. */
const XS_MAX = 1_000;
const EMPTY = 'There are no rows.';
const NONE = '(none)';
const SIZE = 'size';

type Chart = NonNullable<Report['chart']>;

function refuse(report: Report, says: string, hint: string): never {
  throw new RefusedError('report.bad_chart', `${report.file}: ${says}`, { hint });
}

/** Charts of one report: what they share. */
interface Source {
  readonly report: Report;
  readonly values: ParameterValues;
  readonly manner: Manner;
  readonly given: Rows;
}

function indexOf({ given }: Source, name: string): number {
  return given.columns.indexOf(name);
}

function textsOf({ report, given, manner }: Source, name: string): (cell: Cell) => string {
  const [kind, format] = [kindIn(report, given, name), createCellFormat(manner, NONE)];
  return (cell) => format(kind, report.isOwn ? cell : valueInWords(name, cell));
}

function seriesOf(source: Source, { y, series, label }: Chart) {
  const { report, values, given } = source;
  const several = [y].flat();
  if (series === undefined) {
    return several.map((column) => ({
      name: headingOf(report, values, column),
      value: indexOf(source, column),
      takes: (): boolean => true,
    }));
  }
  const [by, value] = [indexOf(source, series), indexOf(source, several[0] ?? '')];
  const text = textsOf(source, series);
  return [...Map.groupBy(given.rows, (row) => row[by] ?? null)].map(([key, [first]]) => ({
    name: String((label === undefined ? null : first?.[indexOf(source, label)]) ?? text(key)),
    value,
    takes: (row: readonly Cell[]): boolean => (row[by] ?? null) === key,
  }));
}

/** Place of the x axis: its rows, and its text. */
interface Place {
  readonly key: string;
  readonly text: string;
  readonly rows: readonly (readonly Cell[])[];
}

/** Texts of the places; two that would have the same text have their keys beside it. */
function placesOf(source: Source, { x, label, series }: Chart): Place[] {
  const { given } = source;
  const columns = [x].flat();
  const texts = columns.map((name) => textsOf(source, name));
  const keyOf = (row: readonly Cell[]): Cell[] =>
    columns.map((name) => row[indexOf(source, name)] ?? null);
  const labels = label === undefined || series !== undefined ? -1 : indexOf(source, label);
  const places = [...Map.groupBy(given.rows, (row) => JSON.stringify(keyOf(row)))].map(
    ([key, rows]) => {
      const cells = keyOf(rows[0] ?? []);
      const parts = cells.map((cell, at) => (at > 0 && cell === null ? '' : texts[at]?.(cell)));
      // `SS27 Drop 1` names its season itself.
      const told = parts.filter((part, at) => part && !parts[at + 1]?.startsWith(part));
      const own = told.join(', ');
      const shown = rows[0]?.[labels] ?? null;
      return { key, rows, own, text: shown === null ? own : String(shown) };
    },
  );
  const times = Map.groupBy(places, ({ text }) => text);
  return places.map(({ own, text, ...place }) => ({
    ...place,
    text: own === text || times.get(text)?.length === 1 ? text : `${text}, ${own}`,
  }));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Order of the x axis: days by time, sizes as people lay them out, all others as in the table. */
function inOrder(source: Source, { x }: Chart, places: readonly Place[]): readonly Place[] {
  if (typeof x !== 'string') return places;
  if (kindIn(source.report, source.given, x) === 'date') {
    return places.toSorted((a, b) => compareText(a.key, b.key));
  }
  if (x !== SIZE) return places;
  const sizes = sortSizes(places.map(({ text }) => text));
  return places.toSorted((a, b) => sizes.indexOf(a.text) - sizes.indexOf(b.text));
}

interface Extreme {
  readonly count: number;
  readonly word: 'highest' | 'lowest';
}

function extremeOf({ highest, lowest }: Chart): Extreme | undefined {
  if (highest !== undefined) return { count: highest, word: 'highest' };
  return lowest === undefined ? undefined : { count: lowest, word: 'lowest' };
}

function unitOf(kind: ColumnKind, currency: string): string {
  if (kind === 'percent') return ' (%)';
  return kind === 'amount' && currency !== '' ? ` (${currency})` : '';
}

function chartOf(source: Source, chart: Chart, unit: string): ChartData {
  const { report, values, manner, given } = source;
  const { kind, x } = chart;
  const all = inOrder(source, chart, placesOf(source, chart));
  const columns = seriesOf(source, chart);
  const sumOf = (place: Place, { takes, value }: (typeof columns)[number]): number | null =>
    addUp(place.rows.filter(takes).map((row) => row[value] ?? null));
  const sizeOf = (place: Place): number =>
    columns.reduce((sum, column) => sum + (sumOf(place, column) ?? 0), 0);
  const extreme = extremeOf(chart);
  const sign = extreme?.word === 'lowest' ? 1 : -1;
  const sorted = all.toSorted((a, b) => sign * (sizeOf(a) - sizeOf(b)));
  const kept = new Set(extreme ? sorted.slice(0, extreme.count) : all);
  const places = all.filter((place) => kept.has(place));
  const headings = (names: readonly string[]): string =>
    names.map((name) => headingOf(report, values, name)).join(', ');
  if (places.length > XS_MAX) {
    const name = [x].flat().join(', ');
    const says = `${name} of its chart has ${places.length} values (${XS_MAX} at most)`;
    refuse(report, says, 'narrow it by its parameters');
  }
  const series = columns.map((column) => ({
    name: column.name,
    values: places.map((place) => sumOf(place, column)),
  }));
  const measures = [chart.y].flat();
  if (given.rows.length > 0 && !series.some((one) => one.values.some((cell) => cell !== null))) {
    refuse(report, `${measures.join(', ')} of its chart is no number`, 'name a column of numbers');
  }
  const format = createCellFormat(manner, NONE);
  const yKind = kindIn(report, given, measures[0] ?? '');
  const cut = places.length < all.length && `the ${places.length} ${extreme?.word}`;
  return {
    title: [chart.title ?? report.title, unit, cut].filter((part) => part).join(', '),
    kind,
    xName: headings([x].flat()),
    yName: `${headings(measures)}${unitOf(yKind, unit)}`,
    xs: places.map(({ text }) => text),
    isSequence: typeof x === 'string' && kindIn(report, given, x) !== 'text',
    series,
    locale: manner.locale ?? LOCALE,
    format: (value) => format(yKind, value),
    empty: report.empty ?? EMPTY,
  };
}

/**
 * Makes the charts of a report; rows with the same x and series are summed. There is one, or one of
 * each currency: amounts of two have no axis together. Throws RefusedError where y is no number or
 * x has too many values.
 */
export function chartsOf(
  document: Pick<ReportDocument, 'report' | 'given' | 'values' | 'manner'>,
): readonly ChartData[] {
  const { report, given } = document;
  const { chart, file } = report;
  if (!chart) {
    throw new RefusedError('report.no_chart', `${file}: it declares no chart`, {
      hint: 'add chart: { kind: bar, x: …, y: … } to its head, or take another format',
    });
  }
  const measures = [chart.y].flat();
  const by = given.columns.indexOf(CURRENCY);
  const isMoney = measures.some((name) => kindIn(report, given, name) === 'amount');
  const value = given.columns.indexOf(measures[0] ?? '');
  const known = given.rows.filter((row) => row[value] !== null);
  const groups = Map.groupBy(known, (row) => row[by] ?? null);
  if (!isMoney || by < 0 || groups.size === 0) return [chartOf(document, chart, '')];
  return [...groups].map(([currency, rows]) =>
    chartOf({ ...document, given: { ...given, rows } }, chart, String(currency ?? '')),
  );
}
