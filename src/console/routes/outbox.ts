/** Routes for one push, beside what the service has. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/errors.ts';
import { showOutbox } from '../../outbox/review/listing.ts';
import type { Db } from '../../store/store.ts';
import { signedIn } from '../context.ts';
import { outboxItemPage } from '../pages/outbox.ts';
import { isoTimes } from '../show.ts';
import { idParams, maskedForOrders, type PageContext } from './page-context.ts';

async function cardFor(request: FastifyRequest, db: Db, outboxId: number) {
  const card = await showOutbox(db, outboxId);
  if (!card) return undefined;
  const orderIds = card.candidates.map(({ orderId }) => orderId);
  return maskedForOrders(request, db, [...orderIds, card.orderId ?? 0], card);
}

export function installOutbox(app: FastifyInstance, context: PageContext): void {
  const { deps, zoneOf, show } = context;
  const { db } = deps;
  app.get('/outbox/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const [, name = id, twin] = /^(.*)\.(json)$/.exec(id) ?? [];
    const card = /^\d{1,15}$/.test(name) ? await cardFor(request, db, Number(name)) : undefined;
    if (!card) {
      const hint = 'the list of pushes is at /outbox';
      throw new RefusedError('outbox.unknown', `there is no push ${name}`, { hint });
    }
    if (twin === 'json') return reply.send(isoTimes(card));
    const { role } = signedIn(request);
    const cli = `selvedge outbox show ${name}`;
    const page = { title: `Push ${name}`, tab: '/outbox', cli } as const;
    return show(request, reply, page, outboxItemPage(card, role, await zoneOf()));
  });
}
