/** Page of a delivery: its whole way, every decision, its pushes and events. */
import { attemptWords, wordFor } from '../../config/words.ts';
import { type Html, html } from '../../lib/html.ts';
import type { DeliveryView } from '../read/delivery.ts';
import { type CardContext, deliveryCardPart } from './card.ts';
import { deliveryParts } from './delivery-parts.ts';
import { evidence } from './evidence.ts';
import { byWhom, message, money, span, time, whole } from './format.ts';
import { withQuery } from './review.ts';

const HOUR_MS = 3_600_000;

interface Step {
  readonly at: number;
  readonly what: string;
}

/** Steps of a delivery in order of time: packing, events, decisions and attempts to send. */
function timeline({ card, attempts, events, tracking, shipment }: DeliveryView): Step[] {
  const steps: Step[] = [
    { at: card.since, what: 'packed' },
    ...events.map((one) => ({
      at: one.receivedAt,
      what: `event: ${one.type === null ? '?' : wordFor('event', one.type)}`,
    })),
    ...card.decisions.map((one) => ({
      at: one.at,
      what: `${wordFor('outcome', one.outcome)} by ${byWhom(one.actor)}: ${message(one.reason)}`,
    })),
    ...attempts.map((one) => ({
      at: one.startedAt,
      what: `push ${one.outboxId}, attempt ${one.attempt}: ${attemptWords(one.class)}${
        one.httpStatus === null ? '' : ` (HTTP ${one.httpStatus})`
      }`,
    })),
  ];
  if (shipment.shippedAt !== null && tracking.length > 0) {
    const what = `shipped, tracking number ${tracking.join(', ')}`;
    steps.push({ at: Date.parse(shipment.shippedAt), what });
  }
  return steps.toSorted((a, b) => a.at - b.at);
}

function timelinePart(view: DeliveryView, timeZone: string): Html {
  const steps = timeline(view);
  const row = ({ at, what }: Step, index: number): Html => {
    const before = steps[index - 1];
    const lag = before ? `+${span(at - before.at)}` : '';
    return html`<tr><td>${time(at, timeZone)}</td><td class="number">${lag}</td>
<td>${what}</td></tr>`;
  };
  return html`<section><h2>Timeline</h2><div class="table" tabindex="0" role="group"
aria-label="Timeline"><table><thead><tr><th scope="col">Time</th>
<th scope="col" class="number">After</th><th scope="col">What happened</th></tr></thead>
<tbody>${steps.map(row)}</tbody></table></div></section>`;
}

function pushesPart({ card }: DeliveryView): Html | false {
  const pushes = card.decisions.flatMap(({ push, decisionId }) =>
    push === null ? [] : [{ ...push, decisionId }],
  );
  if (pushes.length === 0) return false;
  return html`<section><h2>Pushes</h2><ul>${pushes.map(
    ({ outboxId, state, error, decisionId }) =>
      html`<li><a href="/outbox/${outboxId}">push ${outboxId}</a> of decision ${String(decisionId)}:
<b class="state s-${state}">${wordFor('pushState', state)}</b> ${error}</li>`,
  )}</ul></section>`;
}

/** Parcels of the delivery, and what customs ask of it. */
function shipmentPart({ card, tracking, shipment }: DeliveryView, timeZone: string): Html {
  const { shippedAt, waitsHours, weightKg, customs } = shipment;
  const when = shippedAt === null ? '' : html`, since ${time(Date.parse(shippedAt), timeZone)}`;
  const rest = waitsHours === null ? 'No tracking number.' : 'Accepted and not shipped';
  const parcels =
    tracking.length > 0
      ? html`<p>Tracking number: ${tracking.join(', ')}${when}</p>`
      : html`<p>${rest}${waitsHours !== null && ` for ${span(waitsHours * HOUR_MS)}.`}</p>`;
  const known = customs.filter(({ tariffNo, origin }) => tariffNo !== null || origin !== null);
  const row = ({ tariffNo, origin, pieces, ...one }: (typeof customs)[number]): Html =>
    html`<tr><td>${tariffNo ?? 'not told'}</td><td>${origin ?? 'not told'}</td>
<td class="number">${whole(pieces)}</td><td class="number">${money(one.weightKg, null)}</td>
<td class="number">${money(one.value, card.currency)}</td></tr>`;
  return html`<section><h2>Shipment</h2>${parcels}
${weightKg !== null && html`<p>Weight of its articles: ${money(weightKg, null)} kg.</p>`}
${
  known.length > 0 &&
  html`<div class="table" tabindex="0" role="group" aria-label="Customs"><table><thead><tr>
<th scope="col">Tariff no.</th><th scope="col">Origin</th><th scope="col" class="number">Pieces</th>
<th scope="col" class="number">Weight (kg)</th>
<th scope="col" class="number">Value</th></tr></thead>
<tbody>${customs.map(row)}</tbody></table></div>`
}</section>`;
}

/** Page of a delivery. `locale`: the reader's language for the CSV link; empty: not known. */
export function deliveryPage(view: DeliveryView, context: CardContext, locale: string): Html {
  const { card } = view;
  const earlier = card.decisions.slice(1);
  const csv = withQuery(`/deliveries/${card.orderDeliveryId}.csv`, new URLSearchParams(), {
    locale,
  });
  return html`<h1>Delivery ${card.deliveryNo ?? String(card.orderDeliveryId)}</h1>
${deliveryParts({ orderDeliveryId: card.orderDeliveryId, orderId: card.order.orderId }, '')}
<p>Its lines: <a href="${csv}">CSV</a></p>
<div class="columns"><div>${deliveryCardPart(view, context)}</div><div>
${timelinePart(view, context.timeZone)}
${pushesPart(view)}
${shipmentPart(view, context.timeZone)}
${
  earlier.length > 0 &&
  html`<section><h2>Earlier decisions</h2>${earlier.map(
    (one) => html`<details><summary>${wordFor('outcome', one.outcome)} by ${byWhom(one.actor)},
${time(one.at, context.timeZone)}</summary>${evidence(one, context.timeZone)}</details>`,
  )}</section>`
}</div></div>`;
}
