/** Numbers of deliveries that count anew in each order. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { createOrderReader, type OrderReaderDeps } from '../../src/sync/read-order.ts';
import { createDeciderFixture } from '../decisions/support.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';

async function startReads() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const deliveries: Record<number, readonly number[]> = {};
  const row = (orderId: number) => (orderDeliveryId: number) => ({
    ...{ orderDeliveryId, orderId, status: 'pending', fulfilledLineItems: [] },
  });
  const none = async () => ({ rows: [], rejects: [], count: undefined, startedAt: clock.now() });
  const v1: OrderReaderDeps['v1'] = {
    order: async (orderId) => ({
      value: { orderId, status: 'pending', orderLineItems: [] },
      startedAt: clock.now(),
    }),
    deliveries: async (orderId) => ({
      ...(await none()),
      rows: (deliveries[orderId] ?? []).map(row(orderId)),
    }),
    ...{ refunds: none, pendingRefunds: none },
  };
  const also = { refunds: false, pendingRefunds: false };
  const sequence = createReadSequence(store, clock);
  const readOrder = createOrderReader({
    ...{ store, v1, also, sequence, clock },
    levels: await levelsOf(store, clock),
  });
  const { signal } = new AbortController();
  const read = async (orderId: number): Promise<void> => {
    await clock.advance(1_000);
    await readOrder(orderId, { cause: 'event:msg_1', priority: 'read', signal });
  };
  const mirrored = async (): Promise<string[]> => {
    const rows = await store.db
      .selectFrom('delivery')
      .select(['order_delivery_id as id', 'order_id as of'])
      .orderBy('id')
      .execute();
    return rows.map(({ id, of }) => `${id} of ${of}`);
  };
  const shared = async (): Promise<string[]> => {
    const rows = await store.db.selectFrom('shared_number').selectAll().execute();
    return rows.map(({ entity, number, order_id }) => `${entity} ${number} of ${order_id}`);
  };
  return { store, deliveries, read, mirrored, shared };
}

it('a delivery does not take the place of another order’s that has its number', async () => {
  const { deliveries, read, mirrored, shared } = await startReads();
  deliveries[5] = [1, 2];
  deliveries[6] = [1, 3];
  for (const orderId of [5, 6, 5, 6]) await read(orderId);
  expect(await mirrored()).toEqual(['1 of 5', '2 of 5', '3 of 6']);
  expect(await shared()).toEqual(['delivery 1 of 6']);
  // The other order has it no more.
  deliveries[6] = [3];
  await read(6);
  expect(await shared()).toEqual([]);
});

it('a delivery may have the number of one that is gone', async () => {
  const { store, deliveries, read, mirrored, shared } = await startReads();
  deliveries[5] = [1];
  deliveries[6] = [1];
  await read(5);
  await read(6);
  await store.db.updateTable('delivery').set({ deleted_at: 1 }).execute();
  await read(6);
  expect(await mirrored()).toEqual(['1 of 6']);
  expect(await shared()).toEqual([]);
});

it('the one that is mirrored is held, and says which order has its number as well', async () => {
  const house = await createDeciderFixture();
  await house.delivery({ id: 1, order: 5 });
  await house.delivery({ id: 1, order: 6, status: 'accepted' });
  expect(await house.decide()).toEqual(['1 hold']);
  const [decision] = await house.store.db.selectFrom('decision').select('reason').execute();
  expect(decision?.reason).toBe('cannot be read: orderDeliveryId (order 6 has it as well)');
  const [row] = await house.store.db.selectFrom('delivery').selectAll().execute();
  expect(row).toMatchObject({ order_id: 5, status: 'pending' });
});
