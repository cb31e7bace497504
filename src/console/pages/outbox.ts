/** Page about one push beside what the service has. */
import { attemptWords, pushWords, wordFor } from '../../config/words.ts';
import { type Html, html } from '../../lib/html.ts';
import type { OutboxCard } from '../../outbox/review/listing.ts';
import {
  cancelPush,
  resolveAbsent,
  resolveConfirmed,
  resolveNoted,
  retryPush,
} from '../../outbox/surface.ts';
import type { ActHead } from '../../surface/acts.ts';
import type { Given } from '../../surface/given.ts';
import type { Role } from '../../surface/roles.ts';
import { addressOf } from '../surface/addresses.ts';
import { actForm } from '../surface/html.ts';
import { time } from './format.ts';
import { terminalFold } from './parts.ts';

/** Forms of the acts that make sense in the push's state. */
function acts(card: OutboxCard, role: Role): Html[] {
  const { outboxId, reference, state, blockedReason } = card;
  const needs = state === 'in_doubt' && blockedReason !== null;
  const canMove = state === 'queued' || state === 'dead' || needs;
  const form = (of: ActHead, more: Given = {}): Html =>
    actForm(of, { role, given: { push: outboxId, ...more } });
  return [
    ...(canMove ? [form(retryPush)] : []),
    ...(needs ? [form(resolveAbsent, { reference }), form(resolveConfirmed)] : []),
    ...(canMove ? [form(cancelPush)] : []),
    ...(card.isNotable ? [form(resolveNoted)] : []),
  ];
}

function sides({ document, candidates }: OutboxCard): Html {
  return html`<div class="columns"><section><h2>Ours</h2><pre tabindex="0">${JSON.stringify(
    document,
    undefined,
    2,
  )}</pre></section><section><h2>At the service</h2>${
    candidates.length === 0
      ? html`<p class="empty">Nothing there is known to be it.</p>`
      : candidates.map(
          (one) => html`<h3>Order ${String(one.orderId)} ${one.orderNo}</h3>
${one.differences.map((difference) => html`<p class="problem">≠ ${difference}</p>`)}
<table><thead><tr><th scope="col">Barcode</th>
<th scope="col" class="number">Pieces</th></tr></thead>
<tbody>${one.lines.map(
            (line) =>
              html`<tr><td>${line.barcode}</td>
<td class="number">${line.quantity ?? '?'}</td></tr>`,
          )}</tbody></table>`,
        )
  }</section></div>`;
}

/** Next step in words, without the parts that are commands: the page has its acts below. */
function nextInWords(text: string): string {
  const parts = text.split(/; |, then: |: (?="?selvedge )/);
  const words = parts.filter((part) => !/selvedge |--as /.test(part));
  return words.join('; ') || 'decide by what stands below';
}

/** Thing that the push is about, with a link to its delivery. */
function subjectOf({ kind, reference, orderId }: OutboxCard): Html {
  const words = pushWords(kind, reference);
  if (words === reference && orderId === null) return html`<code>${reference}</code>`;
  if (words === reference) return html`<a href="${addressOf('order', orderId)}">${reference}</a>`;
  return html`<a href="${addressOf('delivery', words.replace('delivery ', ''))}">${words}</a>`;
}

export function outboxItemPage(card: OutboxCard, role: Role, timeZone: string): Html {
  const possible = acts(card, role);
  return html`<h1>Push ${String(card.outboxId)}: ${wordFor('push', card.kind)}</h1>
<p>${subjectOf(card)}</p>
<p><b class="state s-${card.state}">${wordFor('pushState', card.state)}</b>,
made ${time(card.createdAt, timeZone)}.
${card.blockedReason !== null && html`<b>Needs you:</b> ${card.blockedReason}.`}
${card.lastError}</p>
<p>Next: ${nextInWords(card.nextAction)}</p>${terminalFold(card.nextAction)}
${possible.length > 0 && html`<section><h2>What you can do</h2>${possible}</section>`}
${card.problems.map(
  ({ severity, path, message }) => html`<p class="problem">${severity} ${path}: ${message}</p>`,
)}
${sides(card)}
<h2>Attempts</h2>
<div class="table" tabindex="0" role="group" aria-label="Attempts"><table><thead><tr>
<th scope="col">Attempt</th><th scope="col">From</th><th scope="col">It was</th>
<th scope="col">HTTP</th>
<th scope="col">Answer</th></tr></thead><tbody>${card.attemptLog.map(
    (one) => html`<tr><td>${String(one.attempt)}</td><td>${time(one.startedAt, timeZone)}</td>
<td>${attemptWords(one.class)}</td><td>${one.httpStatus}</td><td>${one.answer}</td></tr>`,
  )}</tbody></table></div>
<h2>Evidence</h2>
<div class="table" tabindex="0" role="group" aria-label="Evidence"><table><thead><tr>
<th scope="col">Looked up</th><th scope="col">By</th><th scope="col">Outcome</th>
<th scope="col">Detail</th></tr></thead><tbody>${card.evidence.map(
    (one) =>
      html`<tr><td>${time(one.at, timeZone)}</td>
<td>${wordFor('lookedBy', one.source)}</td><td>${wordFor('lookup', one.outcome)}${
        one.complete ? '' : ' (not all was seen)'
      }</td><td><details><summary>show</summary>
<code>${JSON.stringify(one.detail)}</code></details></td></tr>`,
  )}</tbody></table></div>`;
}
