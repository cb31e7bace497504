/** Acts on all deliveries that fit a filter: the choice beside the list, and the page that asks. */
import { LIST_SHOWN, reviewFilter } from '../../../decisions/review/filter.ts';
import type { ReviewSelection } from '../../../decisions/review/listing.ts';
import { BULK_MAX, markOf } from '../../../decisions/review/mark.ts';
import {
  acceptDelivery,
  holdDelivery,
  releaseDelivery,
} from '../../../decisions/review/surface.ts';
import { type Html, html } from '../../../lib/html.ts';
import { plural } from '../../../lib/strings.ts';
import { mayDo, type Role } from '../../../surface/roles.ts';
import type { StockLack } from '../../read/delivery.ts';
import { actionOf } from '../../surface/addresses.ts';
import { UNLISTED_WORDS } from '../card.ts';
import { money, whole } from '../format.ts';
import { NOTHING_BY_ENTER } from '../parts.ts';
import { type ReviewView, reviewTable, withQuery } from '../review.ts';

const ACCEPTED = 'They are accepted at the service within seconds.';
const HELD = 'They stay yours: the rules leave them alone.';
const GIVEN = 'The rules decide them again.';
/** Acts on several, with the words of their buttons and of the question, and with their keys. */
export const ON_ALL = [
  [acceptDelivery, 'Accept all', 'Accept', ACCEPTED, 'a'],
  [holdDelivery, 'Hold all', 'Hold', HELD, 'h'],
  [releaseDelivery, 'Give all to the rules', 'Give to the rules', GIVEN, 'u'],
] as const;

export const BULK_ACTIONS = ON_ALL.map(([act]) => actionOf(act));

export function deliveriesText(count: number): string {
  return plural(count, 'delivery', 'deliveries');
}

/** Says that these are too many for one act, and what to do. */
function tooMany(count: number): Html {
  return html`<p>${deliveriesText(count)} fit this filter, and one act takes at most
${whole(BULK_MAX)}. Narrow the filter by rule, country, season, currency, value or waiting time, and
decide one part after the other.</p>`;
}

/** Filter of the list as hidden fields, with names that begin so. */
function filterFields(query: URLSearchParams, prefix: string): readonly Html[] {
  const shown = query.get('shown') ?? LIST_SHOWN;
  return Object.entries({ ...Object.fromEntries(query), shown }).flatMap(([name, value]) =>
    name in reviewFilter
      ? [html`<input type="hidden" name="${prefix}${name}" value="${value}">`]
      : [],
  );
}

export interface BulkChoice {
  readonly count: number;
  readonly role: Role;
  readonly query: URLSearchParams;
  /** All deliveries that fit the filter; undefined: too many for one act. */
  readonly selection: ReviewSelection | undefined;
}

/** Choice of an act on all that fit the filter; the page that it leads to asks once more. */
export function bulkPart({ count, selection, role, query }: BulkChoice): Html | false {
  if (count < 2 || !mayDo(role, acceptDelivery.role)) return false;
  const form =
    selection &&
    html`<form method="get" action="/review/all" data-act="bulk">${filterFields(query, '')}
<input type="hidden" name="expect" value="${markOf(selection)}">
<p>${whatOf(selection)} The next page asks once more.</p>
<div class="buttons">${NOTHING_BY_ENTER}${ON_ALL.map(
      ([act, button]) => html`<button name="act" value="${actionOf(act)}">${button}…</button>`,
    )}</div></form>`;
  return html`<details class="bulk"><summary>Decide all ${whole(count)}…</summary>
${form ?? tooMany(count)}</details>`;
}

/** The deliveries as a number, with their value in each currency. */
export function whatOf({ count, customers, sums }: ReviewSelection): string {
  const worth = sums.map(({ currency, value }) => money(value, currency)).join(' + ');
  return `${deliveriesText(count)} of ${plural(customers, 'customer')}, ${worth}.`;
}

/** Says of each delivery what is missing on hand, or not known. */
export function lacksPart(lacks: readonly StockLack[]): Html | false {
  if (lacks.length === 0) return false;
  const said = ({ missing, packed, unlisted }: StockLack) => [
    ...(missing > 0 ? [`${whole(missing)} of ${whole(packed)} missing`] : []),
    ...[...unlisted].map(([why, pieces]) => `${whole(pieces)} ${UNLISTED_WORDS[why]}`),
  ];
  return html`<p>On hand now:</p><ul>${lacks.map(
    (one) => html`<li><b>${one.name}</b> ${said(one).join('; ')}</li>`,
  )}</ul>`;
}

export interface BulkView extends Pick<ReviewView, 'rules' | 'query' | 'view'> {
  readonly action: string;
  readonly selection: ReviewSelection;
  /** Changes since the list was shown; undefined: none. */
  readonly changed: string | undefined;
  /** Pieces missing on hand, or not known, in those that are shown. */
  readonly lacks: readonly StockLack[];
}

/** Page that asks once more before all that fit a filter are decided. */
export function bulkPage({ action, selection, changed, lacks, ...of }: BulkView): Html {
  const { query, view } = of;
  const { count } = selection;
  const [, all, one, effect] = ON_ALL.find(([act]) => actionOf(act) === action) ?? ON_ALL[0];
  const back = withQuery('/review', query, {});
  const away = html`<p><a href="${back}">No, back to the list</a></p>`;
  if (count === 0 || count > BULK_MAX) {
    return html`<h1>${all}</h1>${
      count === 0
        ? html`<p class="empty">No delivery fits the filter any more.</p>`
        : tooMany(count)
    }${away}`;
  }
  const more = count - view.page.rows.length;
  return html`<h1>${one} ${deliveriesText(count)}?</h1>
${changed !== undefined && html`<p class="problem" role="alert">${changed}</p>`}
<p>${whatOf(selection)} ${effect}</p>${reviewTable(of)}${lacksPart(lacks)}
${more > 0 && html`<p>and ${whole(more)} more, <a href="${back}">all in the list</a></p>`}
<form class="bulk" method="post" action="/review/bulk"
 data-keep="${action} ${String(query)}">${filterFields(query, 'filter.')}
<input type="hidden" name="action" value="${action}">
<input type="hidden" name="expect" value="${markOf(selection)}">
<input type="hidden" name="back" value="${back}">
<label for="bulk-reason">Reason</label>
<input id="bulk-reason" name="reason" required maxlength="1000" autocomplete="off">
<div class="buttons"><button class="primary">${all} ${whole(count)}</button></div></form>${away}`;
}
