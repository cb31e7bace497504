/** Page of a report with its form, chart, table and files. */
import { type Html, html } from '../../lib/html.ts';
import type { ReportDocument } from '../../report/document.ts';
import { schedules } from '../../report/lists.ts';
import { chartPart, tablePart } from '../../report/page.ts';
import type { Report } from '../../report/report-file.ts';
import { inWords, labelOf } from '../../report/words/columns.ts';
import type { Offered } from '../../report/words/offers.ts';
import type { ReadableTable } from '../../report/words/readable.ts';
import type { Given } from '../../surface/given.ts';
import { tableFor } from '../surface/html.ts';
import type { Reader } from './parts.ts';
import { withQuery } from './review.ts';

/** Report that was run for a page. */
export interface MadeReport extends Pick<ReportDocument, 'given' | 'manner' | 'values'> {
  readonly table: ReadableTable;
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
  /** Schedules by which the report is made. */
  readonly planned: readonly Given[];
  /** Values that the form offers, by the parameters' names. */
  readonly offers: Readonly<Record<string, readonly Offered[]>>;
  readonly query: URLSearchParams;
  readonly reader: Reader;
}

export const PARAMETER = 'param.';

/** Default of a time that is the present one. */
const NOW = '0s';

const TYPES = { text: 'text', number: 'number', time: 'text' } as const;

function listPart(id: string, offered: readonly Offered[]): Html | false {
  if (offered.length === 0) return false;
  const options = offered.map(
    ({ value, says }) => html`<option value="${value}">${says ?? ''}</option>`,
  );
  return html`<datalist id="${id}">${options}</datalist>`;
}

function formPart({ report, given, offers }: ReportView): Html | false {
  const fields = Object.entries(report.params);
  if (fields.length === 0) return false;
  const field = ([name, parameter]: (typeof fields)[number]): Html => {
    const { type, about, default: preset, choices } = parameter;
    const value = given[name] ?? (preset === NOW ? '' : (preset ?? ''));
    if (choices) {
      return html`<div><label for="p-${name}">${labelOf(name, parameter)}</label>
<select id="p-${name}" name="${PARAMETER}${name}" aria-describedby="a-${name}">${choices.map(
        (one) =>
          html`<option value="${one}"${one === value && html` selected`}>${inWords(one)}</option>`,
      )}</select><p class="soft" id="a-${name}">${about}</p></div>`;
    }
    const day = preset === NOW ? 'now, or 2026-03-31' : '2026-03-31, or 28d ago';
    const hint = type === 'time' ? day : '';
    const offered = offers[name] ?? [];
    return html`<div><label for="p-${name}">${labelOf(name, parameter)}</label>
<input id="p-${name}" name="${PARAMETER}${name}" type="${TYPES[type]}"
value="${value}" placeholder="${hint}" aria-describedby="a-${name}"${
      preset === undefined && html` required`
    }${offered.length > 0 && html` list="l-${name}"`}>${listPart(`l-${name}`, offered)}
<p class="soft" id="a-${name}">${about}</p></div>`;
  };
  return html`<form class="filters fields" method="get" action="/reports/${report.name}">
${fields.map(field)}<div class="buttons"><button class="primary">Run</button></div></form>`;
}

function filesPart({ report, query, reader: { locale } }: ReportView): Html {
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
  const { report, problem, planned, reader } = view;
  const { title, about } = report;
  return html`<h1>${title}</h1>
<p>${about} <a href="/reports">All reports</a></p>
${formPart(view)}
${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
${madePart(view)}
${
  planned.length > 0 &&
  html`<section><h2>${schedules.title}</h2>${tableFor(schedules, planned, reader)}</section>`
}`;
}
