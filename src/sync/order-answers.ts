/** Shares between reads of an order: faults of intermediaries, the age of answers, writing. */
import type { Read } from '../client/calls.ts';
import { NO_SUCH_PAGE, NOT_FOUND_BARE } from '../client/http/answer.ts';
import type { Listing } from '../client/v1/calls.ts';
import type { SalesOrder, SalesOrderDelivery } from '../client/v1/schemas.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import {
  asItCame,
  keepAsItCame,
  tellUnread,
  unreadIn,
  withUnderstood,
} from '../lib/reading/as-it-came.ts';
import { formatDuration } from '../lib/units.ts';
import type { WriteCounts } from '../mirror/entity.ts';
import { clearResolvedQuarantine, forgetShared, quarantineRows } from '../mirror/quarantine.ts';
import { type EntityDefinition, type Provenance, unreadPaths } from '../mirror/rows/prepared.ts';
import { SALES_ORDER } from '../mirror/sales-order.ts';
import type { Tx } from '../store/store.ts';

const FOREIGN: ReadonlySet<string> = new Set([NO_SUCH_PAGE, NOT_FOUND_BARE]);

export function isForeign(error: unknown): error is RefusedError {
  return error instanceof RefusedError && FOREIGN.has(error.code);
}

/**
 * Turns an intermediary's error page into an error that is retried, because it does not refuse the
 * order.
 */
export function unlessForeign(error: unknown): never {
  if (!isForeign(error)) throw error;
  throw new RetryLaterError(error.code, error.message, { cause: error });
}

/** Statuses of an order that must have deliveries. */
export const HAS_DELIVERIES = /^(partially_)?fulfilled$/;

/**
 * Maximum age in milliseconds of an answer from a cache; an older one does not count as a reading.
 */
const AGE_MS_MAX = 60_000;

/** Time at which all answers of the read were true; throws when that is too long ago. */
export function oldestOf(
  orderId: number,
  startedAt: number,
  reads: readonly (Pick<Read<unknown>, 'startedAt'> | undefined)[],
): number {
  const oldest = Math.min(startedAt, ...reads.map((read) => read?.startedAt ?? startedAt));
  if (startedAt - oldest <= AGE_MS_MAX) return oldest;
  const age = formatDuration(startedAt - oldest);
  const text = `order ${orderId} came out of a cache and is ${age} old (Age)`;
  const hint = 'its operator must leave the service out: requests say no-cache';
  throw new RetryLaterError('sync.cached_answer', text, { hint });
}

/**
 * Tells whether the mirror has the order under its own number, with the names of this one, and none
 * under the number that it answered under.
 */
async function isMirroredAs(tx: Tx, order: SalesOrder, answered: number): Promise<boolean> {
  const row = await tx
    .selectFrom('sales_order')
    .select(['order_no', 'reference', 'unread'])
    .where('order_id', '=', order.orderId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row?.order_no?.trim() || unreadPaths(row.unread).includes('orderId')) return false;
  const query = tx.selectFrom('sales_order').select('order_id').where('order_id', '=', answered);
  if (await query.executeTakeFirst()) return false;
  const { values } = SALES_ORDER.toRow(order);
  return row.order_no === values.order_no && row.reference === values.reference;
}

/**
 * Gives an order the number that it was asked for by. An answer that names another one may be of
 * another order: unless the list has the same names under the number, a person decides.
 */
export async function asAsked(tx: Tx, orderId: number, order: SalesOrder): Promise<SalesOrder> {
  if (order.orderId === orderId) return order;
  const own = { ...order, orderId };
  if (await isMirroredAs(tx, own, order.orderId)) return own;
  keepAsItCame(own, 'orderId', order.orderId);
  tellUnread(own, ['orderId']);
  return own;
}

/**
 * Gives rows of an order's list the number of the order, where they name the one under which it
 * answered: if the order is the one that was asked for, they are of no other.
 */
export function rowsAsAsked<T extends { readonly orderId: number | null }>(
  list: Listing<T> | undefined,
  own: SalesOrder,
  { orderId: answered }: SalesOrder,
): Listing<T> | undefined {
  const { orderId } = own;
  if (!list || answered === orderId || unreadIn(own).includes('orderId')) return list;
  const rows = list.rows.map((row) => {
    const named = asItCame(row)?.orderId ?? row.orderId;
    return Number(named) === answered ? withUnderstood(row, 'orderId', orderId) : row;
  });
  return { ...list, rows };
}

/**
 * Refuses an answer about another delivery than was asked for, or of another order: as a row of its
 * own, one delivery would be decided and counted twice. The order's list tells which there are.
 */
export function requireAsked(orderId: number, id: number, row: SalesOrderDelivery): void {
  const isOf = (row.orderId ?? orderId) === orderId && !unreadIn(row).includes('orderId');
  if (row.orderDeliveryId === id && isOf) return;
  const as = isOf ? `delivery ${row.orderDeliveryId} (orderDeliveryId)` : 'that of another order';
  const text = `delivery ${id} of order ${orderId} answers as ${as}`;
  throw new RefusedError('sync.other_delivery', text);
}

type Written = Pick<WriteCounts, 'written'>;

/** Writer of the rows of a list below an order, and the number of each row. */
interface ListWriter<T> {
  readonly definition: EntityDefinition;
  readonly write: (tx: Tx, rows: readonly T[], from: Provenance) => Promise<Written>;
  readonly numberOf: (row: T) => number;
}

/**
 * Writes the answered list of an order: its rows, and those that cannot be read. Gives the keys of
 * the rows that are new or have changed.
 */
export async function keepList<T>(
  tx: Tx,
  orderId: number,
  list: Listing<T> | undefined,
  { definition, write, numberOf }: ListWriter<T>,
  provenance: Provenance,
): Promise<Written['written']> {
  if (!list) return [];
  const { entity } = definition;
  const { written } = await write(tx, list.rows, provenance);
  await quarantineRows(tx, entity, list.rejects, provenance);
  // Keeps rows that were quarantined at this very time.
  await clearResolvedQuarantine(tx, entity, { source: '', startedAt: provenance.at, orderId });
  if (list.rejects.length > 0) return written;
  await forgetShared(tx, definition, orderId, list.rows.map(numberOf));
  return written;
}
