/**
 * Second half of a walk over the orders: requests looks at orders whose deliveries and refunds may
 * have changed, because these are listed per order only. Open orders go first, the oldest before
 * the others; then closed ones (choose-looks.ts). The inbox's order refetcher makes the reads, a
 * few at a time and after those that events ask for; the sweep waits until each was tried.
 */

import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import {
  type OrderBook,
  ordersReadAt,
  readBook,
  spentWith,
  writeBook,
} from '../../mirror/order-book.ts';
import {
  ORDER_UNREADABLE,
  type RefetchBacklog,
  refetchBacklog,
  requestRefetches,
} from '../../mirror/refetch-queue.ts';
import { diffAgainstWalk, orderSlices } from '../../mirror/sales-order.ts';
import type { Db } from '../../store/store.ts';
import type { OrderLooks } from '../order-looks.ts';
import type { Run } from '../run/run-repository.ts';
import type { StreamRun } from '../stream.ts';
import {
  type ChosenLook,
  closedLooks,
  type OpenLooks,
  openLooks,
  type Span,
  wasRead,
  wholeLook,
} from './choose-looks.ts';
import { denseFrom, oldestOf, type Turn } from './order-book.ts';
import { countOpen, type OrderPart, type PartCount } from './order-parts.ts';

export interface SweepDeps {
  readonly db: () => Db;
  readonly clock: Clock;
  /** Called when order reads were requested. */
  readonly onRefetchRequested: () => void;
  readonly looks?: Pick<OrderLooks, 'walked' | 'spend' | 'takeSpent'> | undefined;
}

interface SweepWish {
  /** Checkpoint of the run during the sweep. */
  readonly checkpoint: JsonObject;
  /** Lowest order number that the walk has seen. */
  readonly bottom: number;
  /** Freshness of the looks: at active orders (the stream's), and at calm ones. */
  readonly freshnessMs: number;
  readonly calmFreshnessMs: number;
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

/**
 * The same for a full sweep, which waits for them before it requests more: `orders` comes in
 * between, and would else wait for thousands of its reads.
 */
const REQUESTS_PER_PAGE_FULL = 200;

/** Milliseconds between two looks of the sweep at the remaining reads. */
const LOOK_MS = 100;

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

/**
 * Cause of a read that a sweep requests, with the time of the order's look before, if the last
 * complete sweep did not look at it; the view `event_coverage` parses it.
 */
function causeOf(runId: number, look: ChosenLook, completeAt: number): string {
  if (look.isUnread) return `sweep:${runId}:first`;
  const { lookedAt } = look;
  if (lookedAt === null || lookedAt >= completeAt) return `sweep:${runId}`;
  return `sweep:${runId}:since:${lookedAt}`;
}

/**
 * Requests reads of the orders, a slice at a time. They count as requested at `at` and are due now,
 * because the run may have begun before the clock was set back.
 */
async function requestReads(
  deps: SweepDeps,
  { run, page }: StreamRun,
  checkpoint: JsonObject,
  orders: readonly ChosenLook[],
  at: number,
  onPage: { readonly rows: number; readonly requested: () => Promise<unknown> },
): Promise<void> {
  const completeAt = await ordersReadAt(deps.db());
  for (let start = 0; start < orders.length; start += onPage.rows) {
    const requests = orders.slice(start, start + onPage.rows).map((one) => {
      const { orderId, look, refunds } = one;
      return { orderId, look, refunds, cause: causeOf(run.runId, one, completeAt) };
    });
    await page(checkpoint, async (tx) => {
      const now = deps.clock.now();
      const early = requests.map((one) => ({ ...one, headStartMs: Math.max(0, now - at) }));
      await requestRefetches(tx, early, now);
      return { rows: 0, changed: 0, unchanged: 0, quarantined: 0, bytes: 0 };
    });
    deps.onRefetchRequested();
    await onPage.requested();
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
    .where((eb) =>
      eb.or([
        eb('source', '=', `refresh:sweep:${runId}`),
        eb('source', 'like', `refresh:sweep:${runId}:%`),
      ]),
    )
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

/** Default of the time between two sweeps, of which the first one takes its part. */
const USUAL_MS = 20 * 60_000;
/** Multiple of the freshness for which the rotation catches up after a pause, and no more. */
const CATCH_UP = 2;

/** Part of the rotation for this run; a full one takes what `orders` has left lying. */
function turnOf(
  book: OrderBook | undefined,
  { startedAt }: Run,
  { closed, freshnessMs, calmFreshnessMs: ageMsMax }: SweepWish,
): Turn {
  const since = startedAt;
  if (closed === 'all') return { elapsedMs: ageMsMax, ageMsMax, since, before: since - ageMsMax };
  const gone = startedAt - (book?.startedAt ?? Number.NaN);
  const elapsedMs = gone > 0 ? Math.min(gone, CATCH_UP * freshnessMs) : USUAL_MS;
  return { elapsedMs, ageMsMax, since, before: since };
}

/** Notes what the sweep of `orders` knows of the book, for the status and the doctor. */
async function noteBook(
  { db, clock, looks }: SweepDeps,
  { startedAt }: Run,
  { active, calm, activeRequests, roundRequests }: OpenLooks,
  before: OrderBook | undefined,
): Promise<void> {
  const book = {
    startedAt,
    active: active.length,
    calm,
    activeLookedAt: await oldestOf(db(), active),
    activeRequests,
    roundRequests,
    denseFrom: await denseFrom(db(), active),
    spent: spentWith(before?.spent ?? [], looks?.takeSpent(), clock.now()),
  };
  await writeBook(db(), book, clock);
}

export async function sweep(
  deps: SweepDeps,
  context: StreamRun,
  wish: SweepWish,
): Promise<SweepEnd> {
  const { db } = deps;
  const { run } = context;
  const isFull = wish.closed === 'all';
  const tried = (): Promise<RefetchBacklog> => readsTried(deps, context, run.startedAt + 2);
  const onPage = isFull
    ? { rows: REQUESTS_PER_PAGE_FULL, requested: tried }
    : { rows: REQUESTS_PER_PAGE, requested: async () => undefined };
  const request = (orders: readonly ChosenLook[], at: number): Promise<void> =>
    requestReads(deps, context, wish.checkpoint, orders, at, onPage);
  // Open orders are requested as of an earlier time, so that they are read before everything else
  // that waits.
  const span = { since: run.startedAt, now: deps.clock.now() };
  const begunAt = deps.clock.monotonic();
  const read = await ordersRead(db(), run, span);
  const book = await readBook(db());
  const turn = turnOf(book, run, wish);
  const { bottom, parts } = wish;
  const open = await openLooks(db(), run, { isFull, bottom, turn, lists: parts.length }, span);
  await request(open.looks, run.startedAt);
  const closed = await closedLooks(db(), wish.closed, wish.closedMax, span);
  await request(closed, run.startedAt + 1);
  if (wish.missingMax > 0) {
    const asked = new Set(open.looks.map(({ orderId }) => orderId));
    const { missing } = await diffAgainstWalk(db(), run);
    const others = missing.filter((orderId) => !asked.has(orderId)).slice(0, wish.missingMax);
    await request(others.map(wholeLook), run.startedAt + 2);
  }
  const { failed, lastError } = await tried();
  // The begin is computed again by the current clock, in case it was set back meanwhile.
  const began = deps.clock.now() - Math.ceil(deps.clock.monotonic() - begunAt);
  const since = Math.min(run.startedAt, span.now, began);
  const asked = [...open.looks, ...closed].map(({ orderId }) => orderId);
  const swept = [...new Set([...read, ...asked])];
  const { refused, parts: counts } = await lookBack(db(), run, { swept, parts }, since);
  if (!isFull) await noteBook(deps, run, open, book);
  const bad = await quarantinedBySweep(db(), run.runId);
  const doubts = [
    ...(refused > 0
      ? [`${refused} listed orders were refused (incident ${ORDER_UNREADABLE.kind})`]
      : []),
    ...(failed > 0 ? [`${failed} orders could not be read again: ${lastError}`] : []),
    ...(bad > 0 ? [`${bad} rows of deliveries or refunds cannot be read`] : []),
  ];
  return { doubts, parts: counts };
}
