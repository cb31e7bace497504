import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Rig, startRig } from './support.ts';

describe('V1 refunds and pending refunds', () => {
  let rig: Rig;
  let barcode: string;
  let at: string;

  beforeEach(async () => {
    rig = await startRig({ life: { confirmRefundAfter: '30s' } });
    const list = await rig.call('GET', '/variants/stock?limit=1');
    barcode = list.body.data.variants[0].barcode;
    const { body } = await rig.call('POST', '/orders', {
      body: { reference: 'R', orderLineItems: [{ barcode, quantity: 4, price: 25.5 }] },
    });
    at = `/orders/${body.data.orderId}`;
  });
  afterEach(() => rig.reference.close());

  const ask = (lines: object[], more: object = { reference: 'back' }) =>
    rig.call('POST', `${at}/pending-refunds`, { body: { ...more, refundLineItems: lines } });
  const refunds = async () => (await rig.call('GET', `${at}/refunds`)).body.data.refunds;
  const confirmed = async (line: object = {}) => {
    const asked = await ask([{ barcode, quantity: 2, restock: true, ...line }]);
    expect(asked.status).toBe(200);
    await rig.clock.advance(30_000);
    const [refund] = await refunds();
    return { refund, asked: asked.body.data, at: `${at}/refunds/${refund.orderRefundId}` };
  };

  it('becomes a refund that carries its id when the service confirms it', async () => {
    const asked = await ask([{ barcode, quantity: 2, refundType: 'claim/credit' }]);
    const pending = asked.body.data;
    expect(pending).toMatchObject({ status: 'pending', reference: 'back' });
    const place = `${at}/pending-refunds/${pending.pendingRefundId}`;
    expect((await rig.call('GET', place)).body.data).toEqual(pending);
    expect(await refunds()).toEqual([]);
    await rig.clock.advance(30_000);
    const [refund] = await refunds();
    expect(refund).toMatchObject({
      pendingRefundId: pending.pendingRefundId,
      status: 'pending',
      reference: 'R',
      refundedLineItems: [
        { barcode, refundedQuantity: 2, price: 25.5, restock: false, refundType: 'claim/credit' },
      ],
    });
    const list = (await rig.call('GET', `${at}/pending-refunds`)).body.data.pendingRefunds;
    expect(list).toEqual([{ ...pending, status: 'confirmed' }]);
    expect(rig.events.at(-1)).toEqual({
      type: 'sales_order.refund_created',
      data: { salesOrderRefund: refund },
    });
  });

  it('moves like a delivery and puts goods back on the shelf when accepted', async () => {
    const held = await confirmed();
    const stock = () => rig.reference.world.stock.of(0);
    const before = stock();
    const post = (status: string) => rig.call('POST', held.at, { body: { status } });
    expect((await post('accepted')).body.data.status).toBe('accepted');
    expect(stock()).toBe(before + 2);
    expect((await post('accepted')).status).toBe(200);
    expect((await post('rejected')).status).toBe(409);
    expect((await post('pending')).status).toBe(200);
    expect(stock()).toBe(before);
    expect((await post('rejected')).status).toBe(200);
    expect((await post('accepted')).status).toBe(409);
    const updates = rig.events.filter(({ type }) => type === 'sales_order.refund_updated');
    expect(updates).toHaveLength(3);
  });

  it('answers 422 for lines that the order does not have, 404 for other ids', async () => {
    const { status, body } = await ask([
      { barcode: '5700000000000', quantity: 1 },
      { barcode, quantity: 5 },
    ]);
    expect([status, body.invalid_data]).toEqual([
      422,
      [
        'refundLineItems.0.barcode: 5700000000000 is not in this order',
        'refundLineItems.1.quantity: only 4 were ordered',
      ],
    ]);
    expect((await ask([], {})).body.invalid_data).toHaveLength(2);
    expect((await rig.call('GET', `${at}/refunds/1`)).status).toBe(404);
    expect((await rig.call('GET', `${at}/pending-refunds/1`)).status).toBe(404);
    expect((await rig.call('GET', '/orders/1/refunds')).status).toBe(404);
  });

  it('counts the lines of one barcode together against what was ordered', async () => {
    const { status, body } = await ask([
      { barcode, quantity: 3 },
      { barcode, quantity: 2 },
    ]);
    const line = 'refundLineItems.1.quantity: only 4 were ordered';
    expect([status, body.invalid_data]).toEqual([422, [line]]);
    expect(
      (
        await ask([
          { barcode, quantity: 3 },
          { barcode, quantity: 1 },
        ])
      ).status,
    ).toBe(200);
  });

  it('leaves out the pending id of a refund that the customer began', async () => {
    await rig.reference.close();
    rig = await startRig({
      world: { orders: 30 },
      life: { ordersPerMinute: 0 },
    });
    const { orders } = (await rig.call('GET', '/orders')).body.data;
    const lists = await Promise.all(
      orders.map(async (one: { orderId: number }) => {
        const found = await rig.call('GET', `/orders/${one.orderId}/refunds`);
        return found.body.data.refunds;
      }),
    );
    const all = lists.flat();
    expect(all.length).toBeGreaterThan(0);
    expect(all.every((refund) => !('pendingRefundId' in refund))).toBe(true);
  });
});
