/** Accounts that answer for an order or a delivery under another number than they were asked by. */
import { describe, expect, it } from 'vitest';
import {
  CONTRACT,
  createInterpreter,
  deliverySchema,
  pendingRefundSchema,
  refundSchema,
} from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createDeliveryReader, createOrderReader } from '../../src/sync/read-order.ts';
import { createDeciderFixture } from '../decisions/support.ts';
import { levelsOf } from '../support/levels.ts';

const ASKED = 7;
const ALIAS = 5_007;

const { delivery, refund, pendingRefund } = createInterpreter(CONTRACT);

/** A delivery as the client reads it from the list of the order that was asked for. */
const packed = (orderDeliveryId: number, orderId = ASKED) => {
  const lines = [{ barcode: 'b', fulfilledQuantity: 1, price: 100 }];
  const own = { orderDeliveryId, orderId, deliveryNo: 'DN-1', status: 'pending' };
  return delivery(deliverySchema.parse({ ...own, fulfilledLineItems: lines }), ASKED);
};

const refunded = refund(
  refundSchema.parse({
    ...{ orderRefundId: 3, orderId: ALIAS, status: 'pending', refundedLineItems: [] },
  }),
  ASKED,
);
const toRefund = pendingRefund(
  pendingRefundSchema.parse({
    ...{ pendingRefundId: 4, orderId: ALIAS, status: 'pending', refundLineItems: [] },
  }),
  ASKED,
);

const order = (orderId: number, orderNo = 'SO-7') => ({
  ...{ orderId, orderNo, reference: 'PO 7', status: 'pending', currency: 'EUR' },
  orderLineItems: [{ barcode: 'b', quantity: 1, price: 100 }],
});

/** `named`: number of the order in the deliveries of its list. */
async function startReads(named = ASKED, answers = order(ALIAS)) {
  const clock = manualClock();
  const house = await createDeciderFixture(clock);
  const { store } = house;
  const listOf = async <T>(...rows: T[]) => {
    return { rows, rejects: [], count: undefined, startedAt: clock.now() };
  };
  const v1 = {
    order: async () => ({ value: answers, startedAt: clock.now() }),
    deliveries: () => listOf(packed(1, named)),
    delivery: async () => ({ value: packed(2, named), startedAt: clock.now() }),
    refunds: () => listOf(refunded),
    pendingRefunds: () => listOf(toRefund),
  };
  const sequence = createReadSequence(store, clock);
  const reading = { store, v1, sequence, clock };
  const also = { refunds: true, pendingRefunds: true };
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
    read: () => readOrder(ASKED, { ...request, signal, refunds: true }),
    readOne: (id: number) => readOne(ASKED, id, { ...request, signal }),
    orders: () =>
      store.db.selectFrom('sales_order').select(['order_id', 'unread', 'extra']).execute(),
    deliveries: () => store.db.selectFrom('delivery').select('order_delivery_id').execute(),
    /** Orders and unreadable members of what is below orders. */
    async below() {
      const { db } = store;
      const each = (['delivery', 'refund', 'pending_refund'] as const).map((table) =>
        db.selectFrom(table).select(['order_id', 'unread']).execute(),
      );
      return (await Promise.all(each)).flat();
    },
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
    ['the list has beside the one of that number', [order(ASKED), order(ALIAS)]],
  ])('keeps its deliveries for a person, if it is one that %s', async (_what, listed) => {
    const { store, list, read, orders, decide } = await startReads();
    await list(...listed);
    await read();
    await read();
    const [row, ...others] = await orders();
    expect(others).toHaveLength(Math.max(0, listed.length - 1));
    expect(row).toMatchObject({ order_id: ASKED, unread: '["orderId"]' });
    expect(JSON.parse(row?.extra ?? '')).toEqual({ orderId: ALIAS });
    expect(await decide()).toEqual(['1 hold']);
    const [decision] = await store.db.selectFrom('decision').select('reason').execute();
    expect(decision?.reason).toBe('cannot be read: order.orderId');
  });
});

describe('what names the number under which its order answered', () => {
  const whole = (unread: string | null) => [1, 2, 3].map(() => ({ order_id: ASKED, unread }));

  it('belongs to the order, if the list has that with the same names', async () => {
    const { list, read, readOne, below, decide } = await startReads(ALIAS);
    await list(order(ASKED));
    const shown = await read();
    expect(shown?.deliveries.map(({ orderId }) => orderId)).toEqual([ASKED]);
    expect(await below()).toEqual(whole(null));
    expect(await decide()).not.toContain('1 hold');
    // A delivery alone does not tell, and is read with its order.
    await expect(readOne(2)).rejects.toMatchObject({ code: 'sync.other_delivery' });
  });

  it.each([
    ['no list has shown the order', []],
    ['the list has it without an order number', [order(ASKED, ' ')]],
  ])('is left to a person, if %s', async (_what, listed) => {
    const { list, read, orders, below } = await startReads(ALIAS, order(ALIAS, ' '));
    await list(...listed);
    await read();
    expect(await orders()).toMatchObject([{ order_id: ASKED, unread: '["orderId"]' }]);
    expect(await below()).toEqual(whole('["orderId"]'));
  });

  it('is left to a person where it names a third number', async () => {
    const { list, read, below } = await startReads(ALIAS + 1);
    await list(order(ASKED));
    await read();
    const [first] = await below();
    expect(first).toEqual({ order_id: ASKED, unread: '["orderId"]' });
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
