/** Parts that several pages share: tables, figures, progress bars. */
import { wordFor } from '../../config/words.ts';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import type { Pausable, Pause } from '../../store/pauses.ts';
import type { ActHead } from '../../surface/acts.ts';
import type { Role } from '../../surface/roles.ts';
import { type ActForm, actForm } from '../surface/html.ts';
import { whole } from './format.ts';

/** Person who reads a page, with the time of reading. */
export interface Reader {
  readonly role: Role;
  /** Epoch ms when the page is read. */
  readonly now: number;
  readonly timeZone: string;
  /** Reader's language for CSV links; empty: not known. */
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

/** Table that scrolls sideways on a narrow screen; `empty` is shown when there are no rows. */
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

/** Pages that stand below a tab, by groups. */
const PARTS: readonly (readonly (readonly [path: string, name: string])[])[] = [
  [
    ['/incidents', 'Open incidents'],
    ['/incidents/past', 'What went wrong'],
  ],
  [
    ['/outbox', 'Pushes'],
    ['/orders', 'Orders'],
    ['/refunds', 'Refunds'],
  ],
  [
    ['/rules', 'Rules'],
    ['/rules/queue', 'Queue of rejects'],
  ],
  [
    ['/system', 'Host'],
    ['/system/doctor', 'Doctor'],
    ['/system/settings', 'Settings'],
    ['/system/audit', 'Audit'],
    ['/system/people', 'People and tokens'],
    ['/system/backups', 'Backups'],
  ],
];

/** Links to the pages of the same tab; nothing for a page that stands alone. */
export function partsNav(here: string): Html | false {
  const group = PARTS.find((one) => one.some(([path]) => path === here));
  if (!group) return false;
  return html`<nav class="parts" aria-label="Parts">${group.map(
    ([path, name]) =>
      html`<a href="${path}"${path === here && html` aria-current="page"`}>${name}</a>`,
  )}</nav>`;
}

export function figures(pairs: readonly (readonly [string, HtmlValue])[]): Html {
  const shown = pairs.filter(([, value]) => value !== null && value !== false && value !== '');
  return html`<dl class="facts wide">${shown.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

/** Fold with what only who has a terminal on the host needs: commands, settings, names. */
export function terminalFold(text: string): Html | false {
  if (text === '') return false;
  return html`<details class="cli"><summary>for the terminal</summary>
<code>${text}</code></details>`;
}

/** Form that pauses or resumes one thing. */
export function pauseForm(
  act: ActHead,
  { target, name }: Pausable,
  form: Omit<ActForm, 'given'>,
): Html {
  return actForm(act, { ...form, given: { target, name, kind: undefined } });
}

/**
 * Begins the buttons of a form with several acts: Enter presses a form's first button, and this one
 * is disabled, so that no act is done that nobody chose. The script lets Enter do what a key chose.
 */
export const NOTHING_BY_ENTER = html`<button disabled hidden data-enter></button>`;

/** Line in which the script says what Enter would do in such a form. */
export const SAYS_ENTER = html`<p class="soft" data-says role="status"></p>`;

interface Progress {
  readonly rows: number;
  readonly pages?: number;
  /** Estimate of the run's total rows; null: not known. */
  readonly of: number | null;
}

function progressText({ rows, of }: Progress): string {
  // With more rows than the last complete run had, that number estimates nothing.
  if (of === null || of < rows || of === 0) return `${whole(rows)} rows so far`;
  const percent = Math.floor((rows / of) * 100);
  return `${whole(rows)} of about ${whole(of)} rows, ${percent} %`;
}

/**
 * Progress bar of a stream's run, which the page's script updates while the page is open: it has
 * its place without a run, too.
 */
export function progressPart(stream: string, progress: Progress | null): Html {
  const { rows = 0, of = null } = progress ?? {};
  return html`<div class="pull" data-pull="${stream}"${progress === null && html` data-idle`}>
<progress aria-label="Pull of ${wordFor('stream', stream)}"
 max="${of || Math.max(1, rows)}" value="${
   of === null ? 0 : Math.min(rows, of)
 }"></progress> <span>${progressText({ rows, of })}</span></div>`;
}
