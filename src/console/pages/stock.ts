/** Page of a style's stock, by colour, size, day and order. */
import { chartFigure } from '../../lib/chart/chart.ts';
import type { ChartData, ChartSeries } from '../../lib/chart/data.ts';
import { type Html, html } from '../../lib/html.ts';
import { localClockOf } from '../../lib/local-time.ts';
import { sortSizes } from '../../lib/sizes.ts';
import { localeOfReader } from '../../lib/strings.ts';
import { NO_SIZE, type StockCell, type StyleStock, sizeOf } from '../../mirror/stock/style.ts';
import { heatLevel } from '../../report/heat.ts';
import type { StockHistory } from '../read/stock.ts';
import { addressOf } from '../surface/addresses.ts';
import { time, whole } from './format.ts';
import type { Reader } from './parts.ts';
import { withQuery } from './review.ts';

export interface StyleView {
  readonly stock: StyleStock;
  /** Lists about the style; none when the page shows the past. */
  readonly below: readonly Html[];
  readonly days: StockHistory;
  /** Property by which the chart has one line per value. */
  readonly by: 'size' | 'color';
  readonly query: URLSearchParams;
  readonly reader: Reader;
  /** Reason why the stock at the time asked for cannot be shown; undefined: it can. */
  readonly problem: string | undefined;
}

interface Measure {
  readonly name: string;
  readonly of: (cell: StockCell) => number | null;
  readonly isHeat?: boolean;
}

const NOW: readonly Measure[] = [
  { name: 'On hand', of: ({ onHand }) => onHand },
  { name: 'Packed', of: ({ packed }) => packed },
  { name: 'Free', of: ({ free }) => free, isHeat: true },
  { name: 'Open orders', of: ({ toPack }) => toPack },
];
const THEN: readonly Measure[] = [{ name: 'On hand', of: ({ onHand }) => onHand, isHeat: true }];

/** Sum of a measure over cells; null where it is not known for one of them. */
function sumOf(cells: readonly StockCell[], of: Measure['of']): number | null {
  return cells.reduce<number | null>((sum, cell) => {
    const value = of(cell);
    return sum === null || value === null ? null : sum + value;
  }, 0);
}

/** Percentage of wanted pieces that are free, by size: one size's rest fills no other. */
function coverText(cells: readonly StockCell[]): string {
  const wanted = cells.filter(({ toPack }) => (toPack ?? 0) > 0);
  const asked = wanted.reduce((sum, { toPack }) => sum + (toPack ?? 0), 0);
  if (asked === 0) return '';
  const covered = wanted.reduce(
    (sum, { free, toPack }) => sum + Math.min(toPack ?? 0, Math.max(0, free ?? 0)),
    0,
  );
  return `${Math.floor((100 * covered) / asked)} %`;
}

function numberCell(value: number | null, level: number, isSum: boolean): Html {
  const heat = level === 0 ? '' : `${level < 0 ? 'n' : 'h'}${Math.abs(level)}`;
  const below = value !== null && value < 0 ? ' below' : '';
  return html`<td class="number ${heat}${below}${isSum && ' sum'}">${whole(value)}</td>`;
}

function colorName({ color, colorCode, barcode }: StockCell): string {
  const parts = [color, colorCode === color ? null : colorCode].filter((part) => part !== null);
  return parts.join(' · ') || barcode;
}

/** Table rows of a color, one per measure; sums of all colors have no shade by its scale. */
function measureRows(
  name: string,
  cells: readonly StockCell[],
  { stock, measures, most }: GridContext,
  isSum = false,
): Html {
  const bySize = (size: string) => cells.filter((cell) => sizeOf(cell) === size);
  const hasCover = stock.asOf === null;
  const row = ({ name: title, of, isHeat }: Measure, index: number): Html =>
    html`<tr>${
      index === 0 &&
      html`<th scope="rowgroup" rowspan="${measures.length + Number(hasCover)}">${name}</th>`
    }<th scope="row">${title}</th>${stock.sizes.map((size) => {
      const found = bySize(size);
      if (found.length === 0) return html`<td></td>`;
      const value = sumOf(found, of);
      return numberCell(value, isHeat === true && !isSum ? heatLevel(value, most) : 0, false);
    })}${numberCell(sumOf(cells, of), 0, true)}</tr>`;
  const cover = html`<tr><th scope="row">Cover</th>${stock.sizes.map(
    (size) => html`<td class="number">${coverText(bySize(size))}</td>`,
  )}<td class="number sum">${coverText(cells)}</td></tr>`;
  return html`<tbody>${measures.map(row)}${hasCover && cover}</tbody>`;
}

interface GridContext {
  readonly stock: StyleStock;
  readonly measures: readonly Measure[];
  /** Largest absolute number among the shaded ones, which gets the strongest shade. */
  readonly most: number;
}

function gridPart(stock: StyleStock): Html {
  const { cells, sizes, asOf } = stock;
  if (cells.length === 0) {
    return asOf === null
      ? html`<p class="empty">The stock list does not have it now: it is sold out, or only ordered
ahead.</p>`
      : html`<p class="empty">The stock list did not have it then.</p>`;
  }
  const measures = asOf === null ? NOW : THEN;
  const shaded = measures.filter(({ isHeat }) => isHeat === true);
  const values = shaded.flatMap(({ of }) => cells.map((cell) => Math.abs(of(cell) ?? 0)));
  const context = { stock, measures, most: Math.max(0, ...values) };
  const colors = [...Map.groupBy(cells, colorName)];
  return html`<div class="table" tabindex="0" role="group" aria-label="Pieces by colour and size">
<table class="grid stock"><thead><tr><th scope="col">Colour</th><th scope="col">Pieces</th>
${sizes.map((size) => html`<th scope="col" class="number">${size}</th>`)}
<th scope="col" class="number">Total</th></tr></thead>
${colors.map(([name, of]) => measureRows(name, of, context))}
${colors.length > 1 && measureRows('All colours', cells, context, true)}</table></div>
${
  asOf === null &&
  html`<p class="soft">Free: on hand, less what is packed and not shipped. Open orders: what orders
without a season still want and nothing is packed for. Cover: the share of it that is free.</p>`
}`;
}

/** Chart series of pieces per day; a day without changes repeats the day before. */
function seriesOf({ stock, days: history, by }: StyleView): ChartSeries[] {
  const { rows, days, told } = history;
  const groups = Map.groupBy(rows, (row) => row[by] ?? NO_SIZE);
  const found = [...groups.keys()];
  const names = by === 'size' ? sortSizes(found, stock.sizes) : found.sort();
  const [first] = rows;
  return names.map((name) => {
    const byDay = Map.groupBy(groups.get(name) ?? [], ({ day }) => day);
    let pieces: number | null = null;
    const values = days.map((day) => {
      if (first === undefined || day < first.day) return null;
      const of = byDay.get(day);
      if (of) pieces = of.reduce((sum, one) => sum + (one.pieces ?? 0), 0);
      else if (told.has(day)) pieces = 0;
      return pieces;
    });
    return { name, values };
  });
}

function historyPart(view: StyleView): Html {
  const { stock, days, query, by } = view;
  const data: ChartData = {
    title: `Pieces at the end of each day, by ${by === 'size' ? 'size' : 'colour'}`,
    kind: 'line',
    xName: 'day',
    xs: days.days,
    isSequence: true,
    series: seriesOf(view),
    locale: localeOfReader(),
    format: whole,
    empty: 'Nothing is known of its days before: the change feed has no change of the stock.',
  };
  const path = addressOf('style', stock.style);
  const link = (wanted: StyleView['by'], text: string): Html =>
    html`<a href="${withQuery(path, query, { by: wanted })}"${
      by === wanted && html` aria-current="true"`
    }>${text}</a>`;
  return html`<section><h2>Through time</h2>
<nav class="parts" aria-label="Lines of the chart">${link(
    'size',
    'by size',
  )} ${link('color', 'by colour')}</nav>
${chartFigure(data, { table: true })}
<p class="soft"><a href="${path}/history">Every movement</a></p></section>`;
}

function asOfForm({ stock, query, reader: { timeZone, locale }, problem }: StyleView): Html {
  const { style, asOf } = stock;
  const path = addressOf('style', style);
  const given = query.get('asOf') ?? '';
  const csv = withQuery(`${path}.csv`, new URLSearchParams(), { asOf: given, locale });
  const local = asOf === null ? undefined : localClockOf(timeZone)(asOf);
  const shown = local ? `${local.date}T${local.time}` : given;
  return html`<form class="filters" method="get" action="${path}">
<div><label for="f-as-of">As it was (${timeZone})</label>
<input id="f-as-of" name="asOf" type="datetime-local" value="${shown}" required></div>
${query.has('by') && html`<input type="hidden" name="by" value="${query.get('by')}">`}
<div class="buttons"><button>Show</button> <a class="button" href="${path}">Now</a>
<a class="button" href="${csv}">CSV</a></div></form>
${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}`;
}

export function stylePage(view: StyleView): Html {
  const { stock, reader } = view;
  const { style, styleName, brand, asOf, cells } = stock;
  const pieces = sumOf(cells, ({ onHand }) => onHand);
  const when = asOf === null ? 'now' : html`as of ${time(asOf, reader.timeZone)}`;
  return html`<h1>${style}${styleName !== null && ` ${styleName}`}</h1>
<p>${brand !== null && html`${brand} · `}${whole(pieces)} pieces on hand, ${when}.
${asOf !== null && 'What was packed and ordered then is not kept.'} ·
<a href="/stock">All styles</a></p>
${asOfForm(view)}
${view.problem === undefined && gridPart(stock)}
${historyPart(view)}
${view.below}`;
}
