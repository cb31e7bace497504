/** Accounts that answer for an order or a delivery under another number than they were asked by. */
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createDeliveryReader, createOrderReader } from '../../src/sync/read-order.ts';
import { createDeciderFixture } from '../decisions/support.ts';
import { levelsOf } from '../support/levels.ts';

const ASKED = 7;
const ALIAS = 5_007;

const packed = (orderDeliveryId: number) => ({
  ...{ orderDeliveryId, orderId: ASKED, deliveryNo: 'DN-1', status: 'pending' },
  fulfilledLineItems: [{ barcode: 'b', fulfilledQuantity: 1, price: 100 }],
});

const order = (orderId: number, orderNo = 'SO-7') => ({
  ...{ orderId, orderNo, reference: 'PO 7', status: 'pending', currency: 'EUR' },
  orderLineItems: [{ barcode: 'b', quantity: 1, price: 100 }],
});

async function startReads() {
  const clock = manualClock();
  const house = await createDeciderFixture(clock);
  const { store } = house;
  const none = async () => ({ rows: [], rejects: [], count: undefined, startedAt: clock.now() });
  const v1 = {
    order: async () => ({ value: order(ALIAS), startedAt: clock.now() }),
    deliveries: async () => ({ ...(await none()), rows: [packed(1)] }),
    delivery: async () => ({ value: packed(2), startedAt: clock.now() }),
    ...{ refunds: none, pendingRefunds: none },
  };
  const sequence = createReadSequence(store, clock);
  const reading = { store, v1, sequence, clock };
  const also = { refunds: false, pendingRefunds: false };
  const readOrder = createOrderReader({ ...reading, also, levels: await levelsOf(store, clock) });
  const readOne = createDeliveryReader(reading);
  const request = { cause: 'event:msg_1', priority: 'read' } as const;
  const { signal } = new AbortController();
  return {
    ...house,
    async list(...rows: readonly ReturnType<typeof order>[]) {
      const from = { source: 'run:1', readSeq: await sequence.next(), at: clock.now() };
      await store.transaction((tx) => writeOrders(tx, rows, from));
    },
    read: () => readOrder(ASKED, { ...request, signal }),
    readOne: (id: number) => readOne(ASKED, id, { ...request, signal }),
    orders: () =>
      store.db.selectFrom('sales_order').select(['order_id', 'unread', 'extra']).execute(),
    deliveries: () => store.db.selectFrom('delivery').select('order_delivery_id').execute(),
  };
}

describe('an order that answers under another number', () => {
  it('is the one that was asked for, if the list has it with the same names', async () => {
    const { list, read, orders } = await startReads();
    await list(order(ASKED));
    const shown = (await read())?.order;
    await read();
    expect(shown?.orderId).toBe(ASKED);
    expect(await orders()).toEqual([{ order_id: ASKED, unread: null, extra: '{}' }]);
  });

  it.each([
    ['no list has shown', []],
    ['the list has with another name', [order(ASKED, 'SO-8')]],
  ])('keeps its deliveries for a person, if it is one that %s', async (_what, listed) => {
    const { store, list, read, orders, decide } = await startReads();
    await list(...listed);
    await read();
    await read();
    const [row, ...others] = await orders();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ order_id: ASKED, unread: '["orderId"]' });
    expect(JSON.parse(row?.extra ?? '')).toEqual({ orderId: ALIAS });
    expect(await decide()).toEqual(['1 hold']);
    const [decision] = await store.db.selectFrom('decision').select('reason').execute();
    expect(decision?.reason).toBe('cannot be read: order.orderId');
  });
});

describe('a delivery that answers under another id', () => {
  it('is no second one, and is read with the list of its order', async () => {
    const { read, readOne, deliveries } = await startReads();
    await read();
    await expect(readOne(1)).rejects.toMatchObject({
      name: 'RefusedError',
      message: 'delivery 1 of order 7 answers as delivery 2 (orderDeliveryId)',
    });
    expect(await deliveries()).toEqual([{ order_delivery_id: 1 }]);
    await readOne(2);
    expect(await deliveries()).toHaveLength(2);
  });
});
