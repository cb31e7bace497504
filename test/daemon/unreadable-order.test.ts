/** An event may come before the service shows the order that it is about. */
import { expect, it, vi } from 'vitest';
import { notFound } from '../../src/reference/v1/answer.ts';
import { placeOrders } from '../e2e/support.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';

it('ends the incident about an order that could not be read when it can be read', async () => {
  const reference = await startTestReference({
    world: { styles: 6, orders: 3 },
    life: { ordersPerMinute: 0, packAfter: '1h' },
    auth: { loginSpacing: 0 },
  });
  const quick = [{ path: 'service.limits.loginSpacing', value: '0s' }];
  const daemon = await startTestDaemon(reference, testConfig(reference, { overrides: quick }));
  const { orders } = reference.world.book;
  const orderId = Math.max(...orders.all.map((order) => order.orderId)) + 1;
  const announce = () => {
    const salesOrder = { orderId, status: 'pending', orderLineItems: [] };
    reference.relay.publish('sales_order.order_created', { salesOrder });
  };
  const incident = () =>
    daemon.store.db
      .selectFrom('incident')
      .select(['key', 'resolved_at'])
      .where('kind', '=', 'order_unreadable')
      .executeTakeFirst();
  announce();
  await until('the incident', incident);
  expect(await incident()).toEqual({ key: String(orderId), resolved_at: null });
  placeOrders(reference, 1);
  expect(orders.all.some((order) => order.orderId === orderId)).toBe(true);
  announce();
  await until('the order in the mirror', () =>
    daemon.store.db
      .selectFrom('sales_order')
      .select('order_id')
      .where('order_id', '=', orderId)
      .executeTakeFirst(),
  );
  await until('the list of reads to be empty', async () => {
    const left = await daemon.store.db.selectFrom('refresh').select('order_id').execute();
    return left.length === 0 || undefined;
  });
  expect((await incident())?.resolved_at).not.toBeNull();
});

it('says which setting leaves out a list that the account does not have', async () => {
  const reference = await startTestReference({
    world: { styles: 6, orders: 1 },
    life: { ordersPerMinute: 0, packAfter: '1h' },
  });
  vi.spyOn(reference.world.book.pendingRefunds, 'ofOrder').mockImplementation(() => {
    throw notFound('The endpoint was');
  });
  const daemon = await startTestDaemon(reference, testConfig(reference));
  const incident = await until('the incident', () =>
    daemon.store.db
      .selectFrom('incident')
      .select('detail')
      .where('kind', '=', 'order_unreadable')
      .executeTakeFirst(),
  );
  expect(incident.detail).toContain('set streams.orders.pendingRefunds: false');
});
