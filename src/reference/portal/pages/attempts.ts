/** Page of the attempts that the relay made, with the receivers' answers. */
import { type Html, html } from '../../../lib/html.ts';
import { formatDuration } from '../../../lib/units.ts';
import type { Attempt, Endpoint, Page } from '../../relay/model.ts';
import { answerBadge, pager, select, time } from './layout.ts';

function answer(attempt: Attempt): Html | null {
  if (attempt.response === '') return null;
  return html`<details><summary>Answer</summary><pre>${attempt.response}</pre></details>`;
}

/**
 * Table of attempts, newest first; an endpoint that was deleted is named by the URL that was used.
 */
export function attemptTable(
  attempts: readonly Attempt[],
  endpoints: readonly Pick<Endpoint, 'id'>[],
): Html {
  if (attempts.length === 0) {
    return html`<div class="table"><p class="empty">No attempt yet.</p></div>`;
  }
  const known = new Set(endpoints.map(({ id }) => id));
  const target = ({ endpointId, url }: Attempt): Html =>
    known.has(endpointId)
      ? html`<a href="/portal/endpoints/${endpointId}"><code>${url}</code></a>`
      : html`<code>${url}</code>`;
  const row = (attempt: Attempt): Html => html`<tr>
<td class="time">${time(attempt.at)}</td>
<td class="id"><a href="/portal/messages/${attempt.messageId}"><code>${attempt.messageId}</code></a>
${answer(attempt)}</td>
<td>${target(attempt)}</td>
<td>${answerBadge(attempt.responseStatus)}</td>
<td>${attempt.trigger === 'manual' ? 'By hand' : 'Scheduled'}</td>
<td class="number">${formatDuration(attempt.durationMs)}</td></tr>`;
  return html`<div class="table"><table><thead><tr><th scope="col">Time (UTC)</th>
<th scope="col">Message</th><th scope="col">Endpoint</th><th scope="col">Answer</th>
<th scope="col">Trigger</th><th scope="col">Took</th></tr></thead>
<tbody>${attempts.map(row)}</tbody></table></div>`;
}

/** Renders the page of attempts; `query` holds the filters as they are in the address. */
export function attemptsPage(
  page: Page<Attempt>,
  endpoints: readonly Endpoint[],
  query: URLSearchParams,
): Html {
  const targets = endpoints.map(({ id, url }) => [id, url] as const);
  const results = [
    ['', 'Any result'],
    ['success', 'Delivered'],
    ['failed', 'Failed'],
  ] as const;
  return html`<h1>Sent</h1>
<p class="lead">Every attempt that the relay made at an endpoint, newest first.</p>
<form class="line filters" method="get" action="/portal/attempts">
${select('endpoint', 'Endpoint', [['', 'All endpoints'], ...targets], query.get('endpoint') ?? '')}
${select('status', 'Result', results, query.get('status') ?? '')}
<button>Filter</button></form>
${attemptTable(page.data, endpoints)}
${pager('/portal/attempts', query, page)}`;
}
