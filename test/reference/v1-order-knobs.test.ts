import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Rig, startRig } from './support.ts';

describe('the rules and knobs of V1 orders', () => {
  let rig: Rig;
  let barcode: string;

  beforeEach(async () => {
    rig = await startRig();
    const { body } = await rig.call('GET', '/variants/stock?limit=1');
    barcode = body.data.variants[0].barcode;
  });
  afterEach(() => rig.reference.close());

  const post = (more: object, headers: Record<string, string> = {}) =>
    rig.call('POST', '/orders', {
      body: { reference: 'K', orderLineItems: [{ barcode, quantity: 1, price: 5 }], ...more },
      headers: { ...rig.headersOf('plain'), ...headers },
    });
  const line = (more: object) => [{ barcode, quantity: 1, price: 5, ...more }];
  const references = async () =>
    (await rig.call('GET', '/orders')).body.data.orders.map(
      (order: { reference: string }) => order.reference,
    );

  it('takes a pre-order only with a season and a delivery of it on every line', async () => {
    const good = await post({
      SeasonName: 'SS27',
      orderLineItems: line({ DeliveryName: 'SS27 Drop 2' }),
    });
    expect(good.status).toBe(200);
    expect(good.body.data.salesOrder).toMatchObject({
      SeasonName: 'SS27',
      orderLineItems: [{ season: 'SS27', delivery: 'SS27 Drop 2' }],
    });
    const wrong: [object, string][] = [
      [{ SeasonName: 'SS27' }, 'orderLineItems.0.DeliveryName: is required with SeasonName'],
      [
        { orderLineItems: line({ DeliveryName: 'SS27 Drop 2' }) },
        'orderLineItems.0.DeliveryName: needs SeasonName',
      ],
      [
        { SeasonName: 'XX', orderLineItems: line({ DeliveryName: 'a' }) },
        'SeasonName: there is no season XX',
      ],
      [
        { SeasonName: 'SS27', orderLineItems: line({ DeliveryName: 'AW26 Drop 1' }) },
        'orderLineItems.0.DeliveryName: SS27 has no delivery AW26 Drop 1',
      ],
    ];
    for (const [more, problem] of wrong) {
      const { status, body } = await post(more);
      expect([status, body.invalid_data]).toEqual([422, [problem]]);
    }
  });

  it('takes address and freight in both spellings, and refuses incomplete ones', async () => {
    const shippingAddress = {
      address: 'Street 1',
      city: 'Odense',
      zip: '5000',
      countryCode: 'DK',
      firstName: 'Ann',
      lastName: 'Holm',
      phone: '1',
      email: 'a@b.example',
    };
    const freight = { freightAmount: 12.5, freightType: 'DHL Express', parcelShopId: 'p7' };
    for (const spelling of ['Freight', 'freight']) {
      const { body } = await post({ shippingAddress, [spelling]: freight });
      expect(body.data.salesOrder).toMatchObject({ freight });
      expect(body.data.salesOrder.shippingAddress).toMatchObject({
        name: 'Ann Holm',
        city: 'Odense',
        company: '',
      });
    }
    const { city: _, ...incomplete } = shippingAddress;
    const refused = await post({
      shippingAddress: incomplete,
      freight: { freightAmount: -1 },
    });
    expect(refused.body.invalid_data.map((text: string) => text.split(':')[0]).sort()).toEqual([
      'freight.freightAmount',
      'shippingAddress.city',
    ]);
  });

  it('requires freight where the knob says so', async () => {
    rig.reference.knobs.patch({ orders: { freightRequired: true } });
    expect((await post({})).body.invalid_data).toEqual(['freight: is required']);
    expect((await post({ freight: { freightAmount: 0 } })).status).toBe(200);
  });

  it('refuses a second order with the same reference where the knob says so', async () => {
    rig.reference.knobs.patch({ orders: { duplicateReference: 'conflict' } });
    expect((await post({})).status).toBe(200);
    expect((await post({})).status).toBe(409);
    expect(await references()).toEqual(['K']);
  });

  it('honours the idempotency key where the knob says so, else ignores it', async () => {
    const headers = { 'idempotency-key': 'once' };
    const one = (await post({}, headers)).body.data.orderId;
    expect((await post({}, headers)).body.data.orderId).not.toBe(one);
    rig.reference.knobs.patch({ orders: { idempotencyKey: 'honour' } });
    const two = (await post({}, headers)).body.data.orderId;
    expect((await post({}, headers)).body.data.orderId).toBe(two);
    expect((await post({}, { 'idempotency-key': 'again' })).body.data.orderId).not.toBe(two);
  });

  it('lets a new order miss from the list for a while', async () => {
    rig.reference.knobs.patch({ orders: { listingLag: '30s' } });
    const { orderId } = (await post({})).body.data;
    expect(await references()).toEqual([]);
    expect((await rig.call('GET', `/orders/${orderId}`)).status).toBe(200);
    await rig.clock.advance(30_000);
    expect(await references()).toEqual(['K']);
  });

  it('commits late: answers 504 and creates the order afterwards', async () => {
    rig.reference.knobs.patch({ orders: { lateCommitShare: 1, lateCommitAfter: '20s' } });
    expect((await post({})).status).toBe(504);
    await rig.clock.advance(19_000);
    expect(await references()).toEqual([]);
    await rig.clock.advance(2_000);
    expect(await references()).toEqual(['K']);
  });

  it('rejects from accepted where the knob says so', async () => {
    rig.reference.knobs.patch({ orders: { rejectFromAccepted: 'allow' } });
    const { orderId } = (await post({})).body.data;
    await rig.clock.advance(15_000);
    const { body } = await rig.call('GET', `/orders/${orderId}/deliveries`);
    const at = `/orders/${orderId}/deliveries/${body.data.deliveries[0].orderDeliveryId}`;
    await rig.call('POST', at, { body: { status: 'accepted' } });
    expect((await rig.call('POST', at, { body: { status: 'rejected' } })).status).toBe(200);
  });

  it('shows a b2b key the orders of its account only', async () => {
    const mine = await post({ reference: 'mine' }, rig.headersOf('b2b'));
    await post({ reference: 'other', shippingAddress: undefined });
    const { body } = await rig.call('GET', '/orders', { headers: rig.headersOf('b2b') });
    expect(body.data.orders.map((one: { reference: string }) => one.reference)).toEqual(['mine']);
    const headers = rig.headersOf('b2bDetailed');
    const at = `/orders/${mine.body.data.orderId}`;
    expect((await rig.call('GET', at, { headers })).status).toBe(404);
  });
});
