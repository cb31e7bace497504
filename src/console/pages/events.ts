/** Pages about events: the list, and one event with its effects. */

import { sourceWords, thingWords, wordFor } from '../../config/words.ts';
import { missedEvents } from '../../inbox/lists.ts';
import type { EventTrace } from '../../inbox/overview.ts';
import { openPortal } from '../../inbox/surface.ts';
import { type Html, type HtmlValue, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { LiveReadings } from '../../ops/metrics/sources.ts';
import type { Given } from '../../surface/given.ts';
import type { Role } from '../../surface/roles.ts';
import type { EventFigures } from '../read/events.ts';
import { actForm, tableFor } from '../surface/html.ts';
import { span, time, whole } from './format.ts';
import { figures, type Reader, tableOf } from './parts.ts';

/** Counters of the event listener since the daemon started. */
export type InboxCounts = Omit<LiveReadings['inbox'], 'clockOffsetMs'> &
  Partial<Pick<LiveReadings['inbox'], 'clockOffsetMs'>>;

function lagOf({ receivedAt, sentAt }: EventTrace): string {
  const ms = receivedAt - sentAt;
  return ms < 1_000 ? '< 1s' : span(ms);
}

/** Order of an event or a delivery, with a link to all that the relay said about it. */
export function orderCell({ orderId }: Given): HtmlValue {
  return typeof orderId === 'number' && html`<a href="/events?order=${orderId}">${orderId}</a>`;
}

function missedPart({ missed, relay }: EventFigures, reader: Reader): Html {
  const state =
    relay === null
      ? 'Nothing was measured yet: the first deliveries tell.'
      : `Of the newest ${plural(relay.deliveries, 'delivery', 'deliveries')}, ${whole(relay.missed)}
came without an event in time. The relay is ${wordFor('relay', relay.state)}.`;
  const rows = missed.map((one) => ({ ...one }));
  return html`<p>${state} <a href="${missedEvents.path}">All of 24 hours</a></p>
${tableFor(missedEvents, rows, reader, { cells: { orderId: orderCell } })}`;
}

function refusedPart(counts: InboxCounts | undefined): Html {
  if (!counts) {
    return html`<p class="problem">The daemon does not answer: nobody knows what it refused.</p>`;
  }
  const rows = Object.entries(counts.refused).filter(([, count]) => count > 0);
  const offset = counts.clockOffsetMs;
  const clock =
    offset !== undefined && Math.abs(offset) > 1_000
      ? ` Our clock and the relay's differ by ${span(Math.abs(offset))}.`
      : '';
  return html`<p>Since the daemon started: ${plural(counts.accepted, 'event')} taken,
${whole(counts.duplicates)} of them sent again; ${whole(counts.unknownType)} of an unknown type;
${whole(counts.failedCommits)} could not be written.${clock}</p>
${tableOf(
  'Refused',
  rows,
  [
    { title: 'Reason', cell: ([reason]) => wordFor('refusedEvent', reason) },
    { title: 'How many', isNumber: true, cell: ([, count]) => whole(count) },
  ],
  'Nothing was refused.',
)}
<p class="soft">Bodies of what was refused are kept nowhere; the log has one line a minute of
each reason, with the address that it came from.</p>`;
}

const HOURS = [
  [1, 'the last hour'],
  [24, 'the last 24 hours'],
  [168, 'the last 7 days'],
] as const;

function replayPart(): Html {
  return html`<form class="filters" method="get" action="/events/replay">
<div><label for="f-hours">Replay</label><select id="f-hours" name="hours">${HOURS.map(
    ([hours, text]) => html`<option value="${hours}">${text}</option>`,
  )}</select></div><div class="buttons"><button>See what it would do</button></div></form>`;
}

function portalPart(role: Role): Html {
  return actForm(openPortal, {
    role,
    given: {},
    what:
      'In the portal of the relay are the endpoints, their secrets and the history; it sends ' +
      'missed events again, and an example (ping) to try the way here. Its link works once.',
  });
}

export interface EventsView {
  /** Filter, table and paging of the events. */
  readonly list: Html;
  readonly figures: EventFigures;
  readonly counts: InboxCounts | undefined;
}

export function eventsPage({ list, figures: of, counts }: EventsView, reader: Reader): Html {
  const { role, now } = reader;
  const foreign = Object.entries(of.foreign);
  const { lastAt } = of;
  const last =
    lastAt === null ? 'No event has come yet.' : `The last event came ${span(now - lastAt)} ago.`;
  return html`<h1>Events</h1>
<p>${last}
${plural(of.waiting, 'order waits', 'orders wait')} to be read again.
${foreign.map(
  ([key, count]) =>
    html`${plural(count, 'event')} of another account (<code>${key}</code>) led to no read. `,
)}</p>
${list}
<h2 id="missed">Missed</h2>${missedPart(of, reader)}
<h2 id="refused">Refused</h2>${refusedPart(counts)}
<h2>Replay</h2><p>Interprets stored events again and reads their orders again. That is always safe:
an event is a hint, and what the service says now is what counts.</p>${replayPart()}
<h2>Portal and ping</h2>${portalPart(role)}`;
}

function traceFigures(trace: EventTrace, timeZone: string): Html {
  const { orderId, waiting, duplicates, lastDuplicateAt } = trace;
  return figures([
    ['Type', trace.type === null ? 'none' : wordFor('event', trace.type)],
    ['Received', html`${time(trace.receivedAt, timeZone)}, sent ${time(trace.sentAt, timeZone)}`],
    ['Lag', lagOf(trace)],
    [
      'Again',
      duplicates > 0 &&
        html`${plural(duplicates, 'time')}, last ${time(lastDuplicateAt, timeZone)}`,
    ],
    ['Signed by', trace.secretName],
    [
      'Order',
      orderId === null
        ? 'none: nothing was read'
        : html`<a href="/events?order=${orderId}">${orderId}</a>`,
    ],
    ['To read', waiting && `the order waits to be read. ${waiting.lastError ?? ''}`],
  ]);
}

export function eventPage(trace: EventTrace, body: unknown, { timeZone }: Reader): Html {
  const { orderSince, decisions, changes } = trace;
  const text = typeof body === 'string' ? body : JSON.stringify(body, undefined, 2);
  return html`<h1>Event ${trace.eventId}</h1>${traceFigures(trace, timeZone)}
<p><a class="button" href="/events/replay?id=${encodeURIComponent(trace.eventId)}">Replay…</a></p>
<h2>Changes of its order since</h2>${tableOf(
    'Changes',
    orderSince,
    [
      { title: 'Time', cell: ({ at }) => time(at, timeZone) },
      { title: 'What', cell: ({ entity, key }) => thingWords(entity, key) },
      { title: 'Change', cell: ({ op }) => wordFor('change', op) },
      {
        title: 'By',
        cell: (one) => (changes.includes(one) ? html`<b>this event</b>` : sourceWords(one.cause)),
      },
    ],
    'Nothing has changed since: the order was as we knew it.',
  )}
<h2>Decisions since</h2>${tableOf(
    'Decisions',
    decisions,
    [
      { title: 'Time', cell: ({ at }) => time(at, timeZone) },
      {
        title: 'Delivery',
        cell: ({ orderDeliveryId: id }) => html`<a href="/deliveries/${id}">${id}</a>`,
      },
      {
        title: 'Outcome',
        cell: ({ outcome }) =>
          html`<b class="state s-${outcome}">${wordFor('outcome', outcome)}</b>`,
      },
      { title: 'Mode', cell: ({ mode }) => wordFor('mode', mode) },
    ],
    'None.',
  )}
<h2>Body</h2><pre tabindex="0">${text}</pre>`;
}
