/**
 * Finds orders that may be a document. The service has no filter for it, so the list is walked from
 * the newest order down to the highest id that was known before the attempt: ids only grow, so
 * that everything made since then is passed on the way. The walk is complete when it has *seen* an
 * order at or below that id, and another behind it, for the last one may have a wrong number; a
 * list that merely ends proves nothing, because an empty page may be a fault, nor does one whose
 * numbers are out of their order. One walk serves all who ask at the same time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { V1Client } from '../../client/v1/client.ts';
import { descentOf, orderNumber, type WalkPlace } from '../../client/v1/orders.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import { isJsonObject } from '../../lib/json.ts';
import { unreadIn } from '../../lib/reading/as-it-came.ts';
import { type Pieces, piecesOf } from './compare.ts';

interface Found {
  /** Those that were wanted. */
  readonly orders: readonly SalesOrder[];
  /** Nothing above the floor can have been missed. */
  readonly complete: boolean;
  readonly pages: number;
  /** The lowest id that was seen. */
  readonly walkedTo: number | null;
}

/** Whom a walk looks for. */
export interface Search {
  /** Whether it may be the one that is looked for. */
  wants(order: SalesOrder, pieces: Pieces): boolean;
  /** The same of a row that cannot be read, by its reference; undefined: that cannot be read. */
  mayBe(reference: string | undefined): boolean;
}

export interface OrderFinder {
  /** `floor`: the highest order id known before the attempt; 0 when there was none. */
  find(search: Search, floor: number, signal: AbortSignal): Promise<Found>;
}

interface Wish {
  readonly search: Search;
  readonly floor: number;
  readonly signal: AbortSignal;
  readonly orders: SalesOrder[];
  /** A row that could not be read may be it. */
  isObscured: boolean;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** More pages than this are no proof any more. */
const PAGES_MAX = 20_000;

interface Walk {
  readonly walkedTo: number | null;
  /** The highest id that was seen; 0: none was. */
  readonly newest: number;
  readonly reachedEnd: boolean;
  readonly pages: number;
}

/** What is left of a row that cannot be read. */
interface Unreadable {
  readonly orderId: number | undefined;
  readonly reference: string | undefined;
}

function unreadable({ raw }: { readonly raw: unknown }): Unreadable {
  const isText = isJsonObject(raw) && typeof raw.reference === 'string';
  return { orderId: orderNumber(raw), reference: isText ? String(raw.reference) : undefined };
}

/** What an order is known by. */
function isOfLines(path: string): boolean {
  return path.startsWith('orderLineItems');
}

/** Gives each wish what it wants of a page. */
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
  // Many doubts over orders of thousands of lines: others have their turn between two pages.
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
    // A service that overlooks the cursor would be walked for ever.
    const { to, last, astray } = descentOf(ids, place);
    const isAstray = astray !== undefined;
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
      // They all belong to one dispatcher: when it stops, none of them waits any longer.
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
        // Those who ask in the same moment walk together.
        if (!isWalking) queueMicrotask(() => void (isWalking ? undefined : walkAll()));
      });
    },
  };
}
