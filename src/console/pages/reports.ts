/** Pages about reports: the list, and one report with its form, chart, table and files. */
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { ReportDocument } from '../../report/document.ts';
import { chartPart, tablePart } from '../../report/page.ts';
import type { Report } from '../../report/report-file.ts';
import type { ReportList, ReportRow, ScheduleRow } from '../read/reports.ts';
import { time } from './format.ts';
import { tableOf } from './parts.ts';
import { withQuery } from './review.ts';

function lastText({ last, retryAt }: ScheduleRow, timeZone: string): HtmlValue {
  if (!last) return 'not made yet';
  if (last.isGood) {
    return html`${time(last.at, timeZone)}: ${plural(last.rows ?? 0, 'row')}, ${last.says}`;
  }
  const then =
    retryAt === null
      ? 'given up until it is due again'
      : html`tried again ${time(retryAt, timeZone)}`;
  return html`<b class="state s-overdue">failed</b> ${time(last.at, timeZone)}, ${then}:
${last.says}`;
}

function schedulesTable(rows: readonly ScheduleRow[], timeZone: string): Html {
  return tableOf<ScheduleRow>(
    'Schedules',
    rows,
    [
      { title: 'Schedule', cell: ({ name }) => name },
      {
        title: 'Report',
        cell: ({ report }) => html`<a href="/reports/${report}">${report}</a>`,
      },
      { title: 'Every', cell: ({ every }) => every },
      { title: 'Format', cell: ({ format }) => format },
      { title: 'Next', cell: ({ nextAt }) => time(nextAt, timeZone) },
      { title: 'Last result', cell: (row) => lastText(row, timeZone) },
    ],
    html`No report is made by the clock. <code>reports.schedules</code> of the configuration sends
one by mail or writes it into a folder.`,
  );
}

export interface ReportsView extends ReportList {
  readonly schedules: readonly ScheduleRow[];
  readonly timeZone: string;
  readonly locale: string;
}

function parameterNames({ params }: ReportRow): string {
  return Object.entries(params)
    .map(([name, { default: preset }]) => {
      if (preset === undefined) return name;
      return preset === '' ? `${name} (or all)` : `${name} (${preset})`;
    })
    .join(', ');
}

export function reportsPage({ reports, wrong, schedules, timeZone, locale }: ReportsView): Html {
  const csv = withQuery('/reports.csv', new URLSearchParams(), { locale });
  const table = tableOf<ReportRow>(
    'Reports',
    reports,
    [
      {
        title: 'Report',
        cell: ({ name, title }) => html`<a href="/reports/${name}">${title}</a>
<code>${name}</code>`,
      },
      { title: 'What it tells', cell: ({ about }) => about },
      { title: 'Asks for', cell: parameterNames },
    ],
    'There is no report.',
  );
  return html`<h1>Reports</h1>
<p>${plural(reports.length, 'report')} · <a href="${csv}">CSV</a></p>${table}
${
  wrong.length > 0 &&
  html`<section><h2>Files that are no reports</h2>${wrong.map(
    ({ message }) => html`<p class="problem">${message}</p>`,
  )}</section>`
}
<section><h2>By the clock</h2>${schedulesTable(schedules, timeZone)}</section>`;
}

/** Report that was run for a page. */
export interface MadeReport extends Pick<ReportDocument, 'table' | 'given' | 'manner'> {
  /** Parameters and time of the run, in words. */
  readonly about: string;
}

export interface ReportView {
  readonly report: Report;
  /** Values that the person gave, by the parameters' names. */
  readonly given: Readonly<Record<string, string>>;
  readonly made: MadeReport | undefined;
  /** Error in place of a table; undefined: there is a table, or nothing was asked for. */
  readonly problem: string | undefined;
  readonly schedules: readonly ScheduleRow[];
  readonly query: URLSearchParams;
  readonly timeZone: string;
  readonly locale: string;
}

export const PARAMETER = 'param.';

const TYPES = { text: 'text', number: 'number', time: 'text' } as const;

function formPart({ report, given }: ReportView): Html | false {
  const fields = Object.entries(report.params);
  if (fields.length === 0) return false;
  const field = ([name, parameter]: (typeof fields)[number]): Html => {
    const { type, about, default: preset, choices } = parameter;
    const value = given[name] ?? preset ?? '';
    if (choices) {
      return html`<div><label for="p-${name}">${name.replaceAll('_', ' ')}</label>
<select id="p-${name}" name="${PARAMETER}${name}" aria-describedby="a-${name}">${choices.map(
        (one) => html`<option value="${one}"${one === value && html` selected`}>${one}</option>`,
      )}</select><p class="soft" id="a-${name}">${about}</p></div>`;
    }
    const hint = type === 'time' ? '2026-03-31, 2026-03-31T18:00:00Z or 28d ago' : '';
    return html`<div><label for="p-${name}">${name.replaceAll('_', ' ')}</label>
<input id="p-${name}" name="${PARAMETER}${name}" type="${TYPES[type]}"
value="${value}" placeholder="${hint}" aria-describedby="a-${name}"${
      preset === undefined && html` required`
    }><p class="soft" id="a-${name}">${about}</p></div>`;
  };
  return html`<form class="filters fields" method="get" action="/reports/${report.name}">
${fields.map(field)}<div class="buttons"><button class="primary">Run</button></div></form>`;
}

function filesPart({ report, query, locale }: ReportView): Html {
  const link = (twin: string, text: string): Html =>
    html`<a class="button" href="${withQuery(`/reports/${report.name}.${twin}`, query, {
      locale,
    })}">${text}</a>`;
  return html`<div class="buttons files">${link('xlsx', 'XLSX')} ${link('csv', 'CSV')}
${link('html', 'HTML file')} <button type="button" data-print hidden>Print</button></div>`;
}

function madePart(view: ReportView): Html | false {
  const { report, made } = view;
  if (!made) return false;
  return html`<p class="soft">${made.about}</p>${filesPart(view)}
${chartPart({ report, ...made }, { table: true })}${tablePart({ report, ...made })}
${made.table.notes.map((note) => html`<p class="note">${note}</p>`)}`;
}

export function reportPage(view: ReportView): Html {
  const { report, problem, schedules, timeZone } = view;
  const { title, about } = report;
  return html`<h1>${title}</h1>
<p>${about} <a href="/reports">All reports</a></p>
${formPart(view)}
${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
${madePart(view)}
${
  schedules.length > 0 &&
  html`<section><h2>By the clock</h2>${schedulesTable(schedules, timeZone)}</section>`
}`;
}
