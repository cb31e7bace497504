/** Pages about pushes: the list, and one push beside what the service has. */
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { OutboxCard, OutboxRow } from '../../outbox/review/listing.ts';
import { cancelPush, resolveAbsent, resolveConfirmed, retryPush } from '../../outbox/surface.ts';
import { describeLost } from '../../outbox/watch/lost.ts';
import type { ActHead } from '../../surface/acts.ts';
import type { Given } from '../../surface/given.ts';
import type { Role } from '../../surface/roles.ts';
import { actForm } from '../surface/html.ts';
import { span, time } from './format.ts';
import { partsNav } from './parts.ts';
import { withQuery } from './review.ts';

/** Word for a push's state: an unknown outcome is no failure, and is called by its name. */
function stateWord(state: string): string {
  return state === 'in_doubt' ? 'outcome unknown' : state;
}

export interface OutboxListView {
  readonly rows: readonly OutboxRow[];
  readonly next: string | null;
  readonly query: URLSearchParams;
  readonly kinds: readonly string[];
  readonly states: readonly string[];
  /** Reader's language for the CSV link; empty: not known. */
  readonly locale: string;
  readonly now: number;
}

function choice(name: string, label: string, all: readonly string[], query: URLSearchParams): Html {
  const chosen = query.get(name) ?? '';
  return html`<div><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}">
<option value="">all</option>${all.map(
    (one) =>
      html`<option value="${one}"${one === chosen && html` selected`}>${stateWord(one)}</option>`,
  )}</select></div>`;
}

function why({ blockedReason, lost, lastError }: OutboxRow): string {
  return blockedReason ?? (lost && describeLost(lost)) ?? lastError ?? '';
}

export function outboxPage(view: OutboxListView): Html {
  const { rows, query, next, now } = view;
  const row = (one: OutboxRow): Html => html`<tr>
<td><a href="/outbox/${one.outboxId}">${one.outboxId}</a></td><td>${one.kind}</td>
<td>${one.reference}</td><td><b class="state s-${one.state}">${stateWord(one.state)}</b>${
    one.blockedReason !== null && ' needs you'
  }</td><td class="number">${span(now - one.createdAt)}</td><td class="number">${one.attempts}</td>
<td>${why(one)}</td></tr>`;
  return html`<h1>Outbox</h1>${partsNav('/outbox')}
<form class="filters" method="get" action="/outbox" role="search" aria-label="Filter pushes">
${choice('kind', 'Kind', view.kinds, query)}${choice('state', 'State', view.states, query)}
<div><label for="f-reference">Reference</label>
<input id="f-reference" name="reference" value="${query.get('reference') ?? ''}"></div>
<div><label><input type="checkbox" name="attention" value="1"${
    query.get('attention') === '1' && html` checked`
  }> needs you</label></div>
<div><label><input type="checkbox" name="open" value="1"${
    query.get('open') === '1' && html` checked`
  }> not ended</label></div>
<div class="buttons"><button>Filter</button> <a class="button" href="/outbox">Clear</a></div></form>
<p>${plural(rows.length, 'push', 'pushes')} on this page ·
<a href="${withQuery('/outbox.csv', query, { before: '', locale: view.locale })}">CSV</a></p>
${
  rows.length === 0
    ? html`<p class="empty">Nothing fits.</p>`
    : html`<div class="table" tabindex="0" role="group" aria-label="Pushes"><table><thead><tr>
<th scope="col">Push</th><th scope="col">Kind</th><th scope="col">Reference</th>
<th scope="col">State</th><th scope="col" class="number">Age</th>
<th scope="col" class="number">Tries</th>
<th scope="col">Why</th></tr></thead><tbody>${rows.map(row)}</tbody></table></div>`
}
${
  next !== null &&
  html`<p><a class="button" href="${withQuery('/outbox', query, { before: next })}">Next page</a>
</p>`
}`;
}

/** Forms of the acts that make sense in the push's state. */
function acts({ outboxId, reference, state, blockedReason }: OutboxCard, role: Role): Html[] {
  const needs = state === 'in_doubt' && blockedReason !== null;
  const canMove = state === 'queued' || state === 'dead' || needs;
  const form = (of: ActHead, more: Given = {}): Html =>
    actForm(of, { role, given: { push: outboxId, ...more } });
  return [
    ...(canMove ? [form(retryPush)] : []),
    ...(needs ? [form(resolveAbsent, { reference }), form(resolveConfirmed)] : []),
    ...(canMove ? [form(cancelPush)] : []),
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

export function outboxItemPage(card: OutboxCard, role: Role, timeZone: string): Html {
  const possible = acts(card, role);
  return html`<h1>Push ${String(card.outboxId)}: ${card.kind}</h1>
<p><code>${card.reference}</code></p>
<p><b class="state s-${card.state}">${stateWord(card.state)}</b>,
made ${time(card.createdAt, timeZone)}.
${card.blockedReason !== null && html`<b>Needs you:</b> ${card.blockedReason}.`}
${card.lastError}</p>
<p>Next: ${card.nextAction}</p>
${possible.length > 0 && html`<section><h2>What you can do</h2>${possible}</section>`}
${card.problems.map(
  ({ severity, path, message }) => html`<p class="problem">${severity} ${path}: ${message}</p>`,
)}
${sides(card)}
<h2>Attempts</h2>
<div class="table" tabindex="0" role="group" aria-label="Attempts"><table><thead><tr>
<th scope="col">Attempt</th><th scope="col">From</th><th scope="col">Class</th>
<th scope="col">HTTP</th>
<th scope="col">Answer</th></tr></thead><tbody>${card.attemptLog.map(
    (one) => html`<tr><td>${String(one.attempt)}</td><td>${time(one.startedAt, timeZone)}</td>
<td>${one.class ?? 'under way'}</td><td>${one.httpStatus}</td><td>${one.answer}</td></tr>`,
  )}</tbody></table></div>
<h2>Evidence</h2>
<div class="table" tabindex="0" role="group" aria-label="Evidence"><table><thead><tr>
<th scope="col">Looked up</th><th scope="col">By</th><th scope="col">Outcome</th>
<th scope="col">Detail</th></tr></thead><tbody>${card.evidence.map(
    (one) =>
      html`<tr><td>${time(one.at, timeZone)}</td><td>${one.source}</td><td>${one.outcome}${
        one.complete ? '' : ' (not all was seen)'
      }</td><td><code>${JSON.stringify(one.detail)}</code></td></tr>`,
  )}</tbody></table></div>`;
}
