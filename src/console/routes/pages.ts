/** Installs the pages for people, each with its twins for programs: `/x`, `/x.json`, `/x.csv`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { wordFor } from '../../config/words.ts';
import { RefusedError, UsageError } from '../../lib/errors.ts';
import { shellWord } from '../../lib/strings.ts';
import { readStyleStock, type StyleStock, variants } from '../../mirror/stock/style.ts';
import { incidentOf, incidentsBefore } from '../../ops/incidents.ts';
import { showOutbox } from '../../outbox/review/listing.ts';
import type { Db } from '../../store/store.ts';
import { isoTime } from '../../surface/forms.ts';
import type { Reading } from '../../surface/reading.ts';
import { type ConsoleDeps, signedIn } from '../context.ts';
import { incidentPage } from '../pages/incident.ts';
import { outboxItemPage } from '../pages/outbox.ts';
import { stylePage } from '../pages/stock.ts';
import { readStockHistory } from '../read/stock.ts';
import type { ReadRules } from '../rules.ts';
import { isoTimes } from '../show.ts';
import { addressOf } from '../surface/addresses.ts';
import { mountActs } from '../surface/http.ts';
import { belowParts, mountLists, readingFor } from '../surface/lists.ts';
import { installDeliveryParts } from './delivery-parts.ts';
import { installEvents } from './events.ts';
import { installOverview } from './overview.ts';
import {
  createPageContext,
  idParams,
  maskedFor,
  maskedForOrders,
  type PageContext,
  parametersOf,
} from './page-context.ts';
import { installPulls } from './pulls.ts';
import { installReports } from './reports.ts';
import { installReview } from './review.ts';
import { installRules } from './rules.ts';
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

// Route of one incident, with those before it.

function numberIn(id: string): number {
  if (/^\d{1,15}$/.test(id)) return Number(id);
  const hint = 'the list of incidents is at /incidents';
  throw new RefusedError('incidents.unknown', `there is no incident ${id}`, { hint });
}

function installIncidents(app: FastifyInstance, context: PageContext): void {
  const { deps, show, readerOf } = context;
  app.get('/incidents/:id', async (request, reply) => {
    const id = numberIn(idParams.parse(request.params).id);
    const one = await incidentOf(deps.db, id);
    const before = await incidentsBefore(deps.db, one);
    const title = wordFor('incident', one.kind);
    const cli = `selvedge incidents list --kind ${one.kind}`;
    const page = incidentPage(maskedFor(request, { one, before }), await readerOf(request));
    return show(request, reply, { title, tab: '/', cli }, page);
  });
}

// Route for the page of a style's stock; lists and twins are those that are declared.

const styleParams = z.object({ id: z.string().min(1).max(200) });
const lines = z.enum(['size', 'color']).catch('size');

/** Stock at the time asked for; if that is unusable, the present one and a refusal. */
async function stockOf(
  from: Reading,
  style: string,
  asOf: string | undefined,
): Promise<{ readonly stock: StyleStock; readonly problem?: string }> {
  try {
    return { stock: await readStyleStock(from, { style, asOf }) };
  } catch (thrown) {
    const isRefusal = thrown instanceof RefusedError || thrown instanceof UsageError;
    if (!isRefusal || asOf === undefined) throw thrown;
    const stock = await readStyleStock(from, { style });
    return { stock, problem: `${thrown.message}: ${thrown.hint}` };
  }
}

async function showStyle(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { id: named } = styleParams.parse(request.params);
  const query = parametersOf(request);
  const from = readingFor(context, request);
  const { stock, problem } = await stockOf(from, named, query.get('asOf') ?? undefined);
  const { style } = stock;
  if (style !== named) return reply.code(303).header('location', addressOf('style', style)).send();
  const reader = await context.readerOf(request);
  const isNow = stock.asOf === null && problem === undefined;
  const view = {
    stock,
    below: isNow ? await belowParts({ from, reader }, variants.below, { style }) : [],
    by: lines.parse(query.get('by') ?? 'size'),
    query,
    days: await readStockHistory(from.db, style, from.now, reader.timeZone),
    reader,
    problem,
  };
  const now = `selvedge stock ${shellWord(style)}`;
  const cli = stock.asOf === null ? now : `${now} --as-of ${isoTime(stock.asOf)}`;
  const head = { title: `Stock of ${style}`, tab: '/stock', cli } as const;
  const code = problem === undefined ? 200 : 409;
  return context.show(request, reply.code(code), head, stylePage(view));
}

function installStock(app: FastifyInstance, context: PageContext): void {
  app.get('/stock/:id', (request, reply) => showStyle(context, request, reply));
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
