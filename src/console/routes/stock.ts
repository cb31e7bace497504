/** Route for the page of a style's stock; lists and twins are those that are declared. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RefusedError, UsageError } from '../../lib/errors.ts';
import { shellWord } from '../../lib/strings.ts';
import { readStyleStock, type StyleStock, variants } from '../../mirror/stock/style.ts';
import { isoTime } from '../../surface/forms.ts';
import type { Reading } from '../../surface/reading.ts';
import { stylePage } from '../pages/stock.ts';
import { readStockHistory } from '../read/stock.ts';
import { addressOf } from '../surface/addresses.ts';
import { belowParts, readingFor } from '../surface/lists.ts';
import { type PageContext, parametersOf } from './page-context.ts';

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

export function installStock(app: FastifyInstance, context: PageContext): void {
  app.get('/stock/:id', (request, reply) => showStyle(context, request, reply));
}
