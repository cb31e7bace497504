/** Page of the review list, by which people decide, with the open delivery beside it. */

import { reviewFilter, SHOWN } from '../../decisions/review/filter.ts';
import type {
  Facet,
  Facets,
  ReviewPage,
  ReviewRow,
  ReviewSelection,
  Sort,
} from '../../decisions/review/listing.ts';
import { markOf } from '../../decisions/review/mark.ts';
import { acceptDelivery } from '../../decisions/review/surface.ts';
import { WINDOW_ROWS } from '../../decisions/review/window.ts';
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import type { RulesShown } from '../rules.ts';
import { money, span, whole } from './format.ts';
import { NOTHING_BY_ENTER, SAYS_ENTER } from './parts.ts';

export interface ReviewView {
  readonly page: ReviewPage;
  readonly facets: Facets;
  readonly rules: RulesShown;
  /** Filter and order of the list as query parameters, without the place of the page. */
  readonly query: URLSearchParams;
  readonly sort: Sort;
  readonly descending: boolean;
  readonly role: Role;
  /** Reader's language for the CSV link; empty: not known. */
  readonly locale: string;
  readonly now: number;
  /** All deliveries that fit the filter, for one act; undefined: not wanted, or too many. */
  readonly selection: ReviewSelection | undefined;
  readonly open: Html | undefined;
}

/** Address with some query parameters changed; an empty value removes one. */
export function withQuery(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string>>,
): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}

function facetSelect(
  name: string,
  label: string,
  facet: readonly Facet[],
  query: URLSearchParams,
  textOf: (name: string) => string = (text) => text,
): Html {
  const chosen = query.get(name) ?? '';
  const options =
    facet.some((one) => one.name === chosen) || chosen === ''
      ? facet
      : [{ name: chosen, count: 0 }, ...facet];
  return html`<div><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}">
<option value="">all</option>${options.map(
    (one) =>
      html`<option value="${one.name}"${one.name === chosen && html` selected`}>${textOf(
        one.name,
      )} (${one.count})</option>`,
  )}</select></div>`;
}

/** Query parameters of the list that do not belong to its filter. */
const PLACE = new Set(['open', 'after', 'sort', 'descending']);

function filters({ facets, query, rules }: ReviewView): Html {
  const shown = query.get('shown') ?? 'held';
  const owner = query.get('owner') ?? '';
  const owners = [...rules.owners.keys()].sort();
  const input = (name: string, label: string, type: string): Html =>
    html`<div><label for="f-${name}">${label}</label>
<input id="f-${name}" name="${name}" type="${type}" value="${query.get(name) ?? ''}"${
      type === 'number' && html` min="0" step="any"`
    }></div>`;
  const set = [...query].filter(
    ([name, value]) => !PLACE.has(name) && !(name === 'shown' && value === 'held'),
  ).length;
  return html`<details class="fold"><summary>Filter${set > 0 && ` (${set} set)`}</summary>
<form class="filters" method="get" action="/review" role="search" aria-label="Filter deliveries">
<div><label for="f-shown">Show</label><select id="f-shown" name="shown">${SHOWN.map(
    (one) => html`<option${one === shown && html` selected`}>${one}</option>`,
  )}</select></div>
${facetSelect('rule', 'Rule', facets.rule, query, (id) => rules.titles.get(id) ?? id)}
<div><label for="f-owner">Owner</label>
<select id="f-owner" name="owner"><option value="">all</option>
${owners.map((one) => html`<option${one === owner && html` selected`}>${one}</option>`)}
</select></div>
${facetSelect('country', 'Country', facets.country, query)}
${facetSelect('season', 'Season', facets.season, query)}
${facetSelect('currency', 'Currency', facets.currency, query)}
${input('min', 'Value from', 'number')}${input('max', 'to', 'number')}
${input('older', 'Waits for hours', 'number')}
${input('q', 'Customer or number', 'search')}
<input type="hidden" name="customer" value="${query.get('customer') ?? ''}">
<input type="hidden" name="sort" value="${query.get('sort') ?? ''}">
<div class="buttons"><button>Filter</button>
<a class="button" href="/review">Clear</a></div></form></details>`;
}

const COLUMNS: readonly (readonly [sort: Sort | undefined, title: string, kind: string])[] = [
  ['number', 'Delivery', ''],
  ['customer', 'Customer', ''],
  [undefined, 'Country', ''],
  [undefined, 'Season', ''],
  ['pieces', 'Pieces', 'number'],
  ['value', 'Value', 'number'],
  ['waiting', 'Waiting', 'number'],
  ['deadline', 'Until', 'number'],
  [undefined, 'Why', ''],
];

function columnHead(view: ReviewView, [sort, title, kind]: (typeof COLUMNS)[number]): Html {
  if (sort === undefined) return html`<th scope="col" class="${kind}">${title}</th>`;
  const isSorted = sort === view.sort;
  const descending = isSorted && !view.descending ? '1' : '';
  // `waiting` shows ages but is sorted by time of packing, so its arrow is turned.
  const falls = view.descending !== (sort === 'waiting');
  const href = withQuery('/review', view.query, { sort, descending, after: '' });
  const sign = isSorted && (falls ? ' ↓' : ' ↑');
  const state = isSorted && html` aria-sort="${falls ? 'descending' : 'ascending'}"`;
  return html`<th scope="col" class="${kind}"${state}><a href="${href}">${title}${sign}</a></th>`;
}

function reasonOf(row: ReviewRow, rules: RulesShown): string {
  const titles = row.rules.map((id) => rules.titles.get(id) ?? id);
  return titles.length > 0 ? titles.join('; ') : (row.reason ?? 'not decided yet');
}

function listRow(view: ReviewView, row: ReviewRow): Html {
  const id = row.orderDeliveryId;
  const open = withQuery('/review', view.query, { open: String(id) });
  const isOpen = view.query.get('open') === String(id);
  return html`<tr data-row="${id}"${isOpen && html` class="open" aria-current="true"`}>
<td><a href="${open}" hx-get="/review/card/${id}" hx-target="#detail" data-open="${id}">${
    row.deliveryNo ?? String(id)
  }</a>${
    row.note !== null &&
    html` <span title="${row.note}">✎<span class="hidden">has a note</span></span>`
  }</td>
<td>${row.customer ?? row.accountNo ?? '?'}</td><td>${row.country ?? '?'}</td>
<td>${row.season ?? ''}</td>
<td class="number">${whole(row.pieces)}</td>
<td class="number">${money(row.value, row.currency)}</td>
<td class="number">${span(view.now - row.packedAt)}</td>
<td class="number">${
    row.overdue
      ? html`<b class="state s-overdue">overdue</b>`
      : row.deadline !== null && span(row.deadline - view.now)
  }</td>
<td>${reasonOf(row, view.rules)}</td></tr>`;
}

function sums({ sums: all }: ReviewSelection): string {
  return all.map(({ currency, value }) => money(value, currency)).join(' + ');
}

/** Form to decide all deliveries that fit the filter in one act, with their number and value. */
function bulkForm(view: ReviewView): Html | false {
  const { selection, role, query } = view;
  if (!selection || selection.count < 2 || !mayDo(role, acceptDelivery.role)) return false;
  const { count, customers } = selection;
  return html`<details class="bulk"><summary>Decide all ${String(count)}…</summary>
<form method="post" action="/review/bulk" data-act="bulk">
${[...query].map(
  ([name, value]) =>
    name in reviewFilter && html`<input type="hidden" name="filter.${name}" value="${value}">`,
)}
<input type="hidden" name="expect" value="${markOf(selection)}">
<p>${plural(count, 'delivery', 'deliveries')} of ${plural(customers, 'customer')},
${sums(selection)}.
If others fit by then, nothing is done.</p>
<label for="bulk-reason">Reason</label>
<input id="bulk-reason" name="reason" required maxlength="1000" autocomplete="off">
<div class="buttons">${NOTHING_BY_ENTER}
<button class="primary" name="action" value="accept">Accept all</button>
<button name="action" value="hold">Hold all</button>
<button name="action" value="release">Give all to the rules</button></div>
${SAYS_ENTER}</form></details>`;
}

function list(view: ReviewView): Html {
  const { page, query } = view;
  if (page.rows.length === 0) {
    const shown = query.get('shown') ?? 'held';
    const none = html`<p class="empty">${
      query.size === 0
        ? 'Nothing waits for you: no delivery is held.'
        : `No delivery${shown === 'all' ? '' : ` that is ${shown}`} fits this filter${
            page.next === null ? '' : ` among these ${whole(WINDOW_ROWS)}`
          }.`
    }</p>`;
    return page.next === null
      ? none
      : html`${none}${nextPage(query, page.next, 'Look further back')}`;
  }
  return html`<div class="table" tabindex="0" role="group" aria-label="Deliveries">
<table><thead><tr>${COLUMNS.map((column) => columnHead(view, column))}</tr></thead>
<tbody>${page.rows.map((row) => listRow(view, row))}</tbody></table></div>
${page.next !== null && nextPage(query, page.next, 'Next page')}`;
}

function nextPage(query: URLSearchParams, after: string, text: string): Html {
  const href = withQuery('/review', query, { after, open: '' });
  return html`<p><a class="button" href="${href}">${text}</a></p>`;
}

export function reviewPage(view: ReviewView): Html {
  const { facets, page, open, locale } = view;
  const csv = withQuery('/review.csv', view.query, { open: '', after: '', locale });
  return html`<h1>Review</h1>
${filters(view)}
<p><span id="count">${plural(facets.count, 'delivery', 'deliveries')}</span>${
    facets.among !== null && ` among the newest ${whole(facets.among)}`
  }${
    page.rows.length < facets.count && html`, ${String(page.rows.length)} on this page`
  } · <span class="keyhint"><kbd>j</kbd> <kbd>k</kbd> move · <kbd>?</kbd> keys ·</span>
<a href="${csv}">CSV</a></p>
${bulkForm(view)}
<div class="columns"><div id="list">${list(view)}</div>
<div id="detail">${
    open ?? (page.rows.length > 0 && html`<p class="empty">Choose a delivery.</p>`)
  }</div></div>`;
}
