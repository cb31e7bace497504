/** Routes for pushes to the service, with their twins. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { OUTBOX_KINDS } from '../../config/schema.ts';
import { RefusedError } from '../../lib/errors.ts';
import {
  documentsOf,
  listOutbox,
  type OutboxRow,
  showOutbox,
} from '../../outbox/review/listing.ts';
import type { Db } from '../../store/store.ts';
import { OUTBOX_STATES } from '../../store/tables.ts';
import { outboxCommand } from '../command-line.ts';
import { signedIn } from '../context.ts';
import { outboxItemPage, outboxPage } from '../pages/outbox.ts';
import { optionalText } from '../query.ts';
import { isoTime, isoTimes, localeOf, sendCsv } from '../show.ts';
import { idParams, maskedForOrders, type PageContext, parametersOf } from './page-context.ts';

export const outboxQuery = z.object({
  kind: z
    .enum(['', ...OUTBOX_KINDS])
    .optional()
    .transform((kind) => kind || undefined),
  state: z
    .enum(['', ...OUTBOX_STATES])
    .optional()
    .transform((state) => state || undefined),
  reference: optionalText,
  attention: z.enum(['', '1']).optional(),
  open: z.enum(['', '1']).optional(),
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(100),
});

/** Rows of pushes, masked unless the session may see names and addresses. */
async function rowsFor(request: FastifyRequest, db: Db, rows: readonly OutboxRow[]) {
  const orderIds = rows.flatMap(({ orderId }) => orderId ?? []);
  const outboxIds = rows.map(({ outboxId }) => outboxId);
  return maskedForOrders(request, db, orderIds, rows, await documentsOf(db, outboxIds));
}

async function cardFor(request: FastifyRequest, db: Db, outboxId: number) {
  const card = await showOutbox(db, outboxId);
  if (!card) return undefined;
  const orderIds = card.candidates.map(({ orderId }) => orderId);
  return maskedForOrders(request, db, [...orderIds, card.orderId ?? 0], card);
}

export function installOutbox(app: FastifyInstance, context: PageContext): void {
  const { deps, zoneOf, show } = context;
  const { db, clock } = deps;
  const outboxOf = async (request: FastifyRequest) => {
    const { attention, open, limit, before, ...query } = outboxQuery.parse(request.query);
    const flags = {
      needsAttention: attention === '1' || undefined,
      open: open === '1' || undefined,
    };
    const place = { after: before?.toString(), limit: limit + 1 };
    const found = await listOutbox(db, { ...query, ...flags, ...place });
    const rows = await rowsFor(request, db, found.slice(0, limit));
    const last = found.length > limit ? rows.at(-1) : undefined;
    return { rows, next: last ? String(last.outboxId) : null };
  };
  app.get('/outbox.json', async (request) => {
    const { rows, next } = await outboxOf(request);
    return { rows: isoTimes(rows), next };
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
    return sendCsv(request, reply, 'outbox', {
      columns,
      rows: rows.map((row) => [
        ...[row.outboxId, row.kind, row.reference, row.state, isoTime(row.createdAt)],
        ...[row.attempts, row.blockedReason, row.lastError],
      ]),
    });
  });
  app.get('/outbox', async (request, reply) => {
    const page = await outboxOf(request);
    const lists = { kinds: OUTBOX_KINDS, states: OUTBOX_STATES, locale: localeOf(request) };
    const query = parametersOf(request);
    const view = { ...page, ...lists, query, now: clock.now() };
    const head = { title: 'Outbox', tab: '/outbox', cli: outboxCommand(query) } as const;
    return show(request, reply, head, outboxPage(view));
  });
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
