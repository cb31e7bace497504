/** Page with the list of endpoints, and the form that adds or changes one. */
import { type Html, html } from '../../../lib/html.ts';
import { EVENT_TYPES } from '../../relay/event-types.ts';
import type { Endpoint } from '../../relay/model.ts';

/** Values of the form: of an endpoint, or as they were entered and refused. */
export interface EndpointFields {
  readonly url: string;
  readonly description: string;
  /** Chosen event types; null: all of them. */
  readonly eventTypes: readonly string[] | null;
}

function stateBadge({ disabledReason }: Endpoint): Html {
  return disabledReason === null
    ? html`<span class="badge good">Enabled</span>`
    : html`<span class="badge none">Disabled</span>`;
}

export function endpointState(endpoint: Endpoint): Html {
  return html`${stateBadge(endpoint)}
${endpoint.disabledReason && html`<span class="soft">${endpoint.disabledReason}</span>`}`;
}

export function endpointsPage(endpoints: readonly Endpoint[]): Html {
  const row = (endpoint: Endpoint): Html => html`<tr>
<td><a href="/portal/endpoints/${endpoint.id}"><code>${endpoint.url}</code></a>
${endpoint.description && html`<div class="soft">${endpoint.description}</div>`}</td>
<td>${endpoint.eventTypes === null ? 'All types' : endpoint.eventTypes.join(', ')}</td>
<td>${endpointState(endpoint)}</td></tr>`;
  const table = html`<table>
<thead><tr><th scope="col">URL</th><th scope="col">Event types</th><th scope="col">State</th></tr>
</thead><tbody>${endpoints.map(row)}</tbody></table>`;
  return html`<div class="head"><div><h1>Endpoints</h1>
<p class="lead">Each event goes to every enabled endpoint that chose its type.</p></div>
<a class="button primary" href="/portal/endpoints/new">Add endpoint</a></div>
<div class="table">${
    endpoints.length > 0 ? table : html`<p class="empty">No endpoint yet: nothing is sent.</p>`
  }</div>`;
}

/** Event types grouped by the part before their last point, in the order of the catalogue. */
function groupedTypes(chosen: readonly string[] | null): Html[] {
  const known = new Set(EVENT_TYPES.map(({ name }) => name));
  const others = (chosen ?? []).filter((name) => !known.has(name));
  const all = [...EVENT_TYPES, ...others.map((name) => ({ name, description: '' }))];
  const groups = Map.groupBy(all, ({ name }) =>
    name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : 'general',
  );
  const box = ({ name, description }: { name: string; description: string }): Html =>
    html`<label class="check"><input type="checkbox" name="eventTypes" value="${name}"${
      chosen?.includes(name) && html` checked`
    }><span><code>${name}</code> <span class="soft">${description}</span></span></label>`;
  return [...groups].map(
    ([group, types]) => html`<fieldset class="group"><legend>${group}</legend>
${types.map(box)}</fieldset>`,
  );
}

export function endpointForm(
  action: string,
  fields: EndpointFields,
  submit: string,
  problem?: string,
): Html {
  return html`<form method="post" action="${action}">
${problem && html`<p class="note bad" role="alert">${problem}</p>`}
<div class="field"><label for="url">URL</label>
<input type="url" id="url" name="url" required value="${fields.url}"
 placeholder="https://erp.example.com/webhooks" autocomplete="off">
<p class="hint">Answers 2xx within 15 seconds; redirects are not followed.</p></div>
<div class="field"><label for="description">Description</label>
<input type="text" id="description" name="description" maxlength="1000"
 value="${fields.description}"></div>
<fieldset><legend>Event types</legend>
<p class="hint">Choose none to receive every type, also those that come later.</p>
${groupedTypes(fields.eventTypes)}</fieldset>
<button class="primary">${submit}</button></form>`;
}

export function newEndpointPage(fields: EndpointFields, problem?: string): Html {
  return html`<h1>Add endpoint</h1>
<p class="lead">Where should events be sent? The signing secret is made with the endpoint.</p>
<div class="card">${endpointForm('/portal/endpoints', fields, 'Add endpoint', problem)}</div>`;
}
