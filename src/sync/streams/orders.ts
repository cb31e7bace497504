/**
 * The streams `orders` and `ordersFull`: walk down from the newest order, then request reads of
 * orders whose deliveries and refunds may have changed (order-sweep.ts). `orders` ends at the first
 * page below which everything is known and few orders are active; changes of rows below are found
 * by the looks of the sweep. `ordersFull` walks to the first order and so
 * learns which orders are gone: the service never removes one, so each is requested by number, and
 * marked as deleted behind the deletion guard when the next full walk misses it too. An unreadable
 * order is quarantined and the walk continues; a page without any readable number ends the walk as
 * failed; a number out of order lets the walk continue but casts doubt on it. Each page starts with
 * the last order of the page before, because a number at a page's end could be any lower one.
 */
import type { V1Client } from '../../client/v1/client.ts';
import { isOrderNumber, nextCursor, orderNumber, type WalkPlace } from '../../client/v1/orders.ts';
import type { JsonObject } from '../../lib/json.ts';
import { readBook } from '../../mirror/order-book.ts';
import { quarantineRows } from '../../mirror/quarantine.ts';
import { endUnlisted } from '../../mirror/refetch-queue.ts';
import { diffAgainstWalk, SALES_ORDER, writeOrders } from '../../mirror/sales-order.ts';
import { writeWalk } from '../../mirror/walks.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import type { ReadAlso } from '../read-order.ts';
import type { Run } from '../run/run-repository.ts';
import {
  type DeletionGuard,
  doubtsIn,
  isBeyond,
  type Stream,
  type StreamEnd,
  type StreamRun,
} from '../stream.ts';
import { isGone, missingOpen, orderParts, type PartAddresses } from './order-parts.ts';
import { type SweepDeps, type SweepEnd, sweep } from './order-sweep.ts';

export interface OrdersDeps extends SweepDeps {
  readonly v1: Pick<V1Client, 'orders'> & PartAddresses;
}

type OrdersPage = Awaited<ReturnType<V1Client['orders']>>;

interface WalkEnd {
  /** Number of the newest order that the walk saw. */
  readonly top: number | undefined;
  /** Number of the oldest order that the walk saw; 0: it reached the first. */
  readonly bottom: number;
  readonly doubts: readonly string[];
}

/** Maximum number of closed orders, new and changed ones, that `orders` reads per run. */
const CLOSED_PER_RUN = 500;

const FRESHNESS_MS = 30 * 60_000;
const CALM_FRESHNESS_MS = 86_400_000;

/**
 * Key of the state that keeps the highest order number of a sound walk: this number and all below
 * were seen.
 */
const KNOWN_TO_KEY = 'orders_known_to';

async function knownTo(db: Db): Promise<number> {
  return Number((await readState(db, KNOWN_TO_KEY)) ?? 0);
}

/** Removes the last order of the previous page, with which each page begins. */
function without(last: number | undefined, { rows, rejects, ...page }: OrdersPage): OrdersPage {
  return {
    ...page,
    rows: rows.filter(({ orderId }) => orderId !== last),
    rejects: rejects.filter(({ raw }) => last === undefined || orderNumber(raw) !== last),
  };
}

interface Place extends WalkPlace {
  /** Number of the newest order that the walk saw. */
  readonly top?: number | undefined;
  /** First order number that was out of order. */
  readonly outOfOrder?: number | undefined;
}

function placeIn({ before, last, top, outOfOrder }: JsonObject): Place {
  const numberOf = (id: unknown): number | undefined => (isOrderNumber(id) ? id : undefined);
  const [at, end, newest, odd] = [before, last, top, outOfOrder].map(numberOf);
  return { before: at, last: end, top: newest, outOfOrder: odd };
}

const OUT_OF_ORDER = 'orders are listed out of their order';

function endOf({ top, outOfOrder }: Place, bottom: number, ...doubts: readonly string[]): WalkEnd {
  if (outOfOrder === undefined || doubts.length > 0) return { top, bottom, doubts };
  return { top, bottom, doubts: [`${OUT_OF_ORDER}, near ${outOfOrder}`] };
}

async function writePage(
  { page }: StreamRun,
  checkpoint: JsonObject,
  list: OrdersPage,
  unreadableKeys: number,
): Promise<number> {
  let added = 0;
  await page(checkpoint, async (tx, provenance) => {
    const counts = await writeOrders(tx, list.rows, provenance);
    await quarantineRows(tx, 'sales_order', list.rejects, provenance);
    added = counts.inserted;
    return {
      rows: list.rows.length + list.rejects.length,
      changed: counts.inserted + counts.changed,
      unchanged: counts.unchanged,
      quarantined: list.rejects.length,
      bytes: 0,
      unreadableKeys,
    };
  });
  return added;
}

/** Walks down the list of orders until everything below `floor` is known; 0: to the first order. */
async function walk(deps: OrdersDeps, context: StreamRun, floor: number): Promise<WalkEnd> {
  const { run, call } = context;
  let place = placeIn(run.checkpoint);
  for (;;) {
    const { before, last } = place;
    deps.looks?.spend(1);
    let list = await deps.v1.orders(before, call);
    // An empty page is requested twice, because an answer that was cut short must not look like the
    // list's end.
    if (list.raws.length === 0 && before !== undefined) list = await deps.v1.orders(before, call);
    const ids = list.raws.map(orderNumber).filter(isOrderNumber);
    const isEnd = list.raws.length === 0;
    if (ids.length === 0 && !isEnd) {
      await writePage(context, { ...place }, list, 0);
      return endOf(place, 0, 'a whole page of orders cannot be understood');
    }
    const { to, ...step } = nextCursor(ids, place);
    const outOfOrder = place.outOfOrder ?? step.outOfOrder;
    const top = place.top ?? (isEnd ? undefined : Math.max(...ids));
    place = { before: to ?? before, last: step.last, top, outOfOrder };
    if (isEnd) return endOf(place, 0);
    // Only a full walk decides which orders are gone, and for that needs each number.
    const unreadableKeys = floor === 0 ? list.raws.length - ids.length : 0;
    const added = await writePage(context, { ...place }, without(last, list), unreadableKeys);
    if (to === undefined) return endOf(place, before ?? 0, 'the list of orders does not go down');
    if (added === 0 && to <= floor) return endOf(place, to);
  }
}

interface Walked {
  readonly walked: true;
  readonly bottom: number;
  readonly doubts: readonly string[];
}

/**
 * Walks over the orders, or gives the result of the walk that an earlier attempt of the run
 * finished.
 */
async function walkOnce(
  deps: OrdersDeps,
  context: StreamRun,
  name: OrdersOptions['name'],
): Promise<Walked> {
  const { checkpoint } = context.run;
  const { walked, bottom: reached } = checkpoint;
  if (walked === true) {
    const doubts = doubtsIn(checkpoint);
    return { walked, bottom: isOrderNumber(reached) ? reached : 0, doubts };
  }
  const db = deps.db();
  const known = await knownTo(db);
  const dense = (await readBook(db))?.denseFrom ?? Number.POSITIVE_INFINITY;
  const floor = name === 'orders' ? Math.min(known, dense) : 0;
  deps.looks?.walked(context.run.readSeq);
  const { top = 0, bottom, doubts } = await walk(deps, context, floor);
  const end: Walked = { walked: true, bottom, doubts };
  await context.page({ ...end }, async (tx) => {
    const knownNow = String(Math.max(top, known));
    if (doubts.length === 0) {
      await writeState(tx, KNOWN_TO_KEY, knownNow, deps.clock);
      const { readSeq, startedAt } = context.run;
      await writeWalk(tx, name, { readSeq, startedAt, bottom }, deps.clock);
    }
    return { rows: 0, changed: 0, unchanged: 0, quarantined: 0, bytes: 0 };
  });
  return end;
}

/** Messages if more known orders are missing from the list than the deletion guard allows. */
async function suspicionsOfWalk(
  deps: OrdersDeps,
  run: Run,
  bottom: number,
  deletionGuard: DeletionGuard,
): Promise<readonly string[]> {
  const { live, missing } = await diffAgainstWalk(deps.db(), run, bottom);
  const { length } = missing;
  if (!isBeyond(deletionGuard, length, live)) return [];
  return [`${length} of ${live} known orders are missing from the list`];
}

function suspicionsOfSweep({ parts }: SweepEnd, deletionGuard: DeletionGuard): readonly string[] {
  return [...parts].flatMap(([{ words }, { known, missing }]) =>
    isBeyond(deletionGuard, missing, known)
      ? [`${missing} of ${known} ${words} are missing from their orders`]
      : [],
  );
}

export interface OrdersOptions {
  readonly name: 'orders' | 'ordersFull';
  readonly deletionGuard: DeletionGuard;
  /** Maximum number of closed orders that `ordersFull` reads per run. */
  readonly closedOrders: number;
  /** Maximum age of the looks at active orders, ms; default: half an hour. */
  readonly freshnessMs?: number;
  /** Maximum age of a look at any open order, ms; default: a day. */
  readonly calmFreshnessMs?: number;
  /** Lists that are read with each order. */
  readonly also: ReadAlso;
}

export function createOrdersStream(deps: OrdersDeps, options: OrdersOptions): Stream {
  const { name, also } = options;
  const { refunds, pendingRefunds } = also;
  const parts = orderParts(also);
  const isFull = name === 'ordersFull';
  return {
    name,
    // The lists read with each order are options, because orders read without refunds do not show
    // which refunds are gone.
    options: { refunds, pendingRefunds },
    // Each page starts below a number, so rows cannot slip; but the service counts none, so the
    // list is treated as paged.
    ...(isFull
      ? {
          list: {
            entity: SALES_ORDER,
            deletionGuard: options.deletionGuard,
            isPaged: true,
            isLong: false,
            diff: diffAgainstWalk,
            settled: (db, startedAt) => endUnlisted(db, startedAt, deps.clock.now()),
          },
        }
      : {}),
    others: parts.map((part) => ({
      entity: part.entity,
      missing: (db, run) => missingOpen(db, part, run),
      isGone: (key, call) => isGone(deps, part, key, call),
    })),
    async pull(context): Promise<StreamEnd> {
      const walked = await walkOnce(deps, context, name);
      const { bottom, doubts } = walked;
      const isSound = doubts.length === 0;
      // A walk that continued past an out-of-order number has still seen the whole list.
      const isWhole = doubts.every((doubt) => doubt.startsWith(OUT_OF_ORDER));
      // Missing orders are counted before the sweep, because one that the sweep finds by number is
      // still missing from the list. A walk that ended early is not checked, because orders that it
      // has not seen are not missing.
      const ofWalk = isWhole
        ? await suspicionsOfWalk(deps, context.run, bottom, options.deletionGuard)
        : [];
      const swept = await sweep(deps, context, {
        checkpoint: { ...walked },
        bottom,
        freshnessMs: options.freshnessMs ?? FRESHNESS_MS,
        calmFreshnessMs: options.calmFreshnessMs ?? CALM_FRESHNESS_MS,
        closed: isFull ? 'all' : 'changed',
        closedMax: isFull ? options.closedOrders : CLOSED_PER_RUN,
        // The deletion guard allows no more than these to be marked as deleted.
        missingMax: isFull && isSound ? options.deletionGuard.absolute : 0,
        parts,
      });
      const ofSweep = isSound ? suspicionsOfSweep(swept, options.deletionGuard) : [];
      return {
        expectedRows: undefined,
        suspicion: [...ofWalk, ...ofSweep].join('; ') || undefined,
        doubts: [...doubts, ...swept.doubts],
      };
    },
  };
}
