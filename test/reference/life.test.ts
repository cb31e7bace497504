import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { listeningPort, type Rig, startRig } from './support.ts';

describe('the life of the world', () => {
  let rig: Rig;
  afterEach(() => rig.reference.close());

  const barcodesOf = async (count: number): Promise<string[]> => {
    const { body } = await rig.call('GET', `/variants/stock?limit=${count}`);
    return body.data.variants.map((row: { barcode: string }) => row.barcode);
  };
  const order = async (lines: number) => {
    const orderLineItems = (await barcodesOf(lines)).map((barcode) => ({
      ...{ barcode, quantity: 2, price: 10 },
    }));
    const { body } = await rig.call('POST', '/orders', {
      body: { reference: 'L', orderLineItems },
    });
    const at = `/orders/${body.data.orderId}`;
    return {
      get: async () => (await rig.call('GET', at)).body.data,
      deliveries: async () => (await rig.call('GET', `${at}/deliveries`)).body.data.deliveries,
      move: (id: number, status: string) =>
        rig.call('POST', `${at}/deliveries/${id}`, { body: { status } }),
    };
  };
  const types = () => rig.events.map(({ type }) => type.replace('sales_order.', ''));

  it('ships the parts of an order one by one and completes it with the last', async () => {
    rig = await startRig({ life: { splitShare: 1 } });
    const held = await order(3);
    await rig.clock.advance(20_000);
    const [one, two] = await held.deliveries();
    expect([one.fulfilledLineItems.length, two.fulfilledLineItems.length]).toEqual([2, 1]);
    await held.move(one.orderDeliveryId, 'accepted');
    await rig.clock.advance(30_000);
    expect(await held.get()).toMatchObject({ status: 'partially_fulfilled', completed: false });
    await held.move(two.orderDeliveryId, 'accepted');
    await rig.clock.advance(30_000);
    expect(await held.get()).toMatchObject({ status: 'fulfilled', completed: true });
  });

  it('lets orders and goods come as often as is asked for while it runs', async () => {
    rig = await startRig({ life: { ordersPerMinute: 0.1, restocksPerMinute: 0.1 } });
    const before = rig.reference.world.stock.frozen();
    rig.reference.knobs.patch({ life: { ordersPerMinute: 60, restocksPerMinute: 60 } });
    await rig.clock.advance(3_000);
    expect(types()).toEqual(['order_created', 'order_created', 'order_created']);
    expect(rig.reference.world.stock.frozen()).not.toEqual(before);
  });

  it('cancels what nobody decides, and ends the order with what it has', async () => {
    rig = await startRig({ life: { splitShare: 1, cancelShare: 1, cancelAfter: '1m' } });
    const held = await order(2);
    await rig.clock.advance(20_000);
    const [one, two] = await held.deliveries();
    await held.move(one.orderDeliveryId, 'accepted');
    await rig.clock.advance(60_000);
    expect((await held.move(two.orderDeliveryId, 'accepted')).status).toBe(409);
    expect(await held.get()).toMatchObject({ status: 'partially_fulfilled', completed: true });
    expect(types().slice(-2)).toEqual(['delivery_canceled', 'order_completed']);
    await rig.clock.advance(120_000);
    expect(await held.deliveries()).toHaveLength(2);
  });

  it('sends part of a shipped delivery back where customers do', async () => {
    rig = await startRig({ life: { refundShare: 1, refundAfter: '2m' } });
    const held = await order(1);
    await rig.clock.advance(15_000);
    const [delivery] = await held.deliveries();
    await held.move(delivery.orderDeliveryId, 'accepted');
    await rig.clock.advance(150_000);
    expect(types()).toEqual([
      'order_created',
      'delivery_created',
      'delivery_updated',
      'delivery_updated',
      'order_completed',
      'refund_created',
    ]);
  });

  it('has a past: most of it shipped, the rest still to be packed', async () => {
    rig = await startRig({ world: { orders: 40 } });
    const { orders } = (await rig.call('GET', '/orders')).body.data;
    const completed = orders.filter((one: { completed: boolean }) => one.completed);
    expect([orders.length, completed.length]).toEqual([40, 36]);
    expect(rig.events).toEqual([]);
    expect((await rig.call('GET', '/variants/stock?limit=1')).body.data.count).toBe(240);
    await rig.clock.advance(10_000);
    expect(types()).toEqual(Array(4).fill('delivery_created'));
  });

  it('fills stock up where the knob says so', async () => {
    rig = await startRig({ life: { restocksPerMinute: 60 } });
    const total = () => rig.reference.world.stock.frozen().reduce((sum, one) => sum + one, 0);
    const before = total();
    await rig.clock.advance(30_000);
    expect(total()).toBeGreaterThan(before + 30);
  });

  it('stands still and goes on when orders are switched off and on', async () => {
    rig = await startRig({ life: { ordersPerMinute: 60 } });
    await rig.clock.advance(5_000);
    const count = () => rig.reference.world.book.orders.all.length;
    expect(count()).toBe(5);
    rig.reference.knobs.patch({ life: { ordersPerMinute: 0 } });
    await rig.clock.advance(60_000);
    expect(count()).toBe(5);
    rig.reference.knobs.patch({ life: { ordersPerMinute: 60 } });
    await rig.clock.advance(10_000);
    expect(count()).toBeGreaterThan(8);
  });

  it('sends each change, signed, to who subscribed', async () => {
    rig = await startRig();
    const received: { type: string; headers: string[] }[] = [];
    const receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const { type } = JSON.parse(Buffer.concat(chunks).toString());
        received.push({ type, headers: Object.keys(request.headers) });
        response.writeHead(204).end();
      });
    });
    const port = await listeningPort(receiver);
    rig.reference.relay.createEndpoint({ url: `http://127.0.0.1:${port}/in` });
    await order(1);
    await rig.clock.advance(15_000);
    await rig.reference.relay.idle();
    receiver.close();
    expect(received.map(({ type }) => type)).toEqual([
      'sales_order.order_created',
      'sales_order.delivery_created',
    ]);
    expect(received[0]?.headers).toContain('svix-signature');
  });
});
