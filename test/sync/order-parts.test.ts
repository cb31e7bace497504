/** Deliveries and refunds that are read with their order: bad ones, and those that are missing. */
import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { quarantineRows, type RejectedRow } from '../../src/mirror/quarantine.ts';
import { writePendingRefunds, writeRefunds } from '../../src/mirror/refund.ts';
import { noteDetailsRead, writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createOrderReader, type OrderReaderDeps } from '../../src/sync/read-order.ts';
import { missingOpen, orderParts } from '../../src/sync/streams/order-parts.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { startOrders } from './orders-support.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf } from './support.ts';

const order = (orderId: number) => ({ orderId, status: 'pending', orderLineItems: [] });
const badRow = (orderId: number): RejectedRow => ({
  ...{ raw: { orderId, status: 7 }, path: 'status', reason: 'no text' },
});

type Shown = Awaited<ReturnType<OrderReaderDeps['v1']['deliveries']>>['rows'][number];

const packed = (orderDeliveryId: number, status = 'pending') => ({
  ...{ orderDeliveryId, orderId: 3, status, fulfilledLineItems: [] },
});

/** Reads of order 3, whose lists hold nothing but what the test puts into them. */
async function startReads() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const rejects: Record<'deliveries' | 'refunds' | 'pendingRefunds', readonly RejectedRow[]> = {
    ...{ deliveries: [], refunds: [], pendingRefunds: [] },
  };
  const shown = { order: order(3), deliveries: [] as readonly Shown[] };
  const listOf = (name: keyof typeof rejects) => async () => ({
    ...{ rows: [], rejects: rejects[name], count: undefined, startedAt: clock.now() },
  });
  const v1: OrderReaderDeps['v1'] = {
    order: async () => ({ value: shown.order, startedAt: clock.now() }),
    deliveries: async () => ({ ...(await listOf('deliveries')()), rows: shown.deliveries }),
    refunds: listOf('refunds'),
    pendingRefunds: listOf('pendingRefunds'),
  };
  const also = { refunds: true, pendingRefunds: true };
  const sequence = createReadSequence(store, clock);
  const levels = await levelsOf(store, clock);
  const changed: (readonly number[])[] = [];
  const onChanged = (ids: readonly number[]) => void changed.push(ids);
  const readOrder = createOrderReader({ store, v1, also, sequence, clock, levels, onChanged });
  const { signal } = new AbortController();
  const read = async (refunds: boolean): Promise<void> => {
    await clock.advance(1_000);
    await readOrder(3, { cause: 'event:msg_1', priority: 'read', refunds, signal });
  };
  const aside = async (): Promise<string[]> => {
    const rows = await store.db.selectFrom('quarantine').select('entity').orderBy('id').execute();
    return rows.map(({ entity }) => entity);
  };
  return { clock, store, rejects, shown, changed, read, aside };
}

describe('the read of an order', () => {
  it('puts bad rows of each list aside, until that list is read without them', async () => {
    const { rejects, read, aside } = await startReads();
    rejects.deliveries = [badRow(3)];
    rejects.refunds = [badRow(3)];
    rejects.pendingRefunds = [badRow(3)];
    await read(true);
    expect(await aside()).toEqual(['delivery', 'refund', 'pending_refund']);
    Object.assign(rejects, { deliveries: [], refunds: [], pendingRefunds: [] });
    // After an event about a delivery the refunds are not asked for.
    await read(false);
    expect(await aside()).toEqual(['refund', 'pending_refund']);
    await read(true);
    expect(await aside()).toEqual([]);
  });

  it('lets go of the order itself, and of no other', async () => {
    const { store, read, aside } = await startReads();
    const walk = { source: 'run:1', readSeq: 1, at: 1 };
    const rows = [badRow(3), badRow(4)];
    await store.transaction((tx) => quarantineRows(tx, 'sales_order', rows, walk));
    await read(false);
    expect(await aside()).toEqual(['sales_order']);
  });

  it('names the deliveries that it has changed, all of them where the order changed', async () => {
    const { shown, changed, read } = await startReads();
    shown.deliveries = [packed(31), packed(32)];
    await read(false);
    await read(false);
    shown.deliveries = [packed(31), packed(32, 'accepted'), packed(33)];
    await read(false);
    shown.order = { ...shown.order, status: 'fulfilled' };
    await read(false);
    expect(changed).toEqual([
      [31, 32],
      [32, 33],
      [31, 32, 33],
    ]);
  });

  it('counts as a look at all of it only when its refunds were asked for', async () => {
    const { clock, store, read } = await startReads();
    const readAt = async () => {
      const row = store.db.selectFrom('sales_order').select('details_read_at');
      return (await row.executeTakeFirstOrThrow()).details_read_at;
    };
    await read(false);
    expect(await readAt()).toBeNull();
    await read(true);
    expect(await readAt()).toBe(clock.now());
  });
});

describe('the release of a run that missed deliveries', () => {
  const WALK = { readSeq: 5, startedAt: 1_000 };

  it('marks none that is closed, was met, cannot be understood or was not looked for', async () => {
    const store = await temporaryStore();
    const from = (readSeq: number) => ({ source: 'test', readSeq, at: readSeq });
    const delivery = (orderDeliveryId: number, orderId: number, status: string) => ({
      ...{ orderDeliveryId, orderId, status, fulfilledLineItems: [] },
    });
    await store.transaction(async (tx) => {
      await writeOrders(tx, [order(1), order(2)], from(5));
      const known = [
        delivery(11, 1, 'pending'),
        delivery(12, 1, 'accepted'),
        delivery(13, 1, 'rejected'),
        delivery(14, 1, 'pending'),
        delivery(15, 1, 'pending'),
        delivery(21, 2, 'pending'),
      ];
      await writeDeliveries(tx, known, from(4));
      await writeDeliveries(tx, [delivery(14, 1, 'pending')], from(6));
      const raw = { orderDeliveryId: 15, orderId: 1, status: 7 };
      const aside = [{ raw, path: 'status', reason: 'no text' }];
      await quarantineRows(tx, 'delivery', aside, { ...from(6), at: WALK.startedAt });
      await noteDetailsRead(tx, 1, WALK.startedAt + 1);
      // Nobody has seen the deliveries of the second order since.
      await noteDetailsRead(tx, 2, WALK.startedAt - 1);
    });
    const asked = () => Promise.reject(new Error('asked'));
    const v1 = { orders: asked, delivery: asked, refund: asked, pendingRefund: asked };
    const deps = { v1, db: () => store.db, clock: manualClock(), onRefetchRequested() {} };
    const also = { refunds: true, pendingRefunds: true };
    const options = {
      name: 'orders',
      deletionGuard: DELETION_GUARD,
      closedOrders: 0,
      also,
    } as const;
    const { run_id } = await store.db
      .insertInto('sync_run')
      .values({
        ...{ stream: 'orders', cause: 'test', options: '{}', checkpoint: '{}' },
        ...{ started_at: WALK.startedAt, read_seq: WALK.readSeq, outcome: 'suspicious' },
      })
      .returning('run_id')
      .executeTakeFirstOrThrow();
    const { release } = runsOn(runnerOf(store)).operations([createOrdersStream(deps, options)]);
    await release(run_id, { actor: 'anna', reason: 'they are gone' });
    const gone = store.db.selectFrom('delivery').select('order_delivery_id').orderBy('created_at');
    const rows = await gone.where('deleted_at', 'is not', null).execute();
    expect(rows.map((row) => row.order_delivery_id).sort()).toEqual([11, 12]);
  });
});

it('a pending refund is not missing once a refund has come of it', async () => {
  const store = await temporaryStore();
  const from = { source: 'test', readSeq: 1, at: 1 };
  const pending = (pendingRefundId: number) => ({
    ...{ pendingRefundId, orderId: 1, status: 'pending', refundLineItems: [] },
  });
  await store.transaction(async (tx) => {
    await writeOrders(tx, [order(1)], from);
    await writePendingRefunds(tx, [pending(31), pending(32)], from);
    const refund = { orderRefundId: 41, orderId: 1, status: 'pending', refundedLineItems: [] };
    await writeRefunds(tx, [{ ...refund, pendingRefundId: 31 }], from);
    await noteDetailsRead(tx, 1, 1_001);
  });
  const parts = orderParts({ refunds: true, pendingRefunds: true });
  const [part] = parts.filter(({ entity }) => entity.entity === 'pending_refund');
  const walk = { runId: 1, readSeq: 5, startedAt: 1_000 };
  expect(part && (await missingOpen(store.db, part, walk))).toEqual([32]);
});

describe('a delivery that is gone from its order', () => {
  const INVENTED = { source: 'test', readSeq: 1, at: 1 };

  /** A mirror that a full walk has filled; it has enough deliveries for the deletion guard. */
  async function start() {
    const world = { styles: 12, colors: 2, sizes: 4, orders: 20 };
    const life = { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1h' };
    const house = await startOrders({ world, life });
    const { store, runOrders } = house;
    const walk = async (full = true, outcome = 'complete') => {
      expect(await runOrders({ full })).toMatchObject({ outcome });
      const gone = store.db.selectFrom('delivery').select('order_delivery_id');
      const rows = await gone.where('deleted_at', 'is not', null).execute();
      return rows.map((row) => row.order_delivery_id);
    };
    const invent = (orderId: number) =>
      store.transaction((tx) => {
        const one = { orderDeliveryId: 9_000_001, orderId, status: 'pending' };
        return writeDeliveries(tx, [{ ...one, fulfilledLineItems: [] }], INVENTED);
      });
    await walk();
    return { ...house, walk, invent };
  }

  it('is marked as deleted when two full walks in a row miss it', async () => {
    const { read, walk, invent } = await start();
    await invent(read[0]?.orderId ?? 0);
    expect(await walk()).toEqual([]);
    expect(await walk()).toEqual([9_000_001]);
  });

  it('is marked when its order was', async () => {
    const { store, walk, invent } = await start();
    await store.transaction((tx) => writeOrders(tx, [order(90_001)], INVENTED));
    await invent(90_001);
    expect(await walk()).toEqual([]);
    expect(await walk()).toEqual([]);
    expect(await walk()).toEqual([9_000_001]);
  });

  it('is marked no sooner than its address has answered', async () => {
    const { reference, read, walk, invent } = await start();
    await invent(read[0]?.orderId ?? 0);
    expect(await walk()).toEqual([]);
    const fault = { kind: 'serverError', path: '*/deliveries/9000001' };
    reference.knobs.patch({ faults: [fault] });
    expect(await walk()).toEqual([]);
    reference.knobs.patch({ faults: [] });
    expect(await walk()).toEqual([9_000_001]);
  });

  const WRONG = { wrong: 'type' };
  it.each([
    { says: 'an order that does not list it', outcome: 'complete', as: () => [] },
    {
      ...{ says: 'a number that nobody can read', outcome: 'partial' },
      as: (one: object) => [{ ...one, orderDeliveryId: WRONG }],
    },
  ])('is not marked for $says, while its address has it', async ({ as, outcome }) => {
    const { reference, walk } = await start();
    const { deliveries } = reference.world.book;
    const one = deliveries.all.find(({ status }) => /pending|accepted/.test(status));
    const ofOrder: (id: number) => readonly object[] = deliveries.ofOrder.bind(deliveries);
    const list = vi.spyOn<{ ofOrder: (id: number) => unknown }, 'ofOrder'>(deliveries, 'ofOrder');
    list.mockImplementation((id) => {
      const all = ofOrder(id);
      // A question for a single one finds it.
      const find = all.find.bind(all);
      return id === one?.orderId ? Object.assign(all.flatMap(as), { find }) : all;
    });
    for (const _ of [1, 2, 3]) expect(await walk(true, outcome)).toEqual([]);
  });

  it.each([true, false])('is not marked where a read between has met it: full %s', async (full) => {
    const { reference, store, walk } = await start();
    await store.db.updateTable('sales_order').set({ completed: 0 }).execute();
    const doubtful = async () => {
      const fault = { kind: 'emptyList', path: '*/deliveries', count: 1 };
      reference.knobs.patch({ faults: [fault] });
      const gone = await walk();
      reference.knobs.patch({ faults: [] });
      return gone;
    };
    expect(await doubtful()).toEqual([]);
    const noted = store.db.selectFrom('absence').select('stream');
    expect(await noted.execute()).toContainEqual({ stream: 'ordersFull/delivery' });
    expect(await walk(full)).toEqual([]);
    expect(await doubtful()).toEqual([]);
  });
});
