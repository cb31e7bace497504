/** Installs the pages for people, each with its twins for programs: `/x`, `/x.json`, `/x.csv`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/errors.ts';
import { showOutbox } from '../../outbox/review/listing.ts';
import type { Db } from '../../store/store.ts';
import type { ConsoleDeps } from '../context.ts';
import { signedIn } from '../context.ts';
import { outboxItemPage } from '../pages/outbox.ts';
import type { ReadRules } from '../rules.ts';
import { isoTimes } from '../show.ts';
import { mountActs } from '../surface/http.ts';
import { mountLists } from '../surface/lists.ts';
import { installDeliveryParts } from './delivery-parts.ts';
import { installEvents } from './events.ts';
import { installIncidents } from './incidents.ts';
import { installOverview } from './overview.ts';
import { createPageContext, idParams, maskedForOrders, type PageContext } from './page-context.ts';
import { installPulls } from './pulls.ts';
import { installReports } from './reports.ts';
import { installReview } from './review.ts';
import { installRules } from './rules.ts';
import { installStock } from './stock.ts';
import { installSuggest } from './suggest.ts';
import { installSystem } from './system.ts';
import { installTrial } from './trial.ts';

// Routes for one push, beside what the service has.

async function cardFor(request: FastifyRequest, db: Db, outboxId: number) {
  const card = await showOutbox(db, outboxId);
  if (!card) return undefined;
  const orderIds = card.candidates.map(({ orderId }) => orderId);
  return maskedForOrders(request, db, [...orderIds, card.orderId ?? 0], card);
}

function installOutbox(app: FastifyInstance, context: PageContext): void {
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

// Route `/openapi.json`: the description of the console, for signed-in people and programs.

function installDescription(app: FastifyInstance): void {
  let text: string | undefined;
  app.get('/openapi.json', async (_request, reply) => {
    // Loads the description at the first request, because it would make each start slower.
    if (text === undefined) {
      const { consoleDocument } = await import('../openapi/document.ts');
      text = JSON.stringify(consoleDocument());
    }
    return reply.type('application/json').send(text);
  });
}

export function installPages(app: FastifyInstance, deps: ConsoleDeps, rulesShown: ReadRules): void {
  const context = createPageContext(deps, rulesShown);
  app.addHook('onClose', async () => {
    context.figures.close();
    context.suggestions.close();
  });
  installOverview(app, context);
  installReview(app, context);
  installDeliveryParts(app, context);
  installOutbox(app, context);
  installStock(app, context);
  installReports(app, context);
  installRules(app, context);
  installTrial(app, context);
  installSuggest(app, context);
  installPulls(app, context);
  installIncidents(app, context);
  installEvents(app, context);
  installSystem(app, context);
  mountActs(app, context);
  mountLists(app, context);
  installDescription(app);
}
