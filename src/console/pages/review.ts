/** Page of the review list, by which people decide, with the open delivery beside it. */

import { reviewFilter, SHOWN } from '../../decisions/review/filter.ts';
import type { Facet, Facets, ReviewRow, ReviewSelection } from '../../decisions/review/listing.ts';
import { deliveries } from '../../decisions/review/lists.ts';
import { markOf } from '../../decisions/review/mark.ts';
import { acceptDelivery } from '../../decisions/review/surface.ts';
import { WINDOW_ROWS } from '../../decisions/review/window.ts';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { Given } from '../../surface/given.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import type { RulesShown } from '../rules.ts';
import { tableFor } from '../surface/html.ts';
import type { ListView } from '../surface/lists.ts';
import { money, span, whole } from './format.ts';
import { NOTHING_BY_ENTER, SAYS_ENTER } from './parts.ts';

export interface ReviewView {
  readonly view: ListView;
  readonly facets: Facets;
  readonly rules: RulesShown;
  /** Filter, order and place of the list, and the open delivery, as query parameters. */
  readonly query: URLSearchParams;
  readonly role: Role;
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

/** Columns of the list that the open delivery beside it says in more words. */
const BESIDE = ['ID', 'State', 'By'];
const NARROW = {
  ...deliveries,
  shown: deliveries.shown.filter((of) => !BESIDE.includes(of.title)),
};

function reasonOf(row: ReviewRow, rules: RulesShown): string {
  const titles = row.rules.map((id) => rules.titles.get(id) ?? id);
  return titles.length > 0 ? titles.join('; ') : (row.reason ?? 'not decided yet');
}

function deliveryLink(query: URLSearchParams, row: ReviewRow): Html {
  const id = row.orderDeliveryId;
  const href = withQuery('/review', query, { open: String(id) });
  return html`<a href="${href}" data-open="${id}">${row.deliveryNo ?? String(id)}</a>${
    row.note !== null &&
    html` <span title="${row.note}">✎<span class="hidden">has a note</span></span>`
  }`;
}

function untilCell({ overdue, deadline }: ReviewRow, now: number): HtmlValue {
  if (overdue) return html`<b class="state s-overdue">overdue</b>`;
  return deadline === null ? '' : span(deadline - now);
}

function table({ view, rules, query }: ReviewView): Html {
  const { page, reader } = view;
  const { now } = reader;
  const cell = (of: (row: ReviewRow) => HtmlValue) => (row: Given) => of(deliveries.row.parse(row));
  const cells = {
    Delivery: cell((row) => deliveryLink(query, row)),
    Pieces: cell(({ pieces }) => whole(pieces)),
    Value: cell(({ value, currency }) => money(value, currency)),
    Waiting: cell(({ packedAt }) => span(now - packedAt)),
    Until: cell((row) => untilCell(row, now)),
    Why: cell((row) => reasonOf(row, rules)),
  };
  const attributes = ({ orderDeliveryId: id }: Given) => {
    const isOpen = query.get('open') === String(id);
    return html` data-row="${String(id)}"${isOpen && html` class="open" aria-current="true"`}`;
  };
  const given = { sort: deliveries.sorts[0], ...Object.fromEntries(query) };
  return tableFor(NARROW, page.rows, reader, { given, cells, attributes });
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

function list(of: ReviewView): Html {
  const { view, query } = of;
  const { page } = view;
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
  return html`${table(of)}${page.next !== null && nextPage(query, page.next, 'Next page')}`;
}

function nextPage(query: URLSearchParams, after: string, text: string): Html {
  const href = withQuery('/review', query, { after, open: '' });
  return html`<p><a class="button" href="${href}">${text}</a></p>`;
}

export function reviewPage(of: ReviewView): Html {
  const { view, facets, query, open } = of;
  const { page, reader } = view;
  const csv = withQuery('/review.csv', query, { open: '', after: '', locale: reader.locale });
  return html`<h1>Review</h1>
${filters(of)}
<p><span id="count">${plural(facets.count, 'delivery', 'deliveries')}</span>${
    facets.among !== null && ` among the newest ${whole(facets.among)}`
  }${
    page.rows.length < facets.count && html`, ${String(page.rows.length)} on this page`
  } · <span class="keyhint"><kbd>j</kbd> <kbd>k</kbd> move · <kbd>?</kbd> keys ·</span>
<a href="${csv}">CSV</a></p>
${bulkForm(of)}
<div class="columns"><div id="list">${list(of)}</div>
<div id="detail">${
    open ?? (page.rows.length > 0 && html`<p class="empty">Choose a delivery.</p>`)
  }</div></div>`;
}
