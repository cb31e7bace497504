import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, it } from 'vitest';
import { KNOWN_TYPES } from '../../../src/inbox/event-store.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { driftMeterOf } from '../../client/support.ts';
import { answering, type Received } from './receiver.ts';
import { DELIVERY, pass, startBench } from './support.ts';

function flipped(body: Buffer, at: number): Buffer {
  const copy = Buffer.from(body);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** Asks both libraries of receivers about a request. */
function verdicts(secret: string, request: Received, body = request.body): boolean[] {
  const accepts = (verify: () => unknown): boolean => {
    try {
      verify();
      return true;
    } catch {
      return false;
    }
  };
  const standard = { ...request.headers };
  for (const part of ['id', 'timestamp', 'signature']) {
    standard[`webhook-${part}`] ??= request.headers[`svix-${part}`] ?? '';
  }
  return [
    accepts(() => new StandardWebhook(secret).verify(body, standard, { jsonParse: false })),
    accepts(() => new SvixWebhook(secret).verify(body, request.headers)),
  ];
}

describe('a published event', () => {
  it('arrives as the wire contract describes it', async () => {
    const { relay, receiver } = await startBench();
    relay.createEndpoint({ url: receiver.url });
    relay.publish('sales_order.delivery_created', DELIVERY, { reference: 'PO-1' });
    await relay.idle();
    const [request] = receiver.requests;
    expect(JSON.parse(String(request?.body))).toEqual({
      type: 'sales_order.delivery_created',
      data: DELIVERY,
      references: { reference: 'PO-1' },
    });
    expect(request?.headers['content-type']).toBe('application/json');
    expect(request?.headers['svix-id']).toMatch(/^msg_[A-Za-z0-9]+$/);
    expect(Object.keys(request?.headers ?? {})).not.toContain('webhook-id');
  });

  it('is accepted by independent receivers, and refused after one flipped byte', async () => {
    const { relay, receiver } = await startBench();
    const endpoint = relay.createEndpoint({ url: receiver.url });
    const texts = ['plain', 'Zoë Ærø 裙子 👗', '"\\\u2028\u0000', '\ud800 lone', ''];
    for (const text of texts) relay.publish('ping', { ping: text });
    await relay.idle();
    expect(receiver.requests).toHaveLength(texts.length);
    for (const request of receiver.requests) {
      const secret = relay.secret(endpoint.id);
      expect(verdicts(secret, request)).toEqual([true, true]);
      for (let at = 0; at < request.body.length; at += 7) {
        expect(verdicts(secret, request, flipped(request.body, at))).toEqual([false, false]);
      }
    }
  });

  it('goes only to endpoints that are enabled and chose its type', async () => {
    const { relay, receiver } = await startBench();
    const path = (name: string): string => new URL(name, receiver.url).href;
    relay.createEndpoint({ url: path('/all') });
    relay.createEndpoint({ url: path('/refunds'), eventTypes: ['sales_order.refund_created'] });
    relay.createEndpoint({ url: path('/one'), eventTypes: ['sales_order.delivery_created'] });
    relay.createEndpoint({ url: path('/off'), disabled: true });
    relay.publish('sales_order.delivery_created', DELIVERY);
    await relay.idle();
    expect(receiver.requests.map((request) => request.path).sort()).toEqual(['/all', '/one']);
  });

  it('keeps id and bytes over retries and a re-send, with a new time stamp each', async () => {
    const clock = { seconds: 1_800_000_000 };
    const wallClock = { ...manualClock(), now: () => clock.seconds * 1_000 };
    const bench = await startBench({ wallClock });
    const { relay, receiver } = bench;
    const endpoint = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(500);
    relay.publish('sales_order.delivery_created', DELIVERY);
    await relay.idle();
    clock.seconds += 5;
    receiver.respond = answering(200);
    await pass(bench, 5_000);
    clock.seconds += 86_400;
    relay.resend(receiver.requests[0]?.headers['svix-id'] ?? '', endpoint.id);
    await relay.idle();
    const { requests } = receiver;
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ headers }) => headers['svix-id'])).size).toBe(1);
    expect(new Set(requests.map(({ body }) => body.toString('hex'))).size).toBe(1);
    expect(
      requests.map(({ headers }) => Number(headers['svix-timestamp']) - 1_800_000_000),
    ).toEqual([0, 5, 86_405]);
    expect(relay.attempts().data.map(({ trigger, status }) => [trigger, status])).toEqual([
      ['manual', 'success'],
      ['scheduled', 'success'],
      ['scheduled', 'failed'],
    ]);
  });

  it('reaches a healthy endpoint while another one does not answer', async () => {
    const { relay, receiver } = await startBench();
    const held: (() => void)[] = [];
    receiver.respond = (response, { path }) => {
      if (path === '/slow') held.push(() => response.writeHead(204).end());
      else response.writeHead(204).end();
    };
    relay.createEndpoint({ url: new URL('/slow', receiver.url).href });
    const healthy = relay.createEndpoint({ url: receiver.url });
    for (let count = 0; count < 40; count += 1) relay.publish('ping', { ping: count });
    const arrived = (): number =>
      relay.attempts({ endpointId: healthy.id, limit: 100 }).data.length;
    while (arrived() < 40) await new Promise((resolve) => setImmediate(resolve));
    expect(held).toHaveLength(8);
    const release = (response: () => void): void => response();
    receiver.respond = answering(204);
    held.forEach(release);
    await relay.idle();
    expect(receiver.requests).toHaveLength(80);
  });
});

describe('an example', () => {
  it('goes to one endpoint whatever types it chose', async () => {
    const { relay, receiver } = await startBench();
    const endpoint = relay.createEndpoint({ url: receiver.url, eventTypes: ['other'] });
    relay.createEndpoint({ url: new URL('/second', receiver.url).href });
    relay.sendExample(endpoint.id, 'ping');
    await relay.idle();
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook']);
    expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual({
      type: 'ping',
      data: { ping: true },
    });
  });

  it('of every type has members and values of the contract, and the fitting status', async () => {
    const { relay, receiver } = await startBench();
    const endpoint = relay.createEndpoint({ url: receiver.url });
    for (const type of KNOWN_TYPES) relay.sendExample(endpoint.id, type);
    await relay.idle();
    const meters = {
      salesOrder: driftMeterOf('sales_order'),
      salesOrderDelivery: driftMeterOf('delivery'),
      salesOrderRefund: driftMeterOf('refund'),
    };
    const statuses = receiver.requests.map(({ body }) => {
      const { type, data } = JSON.parse(String(body));
      for (const [name, meter] of Object.entries(meters)) meter.note([data[name]]);
      const shown = Object.values<{ readonly status?: string }>(data)[0];
      return [type, shown?.status];
    });
    for (const meter of Object.values(meters)) {
      expect(meter.report()).toEqual({ unknownMembers: {}, newValues: {}, unreadable: {} });
    }
    expect(Object.fromEntries(statuses)).toEqual({
      ping: undefined,
      'sales_order.order_created': 'pending',
      'sales_order.order_completed': 'fulfilled',
      'sales_order.delivery_created': 'pending',
      'sales_order.delivery_updated': 'accepted',
      'sales_order.delivery_canceled': 'canceled',
      'sales_order.refund_created': 'pending',
      'sales_order.refund_updated': 'accepted',
      'sales_order.refund_canceled': 'canceled',
    });
  });
});
