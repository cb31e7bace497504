/**
 * The streams `orders` and `ordersFull`: walk down from the newest order, then have the orders
 * read again whose deliveries and refunds may have changed (order-sweep.ts). `orders` ends its
 * walk at the first page below which everything is known and closed. `ordersFull` walks to the
 * very first order and knows then which orders are gone: the service never removes one, so each of
 * them is asked for by its number, and marked as deleted behind the fuse when the next full walk
 * misses it too.
 *
 * What can go wrong: an order that cannot be understood is put aside and the walk goes on below
 * it; a page without a number that can be read ends the walk, which then counts for nothing. So
 * does one in which a number is out of its order, but that walk goes on by the others. A number at
 * the end of a page could be any lower one: each page begins with the last order of the one before.
 */
import type { V1Client } from '../../client/v1/client.ts';
import { descentOf, isOrderNumber, orderNumber, type WalkPlace } from '../../client/v1/orders.ts';
import type { JsonObject } from '../../lib/json.ts';
import { quarantineRows } from '../../mirror/quarantine.ts';
import { endUnlisted } from '../../mirror/refresh.ts';
import { ordersCensus, SALES_ORDER, writeOrders } from '../../mirror/sales-order.ts';
import { writeWalk } from '../../mirror/walks.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import type { ReadAlso } from '../read-order.ts';
import type { Run } from '../run/ledger.ts';
import {
  doubtsIn,
  type Fuse,
  isBeyond,
  type Stream,
  type StreamEnd,
  type StreamRun,
} from '../stream.ts';
import { isGone, missingOpen, orderParts, type PartAddresses } from './order-parts.ts';
import { lowestOpenOrder, type SweepDeps, type SweepEnd, sweep } from './order-sweep.ts';

export interface OrdersDeps extends SweepDeps {
  readonly v1: Pick<V1Client, 'orders'> & PartAddresses;
}

type OrdersPage = Awaited<ReturnType<V1Client['orders']>>;

interface WalkEnd {
  /** The newest order that the walk saw. */
  readonly top: number | undefined;
  /** The oldest one; 0: it went to the very first. */
  readonly bottom: number;
  readonly doubts: readonly string[];
}

/** Closed orders that `orders` has read in one run: new ones, and those that have changed. */
const CLOSED_PER_RUN = 500;

/** The number of an order; it and all below were seen by some walk. */
const KNOWN_TO_KEY = 'orders_known_to';

async function knownTo(db: Db): Promise<number> {
  return Number((await readState(db, KNOWN_TO_KEY)) ?? 0);
}

/** Less the order that the page before had, too. */
function without(last: number | undefined, { rows, rejects, ...page }: OrdersPage): OrdersPage {
  return {
    ...page,
    rows: rows.filter(({ orderId }) => orderId !== last),
    rejects: rejects.filter(({ raw }) => last === undefined || orderNumber(raw) !== last),
  };
}

interface Place extends WalkPlace {
  /** The newest order that the walk saw. */
  readonly top?: number | undefined;
  /** The first number that was out of its order. */
  readonly astray?: number | undefined;
}

function placeIn({ before, last, top, astray }: JsonObject): Place {
  const numberOf = (id: unknown): number | undefined => (isOrderNumber(id) ? id : undefined);
  const [at, end, newest, odd] = [before, last, top, astray].map(numberOf);
  return { before: at, last: end, top: newest, astray: odd };
}

const OUT_OF_ORDER = 'orders are listed out of their order';

function endOf({ top, astray }: Place, bottom: number, ...doubts: readonly string[]): WalkEnd {
  if (astray === undefined || doubts.length > 0) return { top, bottom, doubts };
  return { top, bottom, doubts: [`${OUT_OF_ORDER}, near ${astray}`] };
}

async function writePage(
  { page }: StreamRun,
  checkpoint: JsonObject,
  list: OrdersPage,
  keyless: number,
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
      keyless,
    };
  });
  return added;
}

/** Walks down until everything below `floor` is known; 0: to the very first order. */
async function walk(deps: OrdersDeps, context: StreamRun, floor: number): Promise<WalkEnd> {
  const { run, call } = context;
  let place = placeIn(run.checkpoint);
  for (;;) {
    const { before, last } = place;
    let list = await deps.v1.orders(before, call);
    // An answer that was cut short must not look like the end: the first order is seen twice.
    if (list.raws.length === 0 && before !== undefined) list = await deps.v1.orders(before, call);
    const ids = list.raws.map(orderNumber).filter(isOrderNumber);
    const isEnd = list.raws.length === 0;
    if (ids.length === 0 && !isEnd) {
      await writePage(context, { ...place }, list, 0);
      return endOf(place, 0, 'a whole page of orders cannot be understood');
    }
    const { to, ...descent } = descentOf(ids, place);
    const astray = place.astray ?? descent.astray;
    const top = place.top ?? (isEnd ? undefined : Math.max(...ids));
    place = { before: to ?? before, last: descent.last, top, astray };
    if (isEnd) return endOf(place, 0);
    // Only a walk over everything says what is gone, and needs to know each number.
    const keyless = floor === 0 ? list.raws.length - ids.length : 0;
    const added = await writePage(context, { ...place }, without(last, list), keyless);
    if (to === undefined) return endOf(place, before ?? 0, 'the list of orders does not go down');
    if (added === 0 && to <= floor) return endOf(place, to);
  }
}

interface Walked {
  readonly walked: true;
  readonly bottom: number;
  readonly doubts: readonly string[];
}

/** The walk, or what an attempt before this one has found. */
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
  const floor = name === 'orders' ? Math.min(known, await lowestOpenOrder(db)) : 0;
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

/** Known orders that are missing from the list in a number that no removal explains. */
async function suspicionsOfWalk(
  deps: OrdersDeps,
  run: Run,
  bottom: number,
  fuse: Fuse,
): Promise<readonly string[]> {
  const { live, missing } = await ordersCensus(deps.db(), run, bottom);
  const { length } = missing;
  if (!isBeyond(fuse, length, live)) return [];
  return [`${length} of ${live} known orders are missing from the list`];
}

function suspicionsOfSweep({ parts }: SweepEnd, fuse: Fuse): readonly string[] {
  return [...parts].flatMap(([{ words }, { known, missing }]) =>
    isBeyond(fuse, missing, known)
      ? [`${missing} of ${known} ${words} are missing from their orders`]
      : [],
  );
}

export interface OrdersOptions {
  readonly name: 'orders' | 'ordersFull';
  readonly fuse: Fuse;
  /** `ordersFull`: the most closed orders that are read again in one run. */
  readonly closedOrders: number;
  /** What is read with each order. */
  readonly also: ReadAlso;
}

export function createOrdersStream(deps: OrdersDeps, options: OrdersOptions): Stream {
  const { name, also } = options;
  const { refunds, pendingRefunds } = also;
  const parts = orderParts(also);
  const isFull = name === 'ordersFull';
  return {
    name,
    // What was read without its refunds does not say which of them are gone.
    options: { refunds, pendingRefunds },
    // A page is below a number, so rows cannot slip; but nothing counts them either.
    ...(isFull
      ? {
          list: {
            entity: SALES_ORDER,
            fuse: options.fuse,
            isPaged: true,
            isLong: false,
            census: ordersCensus,
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
      // One that went by the other numbers has seen the whole list all the same.
      const isWhole = doubts.every((doubt) => doubt.startsWith(OUT_OF_ORDER));
      // Before the sweep: what it finds by number is missing from the list all the same. What a
      // walk that went astray has not seen is not missing, and must not be there to be released.
      const ofWalk = isWhole ? await suspicionsOfWalk(deps, context.run, bottom, options.fuse) : [];
      const swept = await sweep(deps, context, {
        checkpoint: { ...walked },
        closed: isFull ? 'all' : 'changed',
        closedMax: isFull ? options.closedOrders : CLOSED_PER_RUN,
        // More than these are not marked unasked.
        missingMax: isFull && isSound ? options.fuse.absolute : 0,
        parts,
      });
      const ofSweep = isSound ? suspicionsOfSweep(swept, options.fuse) : [];
      return {
        expectedRows: undefined,
        suspicion: [...ofWalk, ...ofSweep].join('; ') || undefined,
        doubts: [...doubts, ...swept.doubts],
      };
    },
  };
}
