import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Rig, startRig } from './support.ts';

describe('V1 orders of the reference service', () => {
  let rig: Rig;
  let barcodes: string[];

  beforeEach(async () => {
    rig = await startRig();
    const { body } = await rig.call('GET', '/variants/stock?limit=10');
    barcodes = body.data.variants.map((row: { barcode: string }) => row.barcode);
  });
  afterEach(() => rig.reference.close());

  const order = (reference: string) => ({
    reference,
    orderLineItems: [
      { barcode: barcodes[0], quantity: 2, price: 19.95 },
      { barcode: barcodes[1], quantity: 1, price: 100 },
    ],
  });
  const create = async (reference: string) => {
    const { status, body } = await rig.call('POST', '/orders', { body: order(reference) });
    expect(status).toBe(200);
    return body.data;
  };
  const deliveriesOf = async (orderId: number) =>
    (await rig.call('GET', `/orders/${orderId}/deliveries`)).body.data.deliveries;
  const packed = async (reference: string) => {
    const { orderId } = await create(reference);
    await rig.clock.advance(15_000);
    const [delivery] = await deliveriesOf(orderId);
    return {
      orderId,
      delivery,
      at: `/orders/${orderId}/deliveries/${delivery.orderDeliveryId}`,
      post(status: string) {
        return rig.call('POST', this.at, { body: { status } });
      },
    };
  };

  it('creates an order with its whole shape in the answer', async () => {
    const { status, body } = await rig.call('POST', '/orders', { body: order('R-1') });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 200, message: 'OK' });
    expect(body.data).toMatchObject({ orderStatus: 'pending', deliveries: [] });
    expect(body.data.salesOrder).toMatchObject({
      orderId: body.data.orderId,
      reference: 'R-1',
      status: 'pending',
      completed: false,
      orderLineItems: [
        { barcode: barcodes[0], quantity: 2, fulfilledQuantity: 0, price: 19.95 },
        { barcode: barcodes[1], quantity: 1, fulfilledQuantity: 0, price: 100 },
      ],
    });
    const again = await rig.call('GET', `/orders/${body.data.orderId}`);
    expect(again.body.data).toEqual(body.data.salesOrder);
    expect(rig.events.map(({ type }) => type)).toEqual(['sales_order.order_created']);
  });

  it('answers 422 with one line per problem', async () => {
    const { status, body } = await rig.call('POST', '/orders', {
      body: { orderLineItems: [{ barcode: '1', quantity: 0, price: -1 }] },
    });
    expect(status).toBe(422);
    expect(body.invalid_data).toEqual([
      expect.stringMatching(/^reference: /),
      expect.stringMatching(/^orderLineItems\.0\.quantity: /),
      expect.stringMatching(/^orderLineItems\.0\.price: /),
    ]);
    const unknown = await rig.call('POST', '/orders', {
      body: { reference: 'x', orderLineItems: [{ barcode: '1', quantity: 1, price: 1 }] },
    });
    expect(unknown.body.invalid_data).toEqual(['orderLineItems.0.barcode: there is no variant 1']);
  });

  it('lists newest first, 50 a page, below the cursor', async () => {
    for (let nth = 0; nth < 53; nth += 1) await create(`L-${nth}`);
    const first = (await rig.call('GET', '/orders')).body.data.orders;
    expect(first).toHaveLength(50);
    expect(first[0].reference).toBe('L-52');
    const last = first[49].orderId;
    const rest = (await rig.call('GET', `/orders?beforeOrderId=${last}`)).body.data.orders;
    expect(rest.map((one: { reference: string }) => one.reference)).toEqual(['L-2', 'L-1', 'L-0']);
  });

  it('makes a second order of a second post with the same reference', async () => {
    const [one, two] = [await create('twice'), await create('twice')];
    expect(two.orderId).toBeGreaterThan(one.orderId);
  });

  it('packs on the clock and tells it', async () => {
    const { delivery, orderId } = await packed('P-1');
    expect(delivery).toMatchObject({ orderId, reference: 'P-1', status: 'pending' });
    expect(delivery.fulfilledLineItems.map((line: object) => Object.keys(line))).toEqual([
      ['barcode', 'fulfilledQuantity', 'fulfilledSizeQuantity', 'price'],
      ['barcode', 'fulfilledQuantity', 'fulfilledSizeQuantity', 'price'],
    ]);
    const [, event] = rig.events;
    expect(event?.type).toBe('sales_order.delivery_created');
    expect(event?.data.salesOrderDelivery).toEqual(delivery);
  });

  it('moves a delivery to accepted and back any number of times', async () => {
    const held = await packed('A-1');
    for (const status of ['accepted', 'pending', 'accepted', 'accepted', 'pending']) {
      const answer = await held.post(status);
      expect([answer.status, answer.body.data.status]).toEqual([200, status]);
    }
    const updates = rig.events.filter(({ type }) => type === 'sales_order.delivery_updated');
    expect(updates).toHaveLength(4);
  });

  it('keeps a rejected delivery for ever and packs the order again', async () => {
    const held = await packed('J-1');
    expect((await held.post('rejected')).body.data.status).toBe('rejected');
    for (const status of ['pending', 'accepted', 'rejected']) {
      expect((await held.post(status)).status).toBe(409);
    }
    await rig.clock.advance(60_000);
    const after = await deliveriesOf(held.orderId);
    expect(after.map((one: { status: string }) => one.status)).toEqual(['rejected', 'pending']);
  });

  it('does not reject from accepted', async () => {
    const held = await packed('J-2');
    await held.post('accepted');
    expect((await held.post('rejected')).status).toBe(409);
  });

  it('ships what was accepted, completes the order and lets nobody move it then', async () => {
    const held = await packed('S-1');
    const before = rig.reference.world.stock.of(0);
    await held.post('accepted');
    await rig.clock.advance(40_000);
    const { body } = await rig.call('GET', `/orders/${held.orderId}`);
    expect(body.data).toMatchObject({ status: 'fulfilled', completed: true });
    expect(rig.reference.world.stock.of(0)).toBe(Math.max(0, before - 2));
    expect((await held.post('pending')).status).toBe(409);
    const shipped = (await rig.call('GET', held.at)).body.data;
    expect(shipped.trackAndTrace.trackingNumbers).toHaveLength(1);
    expect(rig.events.at(-1)?.type).toBe('sales_order.order_completed');
  });

  it('does not ship what went back to pending', async () => {
    const held = await packed('S-2');
    await held.post('accepted');
    await held.post('pending');
    await rig.clock.advance(40_000);
    expect((await rig.call('GET', held.at)).body.data.status).toBe('pending');
  });

  it('answers 422 for other words and 404 for other orders', async () => {
    const held = await packed('W-1');
    for (const status of ['canceled', 'done', undefined]) {
      const answer = await rig.call('POST', held.at, { body: { status } });
      expect([answer.status, answer.body.invalid_data.length]).toEqual([422, 1]);
    }
    const other = await create('W-2');
    const elsewhere = held.at.replace(String(held.orderId), String(other.orderId));
    expect((await rig.call('GET', elsewhere)).status).toBe(404);
    expect((await rig.call('GET', '/orders/99')).status).toBe(404);
    expect((await rig.call('GET', '/orders/soon')).status).toBe(422);
  });

  it('lets orders arrive and packs some of them in several deliveries', async () => {
    await rig.reference.close();
    rig = await startRig({ life: { ordersPerMinute: 30, splitShare: 0.5 } });
    await rig.clock.advance(60_000);
    const { orders } = (await rig.call('GET', '/orders')).body.data;
    expect(orders.length).toBeGreaterThan(25);
    const counts = await Promise.all(
      orders.slice(15).map(async (one: { orderId: number }) => {
        const found = await rig.call('GET', `/orders/${one.orderId}/deliveries`);
        return found.body.data.deliveries.length;
      }),
    );
    expect(new Set(counts)).toEqual(new Set([1, 2]));
    const countries = orders.map(
      (one: { shippingAddress: { countryCode: string } }) => one.shippingAddress.countryCode,
    );
    expect(new Set(countries).size).toBeGreaterThan(3);
  });
});
