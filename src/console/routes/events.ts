/** Routes for events with their twins, and for the preview of a replay. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { events } from '../../inbox/lists.ts';
import { previewReplay } from '../../inbox/operations.ts';
import { traceEvent } from '../../inbox/overview.ts';
import { replayEvents } from '../../inbox/surface.ts';
import { RefusedError } from '../../lib/errors.ts';
import { askFor, RefusedHere } from '../context.ts';
import { eventPage, eventsPage, type InboxCounts, orderCell } from '../pages/events.ts';
import { bodyOf, readEventFigures } from '../read/events.ts';
import { isoTimes } from '../show.ts';
import { listPart, readView } from '../surface/lists.ts';
import { idParams, maskedForOrders, type PageContext } from './page-context.ts';

const inboxCounts = z.object({
  accepted: z.int(),
  duplicates: z.int(),
  unknownType: z.int(),
  failedCommits: z.int(),
  refused: z.record(z.string(), z.int()),
  clockOffsetMs: z.number().optional(),
});

const HOUR_MS = 3_600_000;

/** Selection of events: one by its id, or all that arrived since a time (ISO 8601, UTC). */
export const replayQuery = z.object({
  id: z.string().trim().max(256).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
});

const hoursQuery = replayQuery.extend({
  hours: z.coerce.number().int().min(1).max(8_760).optional(),
});

/** Counters of the event listener, from the daemon; undefined: its answer has none. */
async function countsOf({ deps }: PageContext): Promise<InboxCounts | undefined> {
  return inboxCounts.safeParse(await askFor(deps, { ask: 'inbox' })).data;
}

/** An event with its effects; its body is masked unless the session may see names and addresses. */
async function traceFor({ deps }: PageContext, request: FastifyRequest, name: string) {
  const trace = await traceEvent(deps.db, name);
  if (!trace) {
    const hint = 'the ids are those of the relay; the list is at /events';
    throw new RefusedError('events.unknown', `there is no event ${name}`, { hint });
  }
  const body = bodyOf(trace);
  const orderIds = trace.orderId === null ? [] : [trace.orderId];
  return { trace, body: await maskedForOrders(request, deps.db, orderIds, body) };
}

async function showEvent(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { id } = idParams.parse(request.params);
  const [, name = id, twin] = /^(.*)\.(json)$/.exec(id) ?? [];
  const { trace, body } = await traceFor(context, request, name);
  if (twin === 'json') {
    const { body: _bytes, ...rest } = trace;
    return reply.send({ ...Object(isoTimes(rest)), body });
  }
  const head = {
    title: `Event ${name}`,
    tab: '/events',
    cli: `selvedge events show ${name}`,
  } as const;
  return context.show(
    request,
    reply,
    head,
    eventPage(trace, body, await context.readerOf(request)),
  );
}

/** Selection of events in a replay's address; a number of hours becomes a point in time. */
function selectionIn(
  request: FastifyRequest,
  now: number,
): { readonly ids: string } | { readonly since: string } {
  const { id, since, hours } = hoursQuery.parse(request.query);
  if (id !== undefined) return { ids: id };
  const from = hours === undefined ? since : new Date(now - hours * HOUR_MS).toISOString();
  if (from !== undefined) return { since: from };
  const message = 'name an event (id), a point in time (since), or a number of hours';
  throw new RefusedHere({ status: 400, code: 'request.invalid', message });
}

function installReplay(app: FastifyInstance, { deps: { db, clock } }: PageContext): void {
  app.get('/events/replay', (request, reply) => {
    const query = new URLSearchParams({ ...selectionIn(request, clock.now()) });
    return reply.redirect(`/acts/${replayEvents.name}?${query}`, 302);
  });
  app.get('/events/replay.json', (request) => {
    const at = selectionIn(request, clock.now());
    return previewReplay(db, 'ids' in at ? { ids: [at.ids] } : { since: Date.parse(at.since) });
  });
}

export function installEvents(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const { db, clock } = deps;
  app.get('/events', async (request, reply) => {
    const view = await readView(context, request, events);
    const cells = { orderId: orderCell };
    const shown = {
      list: listPart(events, view, cells),
      figures: await readEventFigures(db, clock.now()),
      counts: await countsOf(context),
    };
    const head = { title: 'Events', tab: '/events', cli: 'selvedge events list' } as const;
    return show(request, reply, head, eventsPage(shown, await context.readerOf(request)));
  });
  app.get('/events/figures.json', async () => {
    const { lastAt, ...figures } = await readEventFigures(db, clock.now());
    const inbox = (await countsOf(context)) ?? null;
    return isoTimes({ lastAt, ...figures, inbox });
  });
  installReplay(app, context);
  app.get('/events/:id', (request, reply) => showEvent(context, request, reply));
}
