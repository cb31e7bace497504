/**
 * Chooses the orders that a sweep looks at, and how far. Of the open ones: all that are active, and
 * those whose turn it is in the rotation through the book (order-book.ts). Of the closed ones:
 * those that changed since they were read; a full sweep adds the ones that were not read for the
 * longest time.
 */
import { sql } from 'kysely';
import type { Look } from '../../mirror/refetch-queue.ts';
import type { Db } from '../../store/store.ts';
import type { Run } from '../run/run-repository.ts';
import { type BookOrder, openBook, ordersInTurn, type Turn } from './order-book.ts';

/** Span of time, epoch ms, within which a read of an order counts. */
export interface Span {
  readonly since: number;
  readonly now: number;
}

/**
 * SQL condition: the order was read in the span. A later time does not count, because it was
 * written before the clock was set back.
 */
export function wasRead({ since, now }: Span) {
  return sql<boolean>`coalesce(details_read_at between ${since} and ${now}, false)`;
}

export interface ChosenLook {
  readonly orderId: number;
  readonly look: Look;
  /** Whether refunds are read in any case; else a look at the whole order decides. */
  readonly refunds: boolean;
  /** Start of the look before, epoch ms; null: there was none. */
  readonly lookedAt: number | null;
  /**
   * Whether the order is closed and was never read before: its deliveries are old then, so a
   * missing event means nothing.
   */
  readonly isUnread: boolean;
}

/** Look at a whole order of which nothing is known but that it is missing somewhere. */
export function wholeLook(orderId: number): ChosenLook {
  return { orderId, look: 'whole', refunds: true, lookedAt: null, isUnread: false };
}

export interface OpenWish {
  /** Whether each open order with deliveries or refunds is read as a whole. */
  readonly isFull: boolean;
  /** Lowest order number that the walk of the run has seen. */
  readonly bottom: number;
  readonly turn: Turn;
  /** Number of lists below an order, of which all but the deliveries are of refunds. */
  readonly lists: number;
}

export interface OpenLooks {
  readonly looks: readonly ChosenLook[];
  /** Numbers of the active orders, the lowest first. */
  readonly active: readonly number[];
  readonly calm: number;
  /** Requests of looks at all active orders, and of looks at all open ones as a whole. */
  readonly activeRequests: number;
  readonly roundRequests: number;
}

/**
 * Extent of the look that an open order needs now; undefined: none. Deliveries suffice while
 * nothing of the order is packed or shipped, and its row is where it should be.
 */
function lookOf(
  order: BookOrder,
  { isFull, bottom }: OpenWish,
  { readSeq }: Run,
  inTurn: ReadonlySet<number>,
): Look | undefined {
  const { orderId, isActive, isPacked, mayHaveRefunds } = order;
  const hasMore = isPacked || mayHaveRefunds;
  if (inTurn.has(orderId) || (isFull && (isActive || hasMore))) return 'whole';
  if (!isActive) return undefined;
  const isMissed = orderId >= bottom && order.readSeq < readSeq;
  return hasMore || isMissed ? 'whole' : 'deliveries';
}

/** Chooses looks at open orders; those of the span are left out, because the run has made them. */
export async function openLooks(
  db: Db,
  run: Run,
  wish: OpenWish,
  { since, now }: Span,
): Promise<OpenLooks> {
  const inTurn = await ordersInTurn(db, wish.turn);
  const looks: ChosenLook[] = [];
  const active: number[] = [];
  let [calm, activeRequests, roundRequests] = [0, 0, 0];
  for await (const slice of openBook(db, now)) {
    for (const order of slice) {
      const { orderId, detailsReadAt: lookedAt, mayHaveRefunds } = order;
      const whole = 2 + (mayHaveRefunds ? wish.lists - 1 : 0);
      roundRequests += whole;
      if (order.isActive) active.push(orderId);
      else calm += 1;
      const look = lookOf(order, wish, run, inTurn);
      if (order.isActive) activeRequests += look === 'deliveries' ? 1 : whole;
      const isDone = lookedAt !== null && lookedAt >= since && lookedAt <= now;
      if (look === undefined || (isDone && !inTurn.has(orderId))) continue;
      looks.push({ orderId, look, refunds: false, lookedAt, isUnread: false });
    }
  }
  return { looks, active, calm, activeRequests, roundRequests };
}

interface ClosedRow {
  readonly order_id: number;
  readonly details_read_at: number | null;
}

/** SQL condition of a closed order; the partial indexes of closed orders have the same words. */
const CLOSED = sql<boolean>`(completed = 1 or status = 'canceled') and deleted_at is null`;

/** The newest closed orders that changed since they were read, or were never read. */
async function changedOrders(db: Db, max: number, { now }: Span): Promise<readonly ClosedRow[]> {
  const { rows } = await sql<ClosedRow>`
    select order_id, details_read_at from sales_order indexed by sales_order_unlooked
    where ${CLOSED} and changed_at > coalesce(details_read_at, -1)
    order by order_id desc limit ${max}`.execute(db);
  // A later time was written before the clock was set back.
  const { rows: ahead } = await sql<ClosedRow>`
    select order_id, details_read_at from sales_order indexed by sales_order_closed
    where ${CLOSED} and details_read_at > ${now} limit ${max - rows.length}`.execute(db);
  return [...rows, ...ahead];
}

/** Closed orders that were not read for the longest time. */
async function oldestOrders(db: Db, max: number, { since }: Span): Promise<readonly ClosedRow[]> {
  const { rows } = await sql<ClosedRow>`
    select order_id, details_read_at from sales_order indexed by sales_order_closed
    where ${CLOSED} and coalesce(details_read_at, -1) < ${since}
    order by details_read_at, order_id limit ${max}`.execute(db);
  return rows;
}

/**
 * Closed orders to read: first the changed ones, then, of `all`, those that were not read for the
 * longest time.
 */
export async function closedLooks(
  db: Db,
  closed: 'changed' | 'all',
  max: number,
  span: Span,
): Promise<readonly ChosenLook[]> {
  const changed = await changedOrders(db, max, span);
  const found = new Map(changed.map((row) => [row.order_id, row.details_read_at]));
  if (closed === 'all' && found.size < max) {
    for (const row of await oldestOrders(db, max, span)) {
      if (found.size < max) found.set(row.order_id, row.details_read_at);
    }
  }
  return [...found].map(([orderId, lookedAt]) => {
    return { orderId, look: 'whole', refunds: true, lookedAt, isUnread: lookedAt === null };
  });
}
