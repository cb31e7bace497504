/**
 * Compares the mirror with an account to tell whether they belong together: the newest orders must
 * all be there, under the same reference and with the same articles. Where the mirror has no
 * order, its articles decide.
 */
import { isNotFound } from '../../client/http/answer.ts';
import type { V1Client } from '../../client/v1/client.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import { toError } from '../../lib/errors.ts';
import type { Db } from '../../store/store.ts';
import { referenceKey } from '../documents.ts';

/** Of each kind. */
const COMPARED_MAX = 20;

export interface AccountReader {
  readonly db: Db;
  readonly v1: Pick<V1Client, 'order' | 'stockVariant'>;
  readonly signal: AbortSignal;
}

/** `unknown`: the service could not be asked; `nothing`: the mirror has nothing to compare. */
export interface Comparison {
  readonly outcome: 'equal' | 'another' | 'unknown' | 'nothing';
  /** In words, for the log. */
  readonly why: string;
}

interface MirroredOrder {
  readonly order_id: number;
  readonly reference: string | null;
}

async function newestOrders(db: Db): Promise<readonly MirroredOrder[]> {
  return db
    .selectFrom('sales_order')
    .select(['order_id', 'reference'])
    .where('deleted_at', 'is', null)
    .orderBy('order_id', 'desc')
    .limit(COMPARED_MAX)
    .execute();
}

/** Undefined: one of them cannot be read. */
function articlesOf(lines: readonly { readonly barcode: string | null }[] | null) {
  const barcodes = (lines ?? []).flatMap(({ barcode }) => barcode ?? []);
  const isRead = lines !== null && barcodes.length === lines.length;
  return isRead ? [...new Set(barcodes)].sort().join('\n') : undefined;
}

/** How the order at the service differs from the mirrored one; undefined: it is the same. */
async function differenceOf(
  db: Db,
  { order_id: id, reference }: MirroredOrder,
  shown: SalesOrder,
): Promise<string | undefined> {
  if (referenceKey(shown.reference ?? '') !== referenceKey(reference ?? '')) {
    return `order ${id} is "${shown.reference ?? ''}" there, and "${reference ?? ''}" here`;
  }
  const lines = await db
    .selectFrom('sales_order_line')
    .select('barcode')
    .where('order_id', '=', id)
    .execute();
  const here = articlesOf(lines);
  const there = articlesOf(shown.orderLineItems);
  if (here === undefined || there === undefined) return undefined;
  return here === there ? undefined : `order ${id} has other articles there`;
}

async function compareOrders(
  { db, v1, signal }: AccountReader,
  orders: readonly MirroredOrder[],
): Promise<Comparison> {
  for (const order of orders) {
    try {
      const { value } = await v1.order(order.order_id, { priority: 'read', signal });
      const difference = await differenceOf(db, order, value);
      if (difference !== undefined) return { outcome: 'another', why: difference };
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isNotFound(error)) return { outcome: 'unknown', why: toError(error).message };
      return { outcome: 'another', why: `order ${order.order_id} is not there` };
    }
  }
  return { outcome: 'equal', why: `the ${orders.length} newest orders are there` };
}

/** Articles come and go; most of them must be there. */
async function compareArticles(
  { v1, signal }: AccountReader,
  barcodes: readonly string[],
): Promise<Comparison> {
  let there = 0;
  for (const barcode of barcodes) {
    try {
      await v1.stockVariant(barcode, {}, { priority: 'read', signal });
      there += 1;
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isNotFound(error)) return { outcome: 'unknown', why: toError(error).message };
    }
  }
  const why = `${there} of ${barcodes.length} articles of the stock are there`;
  return { outcome: there * 2 > barcodes.length ? 'equal' : 'another', why };
}

/** Asks the account for what the mirror has. */
export async function compareWithAccount(reader: AccountReader): Promise<Comparison> {
  const orders = await newestOrders(reader.db);
  if (orders.length > 0) return compareOrders(reader, orders);
  const stock = await reader.db
    .selectFrom('stock_variant')
    .select('barcode')
    .where('deleted_at', 'is', null)
    .limit(COMPARED_MAX)
    .execute();
  if (stock.length === 0) return { outcome: 'nothing', why: 'the mirror has no order' };
  return compareArticles(
    reader,
    stock.map(({ barcode }) => barcode),
  );
}
