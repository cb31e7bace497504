/**
 * Finds orders that a document may have become. The service has no filter for them, so the order
 * list is walked from the newest order down to the highest id known before the attempt: ids only
 * grow, so the walk passes every order made since. A walk is complete when it has *seen* an order
 * at or below that id, and another one after it, because the last id of a page may be wrong. A list
 * that merely ends proves nothing, since an empty page may be a fault; nor does one with ids out of
 * order. Concurrent searches share one walk.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { V1Client } from '../../client/v1/client.ts';
import { nextCursor, orderNumber, type WalkPlace } from '../../client/v1/orders.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import { isJsonObject } from '../../lib/json.ts';
import { unreadIn } from '../../lib/reading/as-it-came.ts';
import { type Pieces, piecesOf } from './compare.ts';

interface Found {
  readonly orders: readonly SalesOrder[];
  readonly complete: boolean;
  readonly pages: number;
  readonly walkedTo: number | null;
}

export interface Search {
  wants(order: SalesOrder, pieces: Pieces): boolean;
  /**
   * Whether an unreadable order may be the sought one, by its reference; undefined: that is
   * unreadable, too.
   */
  mayBe(reference: string | undefined): boolean;
}

export interface OrderFinder {
  /**
   * Searches the order list from its newest order on.
   * @param floor highest order id known before the attempt; 0 when there was none.
   */
  find(search: Search, floor: number, signal: AbortSignal): Promise<Found>;
}

interface Wish {
  readonly search: Search;
  readonly floor: number;
  readonly signal: AbortSignal;
  readonly orders: SalesOrder[];
  isObscured: boolean;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum of pages in one walk; after them it ends without proof. */
const PAGES_MAX = 20_000;

interface Walk {
  readonly walkedTo: number | null;
  /** Highest order id that the walk has seen; 0: it saw none. */
  readonly newest: number;
  readonly reachedEnd: boolean;
  readonly pages: number;
}

interface Unreadable {
  readonly orderId: number | undefined;
  readonly reference: string | undefined;
}

function unreadable({ raw }: { readonly raw: unknown }): Unreadable {
  const isText = isJsonObject(raw) && typeof raw.reference === 'string';
  return { orderId: orderNumber(raw), reference: isText ? String(raw.reference) : undefined };
}

/**
 * Whether the path is part of the lines, by which orders are recognised: if it is unreadable, the
 * order is obscured.
 */
function isOfLines(path: string): boolean {
  return path.startsWith('orderLineItems');
}

/** Gives each search the orders of a page that it wants. */
async function serve(
  wishes: readonly Wish[],
  rows: readonly SalesOrder[],
  rejects: readonly Unreadable[],
): Promise<void> {
  const unread = rows
    .filter((order) => unreadIn(order).some(isOfLines))
    .map(({ orderId, reference }) => ({ orderId, reference: reference ?? undefined }));
  for (const order of rows) {
    const pieces = piecesOf(order.orderLineItems);
    for (const { search, orders } of wishes) {
      if (search.wants(order, pieces)) orders.push(order);
    }
  }
  for (const wish of wishes) {
    wish.isObscured ||= [...rejects, ...unread].some(
      ({ orderId, reference }) =>
        (orderId === undefined || orderId > wish.floor) && wish.search.mayBe(reference),
    );
  }
  // Comparing many searches with large orders takes time: other work runs between two pages.
  await nextTurn();
}

async function walk(
  v1: Pick<V1Client, 'orders'>,
  wishes: readonly Wish[],
  floor: number,
  signal: AbortSignal,
): Promise<Walk> {
  let place: WalkPlace = {};
  let newest = 0;
  for (let pages = 1; pages <= PAGES_MAX; pages += 1) {
    const { rows, rejects, raws } = await v1.orders(place.before, { priority: 'read', signal });
    const ids = raws.map(orderNumber).filter((id) => id !== undefined);
    newest = Math.max(newest, ...ids);
    // A service that ignores the cursor would be walked for ever.
    const { to, last, outOfOrder } = nextCursor(ids, place);
    const isAstray = outOfOrder !== undefined;
    await serve(wishes, rows, rejects.map(unreadable));
    const seen = { newest, reachedEnd: false, pages };
    if (to === undefined || isAstray) {
      const reachedEnd = !isAstray && raws.length === 0;
      return { ...seen, walkedTo: place.before ?? null, reachedEnd };
    }
    place = { before: to, last };
    if (to <= floor) return { ...seen, walkedTo: to };
  }
  return { newest, walkedTo: null, reachedEnd: false, pages: PAGES_MAX };
}

function foundIn(walked: Walk, { floor, orders, isObscured }: Wish): Found {
  const { newest, walkedTo, reachedEnd, pages } = walked;
  const reached = floor === 0 ? reachedEnd : walkedTo !== null && walkedTo <= floor;
  return { orders, complete: reached && !isObscured && newest >= floor, pages, walkedTo };
}

export function createOrderFinder(v1: Pick<V1Client, 'orders'>): OrderFinder {
  let wishes: Wish[] = [];
  let isWalking = false;

  const walkAll = async (): Promise<void> => {
    isWalking = true;
    while (wishes.length > 0) {
      const asked = wishes;
      wishes = [];
      const floor = Math.min(...asked.map((wish) => wish.floor));
      // All searches belong to one dispatcher: when it stops, none of them waits any longer.
      const signal = AbortSignal.any(asked.map((wish) => wish.signal));
      try {
        const walked = await walk(v1, asked, floor, signal);
        for (const wish of asked) wish.resolve(foundIn(walked, wish));
      } catch (error) {
        for (const wish of asked) wish.reject(error);
      }
    }
    isWalking = false;
  };
  return {
    find(search, floor, signal) {
      return new Promise((resolve, reject) => {
        const own = { orders: [], isObscured: false };
        wishes.push({ search, floor, signal, ...own, resolve, reject });
        // Searches that begin at the same moment share one walk.
        if (!isWalking) queueMicrotask(() => void (isWalking ? undefined : walkAll()));
      });
    },
  };
}
