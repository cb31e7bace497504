import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import {
  dueRefetches,
  ORDER_UNREADABLE,
  requestRefetches,
} from '../../src/mirror/refetch-queue.ts';
import { writePendingRefunds, writeRefunds } from '../../src/mirror/refund.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { openIncident } from '../../src/store/incidents.ts';
import type { SqliteStore, Tx } from '../../src/store/store.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { placeOrders } from '../e2e/support.ts';
import { until } from '../support/house.ts';
import { levelsOf } from '../support/levels.ts';
import { startOrders } from './orders-support.ts';

const ORDERS = 12;
const PAGE = 4;
const WORLD = { styles: 12, colors: 2, sizes: 4, orders: ORDERS };
const LIFE = { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1h' };
const LIST = /\/orders(\?|$)/;

const start = (knobs: Record<string, unknown> = {}) =>
  startOrders({ world: WORLD, life: LIFE, paging: { orders: PAGE }, ...knobs });

/** Provenance of an order that the service has never heard of. */
const INVENTED = { source: 'test', readSeq: 1, at: 1 };

/** Orders of the mirror that the service has never heard of. */
async function inventOrders(store: SqliteStore, ids: readonly number[]): Promise<void> {
  const orders = ids.map((orderId) => ({ orderId, status: 'pending', orderLineItems: [] }));
  await store.transaction((tx) => writeOrders(tx, orders, INVENTED));
}

async function deletedOrders(store: SqliteStore): Promise<number[]> {
  const rows = await store.db
    .selectFrom('sales_order')
    .select('order_id')
    .where('deleted_at', 'is not', null)
    .execute();
  return rows.map((row) => row.order_id);
}

describe('a walk over the orders', () => {
  it('is complete when open orders were read first, oldest first, then closed ones', async () => {
    const { reference, store, runOrders, read } = await start();
    const result = await runOrders();
    expect(result).toMatchObject({ outcome: 'complete', rows: ORDERS, changed: ORDERS });
    const { book } = reference.world;
    const mirrored = await store.db.selectFrom('sales_order').selectAll().execute();
    expect(mirrored).toHaveLength(book.orders.all.length);
    const isOpen = new Map(
      mirrored.map((row) => [row.order_id, row.completed === 0 && row.status !== 'canceled']),
    );
    const openCount = [...isOpen.values()].filter(Boolean).length;
    expect(read.map(({ orderId }) => orderId).sort()).toEqual([...isOpen.keys()].sort());
    const first = read.slice(0, openCount).map(({ orderId }) => orderId);
    expect(first.every((orderId) => isOpen.get(orderId))).toBe(true);
    expect(first).toEqual([...first].sort((a, b) => a - b));
    expect(read.every(({ cause }) => cause.startsWith('sweep:'))).toBe(true);
    expect(await dueRefetches(store.db, systemClock().now(), 1)).toEqual([]);
    const deliveries = await store.db.selectFrom('delivery').selectAll().execute();
    expect(deliveries).toHaveLength(book.deliveries.all.length);
    const refunds = await store.db.selectFrom('refund').selectAll().execute();
    expect(refunds).toHaveLength(book.refunds.all.length);
    expect(refunds.length).toBeGreaterThan(0);
  });

  it('ends at the first page below which everything is known and closed', async () => {
    const { runOrders, requests, reference, read, store } = await start();
    await runOrders();
    // Closed are also canceled ones; and their own read may have been the last to change them.
    await sql`update sales_order set completed = 0, status = 'canceled'
      where order_id = (select min(order_id) from sales_order)`.execute(store.db);
    await sql`update sales_order set details_read_at = changed_at`.execute(store.db);
    reference.edge.journal.clear();
    read.length = 0;
    const again = await runOrders();
    expect(again).toMatchObject({ outcome: 'complete', changed: 0 });
    expect(requests(LIST)).toHaveLength(1);
    const open = await store.db
      .selectFrom('sales_order')
      .select('order_id as orderId')
      .where('completed', '=', 0)
      .where('status', '!=', 'canceled')
      .orderBy('order_id')
      .execute();
    expect(read).toMatchObject(open);
  });

  it('leaves no gap behind a walk that broke off between new orders and known ones', async () => {
    const { reference, runOrders, v1, store } = await start();
    await runOrders();
    placeOrders(reference, 3 * PAGE);
    const isBroken = {
      orders: async (before?: number, call = {}) => {
        if (before !== undefined) throw new RefusedError('service.forbidden', 'not now');
        return v1.orders(before, call);
      },
    };
    expect(await runOrders({ v1: isBroken })).toMatchObject({ outcome: 'failed' });
    // The newest page is known now, and all of the older orders that are open lie above the gap.
    await store.db.updateTable('sales_order').set({ completed: 1 }).execute();
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    const rows = await store.db.selectFrom('sales_order').select('order_id').execute();
    expect(rows).toHaveLength(ORDERS + 3 * PAGE);
  });

  it('loses no order by a page that could not be written', async () => {
    const { v1, runOrders, store } = await start();
    const [lowest] = (await v1.orders(undefined, {})).rows.slice(-1);
    await sql`create trigger full before insert on sales_order
      when new.order_id = ${sql.raw(String(Number(lowest?.orderId) - 1))} begin
      select raise(abort, 'the disk is full'); end`.execute(store.db);
    const broken = await runOrders();
    expect(broken).toMatchObject({ outcome: 'interrupted', reason: 'the disk is full' });
    await sql`drop trigger full`.execute(store.db);
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    const rows = await store.db.selectFrom('sales_order').select('order_id').execute();
    expect(rows).toHaveLength(ORDERS);
  });

  it('asks a second time where its end seems to be, and goes on if it is not there', async () => {
    const { v1, runOrders, store } = await start();
    let isCut = false;
    const once = {
      orders: async (before?: number, call = {}) => {
        const list = await v1.orders(before, call);
        if (before === undefined || isCut) return list;
        isCut = true;
        return { ...list, rows: [], raws: [] };
      },
    };
    expect(await runOrders({ v1: once, full: true })).toMatchObject({ outcome: 'complete' });
    expect(isCut).toBe(true);
    const rows = await store.db.selectFrom('sales_order').select('order_id').execute();
    expect(rows).toHaveLength(ORDERS);
    expect(await deletedOrders(store)).toEqual([]);
  });

  it('puts an order aside that cannot be understood, and is short again next time', async () => {
    const { reference, v1, runOrders, requests, store } = await start();
    // Its text differs each time: it is never an old acquaintance.
    let times = 0;
    const odd = {
      orders: async (before?: number, call = {}) => {
        const list = await v1.orders(before, call);
        // The page before had the one at its head, too.
        const [head, first, ...others] = list.rows;
        if (before === undefined || !head || !first) return list;
        const rows = [head, ...others];
        times += 1;
        const raw = { orderId: first.orderId, status: times };
        return { ...list, rows, rejects: [{ raw, path: 'status', reason: 'no text' }] };
      },
    };
    const partial = await runOrders({ v1: odd });
    expect(partial).toMatchObject({ outcome: 'partial' });
    expect(partial.reason).toContain('cannot be read');
    reference.edge.journal.clear();
    await runOrders({ v1: odd });
    expect(requests(LIST)).toHaveLength(1);
    expect(await deletedOrders(store)).toEqual([]);
    expect(await runOrders({ v1: odd, full: true, closedOrders: 3 })).toMatchObject({
      outcome: 'partial',
    });
    expect(await deletedOrders(store)).toEqual([]);
  });

  it('lets go of bad rows of an order that are good when it is read again', async () => {
    const { runOrders, read, store } = await start();
    await runOrders();
    const [{ orderId } = { orderId: 0 }] = read;
    const bad = (of: number) => [{ raw: { orderId: of, status: 1 }, path: 'status', reason: 'no' }];
    const provenance = { source: 'refresh:sweep:0', readSeq: 1, at: 1 };
    await store.transaction(async (tx) => {
      await quarantineRows(tx, 'delivery', bad(orderId), provenance);
      await quarantineRows(tx, 'delivery', bad(-1), provenance);
    });
    await runOrders({ full: true, closedOrders: 0 });
    const left = await store.db.selectFrom('quarantine').select('raw').execute();
    expect(left.map(({ raw }) => JSON.parse(raw).orderId)).toEqual([-1]);
  });

  it('is not complete as long as a row of a delivery cannot be read', async () => {
    const { runOrders, store } = await start();
    const bad = [{ raw: { orderId: -1, status: 1 }, path: 'status', reason: 'no' }];
    const run = async (runId: number) => {
      const provenance = { source: `refresh:sweep:${runId}`, readSeq: runId, at: runId };
      await store.transaction((tx) => quarantineRows(tx, 'delivery', bad, provenance));
      return runOrders();
    };
    const reason = '1 rows of deliveries or refunds cannot be read';
    expect(await run(1)).toMatchObject({ outcome: 'partial', reason });
    expect(await run(2)).toMatchObject({ outcome: 'partial', reason });
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
  });

  it('goes on with a sweep that was cut off, and reads no order twice', async () => {
    const { runOrders, read, store } = await start();
    await runOrders();
    await store.db
      .updateTable('sync_run')
      .set({ outcome: 'running', checkpoint: '{"walked":true,"bottom":0,"doubts":[]}' })
      .execute();
    const [open] = await store.db
      .selectFrom('sales_order')
      .select('order_id')
      .where('completed', '=', 0)
      .execute();
    const orderId = open?.order_id ?? 0;
    // The one that was not read before the end came.
    await store.db
      .updateTable('sales_order')
      .set({ details_read_at: 1 })
      .where('order_id', '=', orderId)
      .execute();
    read.length = 0;
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(read.map((one) => one.orderId)).toEqual([orderId]);
  });

  it('reads an order again that a read begun before it has brought late', async () => {
    const { v1, store, deps, reference, runOrders } = await start({ paging: { orders: 1 } });
    await runOrders();
    const order = reference.world.book.orders.all.findLast(({ completed }) => !completed);
    const orderId = order?.orderId ?? 0;
    const { book, trade } = reference.world;
    const [answered, mayArrive] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: typeof v1.deliveries = async (...asked) => {
      const answer = await v1.deliveries(...asked);
      answered.resolve();
      await mayArrive.promise;
      return answer;
    };
    const readSlowly = createOrderReader({
      ...{ store, v1: { ...v1, deliveries: slow }, sequence: deps.sequence, clock: systemClock() },
      also: { refunds: true, pendingRefunds: true },
      levels: await levelsOf(store, systemClock()),
    });
    const { signal } = new AbortController();
    const request = { cause: 'event:msg_1', priority: 'read', refunds: true, signal } as const;
    const arrived = readSlowly(orderId, request);
    await answered.promise;
    if (order) trade.packSome(order);
    // The walk has seen the order when it asks for the orders below.
    const orders: typeof v1.orders = async (before, call) => {
      if (before !== undefined && before <= orderId) {
        mayArrive.resolve();
        await arrived;
      }
      return v1.orders(before, call);
    };
    expect(await runOrders({ v1: { orders } })).toMatchObject({ outcome: 'complete' });
    const mirrored = await store.db
      .selectFrom('delivery')
      .select('order_delivery_id')
      .where('order_id', '=', orderId)
      .execute();
    const packed = book.deliveries.all.filter((delivery) => delivery.orderId === orderId);
    expect(packed.length).toBeGreaterThan(0);
    expect(mirrored).toHaveLength(packed.length);
  });

  it('reads what was read before the clock was set back', async () => {
    const { runOrders, read, store } = await start();
    await runOrders();
    const tomorrow = systemClock().now() + 86_400_000;
    await store.db.updateTable('sales_order').set({ details_read_at: tomorrow }).execute();
    read.length = 0;
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(new Set(read.map(({ orderId }) => orderId)).size).toBe(ORDERS);
    read.length = 0;
    await runOrders();
    expect(read.length).toBeLessThan(ORDERS);
  });

  it('says which orders it could not have read, and is not complete then', async () => {
    const { reference, runOrders, state } = await start();
    const fault = { kind: 'serverError', path: '*/deliveries', probability: 1 };
    reference.knobs.patch({ faults: [fault] });
    const result = await runOrders();
    expect(result).toMatchObject({ outcome: 'partial' });
    expect(result.reason).toMatch(/^12 orders could not be read again: .*HTTP 503/);
    expect((await state('orders')).complete_at).toBeNull();
  });

  it('is not complete when the service refuses to show an order that it lists', async () => {
    const { v1, runOrders, refused, state, store } = await start();
    const orders: typeof v1.orders = async (before, call) => {
      const page = await v1.orders(before, call);
      if (before !== undefined) return page;
      const rows = page.rows.map((order) => ({ ...order, orderId: order.orderId + 90_000 }));
      return { ...page, rows: [...rows.slice(0, 2), ...page.rows] };
    };
    const result = await runOrders({ v1: { orders } });
    expect(refused).toHaveLength(2);
    expect(result).toMatchObject({ outcome: 'partial' });
    expect(result.reason).toContain('2 listed orders were refused');
    expect((await state('orders')).complete_at).toBeNull();
    // The daemon does the same: from now on it is known, and one odd order stops nothing.
    for (const id of refused) {
      const incident = { ...ORDER_UNREADABLE, key: String(id), detail: {} };
      await openIncident(store.db, incident, 1);
    }
    expect(await runOrders({ v1: { orders } })).toMatchObject({ outcome: 'complete' });
    expect(refused).toHaveLength(4);
    // An order that was shown meanwhile is told again.
    await store.db.updateTable('incident').set({ resolved_at: 2 }).execute();
    expect(await runOrders({ v1: { orders } })).toMatchObject({ outcome: 'partial' });
  });

  it('ends what was told of an order before a whole list that does not have it', async () => {
    const { store, runOrders } = await start();
    await runOrders();
    const { order_id: listed } = await store.db
      .selectFrom('sales_order')
      .select('order_id')
      .executeTakeFirstOrThrow();
    const tell = (key: string, at: number) =>
      openIncident(store.db, { ...ORDER_UNREADABLE, key, detail: {} }, at);
    const open = async () => {
      const incidents = store.db.selectFrom('incident').select('key').orderBy('id');
      return (await incidents.where('resolved_at', 'is', null).execute()).map(({ key }) => key);
    };
    const later = Date.now() + 3_600_000;
    await tell('999999', 1);
    await tell('999998', later);
    // A listed order is shown, or it is not: only a read of it can tell.
    await tell(String(listed), 1);
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(await open()).toEqual(['999999', '999998', String(listed)]);
    expect(await runOrders({ full: true })).toMatchObject({ outcome: 'complete' });
    expect(await open()).toEqual(['999998', String(listed)]);
  });

  it.each([false, true])('is held when deliveries are gone from their orders: %s', async (full) => {
    const { reference, runOrders, state, store, lastRun, operations, stream } = await start();
    await runOrders({ full });
    const name = full ? 'ordersFull' : 'orders';
    const { complete_at } = await state(name);
    await store.db.updateTable('sales_order').set({ completed: 0 }).execute();
    reference.knobs.patch({ faults: [{ kind: 'emptyList', path: '*/deliveries' }] });
    const result = await runOrders({ full });
    expect(result).toMatchObject({ outcome: 'suspicious' });
    const { run_id } = await lastRun(name);
    expect(result.reason).toMatch(/\d+ of \d+ open deliveries are missing from their orders; .*/);
    expect(result.reason).toContain(`selvedge sync release ${run_id}`);
    expect((await state(name)).complete_at).toBe(complete_at);
    const asker = { actor: 'anna', reason: 'they are gone' };
    await operations([stream({ full })]).release(run_id, asker);
    expect((await state(name)).complete_at).not.toBe(complete_at);
    reference.knobs.patch({ faults: [] });
    expect(await runOrders({ full })).toMatchObject({ outcome: 'complete' });
  });

  it('is held also where they were read before it was cut off', async () => {
    const { reference, runOrders, store, lastRun } = await start();
    await runOrders();
    await store.db.updateTable('sales_order').set({ completed: 0 }).execute();
    reference.knobs.patch({ faults: [{ kind: 'emptyList', path: '*/deliveries' }] });
    const { outcome, reason } = await runOrders();
    const { run_id } = await lastRun('orders');
    await store.db
      .updateTable('sync_run')
      .set({ outcome: 'running', checkpoint: '{"walked":true,"bottom":0,"doubts":[]}' })
      .where('run_id', '=', run_id)
      .execute();
    expect(outcome).toBe('suspicious');
    expect(await runOrders()).toMatchObject({ outcome, reason });
  });

  it.each([
    {
      words: 'open deliveries',
      write: (tx: Tx, orderId: number) => {
        const head = { orderDeliveryId: 9_000_001, orderId, status: 'pending' };
        return writeDeliveries(tx, [{ ...head, fulfilledLineItems: [] }], INVENTED);
      },
    },
    {
      words: 'open refunds',
      write: (tx: Tx, orderId: number) => {
        const head = { orderRefundId: 9_000_001, orderId, status: 'accepted' };
        return writeRefunds(tx, [{ ...head, refundedLineItems: [] }], INVENTED);
      },
    },
    {
      words: 'pending refunds',
      write: (tx: Tx, orderId: number) => {
        const head = { pendingRefundId: 9_000_001, orderId, status: 'pending' };
        return writePendingRefunds(tx, [{ ...head, refundLineItems: [] }], INVENTED);
      },
    },
  ])('is held once where $words are gone for good, not after a release', async (gone) => {
    const { runOrders, read, store, lastRun, operations, stream } = await start();
    await runOrders();
    for (const table of ['delivery', 'refund', 'pending_refund'] as const) {
      await store.db.updateTable(table).set({ status: 'rejected' }).execute();
    }
    await store.db.updateTable('sales_order').set({ completed: 0 }).execute();
    await store.transaction((tx) => gone.write(tx, read[0]?.orderId ?? 0));
    const result = await runOrders();
    expect(result).toMatchObject({ outcome: 'suspicious' });
    expect(result.reason).toContain(`1 of 1 ${gone.words} are missing from their orders`);
    const asker = { actor: 'anna', reason: 'the service has removed it' };
    const { run_id } = await lastRun('orders');
    const released = await operations([stream()]).release(run_id, asker);
    expect(released).toMatchObject({ rowsDeleted: 1 });
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
  });
});

it('goes on only while refunds are read as when it began', async () => {
  const { runOrders, stream, store, lastRun } = await start();
  await runOrders();
  await store.db.updateTable('sync_run').set({ outcome: 'running', ended_at: null }).execute();
  // The run began while pending refunds were switched off.
  const options = JSON.stringify(stream({ pendingRefunds: false }).options);
  await store.db.updateTable('sync_run').set({ options }).execute();
  const { run_id: before } = await lastRun('orders');
  expect(await runOrders()).toMatchObject({ outcome: 'complete' });
  expect((await lastRun('orders')).run_id).toBeGreaterThan(before);
  const left = store.db.selectFrom('sync_run').select('run_id').where('outcome', '=', 'running');
  expect(await left.execute()).toEqual([]);
  const given = store.db.selectFrom('sync_run').select(['outcome', 'reason']);
  expect(await given.where('run_id', '=', before).executeTakeFirst()).toEqual({
    outcome: 'failed',
    reason: 'begun with other settings or by another version: a new run has taken its place',
  });
});

describe('a walk to the first order', () => {
  it('asks for a missing order by its number, and marks it when two walks miss it', async () => {
    const { runOrders, store, refused } = await start();
    await runOrders();
    await inventOrders(store, [90_001]);
    expect(await runOrders({ full: true, closedOrders: 3 })).toMatchObject({ outcome: 'complete' });
    expect(refused).toEqual([90_001]);
    expect(await deletedOrders(store)).toEqual([]);
    expect(await runOrders({ full: true, closedOrders: 3 })).toMatchObject({ outcome: 'complete' });
    expect(await deletedOrders(store)).toEqual([90_001]);
    // The order is not open any more: nobody asks for it, and no walk goes down to it.
    refused.length = 0;
    expect(await runOrders()).toMatchObject({ outcome: 'complete' });
    expect(refused).toEqual([]);
    const told = await store.db
      .selectFrom('change')
      .select('key')
      .where('entity', '=', 'sales_order')
      .where('op', '=', 'delete')
      .execute();
    expect(told).toEqual([{ key: '90001' }]);
  });

  it('keeps an order that is not listed but there', async () => {
    const { reference, runOrders, store } = await start();
    await runOrders();
    reference.knobs.patch({ orders: { listingLag: '1h' } });
    placeOrders(reference, 1);
    const orderId = reference.world.book.orders.all.at(-1)?.orderId ?? 0;
    await inventOrders(store, [orderId]);
    for (let times = 0; times < 3; times += 1) await runOrders({ full: true, closedOrders: 3 });
    expect(await deletedOrders(store)).toEqual([]);
  });

  it('is held when more are missing than the guard allows, until it is released', async () => {
    const { runOrders, store, lastRun, operations, stream } = await start();
    await runOrders();
    const many = Array.from({ length: 20 }, (_, index) => 90_001 + index);
    await inventOrders(store, many);
    const held = await runOrders({ full: true, closedOrders: 3 });
    const { run_id } = await lastRun('ordersFull');
    expect(held).toMatchObject({ outcome: 'suspicious' });
    expect(held.reason).toContain(`selvedge sync release ${run_id}`);
    expect(await deletedOrders(store)).toEqual([]);
    const asker = { actor: 'anna', reason: 'the account was cleaned' };
    await operations([stream({ full: true })]).release(run_id, asker);
    expect(await deletedOrders(store)).toEqual(many);
  });

  it.each([0, 1])('takes none for missing behind %s pages with numbers', async (good) => {
    const { v1, runOrders, store } = await start();
    await runOrders();
    let pages = 0;
    const odd = {
      orders: async (before?: number, call = {}) => {
        const list = await v1.orders(before, call);
        pages += 1;
        if (pages <= good) return list;
        const rejects = list.rows.map(({ orderId }) => {
          const raw = { orderId: `no. ${orderId}` };
          return { raw, path: 'orderId', reason: 'no number' };
        });
        const raws = rejects.map(({ raw }) => raw);
        return { ...list, rows: [], rejects, raws };
      },
    };
    const reason = expect.stringContaining('a whole page of orders cannot be understood');
    const ended = await runOrders({ v1: odd, full: true, closedOrders: 3 });
    expect(ended).toMatchObject({ outcome: 'partial', reason });
    const kept = await store.db.selectFrom('quarantine').select('raw').execute();
    expect(kept).toHaveLength(PAGE);
  });

  it('is not held when its ids were out of order: a release would delete the rest', async () => {
    const { reference, v1, runOrders, store } = await start();
    await runOrders();
    // Deliveries are gone as well, of the orders that are read.
    await store.db.updateTable('sales_order').set({ completed: 0 }).execute();
    reference.knobs.patch({ faults: [{ kind: 'emptyList', path: '*/deliveries' }] });
    const newer = Array.from({ length: 20 }, (_, index) => 9_000_001 + index);
    await inventOrders(store, newer);
    const outOfOrder = { orders: (_before?: number, call = {}) => v1.orders(undefined, call) };
    const ended = await runOrders({ v1: outOfOrder, full: true, closedOrders: 3 });
    const reason = 'the list of orders does not go down';
    expect(ended).toMatchObject({ outcome: 'partial', reason });
  });

  it('that is held says what else speaks against it', async () => {
    const { v1, runOrders } = await start();
    await runOrders();
    const odd = {
      orders: async (before?: number, call = {}) => {
        const { rows, ...list } = await v1.orders(before, call);
        const rejects = rows.slice(0, -1).map(({ orderId }) => {
          return { raw: { orderId: `no. ${orderId}` }, path: 'orderId', reason: 'no number' };
        });
        const raws = [...rejects.map(({ raw }) => raw), ...rows.slice(-1)];
        return { ...list, rows: rows.slice(-1), rejects, raws };
      },
    };
    const held = await runOrders({ v1: odd, full: true, closedOrders: 3 });
    expect(held).toMatchObject({ outcome: 'suspicious' });
    expect(held.reason).toMatch(/^9 rows cannot be read: [^;]+; 9 of 12 known orders are missing/);
  });

  it('reads closed orders again, those first that nobody has looked at for long', async () => {
    const { runOrders, read, store } = await start();
    await runOrders();
    const closed = await store.db
      .selectFrom('sales_order')
      .select('order_id')
      .where('completed', '=', 1)
      .orderBy('details_read_at')
      .execute();
    const open = ORDERS - closed.length;
    const ids = closed.map((row) => row.order_id);
    for (const part of [ids.slice(0, 5), ids.slice(5, 10)]) {
      read.length = 0;
      await runOrders({ full: true, closedOrders: 5 });
      expect(read.slice(open).map(({ orderId }) => orderId)).toEqual(part);
    }
  });
});

describe('the read of an order', () => {
  it('brings refunds along only when they are wanted', async () => {
    const { reference, store, wakeUp, requests, read } = await start();
    const [order] = reference.world.book.orders.all;
    const orderId = order?.orderId ?? 0;
    const ask = async (refunds: boolean): Promise<string[]> => {
      reference.edge.journal.clear();
      read.length = 0;
      const request = { orderId, cause: 'event:msg_1', refunds };
      await store.transaction((tx) => requestRefetches(tx, [request], systemClock().now()));
      wakeUp();
      await until('the read', async () => {
        const left = await dueRefetches(store.db, systemClock().now(), 1);
        return left.length === 0 && read.length > 0 ? true : undefined;
      });
      return requests(/\/orders\//)
        .map((path) => path.replace(/^.*\/orders\/\d+/, ''))
        .sort();
    };
    expect(await ask(false)).toEqual(['', '/deliveries']);
    expect(await ask(true)).toEqual(['', '/deliveries', '/pending-refunds', '/refunds']);
  });
});
