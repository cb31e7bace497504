/** Pages with the details of a delivery, its mirrored rows and the rules now; head of its order. */
import { wordFor } from '../../config/words.ts';
import type { DeliveryIds } from '../../decisions/review/parts.ts';
import { type Html, html } from '../../lib/html.ts';
import type { OrderHead } from '../../mirror/find/order.ts';
import { forgetOrder } from '../../outbox/surface.ts';
import { counterfactualText } from '../../rules/analysis/counterfactuals.ts';
import type { NowView, RawDelivery } from '../read/delivery-parts.ts';
import { addressOf } from '../surface/addresses.ts';
import type { Reader } from '../surface/html.ts';
import { evidenceOf } from './evidence.ts';
import { byWhom, message, time, whole } from './format.ts';
import { figures } from './parts.ts';

const PARTS = [
  ['', 'Decision'],
  ['/now', 'Rules now'],
  ['/facts', 'Facts'],
  ['/changes', 'Changes'],
  ['/raw', 'Raw'],
] as const;

/** Navigation between the detail pages of a delivery, with a link to the events of its order. */
export function deliveryParts(
  { orderDeliveryId, orderId }: Pick<DeliveryIds, 'orderDeliveryId' | 'orderId'>,
  shown: string,
): Html {
  const link = ([part, text]: (typeof PARTS)[number]): Html =>
    html`<a href="/deliveries/${orderDeliveryId}${part}"${
      part === shown && html` aria-current="page"`
    }>${text}</a> `;
  return html`<nav class="parts" aria-label="Parts of the delivery">${PARTS.map(link)}
<a href="/events?order=${orderId}">Events</a></nav>`;
}

/** Heading of a part of a delivery, by the path of the part. */
export function partHead(ids: DeliveryIds, path: string, what: string): Html {
  const { deliveryNo, orderDeliveryId } = ids;
  return html`<h1>${what} of delivery ${deliveryNo ?? String(orderDeliveryId)}</h1>
${deliveryParts(ids, path.replace('/deliveries/{id}', ''))}`;
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
  return html`${partHead(ids, '/raw', 'Raw rows')}
<p>As the mirror has them; amounts are ten-thousandths, times milliseconds since 1970 (UTC). Members
that have no column are in <code>extra</code>. <a href="${page}.json">JSON</a></p>
${rawPart('Delivery', [raw.delivery], 'raw-delivery')}
${rawPart('Lines', raw.delivery_lines, 'raw-lines')}
${rawPart('Order', raw.order === null ? [] : [raw.order], 'raw-order')}
${rawPart('Lines of the order', raw.order_lines, 'raw-order-lines')}
<p><a href="/acts/${forgetOrder.name}?${forgetting}">Forget the people in this order…</a></p>`;
}

function replayPart({ replay }: NowView, timeZone: string): Html {
  if (!replay) return html`<p class="empty">Nothing was decided about it yet.</p>`;
  const { decisionId, at, outcome, differences } = replay;
  return html`<p>Decision ${String(decisionId)} of ${time(at, timeZone)},
${wordFor('outcome', outcome)}: its facts
under the rules of then give ${
    differences.length === 0
      ? html`<b class="state s-accepted">the identical outcome</b>.`
      : html`<b class="state s-overdue">something else</b>:`
  }</p>${differences.map((one) => html`<p class="problem">${one}</p>`)}`;
}

export function nowPage(ids: DeliveryIds, view: NowView, timeZone: string): Html {
  const { evaluation, status, by, inWay, asked, counterfactuals } = view;
  const { kind, reason } = evaluation.live;
  return html`${partHead(ids, '/now', 'What the rules say now')}
<p>It is ${status ?? 'not known'}. The rules in force say
<b class="state s-${kind}">${wordFor('outcome', kind)}</b>: ${message(reason)}.
Nothing is decided by this page.</p>
${inWay !== undefined && html`<p>It is not decided so: ${inWay}.</p>`}
${
  asked !== undefined &&
  html`<p>${
    by &&
    html`Decision ${String(by.decisionId)} by ${byWhom(by.actor)}, ${time(by.at, timeZone)}, made it
so: ${message(by.reason)}. `
  }That is why ${asked}.</p>`
}
${counterfactuals.map((one) => html`<p class="missed">${message(counterfactualText(one))}</p>`)}
<section><h2>Rules</h2>${evidenceOf(evaluation)}</section>
<section><h2>Replay</h2>${replayPart(view, timeZone)}</section>`;
}

function piecesOf({ ordered, packed }: OrderHead): string {
  if (ordered === null) return 'not known';
  return `${whole(packed ?? 0)} of ${whole(ordered)} packed`;
}

/** Head of the page of an order: who ordered, how much is packed, and who brings it. */
export function orderHead(of: OrderHead, { timeZone }: Reader): Html {
  const { orderId, reference, orderNo, accountNo, company, countryCode } = of;
  const customer = [company, accountNo, countryCode].filter(Boolean).join(' · ');
  const events = `/events?${new URLSearchParams({ order: String(orderId) })}`;
  return html`<h1>Order ${reference ?? orderNo ?? String(orderId)}</h1>
${figures([
  ['State', wordFor('status', of.status)],
  [
    'Customer',
    accountNo ? html`<a href="${addressOf('customer', accountNo)}">${customer}</a>` : customer,
  ],
  ['Number', orderNo],
  ['Ordered', time(of.createdAt, timeZone)],
  ['Pieces', piecesOf(of)],
  ['Season', of.season],
  ['Sent by', of.carrier ?? 'not told'],
  ['Comment', of.comment],
])}
<p><a href="${events}">Its events</a></p>
<h2>Deliveries</h2>`;
}
