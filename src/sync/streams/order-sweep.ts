/**
 * Second half of a walk over the orders: requests reads of orders whose deliveries and refunds may
 * have changed, because these are listed per order only. Open orders go first, the oldest before
 * the others; then closed ones. The inbox's order refetcher makes the reads, a few at a time and
 * after those that events ask for; the sweep waits until each was tried.
 */
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import {
  ORDER_UNREADABLE,
  type RefetchBacklog,
  refetchBacklog,
  requestRefetches,
} from '../../mirror/refetch-queue.ts';
import { diffAgainstWalk, type OrderSlice, orderSlices } from '../../mirror/sales-order.ts';
import type { Db } from '../../store/store.ts';
import type { Run } from '../run/run-repository.ts';
import type { StreamRun } from '../stream.ts';
import { countOpen, type OrderPart, type PartCount } from './order-parts.ts';

export interface SweepDeps {
  readonly db: () => Db;
  readonly clock: Clock;
  /** Called when order reads were requested. */
  readonly onRefetchRequested: () => void;
}

interface SweepWish {
  /** Checkpoint of the run during the sweep. */
  readonly checkpoint: JsonObject;
  /**
   * Choice of the closed orders that are read; `changed`: only those that are new or changed since
   * they were read.
   */
  readonly closed: 'changed' | 'all';
  readonly closedMax: number;
  /** Maximum number of orders that the walk missed and that are requested by number. */
  readonly missingMax: number;
  /** Lists whose rows the read orders must still have. */
  readonly parts: readonly OrderPart[];
}

/** Number of reads that one transaction requests. */
const REQUESTS_PER_PAGE = 500;

/** Milliseconds between two looks of the sweep at the remaining reads. */
const LOOK_MS = 100;

/** Orders that may still get deliveries. */
function openOrdersIn(db: Db) {
  return db
    .selectFrom('sales_order')
    .where('completed', '=', 0)
    .where('status', '!=', 'canceled')
    .where('deleted_at', 'is', null);
}

/**
 * Number of the mirror's lowest open order; infinity: none is open, and no order below needs a
 * look.
 */
export async function lowestOpenOrder(db: Db): Promise<number> {
  const row = await openOrdersIn(db)
    .select((eb) => eb.fn.min('order_id').as('order_id'))
    .executeTakeFirst();
  return row?.order_id ?? Number.POSITIVE_INFINITY;
}

/** Span of time, epoch ms, within which a read of an order counts. */
interface Span {
  readonly since: number;
  readonly now: number;
}

/**
 * SQL condition: the order was read in the span. A later time does not count, because it was
 * written before the clock was set back.
 */
function wasRead({ since, now }: Span) {
  return sql<boolean>`coalesce(details_read_at between ${since} and ${now}, false)`;
}

/**
 * Open orders that were not read in the span, so that an interrupted sweep continues where it was.
 */
async function openOrders(db: Db, span: Span): Promise<number[]> {
  const rows = await openOrdersIn(db)
    .select('order_id')
    .where((eb) => eb.not(wasRead(span)))
    .orderBy('order_id')
    .execute();
  return rows.map((row) => row.order_id);
}

/**
 * Orders read before the run was interrupted, because their deliveries and refunds count as well.
 */
async function ordersRead(db: Db, { resumed }: Run, span: Span): Promise<number[]> {
  const read: number[] = [];
  if (!resumed) return read;
  for await (const { from, before } of orderSlices(db)) {
    const rows = await db
      .selectFrom('sales_order')
      .select('order_id')
      .where('order_id', '>=', from)
      .where('order_id', '<', before)
      .where(wasRead(span))
      .execute();
    read.push(...rows.map((row) => row.order_id));
  }
  return read;
}

interface SweptOrder {
  readonly orderId: number;
  /**
   * Whether the order was never read before: its deliveries are old then, so a missing event means
   * nothing.
   */
  readonly isUnread: boolean;
}

interface ClosedOrder {
  readonly order_id: number;
  readonly details_read_at: number | null;
}

function closedIn(db: Db, slice: OrderSlice) {
  return db
    .selectFrom('sales_order')
    .select(['order_id', 'details_read_at'])
    .where('order_id', '>=', slice.from)
    .where('order_id', '<', slice.before)
    .where('deleted_at', 'is', null)
    .where((eb) => eb.or([eb('completed', '=', 1), eb('status', '=', 'canceled')]));
}

/** The newest closed orders that changed since they were read, or were never read. */
async function changedOrders(db: Db, max: number, span: Span): Promise<readonly ClosedOrder[]> {
  const found: ClosedOrder[] = [];
  for await (const slice of orderSlices(db)) {
    const changed = closedIn(db, slice).where((eb) =>
      eb.or([
        eb('details_read_at', 'is', null),
        eb('details_read_at', '<', eb.ref('changed_at')),
        eb('details_read_at', '>', span.now),
      ]),
    );
    const left = max - found.length;
    found.push(...(await changed.orderBy('order_id', 'desc').limit(left).execute()));
    if (found.length >= max) break;
  }
  return found;
}

/** Closed orders that were not read for the longest time. */
async function oldestOrders(db: Db, max: number, span: Span): Promise<readonly ClosedOrder[]> {
  let oldest: ClosedOrder[] = [];
  for await (const slice of orderSlices(db)) {
    const unread = await closedIn(db, slice)
      .where((eb) => eb.not(wasRead(span)))
      .execute();
    oldest = [...oldest, ...unread]
      .sort(
        (a, b) => (a.details_read_at ?? -1) - (b.details_read_at ?? -1) || a.order_id - b.order_id,
      )
      .slice(0, max);
  }
  return oldest;
}

/**
 * Closed orders to read: first the changed ones, then those that were not read for the longest
 * time.
 */
async function closedOrders(
  db: Db,
  { closed, closedMax }: SweepWish,
  span: Span,
): Promise<SweptOrder[]> {
  const changed = await changedOrders(db, closedMax, span);
  const found = new Map(changed.map((row) => [row.order_id, row.details_read_at]));
  if (closed === 'all' && found.size < closedMax) {
    for (const row of await oldestOrders(db, closedMax, span)) {
      if (found.size < closedMax) found.set(row.order_id, row.details_read_at);
    }
  }
  return [...found].map(([orderId, readAt]) => ({ orderId, isUnread: readAt === null }));
}

/** Cause of the reads that a sweep requests; the view `event_coverage` parses it. */
function causeOf(runId: number, isUnread: boolean): string {
  return isUnread ? `sweep:${runId}:first` : `sweep:${runId}`;
}

/**
 * Requests reads of the orders, a slice at a time. They count as requested at `at` and are due now,
 * because the run may have begun before the clock was set back.
 */
async function requestReads(
  deps: SweepDeps,
  { run, page }: StreamRun,
  checkpoint: JsonObject,
  orders: readonly SweptOrder[],
  at: number,
): Promise<void> {
  for (let start = 0; start < orders.length; start += REQUESTS_PER_PAGE) {
    const requests = orders
      .slice(start, start + REQUESTS_PER_PAGE)
      .map(({ orderId, isUnread }) => ({ orderId, cause: causeOf(run.runId, isUnread) }));
    await page(checkpoint, async (tx) => {
      const now = deps.clock.now();
      const early = requests.map((one) => ({ ...one, headStartMs: Math.max(0, now - at) }));
      await requestRefetches(tx, early, now);
      return { rows: 0, changed: 0, unchanged: 0, quarantined: 0, bytes: 0 };
    });
    deps.onRefetchRequested();
  }
}

/** Waits until each read requested at `upTo` or before was tried at least once. */
async function readsTried(
  deps: SweepDeps,
  { call, progress }: StreamRun,
  upTo: number,
): Promise<RefetchBacklog> {
  let untried = Number.POSITIVE_INFINITY;
  for (;;) {
    const backlog = await refetchBacklog(deps.db(), upTo);
    if (backlog.untried === 0) return backlog;
    if (backlog.untried < untried) progress();
    untried = backlog.untried;
    await deps.clock.sleep(LOOK_MS, call.signal);
  }
}

async function quarantinedBySweep(db: Db, runId: number): Promise<number> {
  const row = await db
    .selectFrom('quarantine')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('source', 'in', [`refresh:${causeOf(runId, false)}`, `refresh:${causeOf(runId, true)}`])
    .executeTakeFirstOrThrow();
  return row.n;
}

/** Counts of rows per list below the orders that were read. */
type PartCounts = ReadonlyMap<OrderPart, PartCount>;

interface Swept {
  /**
   * Number of listed orders that the service newly refused to show. An order refused before does
   * not count, so that it keeps no later run from being complete.
   */
  readonly refused: number;
  readonly parts: PartCounts;
}

/** Result of the sweep's reads; an order counts as read when its read began at `since` or later. */
async function lookBack(
  db: Db,
  run: Run,
  { swept, parts }: { readonly swept: readonly number[] } & Pick<SweepWish, 'parts'>,
  since: number,
): Promise<Swept> {
  let refused = 0;
  const counts = new Map<OrderPart, PartCount>();
  for (let start = 0; start < swept.length; start += REQUESTS_PER_PAGE) {
    const ids = swept.slice(start, start + REQUESTS_PER_PAGE);
    const orders = await db
      .selectFrom('sales_order as o')
      .leftJoin('refresh as r', 'r.order_id', 'o.order_id')
      .leftJoin('incident as i', (join) =>
        join
          .on('i.kind', '=', ORDER_UNREADABLE.kind)
          .on('i.entity', '=', ORDER_UNREADABLE.entity)
          .on('i.key', '=', sql`cast(o.order_id as text)`)
          .on('i.resolved_at', 'is', null)
          .on('i.at', '<', since),
      )
      .select(['o.order_id', 'o.details_read_at', 'o.read_seq'])
      .select(['r.order_id as waiting', 'i.id as reported'])
      .where('o.order_id', 'in', ids)
      .execute();
    const isRead = (row: (typeof orders)[number]) => (row.details_read_at ?? 0) >= since;
    const left = orders.filter(
      (row) => !isRead(row) && row.waiting === null && row.reported === null,
    );
    refused += left.filter((row) => row.read_seq >= run.readSeq).length;
    const readIds = orders.filter(isRead).map((row) => row.order_id);
    for (const part of parts) {
      const { known, missing } = await countOpen(db, part, readIds, run);
      const before = counts.get(part) ?? { known: 0, missing: 0 };
      counts.set(part, { known: before.known + known, missing: before.missing + missing });
    }
  }
  return { refused, parts: counts };
}

export interface SweepEnd {
  /** Arguments against the sweep's having seen everything, as messages. */
  readonly doubts: readonly string[];
  readonly parts: PartCounts;
}

export async function sweep(
  deps: SweepDeps,
  context: StreamRun,
  wish: SweepWish,
): Promise<SweepEnd> {
  const { db } = deps;
  const { run } = context;
  const request = (orders: readonly SweptOrder[], at: number): Promise<void> =>
    requestReads(deps, context, wish.checkpoint, orders, at);
  const named = (orderIds: readonly number[]) =>
    orderIds.map((orderId) => ({ orderId, isUnread: false }));
  // Open orders are requested as of an earlier time, so that they are read before everything else
  // that waits.
  const span = { since: run.startedAt, now: deps.clock.now() };
  const begunAt = deps.clock.monotonic();
  const read = await ordersRead(db(), run, span);
  const open = await openOrders(db(), span);
  await request(named(open), run.startedAt);
  const closed = await closedOrders(db(), wish, span);
  await request(closed, run.startedAt + 1);
  if (wish.missingMax > 0) {
    const asked = new Set(open);
    const { missing } = await diffAgainstWalk(db(), run);
    const others = missing.filter((orderId) => !asked.has(orderId));
    await request(named(others.slice(0, wish.missingMax)), run.startedAt + 2);
  }
  const { failed, lastError } = await readsTried(deps, context, run.startedAt + 2);
  // The begin is computed again by the current clock, in case it was set back meanwhile.
  const began = deps.clock.now() - Math.ceil(deps.clock.monotonic() - begunAt);
  const since = Math.min(run.startedAt, span.now, began);
  const swept = [...new Set([...read, ...open, ...closed.map(({ orderId }) => orderId)])];
  const { refused, parts } = await lookBack(db(), run, { swept, parts: wish.parts }, since);
  const bad = await quarantinedBySweep(db(), run.runId);
  const doubts = [
    ...(refused > 0
      ? [`${refused} listed orders were refused (incident ${ORDER_UNREADABLE.kind})`]
      : []),
    ...(failed > 0 ? [`${failed} orders could not be read again: ${lastError}`] : []),
    ...(bad > 0 ? [`${bad} rows of deliveries or refunds cannot be read`] : []),
  ];
  return { doubts, parts };
}
