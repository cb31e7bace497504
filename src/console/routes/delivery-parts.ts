/** Routes for a delivery's details and twins: its mirrored rows, and the rules now. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type DeliveryIds, deliveryIds } from '../../decisions/review/parts.ts';
import { nowPage, rawPage } from '../pages/delivery-parts.ts';
import { readNow, readRaw } from '../read/delivery-parts.ts';
import { isoTimes } from '../show.ts';
import { idParams, maskedForOrders, type PageContext } from './page-context.ts';

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
  installNow(app, context);
}
