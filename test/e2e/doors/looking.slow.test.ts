/** People's view of the ERP's documents, by the reference that the ERP gave. */
import { expect, it } from 'vitest';
import { openDoors } from './house.ts';

it('lists and shows orders and refunds by their references', async () => {
  const house = await openDoors();
  const { body } = await house.post('/api/orders', { reference: 'SO-1', ...house.order() });
  const order = await house.httpEnd(Number(body.documentId));
  const [line] = house.order().lines;
  const refund = { orderReference: 'SO-1', lines: [{ barcode: line?.barcode, quantity: 1 }] };
  const row = house.insert('RMA-1', refund, 'pending_refund');
  expect(await house.sqlEnd(row)).toMatchObject({ state: 'confirmed' });
  const wrong = { lines: [{ ...line, deliveryName: 'Drop 1' }] };
  await house.sqlEnd(house.insert('SO-2', wrong));

  const orders = await house.call('orders', 'list');
  expect(orders.code).toBe(0);
  expect(orders.stdout).toMatch(/^REFERENCE +STATE +ORDER +AGE +PUSH +WHY$/m);
  expect(orders.stdout).toMatch(/^SO-2 +refused +- .*needs a seasonName/m);
  expect(orders.stdout).toMatch(new RegExp(`^SO-1 +confirmed +${order.orderNo} `, 'm'));
  expect(orders.stdout).not.toContain('RMA-1');
  const refused = await house.call('orders', 'list', '--state', 'refused', '--json');
  expect(JSON.parse(refused.stdout)).toMatchObject([{ reference: 'SO-2', orderNo: null }]);
  const refunds = await house.call('refunds', 'list');
  expect(refunds.stdout).toMatch(/^RMA-1 +confirmed +\d+ /m);
  expect((await house.call('refunds', 'list', '--open')).stdout).not.toContain('RMA-1');

  const shown = await house.call('orders', 'show', 'so-1');
  expect(shown.stdout).toMatch(/^outbox \d+: confirmed$/m);
  expect(shown.stdout).toContain(`order           ${order.orderId} ${order.orderNo}`);
  const json = await house.call('refunds', 'show', 'RMA-1', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'pending_refund', state: 'confirmed' });

  const none = await house.call('orders', 'show', 'SO-11');
  expect(none.code).toBe(1);
  expect(none.stderr).toContain('there is no order with the reference SO-11');
  expect(none.stderr).toMatch(/hint: did you mean SO-\d\? see: selvedge orders list/);
  expect((await house.call('refunds', 'show', 'SO-1')).code).toBe(1);
});
