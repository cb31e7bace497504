import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { deliverySchema, salesOrderSchema } from '../../src/client/v1/schemas.ts';
import { writeDeliveries } from '../../src/mirror/delivery.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { createHouse, type House, loadedRules } from './support.ts';

/** Asks nothing that could be unknown. */
const ACCEPT_ALL = `
rules:
  - id: accept-all
    title: Whatever it is
    action: accept
    mode: live
    when:
      - delivery.id > 0
`;

const ORDER = {
  ...{ orderId: 1, status: 'pending', completed: false, currency: 'DKK' },
  orderLineItems: [{ barcode: 'a', quantity: 10, price: 100 }],
};

const DELIVERY = {
  ...{ orderDeliveryId: 7, orderId: 1, status: 'pending' },
  fulfilledLineItems: [{ barcode: 'a', fulfilledQuantity: 2, price: 100 }],
};

/** The service has sent these rows. */
async function receive(house: House, order: object, delivery: object): Promise<void> {
  const at = { source: 'run:1', readSeq: house.clock.now(), at: house.clock.now() };
  await house.store.transaction(async (tx) => {
    await writeOrders(tx, checkRows(salesOrderSchema, [order]).rows, at);
    await writeDeliveries(tx, checkRows(deliverySchema, [delivery]).rows, at);
  });
}

async function reasons({ store }: House): Promise<string[]> {
  const rows = await store.db.selectFrom('decision').select(['outcome', 'reason']).execute();
  return rows.map(({ outcome, reason }) => `${outcome}: ${reason}`);
}

describe('a delivery of which something that decides cannot be read', () => {
  const line = { barcode: 'a', fulfilledQuantity: 2, price: 100 };

  it.each<[string, object]>([
    ['fulfilledLineItems', { fulfilledLineItems: 'two' }],
    ['fulfilledLineItems', { fulfilledLineItems: null }],
    ['fulfilledLineItems.0.barcode', { fulfilledLineItems: [{ ...line, barcode: ['a'] }] }],
    ['fulfilledLineItems.0.price', { fulfilledLineItems: [{ ...line, price: '1,000' }] }],
    [
      'fulfilledLineItems.1.fulfilledQuantity',
      { fulfilledLineItems: [line, { ...line, fulfilledQuantity: '1.5' }] },
    ],
    ['orderId', { orderId: 'SO-1' }],
  ])('is held whatever the rules say, for %s', async (path, odd) => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_ALL);
    const read = { ...ORDER };
    const delivery = { ...DELIVERY, ...odd };
    if (path === 'orderId') {
      await receive(house, read, DELIVERY);
      const row = { unread: '["orderId"]', content_hash: 'other' };
      await house.store.db.updateTable('delivery').set(row).execute();
    } else await receive(house, read, delivery);
    expect(await house.decide({ rules: () => rules })).toEqual(['7 hold']);
    expect(await reasons(house)).toEqual([`hold: cannot be read: ${path}`]);
    await house.clock.advance(1);
    await receive(house, read, { ...DELIVERY, deliveryNo: 'now it is right' });
    expect(await house.decide({ rules: () => rules })).toEqual(['7 accept']);
  });

  it.each<[string, object]>([
    ['order.orderLineItems.0.quantity', { orderLineItems: [{ barcode: 'a', quantity: 'ten' }] }],
    ['order.SeasonName', { SeasonName: { name: 'SS27' } }],
    ['order.shippingAddress.accountNo', { shippingAddress: { accountNo: [1] } }],
    ['order.freight.freightAmount', { freight: { freightAmount: '4,95' } }],
    ['order.status', { status: { code: 1 } }],
    ['order.status (sleeping)', { status: 'sleeping' }],
  ])('is held for its order as well, for %s', async (path, odd) => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_ALL);
    await receive(house, { ...ORDER, ...odd }, DELIVERY);
    expect(await house.decide({ rules: () => rules })).toEqual(['7 hold']);
    expect(await reasons(house)).toEqual([`hold: cannot be read: ${path}`]);
    await house.clock.advance(1);
    await receive(house, ORDER, DELIVERY);
    expect(await house.decide({ rules: () => rules })).toEqual(['7 accept']);
  });

  it('is decided where what cannot be read decides nothing', async () => {
    const house = await createHouse();
    const odd = { deliveryNo: {}, trackAndTrace: [], createdAt: [], note: { a: 1 } };
    await receive(house, { ...ORDER, orderNo: [], completed: 'maybe' }, { ...DELIVERY, ...odd });
    const rules = loadedRules(ACCEPT_ALL);
    expect(await house.decide({ rules: () => rules })).toEqual(['7 accept']);
  });

  it('keeps what came in the mirror, and shows null for it', async () => {
    const house = await createHouse();
    const odd = { ...line, barcode: 5, fulfilledQuantity: { pieces: 2 }, price: '10,5' };
    await receive(house, ORDER, { ...DELIVERY, status: false, fulfilledLineItems: [odd] });
    const lines = await house.store.db.selectFrom('delivery_line').selectAll().execute();
    expect(lines).toMatchObject([{ barcode: '5', fulfilled_quantity: null, price: null }]);
    expect(JSON.parse(lines[0]?.extra ?? '')).toEqual({
      ...{ fulfilledQuantity: { pieces: 2 }, price: '10,5' },
    });
    const [row] = await house.store.db.selectFrom('delivery').selectAll().execute();
    expect(row).toMatchObject({
      status: 'false',
      unread: '["fulfilledLineItems.0.fulfilledQuantity","fulfilledLineItems.0.price"]',
    });
  });
});
