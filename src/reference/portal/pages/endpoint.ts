/** Page of an endpoint: its filters, secret, history, and the actions after failures. */
import { type Html, html } from '../../../lib/html.ts';
import { EVENT_TYPES } from '../../relay/event-types.ts';
import type { Attempt, Endpoint, SigningKey } from '../../relay/model.ts';
import { attemptTable } from './attempts.ts';
import { type EndpointFields, endpointForm, endpointState } from './endpoints.ts';
import { select, time, WINDOWS } from './layout.ts';

export interface EndpointView {
  readonly endpoint: Endpoint;
  /** Attempts to send to the endpoint, the newest first. */
  readonly attempts: readonly Attempt[];
  /** Signing secrets of the endpoint; undefined: the reader did not ask to see them. */
  readonly secrets: readonly SigningKey[] | undefined;
  /** Input that was refused, shown again with the problem. */
  readonly entered?: { readonly fields: EndpointFields; readonly problem: string } | undefined;
}

function secretCard(path: string, secrets: readonly SigningKey[] | undefined): Html {
  const shown = (key: SigningKey, index: number): Html => html`<div class="secret">
<code id="secret-${index}">${key.secret}</code>
<button type="button" class="small" data-copy="secret-${index}" hidden>Copy</button>
<span class="soft">${
    key.expiresAt === null ? 'current' : html`signs until ${time(key.expiresAt)} UTC`
  }</span></div>`;
  const show = html`<a class="button" href="${path}?secret=show#secret">Show secret</a>`;
  return html`<section class="card" id="secret"><h2>Signing secret</h2>
<p class="soft">Verify every message with it. After a rotation both secrets sign for 24 hours.</p>
${secrets ? secrets.map(shown) : html`<p><code>whsec_••••••••••••••••</code></p>`}
<div class="actions">${!secrets && show}
<form method="post" action="${path}/rotate"><button>Rotate secret</button></form></div></section>`;
}

function recoveryCard(path: string): Html {
  return html`<section class="card"><h2>Missed something?</h2>
<form class="line" method="post" action="${path}/recover">
${select('since', 'Recover failed since', WINDOWS, WINDOWS[1][0])}
<button>Recover failed</button></form>
<form class="line" method="post" action="${path}/replay">
<div><label for="replay-since">Replay never sent since</label>
<select id="replay-since" name="since">${WINDOWS.map(
    ([value, label]) => html`<option value="${value}">${label}</option>`,
  )}</select></div>
<button>Replay missing</button></form></section>`;
}

function trialCard(path: string): Html {
  const types = EVENT_TYPES.map(({ name }) => [name, name] as const);
  return html`<section class="card"><h2>Try it</h2>
<form class="line" method="post" action="${path}/example">
${select('eventType', 'Send an example of', types)}
<button>Send example</button></form></section>`;
}

function stateCard(path: string, endpoint: Endpoint): Html {
  const enabled = endpoint.disabledReason === null;
  const toggle = enabled
    ? html`<form method="post" action="${path}/disable"><button>Disable</button></form>`
    : html`<form method="post" action="${path}/enable">
<button class="primary">Enable</button></form>`;
  return html`<section class="card"><h2>State</h2>
<p>${endpointState(endpoint)}</p>
${
  endpoint.failingSince !== null &&
  html`<p class="soft">Gave up messages since ${time(endpoint.failingSince)} UTC, without a success
in between; after 120 hours the endpoint is disabled.</p>`
}
<div class="actions">${toggle}
<a class="button" href="${path}/delete">Delete…</a></div></section>`;
}

export function endpointPage({ endpoint, attempts, secrets, entered }: EndpointView): Html {
  const path = `/portal/endpoints/${endpoint.id}`;
  return html`<h1><code>${endpoint.url}</code></h1>
<p class="lead">${endpoint.description || 'No description'} · added ${time(endpoint.createdAt)}
UTC</p>
<div class="columns"><div>
<section class="card"><h2>Settings</h2>
${endpointForm(path, entered?.fields ?? endpoint, 'Save', entered?.problem)}</section></div>
<div>${stateCard(path, endpoint)}${secretCard(path, secrets)}${trialCard(path)}
${recoveryCard(path)}</div></div>
<h2>Latest attempts</h2>
${attemptTable(attempts, [endpoint])}
<p><a href="/portal/attempts?endpoint=${endpoint.id}">All attempts to this endpoint</a></p>`;
}

export function deleteEndpointPage(endpoint: Endpoint): Html {
  return html`<h1>Delete this endpoint?</h1>
<p class="lead">Nothing is sent there any more, and its history goes with it.</p>
<div class="card"><p><code>${endpoint.url}</code></p>
<form class="actions" method="post" action="/portal/endpoints/${endpoint.id}/delete">
<button class="danger">Delete endpoint</button>
<a class="button" href="/portal/endpoints/${endpoint.id}">Keep it</a></form></div>`;
}
