/** Routes for the review list and for deliveries, with their twins. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type ReviewPage,
  type ReviewRow,
  reviewFacets,
  selectForReview,
} from '../../decisions/review/listing.ts';
import { BULK_MAX } from '../../decisions/review/mark.ts';
import { acceptDelivery } from '../../decisions/review/surface.ts';
import type { Db } from '../../store/store.ts';
import { mayDo } from '../../surface/roles.ts';
import type { Session } from '../access/sessions.ts';
import { reviewCommand } from '../command-line.ts';
import { signedIn } from '../context.ts';
import { maskPrivate } from '../mask.ts';
import { deliveryCardPart } from '../pages/card.ts';
import { deliveryPage } from '../pages/delivery.ts';
import { reviewPage } from '../pages/review.ts';
import { counterfactualsIn, type DeliveryView, deliveryView } from '../read/delivery.ts';
import { LIST_MAX, readReviewList } from '../read/list.ts';
import { privateOfOrders } from '../read/private.ts';
import { isoTime, isoTimes, localeOf, sendCsv, sendPage, type Table } from '../show.ts';
import { idParams, maskedForOrders, type PageContext, parametersOf } from './page-context.ts';

function reviewJson(row: ReviewRow) {
  return {
    ...row,
    packedAt: isoTime(row.packedAt),
    decidedAt: isoTime(row.decidedAt),
    deadline: isoTime(row.deadline),
  };
}

function reviewTable({ rows }: ReviewPage): Table {
  return {
    columns: [
      ...['delivery_id', 'delivery_no', 'order_no', 'reference', 'status', 'account_no'],
      ...['customer', 'country', 'season', 'pieces', 'value', 'currency', 'packed_at'],
      ...['outcome', 'rules', 'reason', 'deadline', 'overdue', 'note'],
    ],
    rows: rows.map((row) => [
      ...[row.orderDeliveryId, row.deliveryNo, row.orderNo, row.reference, row.status],
      ...[row.accountNo, row.customer, row.country, row.season, row.pieces, row.value],
      ...[row.currency, isoTime(row.packedAt), row.outcome, row.rules.join(' '), row.reason],
      ...[isoTime(row.deadline), row.overdue, row.note],
    ]),
  };
}

async function viewFor(
  { deps: { db, clock } }: PageContext,
  request: FastifyRequest,
  named: string,
): Promise<DeliveryView> {
  const view = await deliveryView(db, named, clock.now());
  return maskedForOrders(request, db, [view.card.order.orderId], view);
}

/** Rows of the list, masked unless the session may see names and addresses. */
async function rowsFor({ seesAddresses }: Session, db: Db, page: ReviewPage): Promise<ReviewPage> {
  if (seesAddresses) return page;
  const of = await privateOfOrders(
    db,
    page.rows.map(({ orderId }) => orderId),
  );
  return { ...page, rows: page.rows.map((row) => maskPrivate(row, [of.get(row.orderId)])) };
}

async function listOf({ deps, rulesShown }: PageContext, request: FastifyRequest, whole = {}) {
  const query = { ...whole, ...Object(request.query) };
  const session = signedIn(request);
  const list = await readReviewList(deps.db, rulesShown, deps.clock.now(), query, session);
  return { ...list, page: await rowsFor(session, deps.db, list.page) };
}

async function showList(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { deps, rulesShown, show, cardContext } = context;
  const { db, clock } = deps;
  const { filter, ...list } = await listOf(context, request);
  const facets = await reviewFacets(db, filter);
  const query = parametersOf(request);
  const { role } = signedIn(request);
  const isMany = facets.count > 1 && facets.count <= BULK_MAX;
  const selection =
    isMany && mayDo(role, acceptDelivery.role) ? await selectForReview(db, filter) : undefined;
  const opened = query.get('open');
  const open =
    opened === null
      ? undefined
      : deliveryCardPart(
          await viewFor(context, request, `id:${opened}`),
          await cardContext(request, request.url),
        );
  const locale = localeOf(request);
  const view = { ...list, facets, rules: await rulesShown(), query, role, selection, open, locale };
  const cli = reviewCommand(query, filter.shown);
  const head = { title: 'Review', tab: '/review', cli } as const;
  return show(request, reply, head, reviewPage({ ...view, now: clock.now() }));
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
      ...[line.barcode, line.style, line.color, line.size, line.packed, line.stock, line.price],
    ]),
  };
}

export function installReview(app: FastifyInstance, context: PageContext): void {
  app.get('/review', (request, reply) => showList(context, request, reply));
  app.get('/review.json', async (request) => {
    const { page } = await listOf(context, request);
    return { rows: page.rows.map(reviewJson), next: page.next };
  });
  app.get('/review.csv', async (request, reply) =>
    sendCsv(
      request,
      reply,
      'deliveries',
      reviewTable((await listOf(context, request, { limit: LIST_MAX })).page),
    ),
  );
  // A program must send this count, digest and time back as `expect` of an act on many deliveries.
  app.get('/review/selection.json', async (request) => {
    const { filter } = await listOf(context, request);
    const { deliveries, ...selection } = await selectForReview(context.deps.db, filter);
    return { ...selection, ids: deliveries.map(({ orderDeliveryId }) => orderDeliveryId) };
  });
  app.get('/review/card/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const card = await context.cardContext(request, '/review');
    return sendPage(reply, deliveryCardPart(await viewFor(context, request, `id:${id}`), card));
  });
  app.get('/deliveries/:id', (request, reply) => showDelivery(context, request, reply));
}
