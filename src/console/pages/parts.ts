/** Parts that pages of operations share: tables, figures, forms with a reason, and progress. */
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import type { Pause } from '../../store/pauses.ts';
import { type Act, mayDo, neededFor, type Role } from '../access/roles.ts';
import { whole } from './format.ts';

/** The person who reads a page, and the time of reading. */
export interface Reader {
  readonly role: Role;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly timeZone: string;
  /** Language of the reader, for a spreadsheet; empty: not known. */
  readonly locale: string;
}

export interface PauseReader extends Reader {
  readonly pauses: readonly Pause[];
}

export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => HtmlValue;
}

/** A table that scrolls by itself where the screen is narrow; `empty` stands in for no rows. */
export function tableOf<Row>(
  label: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  empty: HtmlValue,
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const kind = ({ isNumber }: Column<Row>) => isNumber === true && html` class="number"`;
  return html`<div class="table" tabindex="0" role="group" aria-label="${label}"><table><thead><tr>
${columns.map((one) => html`<th scope="col"${kind(one)}>${one.title}</th>`)}</tr></thead><tbody>
${rows.map(
  (row) => html`<tr>${columns.map((one) => html`<td${kind(one)}>${one.cell(row)}</td>`)}</tr>
`,
)}</tbody></table></div>`;
}

export function figures(pairs: readonly (readonly [string, HtmlValue])[]): Html {
  const shown = pairs.filter(([, value]) => value !== null && value !== false && value !== '');
  return html`<dl class="facts wide">${shown.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

export interface ReasonForm {
  readonly act: Act;
  /** Address that the form is sent to. */
  readonly path: string;
  readonly button: string;
  /** Told above the form. */
  readonly what: HtmlValue;
  /** Names the reason's field; unique on the page. */
  readonly id: string;
  readonly isDanger?: boolean;
  readonly fields?: Readonly<Record<string, string | number>>;
  readonly more?: HtmlValue;
}

/** A form that says what it does and asks why; in its place, who may, for those who may not. */
export function reasonForm(role: Role, form: ReasonForm): Html {
  const { act, path, button, what, id, isDanger, fields = {}, more } = form;
  if (!mayDo(role, act)) {
    const who = neededFor(act) === 'approver' ? 'Only an approver' : 'An operator';
    return html`<p>${what} <span class="soft">${who} may do this.</span></p>`;
  }
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return html`<form class="line act" method="post" action="${path}">${hidden}
<p>${what}</p>${more}<label for="${id}">Reason</label>
<input id="${id}" name="reason" required maxlength="1000" autocomplete="off">
<button${isDanger === true && html` class="danger"`}>${button}</button></form>`;
}

interface Progress {
  readonly rows: number;
  readonly pages?: number;
  /** An estimate; null: not known. */
  readonly of: number | null;
}

function progressText({ rows, of }: Progress): string {
  // The last pull had fewer: it tells nothing of the rest of this one.
  if (of === null || of < rows || of === 0) return `${whole(rows)} rows so far`;
  const percent = Math.floor((rows / of) * 100);
  return `${whole(rows)} of about ${whole(of)} rows, ${percent} %`;
}

/** The bar of a stream's pull, which the script moves while the page is open. */
export function progressPart(stream: string, progress: Progress | null): Html {
  const { rows = 0, of = null } = progress ?? {};
  return html`<div class="pull" data-pull="${stream}"${progress === null && html` hidden`}>
<progress aria-label="Pull of ${stream}" max="${of || Math.max(1, rows)}" value="${
    of === null ? 0 : Math.min(rows, of)
  }"></progress> <span>${progressText({ rows, of })}</span></div>`;
}
