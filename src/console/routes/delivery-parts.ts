/** Routes for a delivery's details and twins: mirrored rows, changes, facts, the rules now. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { changesPage, factsPage, nowPage, rawPage } from '../pages/delivery-parts.ts';
import {
  type DeliveryIds,
  deliveryIds,
  type FactView,
  readChanges,
  readFacts,
  readNow,
  readRaw,
} from '../read/delivery-parts.ts';
import { isoTime, isoTimes, localeOf, sendCsv } from '../show.ts';
import { idParams, maskedForOrders, type PageContext, parametersOf } from './page-context.ts';

const CSV_ROWS = 10_000;

export const changesQuery = z.object({
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(CSV_ROWS).default(100),
});

export const factsQuery = z.object({ q: z.string().trim().max(200).default('') });

type Named = readonly [ids: DeliveryIds, named: string];

async function idsOf({ deps }: PageContext, request: FastifyRequest): Promise<Named> {
  const { id } = idParams.parse(request.params);
  const ids = await deliveryIds(deps.db, id);
  return [ids, `id:${ids.orderDeliveryId}`];
}

/** Masks private texts of the order in a value, unless the session may see them. */
async function masked<T>(
  { deps }: PageContext,
  request: FastifyRequest,
  { orderId }: DeliveryIds,
  value: T,
): Promise<T> {
  return maskedForOrders(request, deps.db, [orderId], value);
}

function installRaw(app: FastifyInstance, context: PageContext): void {
  const rawOf = async (request: FastifyRequest) => {
    const [ids] = await idsOf(context, request);
    return { ids, raw: await masked(context, request, ids, await readRaw(context.deps.db, ids)) };
  };
  app.get('/deliveries/:id/raw', async (request, reply) => {
    const { ids, raw } = await rawOf(request);
    const cli = `selvedge deliveries show ${ids.orderDeliveryId} --json`;
    const head = { title: 'Raw rows', tab: '/review', cli } as const;
    return context.show(request, reply, head, rawPage(ids, raw));
  });
  app.get('/deliveries/:id/raw.json', async (request) => (await rawOf(request)).raw);
}

function installChanges(app: FastifyInstance, context: PageContext): void {
  const changesOf = async (request: FastifyRequest, whole = {}) => {
    const [ids] = await idsOf(context, request);
    const place = changesQuery.parse({ ...whole, ...Object(request.query) });
    const page = await readChanges(context.deps.db, ids, place);
    return { ids, page: await masked(context, request, ids, page) };
  };
  app.get('/deliveries/:id/changes', async (request, reply) => {
    const { ids, page } = await changesOf(request);
    const timeZone = await context.zoneOf();
    const view = { ...page, query: parametersOf(request), timeZone, locale: localeOf(request) };
    const cli = `selvedge deliveries explain ${ids.orderDeliveryId} --history`;
    const head = { title: 'Changes', tab: '/review', cli } as const;
    return context.show(request, reply, head, changesPage(ids, view));
  });
  app.get('/deliveries/:id/changes.json', async (request) => {
    const { page } = await changesOf(request);
    return {
      rows: page.rows.map(({ at, ...row }) => ({ ...row, at: isoTime(at) })),
      next: page.next,
    };
  });
  app.get('/deliveries/:id/changes.csv', async (request, reply) => {
    const { ids, page } = await changesOf(request, { limit: CSV_ROWS });
    return sendCsv(request, reply, `changes-${ids.orderDeliveryId}`, {
      columns: ['number', 'at', 'entity', 'what', 'diff', 'cause'],
      rows: page.rows.map((row) => [
        ...[row.seq, isoTime(row.at), row.entity, row.op, JSON.stringify(row.diff), row.cause],
      ]),
    });
  });
}

function fits({ text, value, about }: FactView, q: string): boolean {
  const wanted = q.toLowerCase();
  return [text, value ?? '', about].some((one) => one.toLowerCase().includes(wanted));
}

function installFacts(app: FastifyInstance, context: PageContext): void {
  const { deps, rulesShown } = context;
  const factsOf = async (request: FastifyRequest) => {
    const [ids, named] = await idsOf(context, request);
    const { q } = factsQuery.parse(request.query);
    const { hash } = await rulesShown();
    const all = await readFacts(deps, named, { hash, now: deps.clock.now() });
    const seen = await masked(context, request, ids, all);
    return { ids, q, total: seen.length, rows: seen.filter((one) => fits(one, q)) };
  };
  app.get('/deliveries/:id/facts', async (request, reply) => {
    const { ids, ...found } = await factsOf(request);
    const cli = `selvedge rules facts ${ids.orderDeliveryId}`;
    const head = { title: 'Facts', tab: '/review', cli } as const;
    const view = { ...found, locale: localeOf(request) };
    return context.show(request, reply, head, factsPage(ids, view));
  });
  app.get('/deliveries/:id/facts.json', async (request) => {
    const { rows } = await factsOf(request);
    return { facts: rows.map(({ text: path, ...fact }) => ({ path, ...fact })) };
  });
  app.get('/deliveries/:id/facts.csv', async (request, reply) => {
    const { ids, rows } = await factsOf(request);
    return sendCsv(request, reply, `facts-${ids.orderDeliveryId}`, {
      columns: ['fact', 'value', 'meaning'],
      rows: rows.map(({ text, value, about }) => [text, value, about]),
    });
  });
}

function installNow(app: FastifyInstance, context: PageContext): void {
  const { deps, rulesShown, zoneOf } = context;
  const nowOf = async (request: FastifyRequest) => {
    const [ids, named] = await idsOf(context, request);
    const { hash } = await rulesShown();
    const found = await readNow(deps, named, { hash, now: deps.clock.now() });
    return { ids, found: await masked(context, request, ids, found) };
  };
  app.get('/deliveries/:id/now', async (request, reply) => {
    const { ids, found } = await nowOf(request);
    const cli = `selvedge deliveries explain ${ids.orderDeliveryId} --now`;
    const head = { title: 'The rules now', tab: '/review', cli } as const;
    return context.show(request, reply, head, nowPage(ids, found, await zoneOf()));
  });
  app.get('/deliveries/:id/now.json', async (request) => {
    const { by, inWay, asked, ...found } = (await nowOf(request)).found;
    const decisionId = by?.decisionId ?? null;
    const rest = { ...found, inWay: inWay ?? null, asked: asked ?? null };
    return { ...Object(isoTimes(rest)), decisionId };
  });
}

export function installDeliveryParts(app: FastifyInstance, context: PageContext): void {
  installRaw(app, context);
  installChanges(app, context);
  installFacts(app, context);
  installNow(app, context);
}
