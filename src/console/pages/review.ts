/** Page of the review list, by which people decide, with the open delivery beside it. */
import { WORDS, wordFor } from '../../config/words.ts';
import { LIST_SHOWN, SHOWN } from '../../decisions/review/filter.ts';
import type { Facet, Facets, ReviewRow } from '../../decisions/review/listing.ts';
import { deliveries } from '../../decisions/review/lists.ts';
import { versionOf } from '../../decisions/review/mark.ts';
import { ME, NOBODY } from '../../decisions/review/note.ts';
import { WINDOW_ROWS } from '../../decisions/review/window.ts';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { Given } from '../../surface/given.ts';
import type { RulesShown } from '../rules.ts';
import { pagingOf, tableFor } from '../surface/html.ts';
import type { ListView } from '../surface/lists.ts';
import { message, money, span, whole } from './format.ts';

export interface ReviewView {
  readonly view: ListView;
  readonly facets: Facets;
  readonly rules: RulesShown;
  /** Filter, order and place of the list, and the open delivery, as query parameters. */
  readonly query: URLSearchParams;
  /** Choice of an act on all that fit the filter. */
  readonly bulk: Html | false;
  /** Choice of an act on the ticked ones. */
  readonly ticked: Html | false;
  /** Tabs of the saved views. */
  readonly views: Html;
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

/** Field for a customer, with those that there are to choose from. */
function customerField({ facets, query }: ReviewView): Html {
  return html`<div><label for="f-customer">Customer</label>
<input id="f-customer" name="customer" list="f-customers" autocomplete="off"
placeholder="name or number" value="${query.get('customer') ?? ''}">
<datalist id="f-customers">${facets.customer.map(
    ({ name, label, count }) =>
      html`${
        label && html`<option value="${label}">${`${name} (${count})`}</option>`
      }<option value="${name}">${[label, `(${count})`].filter(Boolean).join(' ')}</option>`,
  )}</datalist></div>`;
}

/** Choice of who sees to the deliveries: the reader, nobody, or a colleague. */
function assignedSelect({ facets, query }: ReviewView): Html {
  const chosen = query.get('assigned') ?? '';
  const named = facets.assigned.map(({ name, count }) => [name, `${name} (${count})`] as const);
  const all = [['', 'all'], [ME, 'me'], [NOBODY, 'nobody'], ...named] as const;
  const known = all.some(([name]) => name === chosen);
  return html`<div><label for="f-assigned">Assigned to</label>
<select id="f-assigned" name="assigned">${(known ? all : [...all, [chosen, chosen]]).map(
    ([name, text]) =>
      html`<option value="${name}"${name === chosen && html` selected`}>${text}</option>`,
  )}</select></div>`;
}

/** Why a delivery waits, with who sees to it and the latest note. */
function whyCell({ reason, assignedTo, note, noteBy, notes }: ReviewRow): Html {
  const by = noteBy === null ? '' : `, ${noteBy}`;
  return html`${message(reason ?? 'not decided yet')}${
    assignedTo !== null && html` · <b>${assignedTo}</b> sees to it`
  }${note !== null && html` · note: ${note}${by}`}${
    notes > 1 && html` and ${plural(notes - 1, 'note')} before`
  }`;
}

/** Query parameters of the list that do not belong to its filter. */
const PLACE = new Set(['open', 'after', 'back', 'sort', 'descending']);

function filters(of: ReviewView): Html {
  const { facets, query, rules } = of;
  const shown = query.get('shown') ?? LIST_SHOWN;
  const owner = query.get('owner') ?? '';
  const owners = [...rules.owners.keys()].sort();
  const input = (name: string, label: string, type: string): Html =>
    html`<div><label for="f-${name}">${label}</label>
<input id="f-${name}" name="${name}" type="${type}" value="${query.get(name) ?? ''}"${
      type === 'number' && html` min="0" step="any"`
    }></div>`;
  const set = [...query].filter(
    ([name, value]) => !PLACE.has(name) && !(name === 'shown' && value === LIST_SHOWN),
  ).length;
  return html`<details class="fold"><summary>Filter${set > 0 && ` (${set} set)`}</summary>
<form class="filters" method="get" action="/review" role="search" aria-label="Filter deliveries">
<div><label for="f-shown">Show</label><select id="f-shown" name="shown">${SHOWN.map(
    (one) =>
      html`<option value="${one}"${one === shown && html` selected`}>${WORDS.shown[one]}</option>`,
  )}</select></div>
${facetSelect('rule', 'Rule', facets.rule, query, (id) => rules.titles.get(id) ?? id)}
<div><label for="f-owner">Owner</label>
<select id="f-owner" name="owner"><option value="">all</option>
${owners.map((one) => html`<option${one === owner && html` selected`}>${one}</option>`)}
</select></div>
${facetSelect('country', 'Country', facets.country, query)}
${facetSelect('season', 'Season', facets.season, query)}
${facetSelect('currency', 'Currency', facets.currency, query)}
${assignedSelect(of)}
${input('min', 'Value from', 'number')}${input('max', 'to', 'number')}
${input('older', 'Waits for hours', 'number')}
${customerField(of)}${input('q', 'Name or number', 'search')}
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

/** Form to which the boxes of the list belong, and its parameter for each of them. */
export const TICKS = { form: 'ticked', name: 't' } as const;

/** Whether an act on the delivery can succeed: it is not over, and has not shipped. */
function mayChange({ status, shipped }: ReviewRow): boolean {
  return status === 'pending' || (status === 'accepted' && !shipped);
}

/** Box of a delivery that an act could change; nothing of it is kept by its place in the list. */
function tickBox(row: ReviewRow): Html | false {
  if (!mayChange(row)) return false;
  const name = row.deliveryNo ?? String(row.orderDeliveryId);
  return html`<input type="checkbox" form="${TICKS.form}" name="${TICKS.name}" value="${versionOf(
    row,
  )}" data-tick="${name}" aria-label="Tick ${name}" autocomplete="off"> `;
}

function deliveryLink(query: URLSearchParams, row: ReviewRow, isTickable: boolean): Html {
  const id = row.orderDeliveryId;
  const href = withQuery('/review', query, { open: String(id) });
  const link = html`<a href="${href}" data-open="${id}">${row.deliveryNo ?? String(id)}</a>`;
  return html`${isTickable && tickBox(row)}${link}`;
}

function untilCell({ overdue, deadline }: ReviewRow, now: number): HtmlValue {
  if (overdue) return html`<b class="state s-overdue">overdue</b>`;
  return deadline === null ? '' : `in ${span(deadline - now)}`;
}

/** Rows of the list, with boxes to tick where an act on the ticked ones stands beside. */
export function reviewTable(
  { view, query }: Pick<ReviewView, 'view' | 'query'>,
  isTickable = false,
): Html {
  const { page, reader } = view;
  const { now } = reader;
  const cell = (of: (row: ReviewRow) => HtmlValue) => (row: Given) => of(deliveries.row.parse(row));
  const cells = {
    Delivery: cell((row) => deliveryLink(query, row, isTickable)),
    Pieces: cell(({ pieces }) => whole(pieces)),
    Value: cell(({ value, currency }) => money(value, currency)),
    Waiting: cell(({ packedAt }) => span(now - packedAt)),
    'Hold ends': cell((row) => untilCell(row, now)),
    Why: cell(whyCell),
  };
  const attributes = ({ orderDeliveryId: id }: Given) => {
    const isOpen = query.get('open') === String(id);
    return html` data-row="${String(id)}"${isOpen && html` class="open" aria-current="true"`}`;
  };
  const given = { sort: deliveries.sorts[0], ...Object.fromEntries(query) };
  return tableFor(NARROW, page.rows, reader, { given, cells, attributes });
}

/** Where else a delivery may be that the list does not show: in another state, or by a search. */
function elsewhere(query: URLSearchParams, shown: string): Html | false {
  const q = query.get('q') ?? query.get('customer') ?? '';
  if (q === '') return false;
  const find = `/find?${new URLSearchParams({ q })}`;
  return html`<p class="buttons">${
    shown !== 'all' &&
    html`<a class="button" href="${withQuery('/review', query, { shown: 'all' })}">Look among all,
also those accepted and shipped</a> `
  }<a class="button" href="${find}">Find "${q}" anywhere</a></p>`;
}

function list(of: ReviewView): Html {
  const { view, query } = of;
  const { page } = view;
  const { open: _, ...given } = Object.fromEntries(query);
  const paging = pagingOf(deliveries, page, given);
  if (page.rows.length === 0) {
    const shown = query.get('shown') ?? LIST_SHOWN;
    const none = html`<p class="empty">${
      [...query].every(([name, value]) => name === 'shown' && value === LIST_SHOWN)
        ? 'No delivery waits for you.'
        : `No delivery fits this filter${
            shown === 'all' ? '' : ` among those shown (${wordFor('shown', shown)})`
          }${page.next === null ? '' : ` among these ${whole(WINDOW_ROWS)}`}.`
    }</p>`;
    return html`${none}${paging}${elsewhere(query, shown)}`;
  }
  return html`${reviewTable(of, of.ticked !== false)}${paging}`;
}

/** How amounts of several currencies are sorted; nothing where that is no question. */
function aboutValues({ view, facets, query }: ReviewView): Html | false {
  if (query.get('sort') !== 'value' || facets.currency.length < 2) return false;
  const rates = new Set(view.from.rates.map(({ currency }) => currency));
  const [known, others] = [true, false].map((is) =>
    facets.currency.flatMap(({ name }) => (rates.has(name) === is ? [name] : [])),
  );
  const compared = known && known.length > 0 && `${known.join(', ')} are compared at your rates. `;
  const apart = others && others.length > 0 && `Each alone, without a rate: ${others.join(', ')}.`;
  return html`<p class="soft">Sorted by value. ${compared}${apart}</p>`;
}

export function reviewPage(of: ReviewView): Html {
  const { view, facets, query, open } = of;
  const { page, reader } = view;
  const canTick = page.rows.some((row) => mayChange(deliveries.row.parse(row)));
  const csv = withQuery('/review.csv', query, {
    open: '',
    after: '',
    back: '',
    locale: reader.locale,
  });
  return html`<h1>Review</h1>
${of.views}${filters(of)}
<p><span id="count">${plural(facets.count, 'delivery', 'deliveries')}</span>${
    facets.among !== null && ` among the newest ${whole(facets.among)}`
  }${
    page.rows.length < facets.count && html`, ${String(page.rows.length)} on this page`
  } · <span class="keyhint"><kbd>j</kbd> <kbd>k</kbd> move · <kbd>?</kbd> keys ·</span>
<a href="${csv}">CSV</a></p>
${of.bulk}${canTick && of.ticked}
${aboutValues(of)}<div class="columns"><div id="list">${list(of)}</div>
<div id="detail">${
    open ?? (page.rows.length > 0 && html`<p class="empty">Choose a delivery.</p>`)
  }</div></div>`;
}
