import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Speaker, startSpeaker } from './support.ts';

let speaker: Speaker;
beforeEach(async () => {
  speaker = await startSpeaker();
});
afterEach(() => speaker.rig.reference.close());

const orderOf = async (orderId: number) => (await speaker.get(`/orders/${orderId}`)).json.data;

function bookOrder(orderId: number) {
  return speaker.rig.reference.world.book.orders.get(orderId) ?? expect.fail('no such order');
}

async function packed(orderId: number) {
  speaker.rig.reference.world.trade.packAll(bookOrder(orderId));
  return (await speaker.get(`/orders/${orderId}/deliveries`)).json.data.deliveries;
}

describe('the reference of an order', () => {
  it.each([
    ['cut20', ' Web #4711/a  long reference ', ' Web #4711/a  long r'],
    ['upper', 'Web#1a', 'WEB#1A'],
    ['lower', 'Web#1a', 'web#1a'],
    ['spaces', ' a  b c ', 'a b c'],
    ['noHash', '#47#11', '4711'],
    ['prefix', 'A1', 'WEB-A1'],
    ['suffix', 'A1', 'A1/1'],
    ['empty', 'A1', ''],
    ['punctuation', 'Ø-1/a b#2', 'Ø1ab2'],
    ['digits', 'R-47/11a', '4711'],
  ])('comes back %s, in every place', async (references, sent, kept) => {
    speaker.speak({ references });
    const orderId = await speaker.order(sent);
    expect((await orderOf(orderId)).reference).toBe(kept);
    expect((await packed(orderId))[0].reference).toBe(kept);
    expect((await speaker.get('/orders')).json.data.orders[0].reference).toBe(kept);
    expect(speaker.rig.events.at(-1)?.data).toMatchObject({
      salesOrderDelivery: { reference: kept },
    });
  });

  it('is taken once it was spelled, where a second order is a conflict', async () => {
    speaker.rig.reference.knobs.patch({ orders: { duplicateReference: 'conflict' } });
    speaker.speak({ references: 'cut20' });
    const line = { barcode: speaker.barcode(), quantity: 1, price: 1 };
    const post = (reference: string) =>
      speaker.post('/orders', { reference, orderLineItems: [line] });
    expect((await post('12345678901234567890-A')).status).toBe(200);
    expect((await post('12345678901234567890-B')).status).toBe(409);
  });

  it('stands in for that of a pending refund', async () => {
    const orderId = await speaker.order('ORDER');
    const body = {
      reference: 'OWN',
      refundLineItems: [{ barcode: speaker.barcode(), quantity: 1 }],
    };
    const ask = async () =>
      (await speaker.post(`/orders/${orderId}/pending-refunds`, body)).json.data.reference;
    expect(await ask()).toBe('OWN');
    speaker.speak({ pendingRefundReference: 'order' });
    expect(await ask()).toBe('ORDER');
  });
});

describe('the lines of an order', () => {
  const line = (variant: number, quantity: number, price = 5) => ({
    barcode: speaker.barcode(variant),
    ...{ quantity, price },
  });
  const kept = async (orderLines: string, lines: object[]) => {
    speaker.speak({ orderLines });
    const orderId = await speaker.order('L', { orderLineItems: lines });
    return (await orderOf(orderId)).orderLineItems.map(
      (one: { barcode: string; quantity: number; price: number }) => [
        one.barcode,
        one.quantity,
        one.price,
      ],
    );
  };

  it('are joined, split or sorted, with all of their pieces', async () => {
    const [a, b] = [speaker.barcode(0), speaker.barcode(1)];
    const lines = [line(0, 2), line(1, 1), line(0, 3), line(0, 1, 6)];
    expect(await kept('joined', lines)).toEqual([
      [a, 5, 5],
      [b, 1, 5],
      [a, 1, 6],
    ]);
    expect(await kept('split', [line(0, 3), line(1, 1)])).toEqual([
      [a, 1, 5],
      [a, 1, 5],
      [a, 1, 5],
      [b, 1, 5],
    ]);
    const sorted = await kept('sorted', lines);
    expect(sorted.map(([barcode]: string[]) => barcode)).toEqual(
      [a, a, a, b].toSorted().toReversed(),
    );
  });

  it('are plain where the account passes over the names of a pre-order', async () => {
    speaker.speak({ preOrderNames: 'ignore' });
    const orderLineItems = [{ ...line(0, 1), DeliveryName: 'no such window' }];
    const orderId = await speaker.order('P', { SeasonName: 'no such season', orderLineItems });
    const order = await orderOf(orderId);
    expect(order).not.toHaveProperty('SeasonName');
    expect(order.orderLineItems[0]).not.toHaveProperty('delivery');
    await speaker.rig.clock.advance(10_000);
    expect((await speaker.get(`/orders/${orderId}/deliveries`)).json.data.deliveries).toHaveLength(
      1,
    );
  });

  it('keep prices to the fourth decimal', async () => {
    speaker.speak({ priceDecimals: 3 });
    expect(await kept('kept', [line(0, 1, 1998.345)])).toEqual([[speaker.barcode(), 1, 1998.345]]);
    speaker.speak({ priceDecimals: 4 });
    expect(await kept('kept', [line(0, 1, 0.1234)])).toEqual([[speaker.barcode(), 1, 0.1234]]);
    speaker.speak({ priceDecimals: null });
    expect(await kept('kept', [line(0, 1, 1.005)])).toEqual([[speaker.barcode(), 1, 1.01]]);
  });

  it('have a freight under one spelling only, where the account says so', async () => {
    speaker.speak({ freightSpelling: 'freight' });
    const amount = async (member: string) => {
      const orderId = await speaker.order('F', { [member]: { freightAmount: 7 } });
      return (await orderOf(orderId)).freight.freightAmount;
    };
    expect([await amount('freight'), await amount('Freight')]).toEqual([7, 0]);
    speaker.speak({ freightSpelling: 'Freight', unknownParameters: 'refuse' });
    expect(await amount('Freight')).toBe(7);
    await expect(amount('freight')).rejects.toThrow('freight: is not known');
  });
});

describe('members of orders and deliveries', () => {
  it('leave out currency, time of creation and season', async () => {
    const orderLineItems = [
      { barcode: speaker.barcode(), quantity: 1, price: 1, DeliveryName: 'SS27 Drop 1' },
    ];
    const orderId = await speaker.order('S', { SeasonName: 'SS27', orderLineItems });
    expect(await orderOf(orderId)).toMatchObject({ currency: 'EUR', SeasonName: 'SS27' });
    speaker.speak({ orderCurrency: false, createdAt: false, orderSeason: false });
    const order = await orderOf(orderId);
    for (const name of ['currency', 'createdAt', 'SeasonName']) {
      expect(order).not.toHaveProperty(name);
    }
    expect((await packed(orderId))[0]).not.toHaveProperty('createdAt');
    const { variants } = (await speaker.get('/variants/stock?limit=1&detailed=true')).json.data;
    expect(variants[0].details.currency).toBe('EUR');
  });

  it.each([
    [{ timeZone: 'Europe/Copenhagen' }, '2026-01-05T09:00:00.000+01:00'],
    [{ timeZone: 'America/New_York', times: 'local' }, '2026-01-05T03:00:00.000'],
    [{ timeFormat: 'sql' }, '2026-01-05 08:00:00Z'],
    [{ timeFormat: 'sql', times: 'local', timeZone: 'Asia/Kolkata' }, '2026-01-05 13:30:00'],
  ])('bear times as %j', async (dialect, createdAt) => {
    const orderId = await speaker.order();
    speaker.speak(dialect);
    expect((await orderOf(orderId)).createdAt).toBe(createdAt);
  });

  it('bear statuses in other letters and under other names, which a POST takes too', async () => {
    const orderId = await speaker.order();
    speaker.speak({ statusCase: 'capital', statusNames: { pending: 'awaiting_acceptance' } });
    const [delivery] = await packed(orderId);
    expect(delivery.status).toBe('Awaiting_acceptance');
    expect((await orderOf(orderId)).status).toBe('Pending');
    const at = `/orders/${orderId}/deliveries/${delivery.orderDeliveryId}`;
    const post = async (status: string) => (await speaker.post(at, { status })).json.data?.status;
    expect(await post('Accepted')).toBe('Accepted');
    expect(await post('awaiting_acceptance')).toBe('Awaiting_acceptance');
    expect((await speaker.post(at, { status: 'unheard of' })).status).toBe(422);
  });

  it('count deliveries and refunds in each order from 1', async () => {
    speaker.speak({ deliveryNumbers: 'perOrder', refundNumbers: 'perOrder' });
    const { world } = speaker.rig.reference;
    const orders = [await speaker.order('A'), await speaker.order('B')];
    for (const orderId of orders) {
      const [delivery] = await packed(orderId);
      expect(delivery.orderDeliveryId).toBe(1);
      const at = `/orders/${orderId}/deliveries/1`;
      const rejected = await speaker.post(at, { status: 'rejected' });
      expect(rejected.json.data).toMatchObject({ orderId, status: 'rejected' });
      expect((await packed(orderId))[1].orderDeliveryId).toBe(2);
      const lines = [{ barcode: speaker.barcode(), pieces: 1, quantity: 1 }];
      world.trade.confirmRefund(
        world.trade.askRefund(bookOrder(orderId), { reference: 'r', lines }),
      );
      const { refunds } = (await speaker.get(`/orders/${orderId}/refunds`)).json.data;
      expect(refunds[0].orderRefundId).toBe(1);
      expect((await speaker.get(`/orders/${orderId}/refunds/1`)).json.data.orderId).toBe(orderId);
    }
  });

  it('answer under aliases, which their addresses take as the account does', async () => {
    const orderId = await speaker.order();
    const [{ orderDeliveryId: id }] = await packed(orderId);
    const alias = id + 5_000_000;
    const at = `/orders/${orderId}/deliveries`;
    const listed = async () => (await speaker.get(at)).json.data.deliveries[0].orderDeliveryId;
    const shown = async () => (await speaker.get(`${at}/${id}`)).json.data.orderDeliveryId;
    speaker.speak({ deliveryAliases: 'answers', deliveryTakenAs: 'own', orderAliases: true });
    expect([await listed(), await shown()]).toEqual([id, alias]);
    const named = orderId + 5_000_000;
    expect((await orderOf(orderId)).orderId).toBe(named);
    expect((await speaker.get(at)).json.data.deliveries[0].orderId).toBe(named);
    const post = async (as: number) => speaker.post(`${at}/${as}`, { status: 'accepted' });
    expect((await post(alias)).status).toBe(404);
    expect((await post(id)).json.data).toMatchObject({ orderDeliveryId: alias, orderId: named });
    speaker.speak({ deliveryAliases: 'lists', deliveryTakenAs: 'alias' });
    expect([await listed(), await shown()]).toEqual([alias, alias]);
    expect([(await post(id)).status, (await post(alias)).status]).toEqual([404, 200]);
  });

  it('stand in the answer to a new order where the account packs at once', async () => {
    speaker.speak({ deliveriesInAnswer: true });
    const line = { barcode: speaker.barcode(), quantity: 1, price: 1 };
    const { json } = await speaker.post('/orders', { reference: 'D', orderLineItems: [line] });
    expect(json.data.deliveries).toEqual([
      { orderDeliveryId: 500_001, deliveryNo: 'DN-500001', status: 'pending' },
    ]);
    await speaker.rig.clock.advance(30_000);
    const at = `/orders/${json.data.orderId}/deliveries`;
    expect((await speaker.get(at)).json.data.deliveries).toHaveLength(1);
  });
});

describe('reads that lag behind', () => {
  it('show a new delivery and a changed status late, the answer of a POST at once', async () => {
    speaker.speak({ readLag: '3s' });
    const { clock } = speaker.rig;
    const orderId = await speaker.order();
    await clock.advance(3_000);
    expect(await packed(orderId)).toEqual([]);
    await clock.advance(3_000);
    const statuses = async () => {
      const { deliveries } = (await speaker.get(`/orders/${orderId}/deliveries`)).json.data;
      return deliveries.map(({ status }: { status: string }) => status);
    };
    expect(await statuses()).toEqual(['pending']);
    const at = `/orders/${orderId}/deliveries/500001`;
    expect((await speaker.post(at, { status: 'accepted' })).json.data.status).toBe('accepted');
    expect(await statuses()).toEqual(['pending']);
    expect((await speaker.get(at)).json.data.status).toBe('pending');
    await clock.advance(2_999);
    expect(await statuses()).toEqual(['pending']);
    await clock.advance(1);
    expect(await statuses()).toEqual(['accepted']);
  });

  it('show a new order, a shipped one and a refund late, and the list at once', async () => {
    speaker.speak({ readLag: '3s' });
    const { clock, reference } = speaker.rig;
    const { trade } = reference.world;
    const orderId = await speaker.order();
    const at = `/orders/${orderId}`;
    expect((await speaker.get(at)).status).toBe(404);
    expect((await speaker.get(`${at}/refunds`)).status).toBe(404);
    expect((await speaker.get('/orders')).json.data.orders[0].orderId).toBe(orderId);
    await clock.advance(3_000);
    expect((await speaker.get(at)).json.data.status).toBe('pending');
    const delivery = trade.packAll(bookOrder(orderId)) ?? expect.fail('nothing was packed');
    trade.moveDelivery(delivery, 'accepted');
    trade.ship(delivery);
    const refund = trade.returnDelivery(delivery);
    const read = async () => {
      const { status, completed, orderLineItems } = (await speaker.get(at)).json.data;
      const { refunds } = (await speaker.get(`${at}/refunds`)).json.data;
      return { status, completed, shipped: orderLineItems[0].fulfilledQuantity, refunds };
    };
    const before = { status: 'pending', completed: false, shipped: 0, refunds: [] };
    expect(await read()).toEqual(before);
    await clock.advance(2_999);
    expect(await read()).toEqual(before);
    await clock.advance(1);
    expect(await read()).toMatchObject({
      status: 'fulfilled',
      completed: true,
      shipped: 2,
      refunds: [{ orderRefundId: refund?.orderRefundId, status: 'pending' }],
    });
  });
});

describe('events', () => {
  it('refer to a system key in text and to an API key in a number', async () => {
    await speaker.order('REF');
    expect(speaker.rig.references.at(-1)).toEqual({
      systemKey: 'reference',
      apiKeyId: 1,
      reference: 'REF',
    });
  });

  it('of another system come between ours', async () => {
    speaker.speak({ foreignEvents: 1 });
    const orderId = await speaker.order('REF');
    const [ours, foreign] = speaker.rig.events;
    expect(ours?.data).toMatchObject({ salesOrder: { orderId } });
    expect(foreign?.data).toMatchObject({ salesOrder: { orderId: orderId + 9_000_000 } });
    expect(speaker.rig.references[1]).toEqual({
      systemKey: 'elsewhere',
      apiKeyId: 1,
      reference: 'EXT-REF',
    });
    expect((await speaker.get(`/orders/${orderId + 9_000_000}`)).status).toBe(404);
  });
});
