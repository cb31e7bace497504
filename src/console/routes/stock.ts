/** Routes for stock with their twins: styles, a style by colour and size, its open orders. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { shellWord } from '../../lib/strings.ts';
import { parseTime } from '../../lib/units.ts';
import { atLocal } from '../../report/schedules/due.ts';
import { signedIn } from '../context.ts';
import { maskPrivate } from '../mask.ts';
import { stockPage, stylePage, stylePath, WANTED_SHOWN } from '../pages/stock.ts';
import { optionalText } from '../query.ts';
import {
  findStyle,
  readSeasonsOf,
  readStockHistory,
  readStyleStock,
  readStyles,
  readWanted,
  type StyleStock,
  type WantedLine,
} from '../read/stock.ts';
import { isoTime, isoTimes, localeOf, sendCsv, type Table } from '../show.ts';
import { type PageContext, parametersOf } from './page-context.ts';

const STYLES_SHOWN = 100;
const CSV_ROWS = 10_000;

export const stylesQuery = z.object({
  q: optionalText,
  after: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(CSV_ROWS).default(STYLES_SHOWN),
});

export const styleQuery = z.object({
  /** Time such as `2026-03-31T18:00`, in the console's time zone unless it names another. */
  asOf: z
    .string()
    .max(40)
    .optional()
    .transform((text) => text || undefined),
  by: z.enum(['size', 'color']).catch('size').default('size'),
});

const styleParams = z.object({ id: z.string().min(1).max(200) });

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d))?(?::\d\d(?:\.\d+)?)?$/;

/** Epoch ms of a time in a query; throws RefusedError `stock.bad_time` where it is none. */
function timeOf(text: string | undefined, timeZone: string): number | undefined {
  if (text === undefined) return undefined;
  const [, date, time = '00:00'] = LOCAL.exec(text) ?? [];
  const isDay = date !== undefined && parseTime(`${date}T${time}Z`) !== undefined;
  const at = isDay ? atLocal(timeZone, date, time) : parseTime(text);
  if (at !== undefined) return at;
  throw new RefusedError('stock.bad_time', `${text} is no time`, {
    hint: 'write it as 2026-03-31T18:00, or 2026-03-31T18:00:00Z for UTC',
  });
}

/** Name of a downloaded file, in the ASCII letters that a header allows. */
function fileName(what: string, style: string): string {
  return `${what}-${style.replaceAll(/[^\w.-]+/g, '_')}`;
}

async function stylesOf({ deps }: PageContext, request: FastifyRequest, whole = {}) {
  return readStyles(deps.db, stylesQuery.parse({ ...whole, ...Object(request.query) }));
}

async function requireStyle({ deps }: PageContext, named: string) {
  const found = await findStyle(deps.db, named);
  if (found) return found;
  throw new RefusedError('stock.unknown', `no style and no barcode ${named} is known`, {
    hint: 'the list of styles is at /stock',
  });
}

function styleTable({ cells }: StyleStock): Table {
  return {
    columns: [
      ...['barcode', 'color_code', 'color', 'size', 'on_hand', 'packed', 'free', 'open_orders'],
      'cover_percent',
    ],
    rows: cells.map((cell) => [
      ...[cell.barcode, cell.colorCode, cell.color, cell.size, cell.onHand, cell.packed],
      ...[cell.free, cell.toPack, cell.coverPercent],
    ]),
  };
}

function wantedTable(rows: readonly WantedLine[]): Table {
  return {
    columns: [
      ...['order_id', 'order_no', 'reference', 'account_no', 'customer', 'country', 'season'],
      ...['window', 'ordered_at', 'barcode', 'color', 'size', 'pieces', 'to_pack'],
    ],
    rows: rows.map((row) => [
      ...[row.orderId, row.orderNo, row.reference, row.accountNo, row.company, row.country],
      ...[row.season, row.window, isoTime(row.orderedAt), row.barcode, row.color, row.size],
      ...[row.pieces, row.toPack],
    ]),
  };
}

async function wantedFor(
  { deps }: PageContext,
  request: FastifyRequest,
  style: string,
  limit: number,
): Promise<readonly WantedLine[]> {
  const rows = await readWanted(deps.db, style, limit);
  return signedIn(request).seesAddresses ? rows : maskPrivate(rows);
}

/** Stock at the time asked for; if that is unusable, the present one and a refusal. */
async function stockOf(
  { deps: { db, clock } }: PageContext,
  style: Awaited<ReturnType<typeof requireStyle>>,
  asOf: string | undefined,
  timeZone: string,
): Promise<{ readonly stock: StyleStock; readonly problem?: RefusedError }> {
  const now = clock.now();
  try {
    const at = timeOf(asOf, timeZone);
    return { stock: await readStyleStock(db, style, at, now) };
  } catch (thrown) {
    if (!(thrown instanceof RefusedError)) throw thrown;
    return { stock: await readStyleStock(db, style, undefined, now), problem: thrown };
  }
}

async function showStyle(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { deps, zoneOf, show } = context;
  const { id: param } = styleParams.parse(request.params);
  const [, named = param, twin] = /^(.*)\.(json|csv)$/.exec(param) ?? [];
  const style = await requireStyle(context, named);
  if (twin === undefined && style.style !== named) {
    return reply.code(303).header('location', stylePath(style.style)).send();
  }
  const { asOf, by } = styleQuery.parse(request.query);
  const timeZone = await zoneOf();
  const { stock, problem } = await stockOf(context, style, asOf, timeZone);
  if (twin !== undefined && problem) throw problem;
  if (twin === 'csv') return sendCsv(request, reply, fileName('stock', named), styleTable(stock));
  const isNow = stock.asOf === null && problem === undefined;
  const wanted = isNow ? await wantedFor(context, request, style.style, WANTED_SHOWN) : undefined;
  const seasons = isNow ? await readSeasonsOf(deps.db, style.style) : [];
  if (twin === 'json') {
    const { asOf: at, ...rest } = stock;
    return reply.send({ ...rest, asOf: isoTime(at), seasons, wanted: isoTimes(wanted ?? []) });
  }
  const view = {
    ...{ stock, wanted, seasons, by, timeZone, query: parametersOf(request) },
    ...{ days: await readStockHistory(deps.db, style.style, deps.clock.now()) },
    ...{ locale: localeOf(request), problem: problem && `${problem.message}: ${problem.hint}` },
  };
  const now = `selvedge stock ${shellWord(style.style)}`;
  const cli = stock.asOf === null ? now : `${now} --as-of ${isoTime(stock.asOf)}`;
  const head = { title: `Stock of ${style.style}`, tab: '/stock', cli } as const;
  return show(request, reply.code(problem ? 409 : 200), head, stylePage(view));
}

export function installStock(app: FastifyInstance, context: PageContext): void {
  app.get('/stock', async (request, reply) => {
    const view = { ...(await stylesOf(context, request)), query: parametersOf(request) };
    const q = view.query.get('q');
    const cli = `selvedge stock ${q === null ? '<barcode|style>' : shellWord(q)}`;
    const head = { title: 'Stock', tab: '/stock', cli } as const;
    return context.show(request, reply, head, stockPage({ ...view, locale: localeOf(request) }));
  });
  app.get('/stock.json', (request) => stylesOf(context, request));
  app.get('/stock.csv', async (request, reply) => {
    const { rows } = await stylesOf(context, request, { limit: CSV_ROWS });
    return sendCsv(request, reply, 'stock', {
      columns: ['style', 'name', 'brand', 'colors', 'variants', 'in_stock', 'pieces', 'below_zero'],
      rows: rows.map((row) => [
        ...[row.style, row.styleName, row.brand, row.colors, row.variants, row.inStock],
        ...[row.pieces, row.below],
      ]),
    });
  });
  app.get('/stock/:id', (request, reply) => showStyle(context, request, reply));
  app.get('/stock/:id/orders.csv', async (request, reply) => {
    const { id: named } = styleParams.parse(request.params);
    const { style } = await requireStyle(context, named);
    const rows = await wantedFor(context, request, style, CSV_ROWS);
    return sendCsv(request, reply, fileName('open-orders', named), wantedTable(rows));
  });
}
