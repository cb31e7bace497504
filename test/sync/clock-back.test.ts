/** Sweeps of orders after the clock of this machine was ahead and was set back. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { followClock } from '../support/clock-guard.ts';
import { startOrders } from './orders-support.ts';

const DAY_MS = 86_400_000;
const KNOBS = {
  world: { styles: 12, colors: 2, sizes: 4, orders: 20 },
  life: { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1h' },
};

it.each([false, true])(
  'orders that were read "tomorrow" are read again, full: %s',
  async (full) => {
    const { store, runOrders, read } = await startOrders(KNOBS);
    await runOrders();
    const tomorrow = systemClock().now() + DAY_MS;
    await store.db.updateTable('sales_order').set({ details_read_at: tomorrow }).execute();
    const orders = read.splice(0).map(({ orderId }) => orderId);
    expect(orders).toHaveLength(20);
    expect(await runOrders({ full })).toMatchObject({ outcome: 'complete' });
    expect(read.map(({ orderId }) => orderId)).toEqual(orders);
    const ahead = store.db.selectFrom('sales_order').select('order_id');
    expect(await ahead.where('details_read_at', '>=', tomorrow).execute()).toEqual([]);
  },
);

it('a sweep whose run was begun "tomorrow" does not wait until then', async () => {
  const { store, read, reference, stream, run } = await startOrders(KNOBS);
  const orders = stream();
  const { pull } = orders;
  const ahead: typeof pull = (context) => {
    const startedAt = context.run.startedAt + DAY_MS;
    return pull({ ...context, run: { ...context.run, startedAt } });
  };
  expect(await run({ ...orders, pull: ahead })).toMatchObject({ outcome: 'complete' });
  expect(read).toHaveLength(reference.world.book.orders.all.length);
  expect(await store.db.selectFrom('refresh').select('order_id').execute()).toEqual([]);
});

it('a sweep in whose midst the clock is set back counts what it reads from then on', async () => {
  const { stream, run, step, store, read, clock } = await startOrders(KNOBS);
  const orders = stream();
  const { pull } = orders;
  const steps: number[] = [];
  const midst: typeof pull = (context) => {
    const page: typeof context.page = async (checkpoint, write) => {
      await context.page(checkpoint, write);
      const asked = await store.db.selectFrom('refresh').select('order_id').executeTakeFirst();
      // The sweep has begun: it has asked for its first reads, and none was made.
      if (!asked || steps.length > 0) return;
      await followClock({ store, clock });
      step(-DAY_MS);
      await followClock({ store, clock });
      steps.push(read.length);
    };
    return pull({ ...context, page });
  };
  expect(await run({ ...orders, pull: midst })).toMatchObject({ outcome: 'complete' });
  expect(steps).toEqual([0]);
});
