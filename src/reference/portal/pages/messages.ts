/** Pages of messages that the relay received: the list, and one message with its attempts. */
import { type Html, html } from '../../../lib/html.ts';
import { tryParseJson } from '../../../lib/json.ts';
import { EVENT_TYPES } from '../../relay/event-types.ts';
import type { Attempt, Delivery, Endpoint, Message, Page } from '../../relay/model.ts';
import { attemptTable } from './attempts.ts';
import { pager, select, statusBadge, time, WINDOWS } from './layout.ts';

const STATES = [
  ['', 'Any state'],
  ['success', 'Delivered'],
  ['pending', 'Waiting'],
  ['failed', 'Failed'],
  ['unsent', 'Never sent'],
] as const;

export interface MessageRow {
  readonly message: Message;
  readonly deliveries: readonly Delivery[];
}

function summary(deliveries: readonly Delivery[]): Html | Html[] {
  if (deliveries.length === 0) return html`<span class="badge none">Never sent</span>`;
  return deliveries.map(({ status }) => html`${statusBadge(status)} `);
}

function filters(endpoints: readonly Endpoint[], query: URLSearchParams): Html {
  const chosen = (name: string): string => query.get(name) ?? '';
  const types = EVENT_TYPES.map(({ name }) => [name, name] as const);
  const targets = endpoints.map(({ id, url }) => [id, url] as const);
  return html`<form class="line filters" method="get" action="/portal/messages">
${select('type', 'Event type', [['', 'All types'], ...types], chosen('type'))}
${select('status', 'State', STATES, chosen('status'))}
${select('endpoint', 'Endpoint', [['', 'All endpoints'], ...targets], chosen('endpoint'))}
${select('since', 'Time', [['', 'Any time'], ...WINDOWS], chosen('since'))}
<button>Filter</button></form>`;
}

/** Renders the list of messages; `query` holds the filters as they are in the address. */
export function messagesPage(
  page: Page<MessageRow>,
  endpoints: readonly Endpoint[],
  query: URLSearchParams,
): Html {
  const row = ({ message, deliveries }: MessageRow): Html => html`<tr>
<td class="time">${time(message.createdAt)}</td>
<td>${message.eventType}</td>
<td class="id"><a href="/portal/messages/${message.id}"><code>${message.id}</code></a></td>
<td>${summary(deliveries)}</td></tr>`;
  const table = html`<table><thead><tr><th scope="col">Time (UTC)</th>
<th scope="col">Event type</th><th scope="col">Message</th><th scope="col">Deliveries</th></tr>
</thead><tbody>${page.data.map(row)}</tbody></table>`;
  const none = html`<p class="empty">No message fits.</p>`;
  return html`<h1>Received</h1>
<p class="lead">Every event that the service handed to the relay, newest first.</p>
${filters(endpoints, query)}
<div class="table">${page.data.length > 0 ? table : none}</div>
${pager('/portal/messages', query, page)}`;
}

export interface MessageView {
  readonly message: Message;
  readonly deliveries: readonly Delivery[];
  /** Attempts to send the message, the newest first. */
  readonly attempts: readonly Attempt[];
  readonly endpoints: readonly Endpoint[];
}

function way({ message, deliveries, endpoints }: MessageView): Html {
  const row = (endpoint: Endpoint): Html => {
    const delivery = deliveries.find(({ endpointId }) => endpointId === endpoint.id);
    const next = delivery?.nextAttemptAt ?? null;
    return html`<tr><td><a href="/portal/endpoints/${endpoint.id}"><code>${endpoint.url}</code></a>
</td><td>${delivery ? statusBadge(delivery.status) : summary([])}</td>
<td class="time">${next === null ? '' : html`next attempt ${time(next)}`}</td>
<td class="act"><form method="post" action="/portal/messages/${message.id}/resend">
<input type="hidden" name="endpoint" value="${endpoint.id}">
<button class="small" aria-label="Re-send to ${endpoint.url}">Re-send</button></form></td></tr>`;
  };
  if (endpoints.length === 0) return html`<p class="empty">There is no endpoint.</p>`;
  return html`<table><thead><tr><th scope="col">Endpoint</th><th scope="col">State</th>
<th scope="col">Next (UTC)</th><th scope="col"><span class="aside">Action</span></th></tr>
</thead><tbody>${endpoints.map(row)}</tbody></table>`;
}

export function messagePage(view: MessageView): Html {
  const { message, attempts, endpoints } = view;
  const body = message.body.toString('utf8');
  const pretty = JSON.stringify(tryParseJson(body), null, 2);
  return html`<h1>${message.eventType}</h1>
<p class="lead"><code>${message.id}</code> · received ${time(message.createdAt)} UTC</p>
<h2>Deliveries</h2><div class="table">${way(view)}</div>
<section class="card"><h2>Payload</h2><pre tabindex="0">${pretty}</pre>
<details><summary>Exactly the ${message.body.length} bytes that are signed and sent</summary>
<pre tabindex="0">${body}</pre></details></section>
<h2>Attempts</h2>${attemptTable(attempts, endpoints)}`;
}
