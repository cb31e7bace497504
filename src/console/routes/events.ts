/** Routes for events with their twins, for a replay, and for the relay's portal. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { previewReplay } from '../../inbox/operations.ts';
import { type EventRow, traceEvent } from '../../inbox/overview.ts';
import { RefusedError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import { askFor, RefusedHere, signedIn } from '../context.ts';
import { type Replayed, reasonAct, replayAct, replayQuery } from '../operations/wishes.ts';
import {
  eventPage,
  eventsPage,
  type InboxCounts,
  portalPage,
  replayPage,
} from '../pages/events.ts';
import { time } from '../pages/format.ts';
import { optionalOr, optionalText } from '../query.ts';
import { bodyOf, readEventFigures, readEventPage } from '../read/events.ts';
import { isForPeople, isoTime, isoTimes, sendCsv, type Table } from '../show.ts';
import { answer, createActing } from './acts.ts';
import { idParams, maskedForOrders, type PageContext, parametersOf } from './page-context.ts';

export const eventsQuery = z.object({
  type: optionalText,
  order: optionalOr(z.coerce.number().int().min(1)),
  /** Time (ISO 8601) from which events must have arrived. */
  since: optionalOr(z.iso.datetime({ offset: true })),
  after: z.string().max(500).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
});

const inboxCounts = z.object({
  accepted: z.int(),
  duplicates: z.int(),
  unknownType: z.int(),
  failedCommits: z.int(),
  refused: z.record(z.string(), z.int()),
  clockOffsetMs: z.number().optional(),
});
const portalLink = z.object({ url: z.string(), expiresAt: z.string().nullable() });

const HOUR_MS = 3_600_000;
const hoursQuery = replayQuery.extend({
  hours: z.coerce.number().int().min(1).max(8_760).optional(),
});

function eventsTable(rows: readonly EventRow[]): Table {
  return {
    columns: ['event', 'received_at', 'sent_at', 'type', 'order_id', 'outcome', 'duplicates'],
    rows: rows.map((row) => [
      ...[row.eventId, isoTime(row.receivedAt), isoTime(row.sentAt), row.type, row.orderId],
      ...[row.outcome, row.duplicates],
    ]),
  };
}

/** Counters of the event listener, from the daemon; undefined: its answer has none. */
async function countsOf({ deps }: PageContext): Promise<InboxCounts | undefined> {
  return inboxCounts.safeParse(await askFor(deps, { ask: 'inbox' })).data;
}

function pageOf({ deps }: PageContext, request: FastifyRequest) {
  const { order, since, ...query } = eventsQuery.parse(request.query);
  const from = since === undefined ? undefined : Date.parse(since);
  return readEventPage(deps.db, { ...query, orderId: order, since: from });
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
): { readonly ids: readonly string[] } | { readonly since: string } {
  const { id, since, hours } = hoursQuery.parse(request.query);
  if (id !== undefined) return { ids: [id] };
  const from = hours === undefined ? since : new Date(now - hours * HOUR_MS).toISOString();
  if (from !== undefined) return { since: from };
  const message = 'name an event (id), a point in time (since), or a number of hours';
  throw new RefusedHere({ status: 400, code: 'console.bad_request', message });
}

function replayedOf(selection: ReturnType<typeof selectionIn>): Replayed {
  return 'ids' in selection ? selection : { since: Date.parse(selection.since) };
}

function installReplay(app: FastifyInstance, context: PageContext): void {
  const { deps, show, zoneOf } = context;
  const { db, clock } = deps;
  const { act } = createActing(deps);
  app.get('/events/replay', async (request, reply) => {
    const selection = selectionIn(request, clock.now());
    const result = await previewReplay(db, replayedOf(selection));
    const timeZone = await zoneOf();
    const what =
      'ids' in selection
        ? html`The event <code>${selection.ids.join()}</code>.`
        : html`All events since ${time(Date.parse(selection.since), timeZone)}.`;
    const fields: Record<string, string> =
      'ids' in selection ? { ids: selection.ids.join() } : { since: selection.since };
    const option = 'ids' in selection ? selection.ids.join() : `--since ${selection.since}`;
    const cli = `selvedge events replay ${option} --dry-run`;
    const head = { title: 'Replay', tab: '/events', cli } as const;
    const { role } = signedIn(request);
    return show(request, reply, head, replayPage({ what, result, fields }, role));
  });
  app.get('/events/replay.json', (request) =>
    previewReplay(db, replayedOf(selectionIn(request, clock.now()))),
  );
  app.post('/events/replay', async (request, reply) => {
    const { reason, ids, since } = replayAct.parse(request.body);
    const selection = ids === undefined ? { since: Date.parse(since ?? '') } : { ids };
    const value = await act(request, { do: 'events.replay', selection, reason });
    const { orders } = z.looseObject({ orders: z.int() }).parse(value);
    const text = `${orders} orders are read again.`;
    return answer(deps, request, reply, value, { back: '/events', text });
  });
}

export function installEvents(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const { db, clock } = deps;
  const { act } = createActing(deps);
  app.get('/events', async (request, reply) => {
    const page = await pageOf(context, request);
    const [figures, counts] = [await readEventFigures(db, clock.now()), await countsOf(context)];
    const view = { page, figures, counts, query: parametersOf(request) };
    const head = { title: 'Events', tab: '/events', cli: 'selvedge events list' } as const;
    return show(request, reply, head, eventsPage(view, await context.readerOf(request)));
  });
  app.get('/events.json', async (request) => isoTimes(await pageOf(context, request)));
  app.get('/events.csv', async (request, reply) =>
    sendCsv(request, reply, 'events', eventsTable((await pageOf(context, request)).rows)),
  );
  app.get('/events/figures.json', async () => {
    const { lastAt, ...figures } = await readEventFigures(db, clock.now());
    const inbox = (await countsOf(context)) ?? null;
    return isoTimes({ lastAt, ...figures, inbox });
  });
  installReplay(app, context);
  app.post('/events/portal', async (request, reply) => {
    const { reason } = reasonAct.parse(request.body);
    const link = portalLink.parse(await act(request, { do: 'portal.open', reason }));
    reply.header('cache-control', 'no-store');
    if (!isForPeople(request)) return reply.send(link);
    const isWeb = /^https?:\/\//.test(link.url);
    const head = { title: 'Portal', tab: '/events', cli: 'selvedge portal open' } as const;
    return show(request, reply, head, portalPage(isWeb ? link.url : undefined, link.expiresAt));
  });
  app.get('/events/:id', (request, reply) => showEvent(context, request, reply));
}
