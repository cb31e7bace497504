/**
 * Finds orders by their reference. The service has no filter for it, so the list is walked from
 * the newest order down to the highest id that was known before the attempt: ids only grow, so
 * that everything made since then is passed on the way. The walk is complete when it has *seen* an
 * order at or below that id, and another behind it, for the last one may have a wrong number; a
 * list that merely ends proves nothing, because an empty page may be a fault, nor does one whose
 * numbers are out of their order. One walk serves all who ask at the same time.
 */
import { sql } from 'kysely';
import type { V1Client } from '../../client/v1/client.ts';
import { descentOf, orderNumber, type WalkPlace } from '../../client/v1/orders.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { Db } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { referenceKey } from '../documents.ts';

interface Found {
  readonly orders: readonly SalesOrder[];
  /** Nothing above the floor can have been missed. */
  readonly complete: boolean;
  readonly pages: number;
  /** The lowest id that was seen. */
  readonly walkedTo: number | null;
}

export interface OrderFinder {
  /** `floor`: the highest order id known before the attempt; 0 when there was none. */
  find(reference: string, floor: number, signal: AbortSignal): Promise<Found>;
}

interface Wish {
  readonly key: string;
  readonly floor: number;
  readonly signal: AbortSignal;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** More orders than these with one reference tell a person nothing more. */
const MIRRORED_MAX = 10;

/**
 * Orders that the mirror has under this reference, whatever its letters: there for certain, others
 * not excluded. NOCASE knows the letters of ASCII; of others it takes all small or all capital.
 */
export async function mirroredOrders(db: Db, reference: string): Promise<number[]> {
  const key = referenceKey(reference);
  const rows = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where(sql`reference collate nocase`, 'in', [key, key.toUpperCase()])
    .where('deleted_at', 'is', null)
    .orderBy('order_id')
    .limit(MIRRORED_MAX)
    .execute();
  return rows.map((row) => row.order_id);
}

/** The id of the order that was handed in or mirrored under this reference. */
export async function orderIdOf(db: Db, reference: string): Promise<number | undefined> {
  const own = await db
    .selectFrom('outbox')
    .select(['order_id', 'result'])
    .where('kind', '=', 'order')
    .where('reference_key', '=', referenceKey(reference))
    // Its number may be another order's by now.
    .where('outbox_id', 'not in', (eb) => eb.selectFrom('outbox_lost').select('outbox_id'))
    .executeTakeFirst();
  const known = own?.order_id ?? readResult(own?.result ?? null).orderId;
  if (known) return known;
  const [first] = await mirroredOrders(db, reference);
  return first;
}

/** More pages than this are no proof any more. */
const PAGES_MAX = 20_000;

interface Walk {
  readonly byKey: ReadonlyMap<string, readonly SalesOrder[]>;
  /** References of rows that could not be read; undefined: one of them had none either. */
  readonly unreadable: ReadonlySet<string> | undefined;
  readonly walkedTo: number | null;
  /** The highest id that was seen; 0: none was. */
  readonly newest: number;
  readonly reachedEnd: boolean;
  readonly pages: number;
}

/** The reference of a row that could not be read otherwise. */
function rawReference(raw: unknown): string | undefined {
  return isJsonObject(raw) && typeof raw.reference === 'string'
    ? referenceKey(raw.reference)
    : undefined;
}

async function walk(
  v1: Pick<V1Client, 'orders'>,
  keys: ReadonlySet<string>,
  floor: number,
  signal: AbortSignal,
): Promise<Walk> {
  const byKey = new Map<string, SalesOrder[]>();
  let unreadable: Set<string> | undefined = new Set();
  let place: WalkPlace = {};
  let newest = 0;
  for (let pages = 1; pages <= PAGES_MAX; pages += 1) {
    const { rows, rejects, raws } = await v1.orders(place.before, { priority: 'read', signal });
    const ids = raws.map(orderNumber).filter((id) => id !== undefined);
    newest = Math.max(newest, ...ids);
    // A service that overlooks the cursor would be walked for ever.
    const { to, last, astray } = descentOf(ids, place);
    const isAstray = astray !== undefined;
    for (const { raw } of rejects) {
      const reference = rawReference(raw);
      if (reference === undefined) unreadable = undefined;
      else unreadable?.add(reference);
    }
    for (const order of rows) {
      const key = referenceKey(order.reference ?? '');
      if (keys.has(key)) byKey.set(key, [...(byKey.get(key) ?? []), order]);
    }
    const seen = { byKey, unreadable, newest, reachedEnd: false, pages };
    if (to === undefined || isAstray) {
      const reachedEnd = !isAstray && raws.length === 0;
      return { ...seen, walkedTo: place.before ?? null, reachedEnd };
    }
    place = { before: to, last };
    if (to <= floor) return { ...seen, walkedTo: to };
  }
  const pages = PAGES_MAX;
  return { byKey, unreadable, newest, walkedTo: null, reachedEnd: false, pages };
}

function foundIn(walked: Walk, { key, floor }: Wish): Found {
  const { byKey, unreadable, newest, walkedTo, reachedEnd, pages } = walked;
  const reached = floor === 0 ? reachedEnd : walkedTo !== null && walkedTo <= floor;
  const readable = unreadable !== undefined && !unreadable.has(key);
  const orders = byKey.get(key) ?? [];
  return { orders, complete: reached && readable && newest >= floor, pages, walkedTo };
}

export function createOrderFinder(v1: Pick<V1Client, 'orders'>): OrderFinder {
  let wishes: Wish[] = [];
  let isWalking = false;

  const walkAll = async (): Promise<void> => {
    isWalking = true;
    while (wishes.length > 0) {
      const asked = wishes;
      wishes = [];
      const keys = new Set(asked.map(({ key }) => key));
      const floor = Math.min(...asked.map((wish) => wish.floor));
      // They all belong to one dispatcher: when it stops, none of them waits any longer.
      const signal = AbortSignal.any(asked.map((wish) => wish.signal));
      try {
        const walked = await walk(v1, keys, floor, signal);
        for (const wish of asked) wish.resolve(foundIn(walked, wish));
      } catch (error) {
        for (const wish of asked) wish.reject(error);
      }
    }
    isWalking = false;
  };
  return {
    find(reference, floor, signal) {
      return new Promise((resolve, reject) => {
        wishes.push({ key: referenceKey(reference), floor, signal, resolve, reject });
        // Those who ask in the same moment walk together.
        if (!isWalking) queueMicrotask(() => void (isWalking ? undefined : walkAll()));
      });
    },
  };
}
