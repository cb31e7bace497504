/** The catalogue of event types, each with an example of its body. */
import { type Html, html } from '../../../lib/html.ts';
import { EVENT_TYPES } from '../../relay/event-types.ts';

export function eventTypesPage(): Html {
  const card = ({ name, description, example }: (typeof EVENT_TYPES)[number]): Html => {
    const body = JSON.stringify({ type: name, data: example }, null, 2);
    return html`<section class="card"><h2><code>${name}</code></h2><p>${description}</p>
<details><summary>Example</summary><pre tabindex="0">${body}</pre></details></section>`;
  };
  return html`<h1>Event types</h1>
<p class="lead">What an endpoint may choose. Types may be added: receivers accept unknown ones.</p>
${EVENT_TYPES.map(card)}`;
}
