/**
 * What happens at the account while the sweeps go on, most of it told by events: orders arrive, are
 * packed in their window or before it, change and are canceled; deliveries are accepted and ship.
 * Each change whose event was lost is watched until the mirror has it.
 */
import type { Random } from '../../../src/lib/random.ts';
import { requestRefetches } from '../../../src/mirror/refetch-queue.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import type { Account, Order } from './account.ts';
import type { LeapingClock } from './clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Happenings a day in a book of 30,000 orders; in another one as many as it is larger. */
const PER_DAY = { placed: 500, packed: 400, packedEarly: 100, edited: 300, canceled: 50 } as const;
const BOOK = 30_000;
const EVENT_MS = 2_000;
const ACCEPT_MS = MINUTE;
const SHIP_MS = 6 * HOUR;

/** Allowed ms until the mirror has what no event told, and the words for it. */
const LIMITS = {
  soon: { ms: 25 * MINUTE, words: 'packings in their window and new orders' },
  later: { ms: 24 * HOUR, words: 'other changes' },
} as const;
type Limit = keyof typeof LIMITS;

interface Watched {
  readonly order: Order;
  readonly what: string;
  readonly limit: Limit;
  readonly at: number;
  readonly isSeen: (row: MirroredOrder) => boolean;
}

interface MirroredOrder {
  readonly status: string;
  readonly completed: number;
  readonly comment: string | null;
  readonly delivery: string | null;
  readonly tracking: string | null;
}

interface Deps {
  readonly store: SqliteStore;
  readonly clock: LeapingClock;
  readonly random: Random;
  readonly account: Account;
  /** Share of the events that get lost. */
  readonly lost: number;
  readonly wakeUp: () => void;
}

function mirroredOrder({ db }: SqliteStore, orderId: number): Promise<MirroredOrder | undefined> {
  return db
    .selectFrom('sales_order as o')
    .leftJoin('delivery as d', 'd.order_id', 'o.order_id')
    .select(['o.status', 'o.completed', 'o.comment'])
    .select(['d.status as delivery', 'd.tracking_numbers as tracking'])
    .where('o.order_id', '=', orderId)
    .executeTakeFirst();
}

function isAsAt({ packed, ...order }: Order, row: MirroredOrder): boolean {
  return (
    row.status === order.status &&
    row.completed === Number(order.completed) &&
    (row.comment ?? '') === order.comment &&
    row.delivery === (packed?.status ?? null) &&
    (row.tracking ?? '[]') === JSON.stringify(packed?.tracking ?? [])
  );
}

export function createHappenings({ store, clock, random, account, lost, wakeUp }: Deps) {
  const watched = new Map<number, Watched[]>();
  const slowestMs: Record<Limit, number> = { soon: 0, later: 0 };
  const found: Record<Limit, number> = { soon: 0, later: 0 };
  const problems: string[] = [];
  let [events, packings] = [0, 0];

  const tell = (order: Order): void => {
    clock.after(EVENT_MS, () => {
      events += 1;
      const request = { orderId: order.orderId, cause: `event:msg_${events}`, refunds: false };
      const queued = store.transaction((tx) => requestRefetches(tx, [request], clock.now()));
      void queued.then(wakeUp);
    });
  };
  /** Tells of a change, or loses the event and watches when the mirror has the change. */
  const changed = (order: Order, what: string, limit: Limit, isSeen: Watched['isSeen']): void => {
    if (!random.chance(lost)) {
      tell(order);
      return;
    }
    const list = watched.get(order.orderId) ?? [];
    list.push({ order, what, limit, at: clock.now(), isSeen });
    watched.set(order.orderId, list);
  };
  const pick = (isWanted: (order: Order) => boolean): Order | undefined => {
    for (let tries = 0; tries < 200; tries += 1) {
      const order = random.pick(account.orders);
      if (!order.completed && order.status === 'pending' && !order.packed && isWanted(order)) {
        return order;
      }
    }
    return undefined;
  };
  const ship = (order: Order): void => {
    if (!order.packed) return;
    order.packed.tracking = [`T-${order.orderId}`];
    Object.assign(order, { status: 'fulfilled', completed: true });
    changed(order, 'shipping', 'later', (row) => row.completed === 1);
  };
  const pack = (order: Order | undefined, limit: Limit): void => {
    if (!order) return;
    account.pack(order);
    packings += 1;
    changed(order, 'packing', limit, (row) => row.delivery !== null);
  };
  const happen: Record<keyof typeof PER_DAY, () => void> = {
    placed() {
      changed(account.place(), 'order', 'soon', () => true);
    },
    packed: () =>
      pack(
        pick(({ window }) => window === 1),
        'soon',
      ),
    packedEarly: () =>
      pack(
        pick(({ window }) => window > 1),
        'later',
      ),
    edited() {
      const order = pick(() => true);
      if (!order) return;
      const comment = `changed at ${clock.now()}`;
      order.comment = comment;
      changed(order, 'comment', 'later', (row) => row.comment === comment);
    },
    canceled() {
      const order = pick(({ window }) => window > 1);
      if (!order) return;
      order.status = 'canceled';
      changed(order, 'cancellation', 'later', (row) => row.status === 'canceled');
    },
  };
  const settled = async (orderId: number, list: readonly Watched[]): Promise<void> => {
    const row = await mirroredOrder(store, orderId);
    const left = list.filter(({ isSeen, at, limit, what }) => {
      if (!row || !isSeen(row)) return true;
      const ms = clock.now() - at;
      found[limit] += 1;
      slowestMs[limit] = Math.max(slowestMs[limit], ms);
      if (ms > LIMITS[limit].ms) problems.push(`${what} of ${orderId} found after ${ms} ms`);
      return false;
    });
    if (left.length > 0) watched.set(orderId, left);
    else watched.delete(orderId);
  };
  return {
    /** Lets things happen until then. */
    begin(untilMs: number): void {
      const days = (untilMs - clock.now()) / (24 * HOUR);
      const share = account.orders.length / BOOK;
      for (const [kind, count] of Object.entries(PER_DAY)) {
        const act = happen[kind as keyof typeof PER_DAY];
        for (let left = Math.round(count * share * days); left > 0; left -= 1) {
          clock.after(random.next() * (untilMs - clock.now()), act);
        }
      }
    },
    /** Notes what a read of the order has brought; a new delivery is accepted, and ships later. */
    async onRead(orderId: number): Promise<void> {
      const list = watched.get(orderId);
      if (list) await settled(orderId, list);
      const order = account.byId(orderId);
      if (order.packed?.status !== 'pending') return;
      const row = await mirroredOrder(store, orderId);
      if (row?.delivery !== 'pending') return;
      clock.after(ACCEPT_MS, () => {
        if (order.packed?.status !== 'pending') return;
        order.packed.status = 'accepted';
        changed(order, 'accept', 'later', (seen) => seen.delivery === 'accepted');
        clock.after(SHIP_MS, () => ship(order));
      });
    },
    /** Looks for what reads of the list have brought. */
    async onRun(): Promise<void> {
      for (const [orderId, list] of watched) await settled(orderId, list);
    },
    /** Changes that are late, and rows of the mirror that differ although nothing is under way. */
    async judge(): Promise<{ readonly wrong: number; readonly problems: readonly string[] }> {
      for (const list of watched.values()) {
        for (const { order, what, limit, at } of list) {
          const ms = clock.now() - at;
          if (ms > LIMITS[limit].ms) problems.push(`${what} of ${order.orderId} is not found`);
        }
      }
      let wrong = 0;
      for (const order of account.orders) {
        if (watched.has(order.orderId)) continue;
        const row = await mirroredOrder(store, order.orderId);
        if (!row || !isAsAt(order, row)) wrong += 1;
      }
      return { wrong, problems };
    },
    figures: () => ({ events, packings, slowestMs, found, waiting: watched.size }),
  };
}

export const WORDS = LIMITS;
