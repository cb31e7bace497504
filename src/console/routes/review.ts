/** Routes for the review list and for deliveries, with their twins. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { whatChanged } from '../../decisions/review/bulk.ts';
import type { Shown } from '../../decisions/review/filter.ts';
import { listForReview, reviewFacets, selectForReview } from '../../decisions/review/listing.ts';
import { deliveries, filterFor } from '../../decisions/review/lists.ts';
import { BULK_MAX, expected, markOf, versionOf } from '../../decisions/review/mark.ts';
import { knownNames } from '../../decisions/review/note.ts';
import { acceptDelivery } from '../../decisions/review/surface.ts';
import { savedViews, viewFilter } from '../../decisions/review/views.ts';
import type { Html } from '../../lib/html.ts';
import { canonical } from '../../surface/given.ts';
import { split } from '../../surface/lists.ts';
import { refusalOf } from '../../surface/problem.ts';
import { mayDo, requireRole } from '../../surface/roles.ts';
import { commandOf } from '../command-line.ts';
import { signedIn } from '../context.ts';
import { backTo } from '../done.ts';
import { deliveryCardPart } from '../pages/card.ts';
import { BULK_ACTIONS, bulkPage, bulkPart } from '../pages/deciding/bulk.ts';
import { TICKED_ACTIONS, tickedAct, tickedPage, tickedPart } from '../pages/deciding/ticked.ts';
import { viewTabs } from '../pages/deciding/views.ts';
import { deliveryPage } from '../pages/delivery.ts';
import { reviewPage, TICKS, withQuery } from '../pages/review.ts';
import {
  counterfactualsIn,
  type DeliveryView,
  deliveryView,
  stockLacks,
} from '../read/delivery.ts';
import { refusalPart } from '../refusal.ts';
import { isoTimes, localeOf, sendCsv, sendPage, type Table } from '../show.ts';
import { givenIn, type ListView, readingFor, readView } from '../surface/lists.ts';
import { idParams, maskedForOrders, type PageContext, parametersOf } from './page-context.ts';

/** Lists with deliveries that are over: an act on all of them would fail, so these are ticked. */
const OVER: ReadonlySet<Shown> = new Set(['accepted', 'rejected', 'canceled', 'all']);

/** Lines of all that fit a filter that are shown before they are decided. */
const BULK_LINES = 10;

async function viewFor(
  { deps: { db, clock } }: PageContext,
  request: FastifyRequest,
  named: string,
): Promise<DeliveryView> {
  const view = await deliveryView(db, named, clock.now());
  return maskedForOrders(request, db, [view.card.order.orderId], view);
}

/** Card beside the list; one that cannot be shown leaves the list as it is, and says why. */
async function openPart(
  context: PageContext,
  request: FastifyRequest,
  { page }: ListView,
  opened: unknown,
): Promise<Html> {
  const ids = page.rows.map((row) => String(row.orderDeliveryId));
  const at = ids.indexOf(String(opened));
  const next = at < 0 ? '' : (ids[at + 1] ?? ids[at - 1] ?? '');
  try {
    const view = await viewFor(context, request, `id:${opened}`);
    return deliveryCardPart(view, await context.cardContext(request, request.url, next));
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    return refusalPart(refusal);
  }
}

async function showList(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { deps, rulesShown, show } = context;
  const { db } = deps;
  const { open: opened, ...given } = givenIn(deliveries, request);
  const views = await savedViews(db, signedIn(request));
  const first = views.find((one) => one.default);
  if (parametersOf(request).size === 0 && first) {
    return reply.code(303).header('location', `/review?${first.filter}`).send();
  }
  const view = await readView(context, request, deliveries, given);
  const [asked] = split(given);
  const filter = await filterFor(view.from, asked);
  const facets = await reviewFacets(db, filter);
  const query = parametersOf(request);
  const { role } = signedIn(request);
  const isMany = facets.count > 1 && facets.count <= BULK_MAX && !OVER.has(filter.shown);
  const selection =
    isMany && mayDo(role, acceptDelivery.role) ? await selectForReview(db, filter) : undefined;
  const open = opened === undefined ? undefined : await openPart(context, request, view, opened);
  const flags = filter.shown === 'all' ? '' : ` --${filter.shown}`;
  const cli = `${commandOf(deliveries, given)}${flags}`;
  const head = { title: 'Review', tab: '/review', cli } as const;
  const rules = await rulesShown();
  const count = OVER.has(filter.shown) ? 0 : facets.count;
  const bulk = bulkPart({ count, selection, role, query });
  const back = withQuery('/review', query, { open: '' });
  const ticked = mayDo(role, acceptDelivery.role) && tickedPart(role, back);
  const now = { filter: viewFilter(query, view.reader.now), back, role };
  const tabs = viewTabs({ views, ...now });
  const page = reviewPage({ view, facets, rules, query, bulk, ticked, views: tabs, open });
  return show(request, reply, head, page);
}

const bulkQuery = z.object({ act: z.enum(BULK_ACTIONS), expect: expected.optional() });

/** Asks once more before an act on all that fit, and says what changed since the list. */
async function askOnceMore(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { act, expect } = bulkQuery.parse(Object.fromEntries(parametersOf(request)));
  requireRole(signedIn(request).role, acceptDelivery.name, acceptDelivery.role);
  const query = parametersOf(request);
  for (const name of ['act', 'expect']) query.delete(name);
  const given = canonical(deliveries.query, Object.fromEntries(query));
  const view = await readView(context, request, deliveries, { ...given, limit: BULK_LINES });
  const filter = await filterFor(view.from, split(given)[0]);
  const { db, clock } = context.deps;
  const selection = await selectForReview(db, filter);
  const changed = expect && (await whatChanged(db, filter, selection, expect, clock.now()));
  // Acts of the command line are on what is held; of all else it shows the list.
  const isHeld = filter.shown === 'held';
  const command = isHeld ? `deliveries ${act} --all-matching` : 'deliveries list';
  const more = isHeld ? `--expect ${markOf(selection)} --reason "…"` : `--${filter.shown}`;
  const cli = `${commandOf({ ...deliveries, command }, given)} ${more}`;
  const head = { title: 'Decide all', tab: '/review', cli } as const;
  const rules = await context.rulesShown();
  const lacks = await stockLacks(
    db,
    view.page.rows.map((row) => deliveries.row.parse(row)),
  );
  const page = bulkPage({ action: act, selection, changed, lacks, rules, query, view });
  return context.show(request, reply, head, page);
}

const tickedQuery = z.object({
  act: z.enum(TICKED_ACTIONS),
  back: z.string().default('/review'),
  ticks: z.array(z.string().regex(/^\d{1,15}-\d{1,15}-[\da-f]+$/)).max(BULK_MAX),
});

/** Asks once more before an act on the ticked ones; those that changed since are left out. */
async function askOfTicked(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const query = parametersOf(request);
  const stated = { ...Object.fromEntries(query), ticks: query.getAll(TICKS.name) };
  const { act: action, back, ticks } = tickedQuery.parse(stated);
  const [act] = tickedAct(action);
  requireRole(signedIn(request).role, act.name, act.role);
  const { db } = context.deps;
  const from = readingFor(context, request);
  const ids = ticks.map((tick) => Number.parseInt(tick, 10));
  const filter = { shown: 'all', ids } as const;
  const now = await selectForReview(db, filter);
  const same = now.deliveries.filter((one) => ticks.includes(versionOf(one)));
  const left = same.map(({ orderDeliveryId }) => orderDeliveryId);
  const only = { ...filter, ids: left };
  const place = { sort: 'waiting', descending: false, limit: BULK_LINES } as const;
  const { rows } = await listForReview(db, only, place);
  const shown = await from.maskedEach(rows, ({ orderId }) => orderId);
  const page = { rows: shown, next: null, back: null };
  const reader = await context.readerOf(request);
  const names = new Map(now.deliveries.map((one) => [one.orderDeliveryId, one.deliveryNo]));
  const changed = ids.filter((id) => !left.includes(id)).map((id) => names.get(id) ?? String(id));
  const body = tickedPage({
    action,
    selection: { ...(await selectForReview(db, only)), deliveries: same },
    changed,
    back: backTo(back),
    names: await knownNames(db),
    lacks: await stockLacks(db, rows),
    query: new URLSearchParams(),
    view: { page, reader, given: {}, from, choices: {} },
  });
  const command = commandOf({ ...deliveries, command: `deliveries ${action}` }, {});
  const cli = `${command} ${left.join(' ')} --reason "…"`;
  return context.show(request, reply, { title: 'Decide several', tab: '/review', cli }, body);
}

async function showDelivery(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { id } = idParams.parse(request.params);
  const [, name = id, twin] = /^(.*)\.(json|csv)$/.exec(id) ?? [];
  const view = await viewFor(context, request, name);
  const { orderDeliveryId, deliveryNo } = view.card;
  if (twin === 'json') {
    const counterfactuals = await counterfactualsIn(context.deps.db, view);
    const { orderId } = view.card.order;
    const whole = { ...view, counterfactuals };
    return reply.send(isoTimes(await maskedForOrders(request, context.deps.db, [orderId], whole)));
  }
  if (twin === 'csv')
    return sendCsv(request, reply, `delivery-${orderDeliveryId}`, linesTable(view));
  const card = await context.cardContext(request, `/deliveries/${orderDeliveryId}`);
  const locale = localeOf(request);
  const cli = `selvedge deliveries explain ${orderDeliveryId}`;
  const title = `Delivery ${deliveryNo ?? orderDeliveryId}`;
  return context.show(
    request,
    reply,
    { title, tab: '/review', cli },
    deliveryPage(view, card, locale),
  );
}

function linesTable({ grid }: DeliveryView): Table {
  return {
    columns: ['barcode', 'style', 'color', 'size', 'packed', 'stock', 'price'],
    rows: grid.map((line) => [
      line.barcode,
      line.style,
      line.color,
      line.size,
      line.packed,
      line.stock,
      line.price,
    ]),
  };
}

export function installReview(app: FastifyInstance, context: PageContext): void {
  app.get('/review', (request, reply) => showList(context, request, reply));
  // A program must send this count, digest and time back as `expect` of an act on many deliveries.
  app.get('/review/selection.json', async (request) => {
    const given = { shown: 'held', ...givenIn(deliveries, request) };
    const filter = await filterFor(readingFor(context, request), given);
    const { deliveries: all, ...selection } = await selectForReview(context.deps.db, filter);
    return { ...selection, ids: all.map(({ orderDeliveryId }) => orderDeliveryId) };
  });
  app.get('/review/all', (request, reply) => askOnceMore(context, request, reply));
  app.get('/review/ticked', (request, reply) => askOfTicked(context, request, reply));
  app.get('/review/card/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const card = await context.cardContext(request, '/review', '');
    return sendPage(reply, deliveryCardPart(await viewFor(context, request, `id:${id}`), card));
  });
  app.get('/deliveries/:id', (request, reply) => showDelivery(context, request, reply));
}
