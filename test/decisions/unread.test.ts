import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { deliverySchema, salesOrderSchema } from '../../src/client/v1/schemas.ts';
import { readSubject } from '../../src/decisions/facts.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { completeFacts } from '../../src/rules/facts/build.ts';
import { typicalFacts } from '../../src/rules/facts/typical.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

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
async function receive(fixture: DeciderFixture, order: object, delivery: object): Promise<void> {
  const at = { source: 'run:1', readSeq: fixture.clock.now(), at: fixture.clock.now() };
  await fixture.store.transaction(async (tx) => {
    await writeOrders(tx, checkRows(salesOrderSchema, [order]).rows, at);
    await writeDeliveries(tx, checkRows(deliverySchema, [delivery]).rows, at);
  });
}

async function reasons({ store }: DeciderFixture): Promise<string[]> {
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
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_ALL);
    const read = { ...ORDER };
    const delivery = { ...DELIVERY, ...odd };
    if (path === 'orderId') {
      await receive(fixture, read, DELIVERY);
      const row = { unread: '["orderId"]', content_hash: 'other' };
      await fixture.store.db.updateTable('delivery').set(row).execute();
    } else await receive(fixture, read, delivery);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['7 hold']);
    expect(await reasons(fixture)).toEqual([`hold: cannot be read: ${path}`]);
    await fixture.clock.advance(1);
    await receive(fixture, read, { ...DELIVERY, deliveryNo: 'now it is right' });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['7 accept']);
  });

  it.each<[string, object]>([
    ['order.orderLineItems.0.quantity', { orderLineItems: [{ barcode: 'a', quantity: 'ten' }] }],
    ['order.SeasonName', { SeasonName: { name: 'SS27' } }],
    ['order.shippingAddress.accountNo', { shippingAddress: { accountNo: [1] } }],
    ['order.freight.freightAmount', { freight: { freightAmount: '4,950' } }],
    ['order.status', { status: { code: 1 } }],
    ['order.status (sleeping)', { status: 'sleeping' }],
  ])('is held for its order as well, for %s', async (path, odd) => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_ALL);
    await receive(fixture, { ...ORDER, ...odd }, DELIVERY);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['7 hold']);
    expect(await reasons(fixture)).toEqual([`hold: cannot be read: ${path}`]);
    await fixture.clock.advance(1);
    await receive(fixture, ORDER, DELIVERY);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['7 accept']);
  });

  it('has no sum of its lines where they cannot be read', async () => {
    const fixture = await createDeciderFixture();
    await receive(fixture, ORDER, { ...DELIVERY, fulfilledLineItems: 'two' });
    const { settings } = loadedRules(ACCEPT_ALL).ruleSet;
    const at = { now: fixture.clock.now(), settings };
    const subject = await fixture.store.transaction((tx) => readSubject(tx, 7, at));
    const { delivery } = completeFacts(subject?.facts ?? typicalFacts());
    const { quantity, size_quantity, amount, weight } = delivery;
    expect([quantity, size_quantity, amount, weight]).toEqual([null, null, null, null]);
  });

  it('is decided where what cannot be read decides nothing', async () => {
    const fixture = await createDeciderFixture();
    const odd = { deliveryNo: {}, trackAndTrace: [], createdAt: [], note: { a: 1 } };
    await receive(fixture, { ...ORDER, orderNo: [], completed: 'maybe' }, { ...DELIVERY, ...odd });
    const rules = loadedRules(ACCEPT_ALL);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['7 accept']);
  });

  it('keeps what came in the mirror, and shows null for it', async () => {
    const fixture = await createDeciderFixture();
    const odd = { ...line, barcode: 5, fulfilledQuantity: { pieces: 2 }, price: '10,500' };
    await receive(fixture, ORDER, { ...DELIVERY, status: false, fulfilledLineItems: [odd] });
    const lines = await fixture.store.db.selectFrom('delivery_line').selectAll().execute();
    expect(lines).toMatchObject([{ barcode: '5', fulfilled_quantity: null, price: null }]);
    expect(JSON.parse(lines[0]?.extra ?? '')).toEqual({
      ...{ fulfilledQuantity: { pieces: 2 }, price: '10,500' },
    });
    const [row] = await fixture.store.db.selectFrom('delivery').selectAll().execute();
    expect(row).toMatchObject({
      status: 'false',
      unread: '["fulfilledLineItems.0.fulfilledQuantity","fulfilledLineItems.0.price"]',
    });
  });
});
