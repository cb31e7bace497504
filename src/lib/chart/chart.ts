/**
 * Draws charts as SVG without a browser: bars, stacked bars and lines. The markup has attributes
 * and classes only, which the policy of the console allows; style.ts has the colours for a file
 * that stands alone. Each chart has a summary in words, and its numbers as a table.
 */
import { type Html, html } from '../html.ts';
import { visible } from '../strings.ts';
import type { ChartData, ChartSeries } from './data.ts';
import { type Layout, layoutOf } from './layout.ts';
import { CHART_STYLE } from './style.ts';
import { FONT_PX, fitText, LINE_PX, widthOf } from './text.ts';

/** Maximum of series in a chart: the number of colours that can be told apart. */
const SERIES_MAX = 8;

/** Number of points up to which each one is marked on a line. */
const MARKS_MAX = 60;

function sizeOf({ values }: ChartSeries): number {
  return values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0);
}

function totalOf({ values }: ChartSeries): number {
  return Number(values.reduce<number>((sum, value) => sum + (value ?? 0), 0).toFixed(4));
}

/** Adds the smallest series up to one when a chart has more series than colours. */
function withOthers(data: ChartData): ChartData {
  if (data.series.length <= SERIES_MAX) return data;
  const bySize = [...data.series].sort((a, b) => sizeOf(b) - sizeOf(a));
  const kept = new Set(bySize.slice(0, SERIES_MAX - 1));
  const others = data.series.filter((one) => !kept.has(one));
  const values = data.xs.map((_, index) => {
    const known = others.map((one) => one.values[index] ?? null).filter((one) => one !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });
  const name = `others (${others.length})`;
  return { ...data, series: [...data.series.filter((one) => kept.has(one)), { name, values }] };
}

function toneOf({ tone }: ChartSeries, index: number): string {
  return tone ?? `tone-${index}`;
}

function px(value: number): string {
  return value.toFixed(1);
}

function bar(tone: string, x: number, width: number, [from, to]: readonly [number, number]): Html {
  const [top, height] = [Math.min(from, to), Math.abs(from - to)];
  return html`<rect class="bar ${tone}" x="${px(x)}" y="${px(top)}" width="${px(width)}"
height="${px(height)}"></rect>`;
}

function barsAt({ kind, series }: ChartData, { y, bandPx, middle }: Layout, at: number): Html[] {
  const inner = Math.min(bandPx * 0.85, 120);
  const start = middle(at) - inner / 2;
  const each = kind === 'stacked' ? inner : inner / series.length;
  let [above, below] = [0, 0];
  return series.flatMap((one, index) => {
    const value = one.values[at] ?? 0;
    if (value === 0) return [];
    if (kind === 'bar') {
      return [bar(toneOf(one, index), start + index * each, each, [y(0), y(value)])];
    }
    const from = value < 0 ? below : above;
    if (value < 0) below += value;
    else above += value;
    return [bar(toneOf(one, index), start, each, [y(from), y(from + value)])];
  });
}

function lineOf(one: ChartSeries, index: number, { y, middle }: Layout): Html {
  let isOpen = false;
  const path: string[] = [];
  const marks: Html[] = [];
  const tone = toneOf(one, index);
  for (const [at, value] of one.values.entries()) {
    if (value !== null) {
      path.push(`${isOpen ? 'L' : 'M'}${px(middle(at))} ${px(y(value))}`);
      const mark = html`<circle class="mark ${tone}" cx="${px(middle(at))}" cy="${px(y(value))}"
r="2.5"></circle>`;
      if (one.values.length <= MARKS_MAX) marks.push(mark);
    }
    isOpen = value !== null;
  }
  return html`<path class="line ${tone}" d="${path.join('')}"></path>${marks}`;
}

function axes({ xs, yName }: ChartData, layout: Layout): Html {
  const { ticks, labels, leans, left, right, base, y, middle } = layout;
  return html`${
    yName !== undefined &&
    html`<text class="tick" x="0" y="${FONT_PX}">${fitText(yName, right)}</text>`
  }${ticks.map(
    ({ value, text }) => html`<line class="${value === 0 ? 'zero' : 'rule'}" x1="${px(left)}"
x2="${px(right)}" y1="${px(y(value))}" y2="${px(y(value))}"></line>
<text class="tick" x="${px(left - 6)}" y="${px(y(value))}" dy="4" text-anchor="end">${text}</text>`,
  )}${labels.map(({ index, text }) => {
    const [x, full] = [px(middle(index)), visible(xs[index] ?? '')];
    const title = full === text ? null : html`<title>${full}</title>`;
    if (!leans) {
      return html`<text class="tick label" x="${x}" y="${base + LINE_PX + 6}"
text-anchor="middle">${text}${title}</text>`;
    }
    return html`<text class="tick label" x="${x}" y="${base + LINE_PX}" text-anchor="end"
transform="rotate(-45 ${x} ${base + LINE_PX - 4})">${text}${title}</text>`;
  })}`;
}

function hasValues({ xs, series }: ChartData): boolean {
  return xs.length > 0 && series.length > 0;
}

/** Describes a chart in words: the sum of each series, or of a single one its extremes. */
export function chartSummary(given: ChartData): string {
  const data = withOthers(given);
  const { title, kind, xs, series, format } = data;
  if (!hasValues(data)) return `${title}: ${data.empty}`;
  const range = xs.length === 1 ? (xs[0] ?? '') : `${xs[0]} to ${xs.at(-1)}`;
  const [first] = series;
  const says =
    series.length === 1 && first ? extremes(first, data) : series.map((one) => sumOf(one, format));
  const named = { bar: 'bars', line: 'lines', stacked: 'stacked bars' }[kind];
  return visible(`${title}: ${named} of ${data.xName} ${range}; ${says.join(', ')}`);
}

function sumOf(one: ChartSeries, format: ChartData['format']): string {
  return `${one.name} ${format(totalOf(one))}`;
}

function extremes({ name, values }: ChartSeries, { xs, format }: ChartData): string[] {
  const known = values.flatMap((value, at) => (value === null ? [] : [{ value, at }]));
  const sorted = known.sort((a, b) => a.value - b.value);
  const [low, high] = [sorted[0], sorted.at(-1)];
  if (!low || !high) return [`${name}: no value`];
  const told = (word: string, { value, at }: typeof low) => `${word} ${format(value)} at ${xs[at]}`;
  if (low.value === high.value) return [`${name} ${format(low.value)}`];
  return [`${name}: ${told('highest', high)}`, told('lowest', low)];
}

/** Draws axes and values, without the SVG element around them. */
function drawing(data: ChartData, layout: Layout): Html {
  const isLine = data.kind === 'line';
  return html`${axes(data, layout)}${
    isLine
      ? data.series.map((one, index) => lineOf(one, index, layout))
      : data.xs.map((_, at) => barsAt(data, layout, at))
  }`;
}

/**
 * Makes the chart for a page, with a legend and with its numbers in a table, which is open if
 * `table` is true.
 */
export function chartFigure(given: ChartData, { table }: { readonly table: boolean }): Html {
  if (!hasValues(given)) return html`<p class="empty">${given.empty}</p>`;
  const data = withOthers(given);
  const layout = layoutOf(data);
  const counted = data.kind !== 'line' && data.series.length > 1;
  return html`<figure><div class="plot" tabindex="0" role="group" aria-label="${visible(
    data.title,
  )}"><svg class="chart" viewBox="0 0 ${layout.width} ${layout.height}" role="img"
aria-label="${chartSummary(given)}">${drawing(data, layout)}</svg></div>
<figcaption>${data.series.map(
    (one, index) => html`<span class="key"><svg class="drawn ${toneOf(one, index)}"
 viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" fill="currentColor"/></svg>
${visible(counted ? sumOf(one, data.format) : one.name)}</span> `,
  )}</figcaption>${table && chartTable(given)}</figure>`;
}

function chartTable({ xName, xs, series, format }: ChartData): Html {
  const cell = (value: number | null | undefined): string =>
    value === null || value === undefined ? '' : format(value);
  return html`<details><summary>As a table</summary><table><thead><tr>
<th scope="col">${xName}</th>${series.map(
    ({ name }) => html`<th scope="col" class="number">${visible(name)}</th>`,
  )}</tr></thead><tbody>${xs.map(
    (x, at) =>
      html`<tr><td>${visible(x)}</td>${series.map(
        ({ values }) => html`<td class="number">${cell(values[at])}</td>`,
      )}</tr>`,
  )}</tbody></table></details>`;
}

const TITLE_PX = 16;
/** Factor by which bold letters are wider. */
const BOLD = 1.15;
const HEAD_PX = 34;
const KEY_PX = 20;

/** Places the keys of the legend: as many in a row as fit. */
function keysOf({ series }: ChartData, layout: Layout) {
  let [x, row] = [0, 0];
  return series.map((one, index) => {
    const text = fitText(one.name, layout.width - 40);
    const width = KEY_PX + widthOf(text) + KEY_PX;
    if (x > 0 && x + width > layout.width) [x, row] = [0, row + 1];
    const key = { tone: toneOf(one, index), text, x, row };
    x += width;
    return key;
  });
}

interface Drawn {
  readonly svg: Html;
  readonly width: number;
  readonly height: number;
}

/** Makes charts an SVG file of their own: one, or several below each other. */
export function chartDocument(...charts: readonly ChartData[]): Html {
  const drawn: Drawn[] = [];
  for (const chart of charts) drawn.push(drawnBelow(chart, heightOf(drawn)));
  const [only, ...others] = drawn;
  if (only && others.length === 0) return only.svg;
  const width = Math.max(...drawn.map((one) => one.width));
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}"
height="${heightOf(drawn)}">${drawn.map(({ svg }) => svg)}</svg>`;
}

function heightOf(drawn: readonly Drawn[]): number {
  return drawn.reduce((sum, { height }) => sum + height, 0);
}

/** Draws a chart with title, legend, colours and a description inside, from a height on. */
function drawnBelow(given: ChartData, top: number): Drawn {
  const data = withOthers(given);
  const layout = layoutOf(data);
  const keys = hasValues(data) ? keysOf(data, layout) : [];
  const rows = Math.max(0, ...keys.map(({ row }) => row + 1));
  const { width } = layout;
  const height = HEAD_PX + (hasValues(data) ? layout.height + rows * KEY_PX + 8 : 60);
  const summary = chartSummary(given);
  const svg = html`<svg xmlns="http://www.w3.org/2000/svg" class="chart"${
    top > 0 && html` y="${top}"`
  } width="${width + 24}"
height="${height + 16}" viewBox="-12 -8 ${width + 24} ${height + 16}" role="img"
aria-label="${summary}">
<title>${visible(data.title)}</title><desc>${summary}</desc><style>${CHART_STYLE}</style>
<rect class="paper" x="-12" y="-8" width="${width + 24}" height="${height + 16}"></rect>
<text class="title" x="0" y="${TITLE_PX}">${fitText(data.title, width, TITLE_PX * BOLD)}</text>
${
  hasValues(data)
    ? html`<g transform="translate(0 ${HEAD_PX})">${drawing(data, layout)}</g>`
    : html`<text class="tick" x="0" y="${HEAD_PX + 20}">${fitText(data.empty, width)}</text>`
}${keys.map(({ tone, text, x, row }) => {
  const y = HEAD_PX + layout.height + 8 + row * KEY_PX;
  return html`<rect class="bar ${tone}" x="${px(x)}" y="${px(y)}" width="10" height="10"></rect>
<text class="key" x="${px(x + KEY_PX - 5)}" y="${px(y + 9)}">${text}</text>`;
})}</svg>`;
  return { svg, width: width + 24, height: height + 16 };
}
