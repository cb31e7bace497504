/**
 * The book of open orders, and which of them a sweep looks at. An order is *active* if it may
 * change soon: something of it is packed or moves, its row changed since the last look, nobody has
 * looked yet, it is a young order of stock, or a delivery window of what it still wants has begun,
 * begins within days, or is being packed. Each sweep looks at the active ones. All others are
 * *calm*: a rotation through the whole book, the longest unread first, looks at each once in a
 * while. Costs depend on the open orders, never on the closed ones.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { nameKey } from '../../lib/strings.ts';
import { OPEN_ORDER } from '../../mirror/order-book.ts';
import { mayHaveShipped } from '../../mirror/sales-order.ts';
import type { Db } from '../../store/store.ts';

const DAY_MS = 86_400_000;

/** Days before its first day in which a delivery window counts as near. */
const WINDOW_AHEAD_MS = 7 * DAY_MS;
/** Days after its last day, or after its latest packing, in which it still does. */
const WINDOW_LATE_MS = 30 * DAY_MS;
/** Days after its last change in which an order without a season is young. */
const YOUNG_MS = 30 * DAY_MS;
/** Days in which an accepted delivery is expected to ship. */
const SHIPPING_MS = 14 * DAY_MS;
/** Days after the change of a delivery in which more may follow. */
const MOVING_MS = 2 * DAY_MS;
/** Newest deliveries that show which windows are being packed. */
const PACKED_ROWS = 1_000;
/** Orders, and part of the orders packed lately, that make a window one that is being packed. */
const PACKED_MIN = { orders: 3, share: 0.05 } as const;
/** Number of orders that are handled in one turn of the event loop. */
const SLICE_ROWS = 500;
/** Part of the allowed age in which the rotation comes round, so that a late run does no harm. */
const ROUND_SHARE = 0.9;

/** An open order as far as the sweep must know it. */
export interface BookOrder {
  readonly orderId: number;
  readonly detailsReadAt: number | null;
  readonly readSeq: number;
  readonly isActive: boolean;
  /** Whether a delivery waits for a decision, or has a status that nobody knows. */
  readonly isPacked: boolean;
  /** Whether something may have shipped, or refunds are known. */
  readonly mayHaveRefunds: boolean;
}

interface OpenRow {
  readonly order_id: number;
  readonly details_read_at: number | null;
  readonly changed_at: number;
  readonly first_seen_at: number;
  readonly created_at: number | null;
  readonly read_seq: number;
  readonly packed: number;
  readonly moving: number;
  readonly shipped: number;
  readonly refunded: number;
}

async function openRows(db: Db, after: number, now: number): Promise<readonly OpenRow[]> {
  const { rows } = await sql<OpenRow>`
    select o.order_id, o.details_read_at, o.changed_at, o.first_seen_at, o.created_at, o.read_seq,
      count(*) filter (where d.status = 'pending'
        or d.status not in ('accepted', 'rejected', 'canceled')) packed,
      count(*) filter (where d.changed_at > ${now - MOVING_MS} or (d.status = 'accepted'
        and d.tracking_numbers = '[]' and d.changed_at > ${now - SHIPPING_MS})) moving,
      count(*) filter (where ${mayHaveShipped(now)}) shipped,
      exists (select 1 from refund r where r.order_id = o.order_id)
        or exists (select 1 from pending_refund p where p.order_id = o.order_id) refunded
    from (
      select order_id, details_read_at, changed_at, first_seen_at, created_at, read_seq
      from sales_order indexed by sales_order_book
      where ${OPEN_ORDER} and order_id > ${after} order by order_id limit ${SLICE_ROWS}
    ) o left join delivery d on d.order_id = o.order_id and d.deleted_at is null
    group by o.order_id order by o.order_id`.execute(db);
  return rows;
}

interface WindowOrders {
  readonly season: string;
  readonly delivery: string;
  readonly orderIds: readonly number[];
}

/**
 * Windows of what open orders of a range still want, each with its orders. What cannot be read
 * counts as wanted; an order of which nothing is wanted has the empty window, as goods of the stock
 * have.
 */
async function wantedWindows(db: Db, from: number, to: number): Promise<readonly WindowOrders[]> {
  const { rows } = await sql<Omit<WindowOrders, 'orderIds'> & { readonly ids: string }>`
    select season, delivery, json_group_array(order_id) ids from (
      select distinct o.order_id,
        iif(l.order_id is null, '', coalesce(nullif(l.season_name, ''), o.season_name, '')) season,
        coalesce(l.delivery_name, '') delivery
      from sales_order o indexed by sales_order_book
      left join sales_order_line l on l.order_id = o.order_id
        and not coalesce(l.fulfilled_quantity >= l.quantity, 0)
      where o.completed = 0 and o.status <> 'canceled' and o.deleted_at is null
        and o.order_id between ${from} and ${to})
    group by season, delivery`.execute(db);
  return rows.map(({ ids, ...window }) => ({ ...window, orderIds: JSON.parse(ids) }));
}

function keyOf(season: string, delivery: string): string {
  return JSON.stringify([nameKey(season), nameKey(delivery)]);
}

/**
 * Keys of the windows that are being packed, as the newest deliveries show. A few that are packed
 * early make none of it.
 */
async function packedWindows(db: Db, now: number): Promise<ReadonlySet<string>> {
  const newest = await db
    .selectFrom('delivery')
    .select(['order_id', 'first_seen_at'])
    .orderBy('order_delivery_id', 'desc')
    .limit(PACKED_ROWS)
    .execute();
  const lately = newest.filter((row) => row.first_seen_at > now - WINDOW_LATE_MS);
  const ids = JSON.stringify([...new Set(lately.map((row) => row.order_id))]);
  const { rows } = await sql<Omit<WindowOrders, 'orderIds'> & { readonly orders: number }>`
    select coalesce(nullif(l.season_name, ''), o.season_name) season,
      coalesce(l.delivery_name, '') delivery, count(distinct o.order_id) orders
    from json_each(${ids}) d
    cross join sales_order o on o.order_id = d.value
    cross join sales_order_line l on l.order_id = o.order_id
    where l.fulfilled_quantity > 0 and coalesce(nullif(l.season_name, ''), o.season_name, '') <> ''
    group by season, delivery`.execute(db);
  const all = rows.reduce((sum, { orders }) => sum + orders, 0);
  const min = Math.max(PACKED_MIN.orders, all * PACKED_MIN.share);
  const packed = rows.filter(({ orders }) => orders >= min);
  return new Set(packed.map(({ season, delivery }) => keyOf(season, delivery)));
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/**
 * Tells whether a window is near: by its days in the settings of the rules (an empty name stands
 * for the season's other windows); where these do not have it, because it is being packed.
 */
async function nearWindows(
  db: Db,
  now: number,
): Promise<(window: Pick<WindowOrders, 'season' | 'delivery'>) => boolean> {
  const packed = await packedWindows(db, now);
  const rows = await db.selectFrom('season_window').selectAll().execute();
  const [last, first] = [dayOf(now + WINDOW_AHEAD_MS), dayOf(now - WINDOW_LATE_MS)];
  const near = new Map(
    rows.map((row) => {
      const isNear = row.from_day <= last && row.to_day >= first;
      return [keyOf(row.season_name, row.delivery_name), isNear] as const;
    }),
  );
  return ({ season, delivery }) => {
    const key = keyOf(season, delivery);
    return near.get(key) ?? near.get(keyOf(season, '')) ?? packed.has(key);
  };
}

/** Time of the last sign of life of an order; the day of its import is none. */
function movedAt({ changed_at, first_seen_at, created_at }: OpenRow): number {
  return changed_at > first_seen_at ? changed_at : (created_at ?? first_seen_at);
}

function isChanged({ details_read_at, changed_at }: OpenRow, now: number): boolean {
  // A later time was written before the clock was set back.
  return details_read_at === null || details_read_at < changed_at || details_read_at > now;
}

/** All open orders in slices by number, each with what it means for the sweep. */
export async function* openBook(db: Db, now: number): AsyncGenerator<readonly BookOrder[]> {
  const isNear = await nearWindows(db, now);
  for (let after = 0; ; ) {
    const rows = await openRows(db, after, now);
    const [from, to] = [rows[0]?.order_id, rows.at(-1)?.order_id];
    if (from === undefined || to === undefined) return;
    const windows = await wantedWindows(db, from, to);
    const near = new Set(windows.filter(isNear).flatMap(({ orderIds }) => orderIds));
    const isOfStock = ({ season }: WindowOrders): boolean => nameKey(season) === '';
    const ofStock = new Set(windows.filter(isOfStock).flatMap(({ orderIds }) => orderIds));
    yield rows.map((row) => {
      const isYoung = ofStock.has(row.order_id) && movedAt(row) > now - YOUNG_MS;
      const isMoving = row.packed > 0 || row.moving > 0;
      return {
        orderId: row.order_id,
        detailsReadAt: row.details_read_at,
        readSeq: row.read_seq,
        isActive: isMoving || isYoung || isChanged(row, now) || near.has(row.order_id),
        isPacked: row.packed > 0,
        mayHaveRefunds: row.shipped > 0 || row.refunded > 0,
      };
    });
    after = to;
    await nextTurn();
  }
}

/** Part of the rotation that a sweep takes on. */
export interface Turn {
  /** Milliseconds since the last sweep ended its part. */
  readonly elapsedMs: number;
  /** Maximum age of a look at a whole order, ms. */
  readonly ageMsMax: number;
  /** Begin of the run, epoch ms: looks since then count as its own. */
  readonly since: number;
  /** Time, epoch ms, before which an order was read as a whole to be in turn. */
  readonly before: number;
}

/**
 * Open orders whose turn it is: as many of the longest unread ones as the time since the last sweep
 * asks for.
 */
export async function ordersInTurn(db: Db, turn: Turn): Promise<ReadonlySet<number>> {
  const { rows: counts } = await sql<{ readonly open: number; readonly done: number }>`
    select count(*) open, count(*) filter (where whole_read_at >= ${turn.since}) done
    from sales_order indexed by sales_order_rotation where ${OPEN_ORDER}`.execute(db);
  const { open, done } = counts[0] ?? { open: 0, done: 0 };
  const part = Math.min(1, turn.elapsedMs / (turn.ageMsMax * ROUND_SHARE));
  const { rows } = await sql<{ readonly order_id: number }>`
    select order_id from sales_order indexed by sales_order_rotation
    where ${OPEN_ORDER} and coalesce(whole_read_at, first_seen_at) <= ${turn.before}
      and coalesce(whole_read_at, -1) < ${turn.since}
    order by coalesce(whole_read_at, first_seen_at), order_id
    limit ${Math.max(0, Math.ceil(open * part) - done)}`.execute(db);
  return new Set(rows.map((row) => row.order_id));
}

/** Number of active orders that are counted in one step, as on a page. */
const STEP_ROWS = 50;
/** Most orders of the list for each active one, where these are dense. */
const DENSE_ORDERS = 10;

/**
 * Lowest number down to which the newest orders are mostly active, so that their rows are read by
 * the page; null: they are not. The count ends where they are not.
 */
export async function denseFrom(db: Db, active: readonly number[]): Promise<number | null> {
  let from: number | null = null;
  for (let end = active.length; end > 0; end -= STEP_ROWS) {
    const low = active[Math.max(0, end - STEP_ROWS)] ?? 0;
    const max = Math.min(end, STEP_ROWS) * DENSE_ORDERS;
    const { rows } = await sql<{ readonly n: number }>`
      select count(*) n from (select 1 from sales_order
        where order_id >= ${low} and order_id < ${from ?? Number.MAX_SAFE_INTEGER}
        limit ${max + 1})`.execute(db);
    if ((rows[0]?.n ?? 0) > max) break;
    from = low;
  }
  return from;
}

/** Start of the oldest look at these orders, epoch ms; null: there are none, or one had no look. */
export async function oldestOf(db: Db, orderIds: readonly number[]): Promise<number | null> {
  let oldest: number | null = null;
  for (let start = 0; start < orderIds.length; start += SLICE_ROWS) {
    const ids = JSON.stringify(orderIds.slice(start, start + SLICE_ROWS));
    const { rows } = await sql<{ readonly at: number | null }>`
      select min(coalesce(details_read_at, 0)) at from sales_order
      where order_id in (select value from json_each(${ids}))`.execute(db);
    const at = rows[0]?.at ?? 0;
    oldest = Math.min(oldest ?? at, at);
  }
  return oldest === 0 ? null : oldest;
}
