/** Pages with the details of a delivery: mirrored rows, changes, facts, and the rules now. */
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { isJsonObject } from '../../lib/json.ts';
import { plural } from '../../lib/strings.ts';
import { forgetOrder } from '../../outbox/surface.ts';
import { counterfactualText } from '../../rules/analysis/counterfactuals.ts';
import type {
  DeliveryChange,
  DeliveryIds,
  FactView,
  NowView,
  RawDelivery,
} from '../read/delivery-parts.ts';
import { evidenceOf } from './evidence.ts';
import { byWhom, time } from './format.ts';
import { tableOf } from './parts.ts';
import { withQuery } from './review.ts';

const PARTS = [
  ['', 'Decision'],
  ['/now', 'Rules now'],
  ['/facts', 'Facts'],
  ['/changes', 'Changes'],
  ['/raw', 'Raw'],
] as const;
export type DeliveryPart = (typeof PARTS)[number][0];

/** Navigation between the detail pages of a delivery, with a link to the events of its order. */
export function deliveryParts(
  { orderDeliveryId, orderId }: Pick<DeliveryIds, 'orderDeliveryId' | 'orderId'>,
  shown: DeliveryPart,
): Html {
  const link = ([part, text]: (typeof PARTS)[number]): Html =>
    html`<a href="/deliveries/${orderDeliveryId}${part}"${
      part === shown && html` aria-current="page"`
    }>${text}</a> `;
  return html`<nav class="parts" aria-label="Parts of the delivery">${PARTS.map(link)}
<a href="/events?order=${orderId}">Events</a></nav>`;
}

function head(ids: DeliveryIds, shown: DeliveryPart, what: string): Html {
  const { deliveryNo, orderDeliveryId } = ids;
  return html`<h1>${what} ${deliveryNo ?? String(orderDeliveryId)}</h1>
${deliveryParts(ids, shown)}`;
}

function rawPart(title: string, rows: readonly object[], id: string): Html {
  const text = rows.map((row) => JSON.stringify(row, null, 2)).join('\n');
  return html`<section><h2 id="${id}">${title}</h2>${
    rows.length === 0
      ? html`<p class="empty">There is none.</p>`
      : html`<pre tabindex="0" role="group" aria-labelledby="${id}">${text}</pre>`
  }</section>`;
}

export function rawPage(ids: DeliveryIds, raw: RawDelivery): Html {
  const page = `/deliveries/${ids.orderDeliveryId}/raw`;
  const forgetting = String(new URLSearchParams({ order: `id:${ids.orderId}`, back: page }));
  return html`${head(ids, '/raw', 'Raw rows of delivery')}
<p>As the mirror has them; amounts are ten-thousandths, times milliseconds since 1970 (UTC). Members
that have no column are in <code>extra</code>. <a href="${page}.json">JSON</a></p>
${rawPart('Delivery', [raw.delivery], 'raw-delivery')}
${rawPart('Lines', raw.delivery_lines, 'raw-lines')}
${rawPart('Order', raw.order === null ? [] : [raw.order], 'raw-order')}
${rawPart('Lines of the order', raw.order_lines, 'raw-order-lines')}
<p><a href="/acts/${forgetOrder.name}?${forgetting}">Forget the people in this order…</a></p>`;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function diffPart({ diff, op }: DeliveryChange): HtmlValue {
  if (!isJsonObject(diff)) return valueText(diff);
  const columns = Object.entries(diff);
  if (columns.length === 0) return op === 'insert' ? 'all of it' : 'nothing';
  return html`<ul>${columns.map(([column, pair]) => {
    const [before, after] = Array.isArray(pair) ? pair : [undefined, pair];
    return html`<li><code>${column}</code> ${valueText(before)} → ${valueText(after)}</li>`;
  })}</ul>`;
}

export interface ChangesView {
  readonly rows: readonly DeliveryChange[];
  readonly next: string | null;
  readonly query: URLSearchParams;
  readonly timeZone: string;
  readonly locale: string;
}

export function changesPage(ids: DeliveryIds, view: ChangesView): Html {
  const { rows, next, query, timeZone, locale } = view;
  const path = `/deliveries/${ids.orderDeliveryId}/changes`;
  const table = tableOf<DeliveryChange>(
    'Changes',
    rows,
    [
      { title: 'Time', cell: ({ at }) => time(at, timeZone) },
      { title: 'Of', cell: ({ entity }) => (entity === 'delivery' ? 'delivery' : 'order') },
      { title: 'What', cell: ({ op }) => op },
      { title: 'From → to', cell: diffPart },
      { title: 'By', cell: ({ cause }) => cause },
      { title: 'Number', isNumber: true, cell: ({ seq }) => String(seq) },
    ],
    html`The feed has no change of it: it keeps them for <code>store.retention.changes</code>.`,
  );
  return html`${head(ids, '/changes', 'Changes of delivery')}
<p>Of the delivery and its order, the latest first ·
<a href="${withQuery(`${path}.csv`, query, { locale, before: '' })}">CSV</a></p>${table}
${
  next !== null &&
  html`<p><a class="button" href="${withQuery(path, query, { before: next })}">Next page</a></p>`
}`;
}

export interface FactsView {
  readonly rows: readonly FactView[];
  readonly q: string;
  /** Number of all facts, without the filter. */
  readonly total: number;
  readonly locale: string;
}

export function factsPage(ids: DeliveryIds, { rows, q, total, locale }: FactsView): Html {
  const path = `/deliveries/${ids.orderDeliveryId}/facts`;
  const csv = withQuery(`${path}.csv`, new URLSearchParams(), { q, locale });
  const table = tableOf<FactView>(
    'Facts',
    rows,
    [
      { title: 'Fact', cell: ({ text }) => html`<code>${text}</code>` },
      {
        title: 'Value',
        cell: ({ value }) => value ?? html`<span class="soft">not known</span>`,
      },
      { title: 'Meaning', cell: ({ about }) => about },
    ],
    html`No fact has “${q}” in its name, value or meaning. <a href="${path}">All facts</a>`,
  );
  return html`${head(ids, '/facts', 'Facts of delivery')}
<form class="filters" method="get" action="${path}" role="search" aria-label="Filter facts">
<div><label for="f-q">Name, value or meaning</label>
<input id="f-q" name="q" type="search" value="${q}" maxlength="200"></div>
<div class="buttons"><button>Filter</button> <a class="button" href="${path}">All</a>
<a class="button" href="${csv}">CSV</a></div></form>
<p>${q === '' ? plural(total, 'fact') : `${rows.length} of ${plural(total, 'fact')}`}, as they are
now: every name that a condition may use.</p>${table}`;
}

function replayPart({ replay }: NowView, timeZone: string): Html {
  if (!replay) return html`<p class="empty">Nothing was decided about it yet.</p>`;
  const { decisionId, at, outcome, differences } = replay;
  return html`<p>Decision ${String(decisionId)} of ${time(at, timeZone)}, ${outcome}: its facts
under the rules of then give ${
    differences.length === 0
      ? html`<b class="state s-accepted">the identical outcome</b>.`
      : html`<b class="state s-overdue">something else</b>:`
  }</p>${differences.map((one) => html`<p class="problem">${one}</p>`)}`;
}

export function nowPage(ids: DeliveryIds, view: NowView, timeZone: string): Html {
  const { evaluation, status, by, inWay, asked, counterfactuals } = view;
  const { kind, reason } = evaluation.live;
  return html`${head(ids, '/now', 'What the rules say now of delivery')}
<p>It is ${status ?? 'not known'}. The rules in force say
<b class="state s-${kind}">${kind}</b>: ${reason}. Nothing is decided by this page.</p>
${inWay !== undefined && html`<p>It is not decided so: ${inWay}.</p>`}
${
  asked !== undefined &&
  html`<p>${
    by &&
    html`Decision ${String(by.decisionId)} by ${byWhom(by.actor)}, ${time(by.at, timeZone)}, made it
so: ${by.reason}. `
  }That is why ${asked}.</p>`
}
${counterfactuals.map((one) => html`<p class="missed">${counterfactualText(one)}</p>`)}
<section><h2>Rules</h2>${evidenceOf(evaluation)}</section>
<section><h2>Replay</h2>${replayPart(view, timeZone)}</section>`;
}
