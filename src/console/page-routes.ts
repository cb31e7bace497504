/** The pages for people, each with its twins for programs: `/x`, `/x.json`, `/x.csv`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { OUTBOX_KINDS } from '../config/schema.ts';
import {
  BULK_MAX,
  listForReview,
  type ReviewPage,
  type ReviewRow,
  reviewFacets,
  selectForReview,
} from '../decisions/review/listing.ts';
import { RefusedError } from '../lib/errors.ts';
import type { Html } from '../lib/html.ts';
import { listOutbox, type OutboxRow, showOutbox } from '../outbox/review/listing.ts';
import { readPauses } from '../store/pauses.ts';
import { OUTBOX_STATES } from '../store/tables.ts';
import { mayDo } from './access/roles.ts';
import type { Session } from './access/sessions.ts';
import { reviewListQuery } from './acts.ts';
import { doneText } from './done.ts';
import { filterOf } from './filter.ts';
import { type CardContext, deliveryCardPart } from './pages/card.ts';
import { deliveryPage } from './pages/delivery.ts';
import { framed, type Tab } from './pages/frame.ts';
import { outboxItemPage, outboxPage } from './pages/outbox.ts';
import { overviewPage } from './pages/overview.ts';
import { reviewPage } from './pages/review.ts';
import { type DeliveryView, deliveryView } from './read/delivery.ts';
import { createLiveCounts } from './read/live.ts';
import { type OverviewData, readOverview } from './read/overview.ts';
import { lastReasons } from './read/reasons.ts';
import { createRulesShown } from './rules.ts';
import { type ConsoleDeps, LIVE_PATH, signedIn } from './server.ts';
import { isoTime, sendCsv, sendPage, type Table } from './show.ts';

const SILENT_MS = 30_000;

const outboxQuery = z.object({
  kind: z
    .enum(['', ...OUTBOX_KINDS])
    .optional()
    .transform((kind) => kind || undefined),
  state: z
    .enum(['', ...OUTBOX_STATES])
    .optional()
    .transform((state) => state || undefined),
  reference: z
    .string()
    .trim()
    .max(200)
    .optional()
    .transform((text) => text || undefined),
  attention: z.enum(['', '1']).optional(),
  open: z.enum(['', '1']).optional(),
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(100),
});

const idParams = z.object({ id: z.string().min(1).max(100) });

function parametersOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf('?');
  const query = new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1));
  for (const [name, value] of [...query]) if (value === '' || name === 'done') query.delete(name);
  return query;
}

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

function outboxJson({ createdAt, dueAt, ...row }: OutboxRow) {
  return { ...row, createdAt: isoTime(createdAt), dueAt: isoTime(dueAt) };
}

/** Fields of people stay with those who may see them. */
function masked(view: DeliveryView, { seesAddresses }: Session) {
  const { card } = view;
  return seesAddresses
    ? view
    : { ...view, card: { ...card, order: { ...card.order, comment: null } } };
}

function overviewTable({ held, underWay, unknownOutcomes, status }: OverviewData): Table {
  return {
    columns: ['name', 'value'],
    rows: [
      ['held', held.count],
      ['held_oldest', isoTime(held.oldestAt)],
      ['pushes_under_way', underWay.count],
      ['unknown_outcomes', unknownOutcomes],
      ['open_incidents', status.openIncidents],
      ...status.streams.map(({ stream, ageMs }) => [`age_ms_${stream}`, ageMs] as const),
    ],
  };
}

export function installPages(app: FastifyInstance, deps: ConsoleDeps): void {
  const { db, clock, settings } = deps;
  const rulesShown = createRulesShown(db);
  const live = createLiveCounts(db, clock);
  const zoneOf = async () => settings.timeZone ?? (await rulesShown()).timeZone;

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    page: { readonly title: string; readonly tab: Tab | undefined; readonly cli: string },
    body: Html,
  ): Promise<FastifyReply> => {
    const now = clock.now();
    const pauses = await readPauses(db);
    const silent = now - deps.daemonSeenAt();
    const warnings = [
      ...pauses.map(
        ({ target, name, actor, reason }) => `PAUSED: ${target} ${name}, by ${actor}: ${reason}`,
      ),
      ...(silent > SILENT_MS ? ['The daemon does not answer: nothing can be changed now.'] : []),
    ];
    const { held, attention, decisionId } = await live();
    const counts = { '/review': held, '/outbox': attention };
    const { instance, version } = settings;
    const session = signedIn(request);
    const frame = { ...page, instance, version, counts, decisionId, warnings, session };
    const done = doneText(request);
    return sendPage(reply, framed({ ...frame, timeZone: await zoneOf(), done }, body));
  };

  app.get(LIVE_PATH, () => live());

  const cardContext = async (request: FastifyRequest, back: string): Promise<CardContext> => {
    const { role, name } = signedIn(request);
    const timeZone = await zoneOf();
    return { role, timeZone, now: clock.now(), back, reasons: await lastReasons(db, name) };
  };

  app.get('/', async (request, reply) => {
    const now = clock.now();
    const data = await readOverview(db, now, settings.freshnessMs);
    const view = { data, now, rules: await rulesShown(), timeZone: await zoneOf() };
    const page = { title: 'Overview', tab: '/', cli: 'selvedge status' } as const;
    return show(request, reply, page, overviewPage(view));
  });
  const overview = () => readOverview(db, clock.now(), settings.freshnessMs);
  app.get('/index.json', async () => {
    const { held, underWay, needs, ...rest } = await overview();
    return {
      ...rest,
      held: { count: held.count, oldestAt: isoTime(held.oldestAt) },
      underWay: { count: underWay.count, oldestAt: isoTime(underWay.oldestAt) },
      needs: needs.map(({ newestAt, ...need }) => ({ ...need, newestAt: isoTime(newestAt) })),
    };
  });
  app.get('/index.csv', async (_request, reply) =>
    sendCsv(reply, 'overview', overviewTable(await overview())),
  );

  const reviewOf = async (request: FastifyRequest) => {
    const { sort, descending, after, limit, ...query } = reviewListQuery.parse(request.query);
    const { owners } = await rulesShown();
    const filter = filterOf(query, clock.now(), owners);
    const place = { sort, descending, after, limit };
    return { filter, sort, descending, page: await listForReview(db, filter, place) };
  };
  app.get('/review.json', async (request) => {
    const { page } = await reviewOf(request);
    return { rows: page.rows.map(reviewJson), next: page.next };
  });
  app.get('/review.csv', async (request, reply) =>
    sendCsv(reply, 'deliveries', reviewTable((await reviewOf(request)).page)),
  );
  app.get('/review', async (request, reply) => {
    const { filter, sort, descending, page } = await reviewOf(request);
    const facets = await reviewFacets(db, filter);
    const query = parametersOf(request);
    const { role } = signedIn(request);
    const wantsBulk =
      facets.count > 1 && facets.count <= BULK_MAX && mayDo(role, 'delivery.accept');
    const selection = wantsBulk ? await selectForReview(db, filter) : undefined;
    const opened = query.get('open');
    const context = await cardContext(request, request.url);
    const open =
      opened === null
        ? undefined
        : deliveryCardPart(
            masked(await deliveryView(db, `id:${opened}`, clock.now()), signedIn(request)),
            context,
          );
    const rules = await rulesShown();
    const view = { page, facets, rules, query, sort, descending, role, selection, open };
    const head = {
      title: 'Review',
      tab: '/review',
      cli: 'selvedge deliveries list --held',
    } as const;
    return show(request, reply, head, reviewPage({ ...view, now: clock.now() }));
  });
  app.get('/review/card/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const context = await cardContext(request, '/review');
    const view = masked(await deliveryView(db, `id:${id}`, clock.now()), signedIn(request));
    return sendPage(reply, deliveryCardPart(view, context));
  });
  app.get('/deliveries/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const [, name = id, twin] = /^(.*)\.(json|csv)$/.exec(id) ?? [];
    const view = masked(await deliveryView(db, name, clock.now()), signedIn(request));
    if (twin === 'json') return reply.send(view);
    if (twin === 'csv') {
      const columns = ['barcode', 'style', 'color', 'size', 'packed', 'stock', 'price'];
      const rows = view.grid.map((line) => [
        ...[line.barcode, line.style, line.color, line.size, line.packed, line.stock, line.price],
      ]);
      return sendCsv(reply, `delivery-${view.card.orderDeliveryId}`, { columns, rows });
    }
    const { orderDeliveryId, deliveryNo } = view.card;
    const context = await cardContext(request, `/deliveries/${orderDeliveryId}`);
    const cli = `selvedge deliveries explain ${orderDeliveryId}`;
    const title = `Delivery ${deliveryNo ?? orderDeliveryId}`;
    return show(request, reply, { title, tab: '/review', cli }, deliveryPage(view, context));
  });

  const outboxOf = async (request: FastifyRequest) => {
    const { attention, open, limit, ...query } = outboxQuery.parse(request.query);
    const flags = {
      needsAttention: attention === '1' || undefined,
      open: open === '1' || undefined,
    };
    const found = await listOutbox(db, { ...query, ...flags, limit: limit + 1 });
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    return { rows, next: last ? String(last.outboxId) : null };
  };
  app.get('/outbox.json', async (request) => {
    const { rows, next } = await outboxOf(request);
    return { rows: rows.map(outboxJson), next };
  });
  app.get('/outbox.csv', async (request, reply) => {
    const { rows } = await outboxOf(request);
    const columns = [
      'push',
      'kind',
      'reference',
      'state',
      'created_at',
      'attempts',
      'needs',
      'error',
    ];
    return sendCsv(reply, 'outbox', {
      columns,
      rows: rows.map((row) => [
        ...[row.outboxId, row.kind, row.reference, row.state, isoTime(row.createdAt)],
        ...[row.attempts, row.blockedReason, row.lastError],
      ]),
    });
  });
  app.get('/outbox', async (request, reply) => {
    const page = await outboxOf(request);
    const lists = { kinds: OUTBOX_KINDS, states: OUTBOX_STATES };
    const view = { ...page, ...lists, query: parametersOf(request), now: clock.now() };
    const head = { title: 'Outbox', tab: '/outbox', cli: 'selvedge outbox list' } as const;
    return show(request, reply, head, outboxPage(view));
  });
  app.get('/outbox/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const [, name = id, twin] = /^(.*)\.(json)$/.exec(id) ?? [];
    const card = /^\d{1,15}$/.test(name) ? await showOutbox(db, Number(name)) : undefined;
    if (!card) throw new RefusedError('outbox.unknown', `there is no push ${name}`);
    if (twin === 'json') return reply.send(card);
    const { role } = signedIn(request);
    const cli = `selvedge outbox show ${name}`;
    const page = { title: `Push ${name}`, tab: '/outbox', cli } as const;
    return show(request, reply, page, outboxItemPage(card, role, await zoneOf()));
  });
}
