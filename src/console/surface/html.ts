/** Parts of pages that are made from declarations: tables, filters, paging, forms of acts. */
import { z } from 'zod';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import type { ActHead } from '../../surface/acts.ts';
import { textCell } from '../../surface/forms.ts';
import type { Given } from '../../surface/given.ts';
import type { ListHead, ListPage, Shown } from '../../surface/lists.ts';
import { choicesOf, isOptional, memberOf } from '../../surface/members.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import { money, time, whole } from '../pages/format.ts';
import { actPath, addressOf, isThing, listPath } from './addresses.ts';

export interface Reader {
  readonly now: number;
  readonly timeZone: string;
  /** Reader's language for CSV links; empty: not known. */
  readonly locale: string;
}

/** Address with some parameters changed; an empty value removes one. */
function addressWith(path: string, given: Given, changes: Readonly<Record<string, string>>) {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...given, ...changes })) {
    if (value !== '') next.set(name, String(value));
  }
  return next.size === 0 ? path : `${path}?${next}`;
}

/** Parameters apart from the place of the page and what the address names. */
function withoutPlace(of: ListHead, given: Given): Given {
  const left = [of.pageParameter, 'back', ...of.args];
  return Object.fromEntries(Object.entries(given).filter(([name]) => !left.includes(name)));
}

const isNumber = ({ kind }: Shown) => kind === 'whole' || kind === 'money' || kind === 'duration';

function cellOf(column: Shown, row: Given, { now, timeZone }: Omit<Reader, 'locale'>): HtmlValue {
  const { kind, name, member } = column;
  const value = name === undefined ? undefined : row[name];
  const isAt = kind === 'time' && typeof value === 'number';
  if (isAt && member?.isAge !== true) return time(value, timeZone);
  if (typeof value === 'number' && kind === 'whole' && member?.link === undefined) {
    return value < 0 ? html`<b class="below">${whole(value)}</b>` : whole(value);
  }
  const currency = member?.currency === undefined ? null : row[member.currency];
  const shown =
    typeof value === 'number' && kind === 'money'
      ? money(value, typeof currency === 'string' ? currency : null)
      : textCell(column, row, now);
  if (shown === null || shown === '') return null;
  if (column.isFolded) {
    return html`<details><summary>show</summary><code>${shown}</code></details>`;
  }
  if (shown.includes('\n')) {
    return html`<ul>${shown.split('\n').map((line) => html`<li>${line}</li>`)}</ul>`;
  }
  const style = column.class?.(row);
  const text = member?.isCode ? html`<code>${shown}</code>` : shown;
  const inner = style === undefined ? text : html`<b class="${style}">${text}</b>`;
  const href = hrefOf(column, row);
  return href === undefined ? inner : html`<a href="${href}">${inner}</a>`;
}

/** Page that the cell opens; undefined: none. */
function hrefOf({ name = '', member }: Shown, row: Given): string | undefined {
  if (member?.link !== undefined) return addressOf(member.link, row[name]);
  const [of = '', key = ''] = member?.opens ?? [];
  const thing = row[of] ?? of;
  return isThing(thing) ? addressOf(thing, row[key]) : undefined;
}

/** Cells that a page of its own shows in its way, by members or titles of columns. */
export type Cells = Readonly<Record<string, (row: Given) => HtmlValue>>;

/** Whether the texts of a column that the list is sorted by fall from row to row. */
function falls({ isTurned = false }: Shown, given: Given): boolean {
  return (given.descending === '1') !== isTurned;
}

function headOf(of: ListHead, column: Shown, given: Given): HtmlValue {
  const { title, sort } = column;
  if (sort === undefined || !of.sorts.includes(sort)) return title;
  const isSorted = given.sort === sort;
  const isDown = given.descending === '1';
  const order = { sort, descending: isSorted && !isDown ? '1' : '' };
  const href = addressWith(listPath(of, given), withoutPlace(of, given), order);
  const arrow = falls(column, given) ? 'M0 2h10L5 9z' : 'M0 8h10L5 1z';
  // Drawn, because the font may have no arrows.
  return html`<a href="${href}">${title}${
    isSorted &&
    html` <svg class="drawn" viewBox="0 0 10 10" aria-hidden="true"><path d="${arrow}"
 fill="currentColor"/></svg>`
  }</a>`;
}

interface TableForm {
  /** Filter and order of the list, for the links of its heads. */
  readonly given?: Given;
  readonly cells?: Cells;
  /** Attributes of a row. */
  readonly attributes?: (row: Given) => HtmlValue;
}

/** Table of a list; it scrolls sideways on a narrow screen. */
export function tableFor(
  of: ListHead,
  rows: readonly Given[],
  reader: Omit<Reader, 'locale'>,
  { given = {}, cells = {}, attributes }: TableForm = {},
): Html {
  if (rows.length === 0) return html`<p class="empty">${of.empty}</p>`;
  const kind = (column: Shown) => isNumber(column) && html` class="number"`;
  const sorted = (column: Shown) =>
    column.sort !== undefined &&
    given.sort === column.sort &&
    html` aria-sort="${falls(column, given) ? 'descending' : 'ascending'}"`;
  const cell = (column: Shown, row: Given) =>
    cells[column.name ?? column.title]?.(row) ?? cellOf(column, row, reader);
  const rowOf = (row: Given) => html`<tr${attributes?.(row)}>${of.shown.map(
    (one) => html`<td${kind(one)}>${cell(one, row)}</td>`,
  )}</tr>
`;
  return html`<div class="table" tabindex="0" role="group" aria-label="${of.title}"><table><thead>
<tr>${of.shown.map(
    (one) => html`<th scope="col"${kind(one)}${sorted(one)}>${headOf(of, one, given)}</th>`,
  )}</tr></thead><tbody>
${rows.map(rowOf)}</tbody></table></div>`;
}

function filterField(
  name: string,
  schema: z.core.$ZodType,
  given: Given,
  known?: readonly string[],
) {
  const { title = name, kind = 'text', about, words } = memberOf(schema) ?? {};
  const value = String(given[name] ?? '');
  const id = `f-${name}`;
  if (kind === 'flag') {
    return html`<div><label><input type="checkbox" name="${name}" value="1"${
      value === '1' && html` checked`
    }> ${title}</label></div>`;
  }
  const label = html`<label for="${id}">${title}</label>`;
  if (known) {
    // A value that is not known any more stays chosen, so that the page says what it shows.
    const all = value === '' || known.includes(value) ? known : [value, ...known];
    const options = all.map((one) => {
      const word = words?.[one] ?? one;
      return html`<option value="${one}"${one === value && html` selected`}>${word}</option>`;
    });
    return html`<div>${label}<select id="${id}" name="${name}"><option value="">all</option>
${options}</select></div>`;
  }
  const type = kind === 'whole' || kind === 'money' ? 'number' : 'text';
  const hint = about !== undefined && html` title="${about}"`;
  const how = kind === 'time' && html` placeholder="7d, or a date"`;
  return html`<div>${label}
<input id="${id}" name="${name}" type="${type}" value="${value}"${hint}${how}></div>`;
}

interface Filtered {
  readonly given: Given;
  readonly choices: Readonly<Record<string, readonly string[]>>;
  readonly reader: Reader;
}

/** Filter of a list, with a link to its rows as CSV in the reader's locale. */
export function filtersOf(of: ListHead, { given, choices, reader }: Filtered): Html {
  const path = listPath(of, given);
  const fields = Object.entries(of.query.shape).filter(([name]) => !of.args.includes(name));
  const kept = withoutPlace(of, given);
  const order = ['sort', 'descending'].filter((name) => name in given);
  const csv = addressWith(`${path}.csv`, kept, { limit: '', locale: reader.locale });
  if (fields.length === 0) return html`<p><a href="${csv}">CSV</a></p>`;
  return html`<form class="filters" method="get" action="${path}" role="search"
 aria-label="Filter">${fields.map(([name, schema]) =>
   filterField(name, schema, given, choices[name]),
 )}${order.map(
   (name) => html`<input type="hidden" name="${name}" value="${String(given[name])}">`,
 )}<div class="buttons"><button>Filter</button> <a class="button" href="${path}">Clear</a>
<a class="button" href="${csv}">CSV</a></div></form>`;
}

/** Links to the pages before and after. */
export function pagingOf(of: ListHead, { next, back }: Places, given: Given): Html {
  const path = listPath(of, given);
  const kept = withoutPlace(of, given);
  return html`<p class="buttons">${
    back !== null &&
    html`<a class="button" rel="prev" href="${addressWith(path, kept, { back })}">Previous page</a>`
  } ${
    next !== null &&
    html`<a class="button" rel="next" href="${addressWith(path, kept, {
      [of.pageParameter]: next,
    })}">Next page</a>`
  }</p>`;
}

type Places = Pick<ListPage, 'next' | 'back'>;

export interface ActForm {
  readonly role: Role;
  /** Members that are known, and that the form sends without showing them. */
  readonly given: Given;
  /** Members that the form proposes; the person may state others. */
  readonly proposed?: Given;
  /** Effect of the act, a line each. */
  readonly lines?: readonly string[];
  /** Text above the form in place of the act's own. */
  readonly what?: HtmlValue;
  readonly button?: string;
  /** Page to return to; left out: that of the thing. */
  readonly back?: string | undefined;
  /** Distinguishes two forms of one act on a page. */
  readonly id?: string;
}

export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Field in which a person states a member of an act. */
function field(of: ActHead, name: string, id: string, proposed: unknown): HtmlValue {
  const schema = of.input.shape[name];
  const member = schema && memberOf(schema);
  if (!schema || !member) return null;
  const { title, kind, about, words } = member;
  const choices = choicesOf(schema);
  const label = html`<label for="${id}">${title}</label>`;
  const isFree = isOptional(schema) || schema instanceof z.ZodNullable;
  const isWanted = !isFree || of.typed?.member === name;
  const required = isWanted && html` required`;
  if (kind === 'flag') {
    // A box that is not checked sends nothing, which stands for the default.
    return html`<input type="hidden" name="${name}" value="0">
<label class="check"><input type="checkbox" id="${id}" name="${name}" value="1"${
      schema.safeParse(undefined).data === true && html` checked`
    }> ${title}</label>`;
  }
  if (choices) {
    return html`${label}<select id="${id}" name="${name}"${required}>${
      isOptional(schema) && html`<option value="">–</option>`
    }${choices.map(
      (one) => html`<option value="${one}">${words?.[one] ?? one}</option>`,
    )}</select>`;
  }
  const type = kind === 'whole' ? 'number' : 'text';
  const hint = about !== undefined && html` title="${about}"`;
  const value = proposed !== undefined && html` value="${String(proposed)}"`;
  return html`${label}<input id="${id}" name="${name}" type="${type}"${required}${hint}${value}
 maxlength="1000" autocomplete="off">`;
}

/** Form of an act; a person who may not do it reads who may. */
export function actForm(of: ActHead, form: ActForm): Html {
  const { role, given, proposed = {}, lines = [], button = of.button, back, id = of.name } = form;
  const what = form.what ?? sentence(of.about);
  const would = lines.length > 0 && html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
  if (!mayDo(role, of.role)) {
    const who = of.role === 'approver' ? 'Only an approver' : 'An operator';
    return html`<p>${what} <span class="soft">${who} may do this.</span></p>${would}`;
  }
  const [first = ''] = of.path.includes('{id}') ? of.args : [];
  const sent = Object.entries({ ...given, ...(back !== undefined && { back }) });
  const hidden = sent.filter(([name, value]) => name !== first && value !== undefined);
  const asked = Object.keys(of.input.shape).filter((name) => !(name in given));
  const reasonId = `${id}-reason`;
  return html`<form class="line act" method="post" action="${actPath(of, given)}">${hidden.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`,
  )}
<p>${what}</p>${would}${asked.map((name) => field(of, name, `${id}-${name}`, proposed[name]))}${
    of.reason !== 'none' &&
    html`<label for="${reasonId}">Reason</label>
<input id="${reasonId}" name="reason"${of.reason !== 'free' && html` required`} maxlength="1000"
 autocomplete="off">`
  }
<button${of.danger === true && html` class="danger"`}>${button}</button></form>`;
}
