/**
 * Card of a delivery, beside the review list and on its own page: its facts, why it waits, and the
 * acts that are possible.
 */

import { deliveryState, isUnconfirmed } from '../../decisions/review/state.ts';
import {
  acceptDelivery,
  holdDelivery,
  noteDelivery,
  rejectDelivery,
  releaseDelivery,
} from '../../decisions/review/surface.ts';
import { type Html, html } from '../../lib/html.ts';
import { compareSizes } from '../../lib/sizes.ts';
import { plural } from '../../lib/strings.ts';
import type { ActHead } from '../../surface/acts.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import type { DeliveryView, GridLine } from '../read/delivery.ts';
import { actPath } from '../surface/addresses.ts';
import { evidence } from './evidence.ts';
import { money, span, time, whole } from './format.ts';
import { NOTHING_BY_ENTER, SAYS_ENTER } from './parts.ts';

export interface CardContext {
  readonly role: Role;
  readonly timeZone: string;
  readonly now: number;
  /** Reasons that this person gave last, the latest first. */
  readonly reasons: readonly string[];
  /** Address to which the card's forms return. */
  readonly back: string;
  /** Delivery of the list to open after this one is decided; empty: none; undefined: no list. */
  readonly next?: string | undefined;
}

const NO_SIZE = '–';

function cellOf(lines: readonly GridLine[]): Html {
  const packed = lines.every((line) => line.packed !== null)
    ? lines.reduce((sum, line) => sum + (line.packed ?? 0), 0)
    : null;
  const [first] = lines;
  if (first === undefined) return html`<td></td>`;
  const short = packed !== null && first.stock !== null && first.stock < packed;
  const stock = first.stock === null ? '?' : whole(first.stock);
  return html`<td class="${short && 'short'}">${whole(packed)}<span class="of"> / ${stock}${
    short && html`<span class="hidden"> short</span>`
  }</span></td>`;
}

/** Tables of pieces packed / on hand by colour and size, one for each style. */
function sizeGrid(lines: readonly GridLine[]): Html {
  const styles = Map.groupBy(lines, ({ style, styleName }) =>
    [style, styleName].filter(Boolean).join(' '),
  );
  const table = ([style, of]: [string, readonly GridLine[]]): Html => {
    const sizes = [...new Set(of.map(({ size }) => size ?? NO_SIZE))].sort(compareSizes);
    const colors = Map.groupBy(of, ({ color, barcode }) => color ?? barcode ?? '?');
    return html`<table class="grid"><caption>${style || 'Not in the lists of variants'}</caption>
<thead><tr><th scope="col">Colour</th>${sizes.map((size) => html`<th scope="col">${size}</th>`)}
<th scope="col">Price</th></tr></thead>
<tbody>${[...colors].map(
      ([color, row]) =>
        html`<tr><th scope="row">${color}</th>${sizes.map((size) =>
          cellOf(row.filter((line) => (line.size ?? NO_SIZE) === size)),
        )}<td>${[...new Set(row.map(({ price }) => money(price, null)))].join(', ')}</td></tr>`,
    )}</tbody></table>`;
  };
  return html`<div class="grids" tabindex="0" role="group" aria-label="Pieces packed / on hand">
${[...styles].map(table)}</div><p class="soft">Pieces packed / on hand.</p>`;
}

/** State of the delivery that was seen, and the place to go on at. */
function seenFields(
  { latestDecisionId, contentHash }: DeliveryView,
  { back, next }: CardContext,
): Html {
  return html`<input type="hidden" name="decisionId" value="${latestDecisionId ?? 0}">
<input type="hidden" name="contentHash" value="${contentHash}">
<input type="hidden" name="back" value="${back}">${
    next !== undefined && html`<input type="hidden" name="next" value="${next}">`
  }`;
}

function reasonField(id: string, reasons: readonly string[]): Html {
  const chips = reasons.slice(0, 5).map((one) => html`<option value="${one}"></option>`);
  return html`<label for="${id}">Reason</label>
<input id="${id}" name="reason" required maxlength="1000" autocomplete="off" list="${id}-last">
<datalist id="${id}-last">${chips}</datalist>`;
}

/** Address of an act on the delivery, which its id names whatever numbers there are. */
function pathOf(of: ActHead, { card }: DeliveryView): string {
  return actPath(of, { delivery: `id:${card.orderDeliveryId}` });
}

function rejectForm(view: DeliveryView, context: CardContext): Html {
  const number = view.card.deliveryNo ?? String(view.card.orderDeliveryId);
  return html`<details class="reject"><summary data-key="r">Reject…</summary>
<form method="post" action="${pathOf(rejectDelivery, view)}"
 data-act="reject">${seenFields(view, context)}
<p>A reject is final at the service.</p>
<label for="confirm">Type ${number} to go on</label>
<input id="confirm" name="confirmed" required autocomplete="off">
${reasonField('reject-reason', context.reasons)}
<button class="danger">Reject for good</button></form></details>`;
}

/** Form with the acts that this person may do now, or a sentence why there are none. */
function actions(view: DeliveryView, context: CardContext): Html {
  const { card, latestDecisionId } = view;
  const { role } = context;
  if (!mayDo(role, acceptDelivery.role)) {
    return html`<p class="soft">You can read, and not decide: a ${role} may not.</p>`;
  }
  if (view.openPush) return html`<p class="soft">Its push is on its way: wait for its end.</p>`;
  const isPending = card.status === 'pending';
  const canHold = isPending || card.status === 'accepted';
  if (!canHold) return html`<p class="soft">It is ${card.status}: that is final.</p>`;
  const isHeld = card.decisions[0]?.outcome === 'hold';
  const button = (of: ActHead, text: string, key: string, kind = ''): Html =>
    html`<button class="${kind}" formaction="${pathOf(of, view)}" data-key="${key}">${text}
<kbd>${key}</kbd></button>`;
  return html`<form class="actions" method="post" data-act="decide"
 data-keep="${card.orderDeliveryId}">${seenFields(view, context)}
${reasonField('reason', context.reasons)}
<div class="buttons">${NOTHING_BY_ENTER}
${isPending && button(acceptDelivery, 'Accept', 'a', 'primary')}
${button(holdDelivery, isPending ? 'Hold' : 'Take back', 'h')}
${
  isPending &&
  isHeld &&
  latestDecisionId !== null &&
  button(releaseDelivery, 'Give to the rules', 'u')
}
</div>${SAYS_ENTER}</form>
${isPending && mayDo(role, rejectDelivery.role) && rejectForm(view, context)}`;
}

function noteForm(view: DeliveryView, { role, timeZone, back }: CardContext): Html {
  const { note } = view;
  const shown =
    note &&
    html`<p>${note.text} <span class="soft">${note.author},
${time(note.at, timeZone)}</span></p>`;
  const form =
    mayDo(role, noteDelivery.role) &&
    html`<form class="line" method="post" action="${pathOf(noteDelivery, view)}">
<input type="hidden" name="back" value="${back}">
<label for="note">Note</label>
<input id="note" name="text" maxlength="1000" value="${note?.text ?? ''}" autocomplete="off">
<button class="small">Keep</button></form>`;
  return html`<section><h3>Note</h3>${shown}${form}</section>`;
}

function facts(view: DeliveryView, { timeZone, now }: CardContext): Html {
  const { card, value, pieces } = view;
  const row = (name: string, content: Html | string): Html =>
    html`<div><dt>${name}</dt><dd>${content}</dd></div>`;
  const { company, accountNo, country } = card.customer;
  const packed = pieces === null ? '? pieces' : plural(pieces, 'piece');
  return html`<dl class="facts">
${row('Customer', [company, accountNo, country].filter(Boolean).join(' · ') || '?')}
${row('Order', [card.order.orderNo, card.order.reference].filter(Boolean).join(' · ') || '?')}
${row('Value', `${money(value, card.currency)}, ${packed}`)}
${card.season !== null && row('Season', card.season)}
${row('Packed', html`${time(card.since, timeZone)}, ${span(now - card.since)} ago`)}
${card.order.comment && row('Comment', card.order.comment)}</dl>`;
}

function others({ history, siblings }: DeliveryView): Html {
  return html`${
    history !== null &&
    html`<p>This customer in 90 days:
${plural(history.accepted, 'delivery', 'deliveries')} accepted,
${String(history.rejected)} rejected, ${String(history.held)} held.</p>`
  }${
    siblings.length > 0 &&
    html`<p>Of the same order: ${siblings.map(
      (one, index) =>
        html`${index > 0 && ', '}<a href="/deliveries/${one.orderDeliveryId}">${
          one.deliveryNo ?? String(one.orderDeliveryId)
        }</a> (${one.status})`,
    )}</p>`
  }`;
}

/** Words for what follows when a hold runs out. */
const AFTERWARDS: Readonly<Record<string, string>> = {
  escalate: 'it is overdue and waits for you',
  're-evaluate': 'the rules decide again',
  accept: 'it is accepted',
  release: 'the other rules decide',
};

function holds({ card }: DeliveryView, timeZone: string): Html | false {
  const open = card.holds.filter(({ lapsedAt }) => lapsedAt === null);
  if (open.length === 0) return false;
  return html`<ul>${open.map(
    ({ rule, expiresAt, afterwards }) =>
      html`<li>${
        rule === 'no_rule' ? 'No rule covers it' : html`<code>${rule}</code> holds it`
      } until ${time(expiresAt, timeZone)}, then:
${AFTERWARDS[afterwards]}</li>`,
  )}</ul>`;
}

/** Card of a delivery beside the review list, with all that a decision needs. */
export function deliveryCardPart(view: DeliveryView, context: CardContext): Html {
  const { card, missedBy, grid } = view;
  const [latest] = card.decisions;
  const number = card.deliveryNo ?? String(card.orderDeliveryId);
  const { outcome = null, push } = latest ?? {};
  const decided = { status: card.status, outcome, push: push?.state ?? null };
  const state = deliveryState(decided);
  const mark = isUnconfirmed(decided) ? 'queued' : state;
  return html`<article class="card" data-delivery="${card.orderDeliveryId}">
<h2><a href="/deliveries/${card.orderDeliveryId}">${number}</a>
<b class="state s-${mark}">${state}</b></h2>
${
  card.review &&
  html`<p>${card.review.actor} decided "${card.review.action}": ${card.review.reason}</p>`
}
${actions(view, context)}
${facts(view, context)}
<section><h3>Why</h3>${
    latest ? evidence(latest, context.timeZone) : html`<p>It was not decided yet.</p>`
  }
${missedBy.map((text) => html`<p class="missed">${text}</p>`)}
${holds(view, context.timeZone)}</section>
<section><h3>Content</h3>${sizeGrid(grid)}</section>
${others(view)}
${noteForm(view, context)}
<p class="cli"><code>selvedge deliveries accept ${card.orderDeliveryId} --reason "…"</code></p>
</article>`;
}
