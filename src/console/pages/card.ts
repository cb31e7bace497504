/**
 * Card of a delivery, beside the review list and on its own page: its facts, why it waits, and the
 * acts that are possible.
 */

import { wordFor } from '../../config/words.ts';
import { ME, NOBODY } from '../../decisions/review/note.ts';
import { deliveryState, isUnconfirmed } from '../../decisions/review/state.ts';
import {
  acceptDelivery,
  assignDelivery,
  holdDelivery,
  noteDelivery,
  rejectDelivery,
  releaseDelivery,
} from '../../decisions/review/surface.ts';
import { type Html, html } from '../../lib/html.ts';
import { isJsonObject } from '../../lib/json.ts';
import { compareSizes } from '../../lib/sizes.ts';
import { plural } from '../../lib/strings.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import type { ActHead } from '../../surface/acts.ts';
import { mayDo, type Role } from '../../surface/roles.ts';
import { type DeliveryView, type GridLine, piecesMissing, UNLISTED } from '../read/delivery.ts';
import { actPath, addressOf } from '../surface/addresses.ts';
import { evidence } from './evidence.ts';
import { message, money, span, time, whole } from './format.ts';
import { NOTHING_BY_ENTER, SAYS_ENTER } from './parts.ts';

export interface CardContext {
  readonly role: Role;
  readonly timeZone: string;
  readonly now: number;
  /** Reasons to choose from: those of the settings, then those that this person gave last. */
  readonly reasons: readonly string[];
  /** Name of the reader, as others know it. */
  readonly me: string;
  /** Names of people to choose from. */
  readonly names: readonly string[];
  /** Address to which the card's forms return. */
  readonly back: string;
  /** Delivery of the list to open after this one is decided; empty: none; undefined: no list. */
  readonly next?: string | undefined;
}

const NO_SIZE = '–';

/** Barcodes of lines that made the deciding rules match, as far as the decision names them. */
function barcodesBehind({ live, rules }: Evaluation): ReadonlySet<unknown> {
  const decided = rules.filter(({ id, value }) => value === true && live.rules.includes(id));
  const operands = decided.flatMap(({ clauses }) =>
    clauses.flatMap(({ negated, operands }) =>
      operands.filter((one) => 'items' in one && (one.which === 'fail') === negated),
    ),
  );
  const items = operands.flatMap((one) => ('items' in one ? one.items : []));
  return new Set(items.flatMap((item) => (isJsonObject(item) ? [item.barcode] : [])));
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce((all, one) => (all === null || one === null ? null : all + one), 0);
}

/** Words for each reason for which pieces on hand are not known. */
export const UNLISTED_WORDS = {
  ahead: 'stock not known: ordered ahead',
  gone: 'no longer in the stock list',
  nowhere: 'not in the stock list',
} as const;

const MEANT = {
  ahead:
    'Ordered ahead: the season list has it, and the stock list not yet, as is usual of a ' +
    'pre-order. Nothing here says that pieces are missing, nor that they are there.',
  gone: 'The stock list had it and has it no more: ask whether the pieces are there.',
  nowhere: 'Neither the stock list nor a season list has it: look at the article first.',
} as const;

/**
 * Pieces of one size: packed / on hand / ordered, and in words what is missing on hand; on hand
 * only of a delivery that is open.
 */
function cellOf(size: string, lines: readonly GridLine[], isOpen: boolean): Html {
  const packed = sum(lines.map((line) => line.packed));
  const { stock = null, ordered = null, unlisted = null } = lines[0] ?? {};
  const missing = piecesMissing({ packed, stock });
  const short = missing > 0;
  const said = short && `${whole(missing)} of ${whole(packed)} missing`;
  return html`<span class="size ${short && 'short'}"><b>${size}:</b> <span>${whole(packed)}<span
 class="of">${isOpen && ` / ${whole(stock)}`} / ${whole(ordered)}</span></span>${
   said && html` <b>${said}</b>`
 }${unlisted !== null && html` <span class="soft">${UNLISTED_WORDS[unlisted]}</span>`}</span>`;
}

/** Sentences on each reason for which pieces on hand are not known. */
function unlistedPart(grid: readonly GridLine[]): readonly Html[] {
  const found = new Set(grid.map(({ unlisted }) => unlisted));
  return UNLISTED.filter((one) => found.has(one)).map(
    (one) => html`<p class="soft">On hand ?, ${UNLISTED_WORDS[one]}: ${MEANT[one]}</p>`,
  );
}

/** Lines of one article in one color. */
interface Row {
  readonly article: string;
  readonly color: string;
  readonly lines: readonly GridLine[];
  readonly marked: boolean;
}

function lineRow({ article, color, lines, marked }: Row, card: DeliveryView['card']): Html {
  const isOpen = card.status === 'pending';
  const sizes = Map.groupBy(lines, ({ size }) => size ?? NO_SIZE);
  const sorted = [...sizes].sort(([a], [b]) => compareSizes(a, b));
  const value = sum(
    lines.map(({ packed, price }) => (packed === null || price === null ? null : packed * price)),
  );
  return html`<tr class="${marked && 'marked'}"><th scope="row">${article}
${marked && html`<span class="hidden">decided it</span>`} <span class="soft">${color}</span></th>
<td class="sizes">${sorted.map(([size, of]) => cellOf(size, of, isOpen))}</td>
<td>${money(value, card.currency)}</td></tr>`;
}

/** Table of all lines; those that made the rules decide come first and are marked. */
function linesTable({ grid, card }: DeliveryView): Html {
  const [latest] = card.decisions;
  const behind = latest ? barcodesBehind(latest.evaluation) : new Set();
  const named = (line: GridLine) =>
    [line.style, line.styleName].filter(Boolean).join(' ') || line.barcode || '?';
  const rows = [...Map.groupBy(grid, (line) => `${named(line)}\n${line.color}`).values()].map(
    (lines): Row => ({
      article: lines[0] ? named(lines[0]) : '?',
      color: lines[0]?.color ?? '',
      lines,
      marked: lines.some(({ barcode }) => behind.has(barcode)),
    }),
  );
  const sorted = [...rows.filter(({ marked }) => marked), ...rows.filter((row) => !row.marked)];
  return html`<div class="grids" tabindex="0" role="group" aria-label="Lines">
<table class="grid"><thead><tr><th scope="col">Article</th>
<th scope="col">Size, below it: packed${card.status === 'pending' && ' / on hand'} / ordered</th>
<th scope="col">Value</th></tr></thead>
<tbody>${sorted.map((row) => lineRow(row, card))}</tbody></table></div>
${unlistedPart(grid)}`;
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
  const options = reasons.map((one) => html`<option value="${one}"></option>`);
  const chips = reasons.map(
    (one) => html`<button type="button" class="chip" data-reason="${id}">${one}</button>`,
  );
  return html`<label for="${id}">Reason</label>
<input id="${id}" name="reason" required maxlength="1000" autocomplete="off" list="${id}-last">
<datalist id="${id}-last">${options}</datalist>
${
  reasons.length > 0 &&
  html`<div class="chips"><span>Reasons used lately, to fill in:</span>${chips}</div>`
}`;
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

/**
 * Form with the acts that this person may do now, or a sentence why there are none. A tracking
 * number does not prove that the parcel has left: who knows better opens the fold (`isAsked`).
 */
function actions(view: DeliveryView, context: CardContext, isAsked = false): Html {
  const { card, latestDecisionId } = view;
  const { role } = context;
  if (!mayDo(role, acceptDelivery.role)) {
    return html`<p class="soft">You can read, and not decide: a ${role} may not.</p>`;
  }
  if (view.openPush) return html`<p class="soft">Its push is on its way: wait for its end.</p>`;
  const isPending = card.status === 'pending';
  const canHold = isPending || card.status === 'accepted';
  if (!canHold)
    return html`<p class="soft">It is ${wordFor('status', card.status)}: that is final.</p>`;
  if (!isPending && view.tracking.length > 0 && !isAsked) {
    return html`<p class="soft">It has shipped, tracking number ${view.tracking.join(', ')}: the
service takes back nothing that has left.</p><details><summary>It has not left yet…</summary>
${actions(view, context, true)}</details>`;
  }
  const isHeld = card.decisions[0]?.outcome === 'hold';
  const mayRelease = isPending && isHeld && latestDecisionId !== null;
  const button = (of: ActHead, text: string, key: string, kind = ''): Html =>
    html`<button class="${kind}" formaction="${pathOf(of, view)}" data-key="${key}">${text}
<kbd>${key}</kbd></button>`;
  return html`<form class="actions" method="post" data-act="decide"
 data-keep="${card.orderDeliveryId}">${seenFields(view, context)}
${reasonField('reason', context.reasons)}
<div class="buttons">${NOTHING_BY_ENTER}
${isPending && button(acceptDelivery, 'Accept', 'a', 'primary')}
${button(holdDelivery, isPending ? 'Hold' : 'Take back', 'h')}
${mayRelease && button(releaseDelivery, 'Give to the rules', 'u')}
</div>${mayRelease && html`<p class="soft">Give to the rules: they decide it again.</p>`}
${SAYS_ENTER}</form>
${isPending && mayDo(role, rejectDelivery.role) && rejectForm(view, context)}`;
}

function noteForm(view: DeliveryView, { role, timeZone, back }: CardContext): Html {
  const shown = view.card.notes.map(
    ({ text, author, at }) =>
      html`<li>${text} <span class="soft">${author}, ${time(at, timeZone)}</span></li>`,
  );
  const form =
    mayDo(role, noteDelivery.role) &&
    html`<form class="line" method="post" action="${pathOf(noteDelivery, view)}">
<input type="hidden" name="back" value="${back}">
<label for="note">Note</label>
<input id="note" name="text" maxlength="1000" required autocomplete="off">
<button class="small">Keep</button></form>`;
  const last = view.card.notes.at(-1);
  const away =
    last !== undefined &&
    mayDo(role, noteDelivery.role) &&
    html`<form method="post" action="${pathOf(noteDelivery, view)}">
<input type="hidden" name="back" value="${back}"><input type="hidden" name="text" value="">
<button class="small">Take the latest away</button></form>`;
  return html`<section><h3>Notes</h3>${shown.length > 0 && html`<ul>${shown}</ul>`}${form}${away}
</section>`;
}

/** The person who sees to the delivery, with the forms that change it: for oneself in a click. */
function assignment(view: DeliveryView, { role, me, names, timeZone, back }: CardContext): Html {
  const { assigned } = view.card;
  const said =
    assigned &&
    html`<p>${assigned.name} sees to it <span class="soft">${
      assigned.actor !== assigned.name && `(said ${assigned.actor}) `
    }since ${time(assigned.at, timeZone)}</span></p>`;
  if (!mayDo(role, assignDelivery.role)) return html`${said}`;
  const start = html`<form class="line" method="post" action="${pathOf(assignDelivery, view)}">
<input type="hidden" name="back" value="${back}">`;
  const own = (to: string, button: string) =>
    html`${start}<input type="hidden" name="to" value="${to}">
<button class="small">${button}</button></form>`;
  return html`<section><h3>Assigned to</h3>${said}<div class="line">${
    assigned?.name !== me && own(ME, 'Assign to me')
  }${assigned && own(NOBODY, 'To nobody')}
${start}<label class="hidden" for="assign">Name</label>
<input id="assign" name="to" required maxlength="100" autocomplete="off" list="assign-names"
 placeholder="Name"><datalist id="assign-names">${names.map(
   (name) => html`<option value="${name}"></option>`,
 )}</datalist> <button class="small">Assign</button></form></div></section>`;
}

function facts(view: DeliveryView, { timeZone, now }: CardContext): Html {
  const { card, value, pieces } = view;
  const row = (name: string, content: Html | string): Html =>
    html`<div><dt>${name}</dt><dd>${content}</dd></div>`;
  const { company, accountNo, country } = card.customer;
  const packed = pieces === null ? '? pieces' : plural(pieces, 'piece');
  return html`<dl class="facts">
${row('Customer', [company, accountNo, country].filter(Boolean).join(' · ') || '?')}
${row(
  'Order',
  html`<a href="${addressOf('order', card.order.orderId)}">${
    [card.order.orderNo, card.order.reference].filter(Boolean).join(' · ') || '?'
  }</a>`,
)}
${row('Value', `${money(value, card.currency)}, ${packed}`)}
${card.season !== null && row('Season', card.season)}
${row('Packed', html`${time(card.since, timeZone)}, ${span(now - card.since)} ago`)}
${card.order.comment && row('Comment', card.order.comment)}</dl>`;
}

function accountState({ account }: DeliveryView): Html | false {
  if (!account) return false;
  const { blocked, balance, limit, currency, overdueDays, refunds } = account;
  const known = [
    blocked && 'blocked by the ERP',
    balance !== null && `owes ${money(balance, currency)}`,
    limit !== null && `credit ${money(limit, currency)}`,
    overdueDays !== null && overdueDays > 0 && `${plural(overdueDays, 'day')} overdue`,
    `${plural(refunds, 'refund')} in 90 days`,
  ];
  return html`<p>The customer: ${known.filter(Boolean).join(', ')}.</p>`;
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
        }</a> (${one.state})`,
    )}</p>`
  }`;
}

function holds({ card }: DeliveryView, timeZone: string): Html | false {
  const open = card.holds.filter(({ lapsedAt }) => lapsedAt === null);
  if (open.length === 0) return false;
  return html`<ul>${open.map(
    ({ rule, expiresAt, afterwards }) =>
      html`<li>${
        rule === 'no_rule' ? 'No rule applies' : html`<code>${rule}</code> holds it`
      } until ${time(expiresAt, timeZone)}, then:
${wordFor('afterwards', afterwards)}</li>`,
  )}</ul>`;
}

/** Card of a delivery beside the review list, with all that a decision needs. */
export function deliveryCardPart(view: DeliveryView, context: CardContext): Html {
  const { card, missedBy } = view;
  const [latest] = card.decisions;
  const number = card.deliveryNo ?? String(card.orderDeliveryId);
  const { outcome = null, push } = latest ?? {};
  const { status, shipped } = card;
  const decided = { status, shipped, outcome, push: push?.state ?? null };
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
${missedBy.map((text) => html`<p class="missed">${message(text)}</p>`)}
${holds(view, context.timeZone)}</section>
<section><h3>Content</h3>${linesTable(view)}</section>
${accountState(view)}${others(view)}
${assignment(view, context)}${noteForm(view, context)}
<details class="cli"><summary>for the terminal</summary>
<code>selvedge deliveries accept ${card.orderDeliveryId} --reason "…"</code></details>
</article>`;
}
