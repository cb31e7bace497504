import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { dueRefreshes } from '../../src/mirror/refresh.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { startPull } from './support.ts';

const ORDERS = 130;

async function startOrders() {
  const world = { styles: 12, colors: 2, sizes: 4, orders: ORDERS };
  const pull = await startPull({ world });
  const { store, v1, deps } = pull;
  let nudges = 0;
  const streams = { v1, db: () => store.db, onRefreshRequested: () => (nudges += 1) };
  const readOrder = createOrderReader({
    ...{ store, v1, sequence: deps.sequence, clock: systemClock() },
    also: { refunds: true, pendingRefunds: true },
  });
  const due = () => dueRefreshes(store.db, systemClock().now(), 1_000);
  return { ...pull, streams, readOrder, due, nudged: () => nudges };
}

describe('the orders streams', () => {
  it('walk down to the first order and ask for open ones first, oldest first', async () => {
    const { reference, store, run, streams, due, nudged } = await startOrders();
    const result = await run(createOrdersStream(streams, 'orders'));
    expect(result).toMatchObject({ outcome: 'complete', rows: ORDERS, changed: ORDERS });
    const mirrored = await store.db.selectFrom('sales_order').selectAll().execute();
    expect(mirrored).toHaveLength(reference.world.book.orders.all.length);
    const isOpen = new Map(
      mirrored.map((row) => [row.order_id, row.completed === 0 && row.status !== 'canceled']),
    );
    const waiting = await due();
    expect(waiting).toHaveLength(ORDERS);
    expect(nudged()).toBeGreaterThan(0);
    const openCount = [...isOpen.values()].filter(Boolean).length;
    const first = waiting.slice(0, openCount).map(({ orderId }) => orderId);
    expect(first.every((orderId) => isOpen.get(orderId))).toBe(true);
    expect(first).toEqual([...first].sort((a, b) => a - b));
    expect(waiting.every(({ cause }) => cause.startsWith('sweep:'))).toBe(true);
  });

  it('mirror the deliveries and refunds of what they asked for', async () => {
    const { reference, store, v1, run, streams, readOrder, due } = await startOrders();
    const { book, trade } = reference.world;
    const [order] = book.orders.all;
    if (!order) throw new Error('there is no order');
    const { value } = await v1.order(order.orderId);
    const [line] = value.orderLineItems;
    const signal = new AbortController().signal;
    const pending = await v1
      .createPendingRefund(order.orderId, {
        reference: 'r-1',
        refundLineItems: [{ barcode: line?.barcode, quantity: 1 }],
      })
      .catch(() => undefined);
    await run(createOrdersStream(streams, 'ordersFull'));
    for (const { orderId, cause } of await due()) {
      await readOrder(orderId, { cause, priority: 'pull', signal });
    }
    const deliveries = await store.db.selectFrom('delivery').selectAll().execute();
    expect(deliveries).toHaveLength(book.deliveries.all.length);
    const pendings = await store.db.selectFrom('pending_refund').selectAll().execute();
    expect(pendings).toHaveLength(book.pendingRefunds.all.length);
    if (pending) {
      const own = book.pendingRefunds.get(pending.value.pendingRefundId);
      if (own) trade.confirmRefund(own);
    }
    await readOrder(order.orderId, { cause: 'test', priority: 'read', signal });
    const refunds = await store.db.selectFrom('refund').selectAll().execute();
    expect(refunds).toHaveLength(book.refunds.all.length);
    const lines = await store.db.selectFrom('refund_line').select('barcode').execute();
    expect(lines.length).toBeGreaterThanOrEqual(refunds.length);
  });

  it('end at the first page below which everything is known and closed', async () => {
    const { reference, run, streams, lastRun } = await startOrders();
    await run(createOrdersStream(streams, 'ordersFull'));
    const { orders } = reference.world.book;
    const again = await run(createOrdersStream(streams, 'orders'));
    expect(again).toMatchObject({ outcome: 'complete', changed: 0 });
    expect((await lastRun('orders')).rows_seen).toBeLessThanOrEqual(orders.all.length);
  });
});
