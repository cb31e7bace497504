/** Looks of a sweep at open orders: how many requests they make, and what they find. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { readBook } from '../../src/mirror/order-book.ts';
import { requestRefetches } from '../../src/mirror/refetch-queue.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { until } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';
import { startOrders } from './orders-support.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf } from './support.ts';
import { leapingClock } from './sweep/clock.ts';

const DAY = 86_400_000;
const LIFE = { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1000h', cancelShare: 0 };
const WORLD = { styles: 12, colors: 2, sizes: 4, orders: 0 };

/** A service with so many orders of stock, of which nothing is packed, and an empty mirror. */
async function start(count: number) {
  const house = await startOrders({ world: WORLD, life: LIFE });
  const { reference, requests } = house;
  place(reference, count);
  /** Requests below /orders/{orderId} since the last call, by their kind. */
  const looked = (): Record<string, number> => {
    const kinds = requests(/\/orders\/\d+/).map((path) => path.replace(/^.*\/orders\/\d+/, ''));
    reference.edge.journal.clear();
    const byKind = Map.groupBy(kinds, (kind) => (kind === '' ? 'order' : kind.slice(1)));
    return Object.fromEntries([...byKind].map(([kind, all]) => [kind, all.length]));
  };
  return { ...house, looked };
}

function place({ world }: Reference, count: number): void {
  for (let left = count; left > 0; left -= 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  }
}

/** Part of the rotation of a first run: one of so many orders. */
const inTurn = (orders: number): number => Math.ceil((orders * 20) / (0.9 * 1_440));

describe('a sweep of open orders', () => {
  it('asks for deliveries alone, once twenty orders were listed as they are', async () => {
    const { runOrders, looked, read } = await start(30);
    expect(await runOrders()).toMatchObject({ outcome: 'complete', rows: 30 });
    expect(new Set(read.map(({ orderId }) => orderId)).size).toBe(30);
    // Refunds of one order tell that the account has such lists at all.
    const once = { refunds: 1, 'pending-refunds': 1 };
    expect(looked()).toEqual({ order: 20, deliveries: 30, ...once });
    // Whatever the list is worth, those whose turn it is are read by themselves.
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(looked()).toEqual({ order: inTurn(30), deliveries: 30 });
  });

  it('reads each order by itself while the list shows less of it', async () => {
    const { runOrders, looked, v1, store } = await start(30);
    const orders: typeof v1.orders = async (before, call) => {
      const page = await v1.orders(before, call);
      return { ...page, rows: page.rows.map((order) => ({ ...order, comment: null })) };
    };
    for (let times = 0; times < 2; times += 1) {
      await sql`update sales_order set source = 'run:0'`.execute(store.db);
      expect(await runOrders({ v1: { orders } })).toMatchObject({ outcome: 'complete' });
      expect(looked()).toMatchObject({ order: 30, deliveries: 30 });
    }
    const comments = store.db.selectFrom('sales_order').select('comment').distinct();
    expect(await comments.execute()).not.toContainEqual({ comment: null });
  });

  it('reads the whole order as soon as its deliveries differ', async () => {
    const { runOrders, looked, reference, store } = await start(30);
    await runOrders();
    await runOrders();
    looked();
    const [, order] = reference.world.book.orders.all;
    const delivery = order && reference.world.trade.packAll(order);
    await sql`update sales_order set whole_read_at = details_read_at`.execute(store.db);
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    // The order was not in turn: its own read, and the deliveries beside it, are one more each.
    expect(looked()).toEqual({ order: inTurn(30) + 1, deliveries: 31 });
    const rows = store.db
      .selectFrom('delivery as d')
      .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
      .select(['d.order_delivery_id as id', 'd.read_seq', 'o.read_seq as of_order']);
    const found = await rows.execute();
    expect(found).toMatchObject([{ id: delivery?.orderDeliveryId }]);
    expect(found[0]?.of_order).toBe(found[0]?.read_seq);
    // While the delivery waits, a decision wants the order as well.
    await runOrders();
    expect(looked()).toMatchObject({ order: inTurn(30) + 1, deliveries: 30 });
  });

  it('asks for refunds where something may have shipped, and where they are known', async () => {
    const { runOrders, looked, reference, store } = await start(30);
    const { book, trade } = reference.world;
    const [first, second] = book.orders.all;
    const delivery = first && trade.packSome(first);
    if (delivery) trade.moveDelivery(delivery, 'accepted');
    const refunds = async (): Promise<(number | undefined)[]> => {
      expect(await runOrders()).toMatchObject({ outcome: 'complete' });
      const found = looked();
      return [found.refunds, found['pending-refunds']];
    };
    // Those of one order tell that the account has such lists at all.
    expect(await refunds()).toEqual([1, 1]);
    expect(await refunds()).toEqual([undefined, undefined]);
    // Not every account has tracking numbers.
    await sql`update delivery set changed_at = changed_at - ${DAY}`.execute(store.db);
    expect(await refunds()).toEqual([1, 1]);
    if (delivery) trade.ship(delivery);
    await sql`update delivery set changed_at = changed_at + ${DAY}`.execute(store.db);
    expect(await refunds()).toEqual([1, 1]);
    await sql`insert into pending_refund (pending_refund_id, order_id, status, extra, content_hash,
      first_seen_at, changed_at, read_seq, source)
      values (1, ${second?.orderId ?? 0}, 'confirmed', '{}', '', 0, 0, 0, 'test')`.execute(
      store.db,
    );
    // Those of the first order are known, which is closed and was read since.
    expect(await refunds()).toEqual([1, 1]);
  });

  it('leaves a calm order alone until its turn', async () => {
    const { runOrders, looked, read, store } = await start(30);
    await runOrders();
    const old = Date.now() - 100 * DAY;
    // They were made and looked at long ago, and nothing has changed since.
    await sql`update sales_order set created_at = ${old}, first_seen_at = ${old},
      changed_at = ${old}, whole_read_at = order_id`.execute(store.db);
    looked();
    read.length = 0;
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(read).toHaveLength(inTurn(30));
    const [oldest] = await store.db.selectFrom('sales_order').select('order_id').execute();
    expect(read[0]?.orderId).toBe(oldest?.order_id);
    expect(await readBook(store.db)).toMatchObject({ active: 0, calm: 30, denseFrom: null });
  });

  it('tells an event of one of them from its cause: the time of its look before', async () => {
    const { runOrders, read, store } = await start(30);
    await runOrders();
    await runOrders();
    const [one] = await store.db.selectFrom('sales_order').select('order_id').execute();
    const of = one?.order_id ?? 0;
    const looked = { details_read_at: 1_234, changed_at: 1_235 };
    await store.db.updateTable('sales_order').set(looked).where('order_id', '=', of).execute();
    read.length = 0;
    await runOrders();
    const causes = read.map(({ orderId, cause }) => [orderId, cause.replace(/\d+/, 'N')]);
    expect(causes).toContainEqual([of, 'sweep:N:since:1234']);
    expect(causes.filter(([, cause]) => cause === 'sweep:N')).toHaveLength(29);
  });
});

describe('a walk over the orders', () => {
  it('does not page down to a forgotten one', async () => {
    const { runOrders, requests, reference, store } = await start(150);
    await runOrders();
    await sql`update sales_order set completed = 1, details_read_at = changed_at
      where order_id > (select min(order_id) from sales_order)`.execute(store.db);
    // The sweep notes that the newest orders are not active any more.
    await runOrders({ v1: { orders: async () => ({ ...NOTHING, startedAt: Date.now() }) } });
    reference.edge.journal.clear();
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(requests(/\/orders(\?|$)/)).toHaveLength(1);
  });
});

const NOTHING = { rows: [], rejects: [], raws: [], count: undefined };

describe('a look that waits in the queue', () => {
  it.each([
    { other: { cause: 'event:msg_1', refunds: false }, asked: ['', '/deliveries'] },
    {
      other: { cause: 'sweep:8', look: 'whole' as const, refunds: false },
      asked: ['', '/deliveries'],
    },
    { other: { cause: 'sweep:8', look: 'deliveries' as const }, asked: ['/deliveries'] },
  ])('becomes a read of the order where more is wanted: $other.cause', async ({ other, asked }) => {
    const { runOrders, requests, reference, store, wakeUp } = await start(24);
    await runOrders();
    const orderId = reference.world.book.orders.all[0]?.orderId ?? 0;
    await sql`update sales_order set details_read_at = 0`.execute(store.db);
    reference.edge.journal.clear();
    const now = systemClock().now();
    await store.transaction(async (tx) => {
      const look = { orderId, cause: 'sweep:7', refunds: false, look: 'deliveries' as const };
      await requestRefetches(tx, [look], now);
      await requestRefetches(tx, [{ orderId, ...other }], now);
      await requestRefetches(tx, [look], now);
    });
    wakeUp();
    await until('the read', async () => {
      const row = store.db.selectFrom('sales_order').select('details_read_at');
      const { details_read_at: at } = await row
        .where('order_id', '=', orderId)
        .executeTakeFirstOrThrow();
      return at !== 0 ? true : undefined;
    });
    const paths = requests(/\/orders\//).map((path) => path.replace(/^.*\/orders\/\d+/, ''));
    expect(paths.sort()).toEqual(asked);
  });
});

it('a full sweep asks for two hundred orders at a time, and lets others between', async () => {
  const clock = leapingClock(0);
  const store = await temporaryStore(clock);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
    insert into sales_order (order_id, status, completed, shipping_address, extra, content_hash,
      first_seen_at, changed_at, read_seq, source)
    select i, 'fulfilled', 1, '{}', '{}', '', 0, 0, 0, 'run:1' from n`.execute(store.db);
  const asked = () => Promise.reject(new Error('asked'));
  const v1 = { orders: async () => ({ ...NOTHING, startedAt: 0 }), delivery: asked };
  const parts: number[] = [];
  const readAll = async (): Promise<void> => {
    const { numDeletedRows } = await store.db.deleteFrom('refresh').executeTakeFirstOrThrow();
    parts.push(Number(numDeletedRows));
  };
  const stream = createOrdersStream(
    {
      ...{ clock, db: () => store.db, onRefetchRequested: () => clock.after(1_000, readAll) },
      v1: { ...v1, refund: asked, pendingRefund: asked },
    },
    {
      ...{ name: 'ordersFull', deletionGuard: DELETION_GUARD, closedOrders: 1_000 },
      also: { refunds: true, pendingRefunds: true },
    },
  );
  await clock.drive(runsOn({ ...runnerOf(store), clock }).run(stream));
  // The last ones are orders that the walk has missed, asked for as far as the guard goes.
  expect(parts.slice(0, 2)).toEqual([200, 100]);
}, 20_000);
