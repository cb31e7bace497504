/** An event may come before the service shows the order that it is about. */
import { expect, it, vi } from 'vitest';
import { notFound } from '../../src/reference/v1/answer.ts';
import { placeOrders } from '../e2e/support.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';

const quick = [{ path: 'service.limits.loginSpacing', value: '0s' }];

it('asks for an order that is not there yet until it is, without telling anybody', async () => {
  const reference = await startTestReference({
    world: { styles: 6, orders: 3 },
    life: { ordersPerMinute: 0, packAfter: '1h' },
    auth: { loginSpacing: 0 },
  });
  const daemon = await startTestDaemon(reference, testConfig(reference, { overrides: quick }));
  const { orders } = reference.world.book;
  const orderId = Math.max(...orders.all.map((order) => order.orderId)) + 1;
  const salesOrder = { orderId, status: 'pending', orderLineItems: [] };
  reference.relay.publish('sales_order.order_created', { salesOrder });
  await until('a first try', () =>
    daemon.store.db
      .selectFrom('refresh')
      .select('order_id')
      .where('attempts', '>', 0)
      .executeTakeFirst(),
  );
  placeOrders(reference, 1);
  await until('the order in the mirror', () =>
    daemon.store.db
      .selectFrom('sales_order')
      .select('order_id')
      .where('order_id', '=', orderId)
      .executeTakeFirst(),
  );
  expect(await daemon.store.db.selectFrom('incident').selectAll().execute()).toEqual([]);
});

it('reads orders without a list that the account lacks, and names the setting', async () => {
  const reference = await startTestReference({
    world: { styles: 6, orders: 3 },
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
      .where('kind', '=', 'level_too_high')
      .executeTakeFirst(),
  );
  expect(incident.detail).toMatch(
    /service\.dialect\.v1\.level.*or streams\.orders\.pendingRefunds: false/,
  );
  const rows = await daemon.store.db.selectFrom('incident').select('kind').execute();
  expect(rows.map(({ kind }) => kind)).toEqual(['level_too_high']);
});
