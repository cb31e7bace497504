/** Makes a report a self-contained HTML page, to be read, printed and sent. */
import { chartFigure } from '../lib/chart/chart.ts';
import { CHART_STYLE } from '../lib/chart/style.ts';
import { RefusedError } from '../lib/errors.ts';
import { type Html, html, renderHtml } from '../lib/html.ts';
import { visible } from '../lib/strings.ts';
import { createCellFormat, LOCALE } from './cells.ts';
import { describeRun, type ReportDocument } from './document.ts';
import { createHeat, type Heat } from './heat.ts';
import { chartsOf } from './report-chart.ts';
import { isNumeric, type TableColumn } from './table.ts';
import { type ReadableTable, readable } from './words/readable.ts';

const STYLE = html`
:root{color-scheme:light dark;--back:#fff;--ink:#1a1f27;--faint:#565f6d;--edge:#d9dde3;
--h1:#e8f1fb;--h2:#c9dff5;--h3:#9fc6ec;--h4:#74abe0;
--n1:#fdeaea;--n2:#fbd0d2;--n3:#f5a9ad;--n4:#ee8389}
@media (prefers-color-scheme:dark){:root{--back:#14181f;--ink:#e6e9ee;--faint:#a3acb9;
--edge:#333c48;--h1:#1b2b3e;--h2:#1f3a5a;--h3:#234b78;--h4:#285c96;
--n1:#3c2226;--n2:#56292f;--n3:#71303a;--n4:#8c3844}}
body{margin:1.5rem;background:var(--back);color:var(--ink);font:14px/1.45 system-ui,sans-serif}
h1{margin:0;font-size:1.4rem}h2{margin:1rem 0 0;font-size:1.05rem}
p{margin:.3rem 0}
.run,.note,.empty{color:var(--faint)}
figure{margin:1rem 0;max-width:60rem}
.plot{overflow-x:auto}
.chart{width:100%;height:auto}
.key{display:inline-block;margin-right:1em}.drawn{width:.7em;height:.7em}
.table{overflow-x:auto}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.28em .68em;border-bottom:1px solid var(--edge);text-align:left;vertical-align:top}
thead th{border-bottom:2px solid var(--faint);white-space:nowrap}
.stock tbody{border-bottom:2px solid var(--edge)}.stock tbody th{font-weight:400}
.number{text-align:right}.number,.date,.whole{white-space:nowrap}th.number{white-space:normal}
tfoot td{font-weight:600}tfoot tr:first-child td{border-top:2px solid var(--faint)}
.h1{background:var(--h1)}.h2{background:var(--h2)}.h3{background:var(--h3)}.h4{background:var(--h4)}
.n1{background:var(--n1)}.n2{background:var(--n2)}.n3{background:var(--n3)}.n4{background:var(--n4)}
@page wide{size:A4 landscape;margin:12mm}
@media print{:root{--back:#fff;--ink:#000;--faint:#333;--edge:#bbb;
--h1:#e8f1fb;--h2:#c9dff5;--h3:#9fc6ec;--h4:#74abe0;
--n1:#fdeaea;--n2:#fbd0d2;--n3:#f5a9ad;--n4:#ee8389}
@page{margin:12mm}
body{margin:0;font-size:10pt}.table,.plot{overflow:visible}tr,figure{break-inside:avoid}
body:has(th:nth-child(10)){page:wide}
table{font-size:min(10pt,100vw/var(--ems))}thead th,thead .number,.whole{white-space:normal}
tfoot{display:table-row-group}td{print-color-adjust:exact}}
`;

/** Short texts with hyphens, such as SO-100043, that must not be broken at the hyphen. */
const HYPHENED = /^(?=.{1,24}$)[^\s-]+(?:-[^\s-]+)+$/;

function classOf({ kind }: TableColumn, level: number): string {
  const heat = level === 0 ? '' : `${level < 0 ? 'n' : 'h'}${Math.abs(level)}`;
  const form = isNumeric(kind) ? 'number' : kind === 'date' && 'date';
  return [form || '', heat].filter((name) => name !== '').join(' ');
}

/** A report with its table in words. */
export interface Readable extends Pick<ReportDocument, 'report' | 'manner'> {
  readonly table: ReadableTable;
}

/** HTML table of a report, or the sentence that takes its place when there are no rows. */
export function tablePart({ report, table, manner }: Readable): Html {
  const { columns, rows, totals, spans, caption } = table;
  const [format, heat] = [createCellFormat(manner), createHeat(table)];
  if (rows.length === 0) return html`<p class="empty">${report.empty ?? 'There are no rows.'}</p>`;
  const cell = (column: TableColumn, value: string | number | null, level: number): Html => {
    const text = format(column.kind, value);
    const form = classOf(column, level) || (HYPHENED.test(text) ? 'whole' : '');
    return html`<td class="${form}">${visible(text)}</td>`;
  };
  const line = (row: (typeof rows)[number], at: number, shade: Heat): Html => {
    const span = spans[at];
    return html`<tr>${columns.map((column, index) => {
      const value = row[index] ?? null;
      if (span === undefined || index > 1) return cell(column, value, shade(index, value, at));
      const text = visible(format(column.kind, value));
      if (index === 1) return html`<th scope="row">${text}</th>`;
      return span > 0 && html`<th scope="rowgroup" rowspan="${span}">${text}</th>`;
    })}</tr>
`;
  };
  const bodies = [...rows.keys()].filter((at) => at === 0 || (spans[at] ?? 0) > 0);
  return html`${caption !== undefined && html`<p>${visible(caption)}</p>`}
<div class="table" tabindex="0" role="group" aria-label="${report.title}">
<table${spans.length > 0 && html` class="grid stock"`}>
<thead><tr>${columns.map(
    (column) => html`<th scope="col" class="${classOf(column, 0)}">${visible(column.heading)}</th>`,
  )}</tr></thead>${bodies.map(
    (from, index) => html`<tbody>
${rows.slice(from, bodies[index + 1]).map((row, at) => line(row, from + at, heat))}</tbody>`,
  )}${
    totals.length > 0 &&
    html`<tfoot>${totals.map((row) => line(row, rows.length, () => 0))}</tfoot>`
  }</table></div>`;
}

/**
 * HTML chart of a report, with its points in a table below when `table` is true; undefined: the
 * report has none. A chart with too many points is replaced by a note: the table still has
 * everything.
 */
export function chartPart(
  document: Pick<ReportDocument, 'report' | 'given' | 'values' | 'manner'>,
  { table }: { readonly table: boolean },
): Html | undefined {
  if (!document.report.chart || document.given.rows.length === 0) return undefined;
  try {
    return html`${chartsOf(document).map(
      (chart) => html`<h2>${visible(chart.title)}</h2>${chartFigure(chart, { table })}`,
    )}`;
  } catch (thrown) {
    if (!(thrown instanceof RefusedError)) throw thrown;
    return html`<p class="note">No chart: ${thrown.message}.</p>`;
  }
}

/** Width in em of a bold letter; EM_ROOM: of the padding at both sides of a cell. */
const EM_CHAR = 0.62;
const EM_ROOM = 1.4;

/** Minimum width of the table in em, by which printing shrinks letters to fit the paper. */
function leastWidth({ table, manner }: Readable): string {
  const format = createCellFormat(manner);
  const longest = (words: readonly string[]): number => Math.max(...words.map((one) => one.length));
  const widths = table.columns.map((column, index) => {
    const cells = [...table.rows, ...table.totals].map((row) => {
      const text = format(column.kind, row[index] ?? null);
      const isWhole = isNumeric(column.kind) || column.kind === 'date';
      return isWhole ? text.length : longest(text.split(/[\s-]+/));
    });
    const most = cells.reduce((max, length) => Math.max(max, length), 0);
    return Math.max(most, longest(column.heading.split(' '))) * EM_CHAR + EM_ROOM;
  });
  return widths.reduce((sum, width) => sum + width, 1).toFixed(1);
}

export function pageOf(document: ReportDocument): string {
  const { report, manner } = document;
  const { title, about } = report;
  const table = readable(document);
  const shown = { report, table, manner };
  const page = html`<!doctype html>
<html lang="${manner.locale ?? LOCALE}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${CHART_STYLE}${STYLE}:root{--ems:${leastWidth(shown)}}</style></head><body>
<h1>${title}</h1>${about !== undefined && html`<p>${about}</p>`}
<p class="run">${visible(describeRun(document))}</p>
${chartPart(document, { table: false })}
${tablePart(shown)}
${table.notes.map((note) => html`<p class="note">${note}</p>`)}
</body></html>
`;
  return renderHtml(page);
}
