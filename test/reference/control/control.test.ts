import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Answered, type Rig, startRig } from '../support.ts';
import { v2Client } from '../v2/support.ts';

const rigs: Rig[] = [];
afterEach(async () => {
  await Promise.all(rigs.splice(0).map(({ reference }) => reference.close()));
});

interface Control extends Rig {
  control(method: string, path: string, body?: unknown): Promise<Omit<Answered, 'headers'>>;
  /** Places an order of one line and gives its id. */
  order(quantity: number): Promise<number>;
}

async function controlled(knobs: Record<string, unknown> = {}): Promise<Control> {
  const rig = await startRig(knobs);
  rigs.push(rig);
  const { controlUrl, world } = rig.reference;
  return {
    ...rig,
    async control(method, path, body) {
      const response = await fetch(controlUrl + path, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.text();
      return { status: response.status, text, body: JSON.parse(text) };
    },
    async order(quantity) {
      const barcode = world.catalog.barcodeOf(0);
      const { body } = await rig.call('POST', '/orders', {
        body: { reference: 'R1', orderLineItems: [{ barcode, quantity, price: 10 }] },
      });
      return body.data.orderId;
    },
  };
}

describe('control of the world', () => {
  it('packs and ships now, cancels, and refuses what the state forbids', async () => {
    const rig = await controlled();
    const id = await rig.order(4);
    const packed = await rig.control('POST', `/orders/${id}/pack`);
    expect(packed.body).toMatchObject({ orderId: id, status: 'pending' });
    expect((await rig.control('POST', `/orders/${id}/pack`)).status).toBe(409);
    const at = `/deliveries/${packed.body.orderDeliveryId}`;
    expect(await rig.control('POST', `${at}/ship`)).toMatchObject({
      status: 409,
      body: { error: 'The delivery is pending' },
    });
    await rig.call('POST', `/orders/${id}${at}`, { body: { status: 'accepted' } });
    expect((await rig.control('POST', `${at}/ship`)).status).toBe(200);
    expect((await rig.call('GET', `/orders/${id}`)).body.data.completed).toBe(true);
    expect((await rig.control('POST', `${at}/cancel`)).status).toBe(409);
    const other = await rig.order(1);
    const { body } = await rig.control('POST', `/orders/${other}/pack`);
    const canceled = await rig.control('POST', `/deliveries/${body.orderDeliveryId}/cancel`);
    expect(canceled.body.status).toBe('canceled');
    expect((await rig.control('POST', '/deliveries/1/ship')).status).toBe(404);
    expect((await rig.control('POST', '/orders/x/pack')).status).toBe(404);
  });

  it('confirms a pending refund and cancels the refund', async () => {
    const rig = await controlled({ life: { confirmRefundAfter: 0 } });
    const id = await rig.order(2);
    const { barcode } = (await rig.call('GET', `/orders/${id}`)).body.data.orderLineItems[0];
    const asked = await rig.call('POST', `/orders/${id}/pending-refunds`, {
      body: { reference: 'P1', refundLineItems: [{ barcode, quantity: 1 }] },
    });
    const { pendingRefundId } = asked.body.data;
    const path = `/pending-refunds/${pendingRefundId}/confirm`;
    const confirmed = await rig.control('POST', path);
    expect(confirmed.body).toMatchObject({ orderId: id, pendingRefundId, status: 'pending' });
    expect((await rig.control('POST', path)).status).toBe(409);
    const canceled = await rig.control('POST', `/refunds/${confirmed.body.orderRefundId}/cancel`);
    expect(canceled.body.status).toBe('canceled');
  });

  it('sets stock and prices and adds a season', async () => {
    const rig = await controlled();
    const barcode = rig.reference.world.catalog.barcodeOf(3);
    const one = `/variants/stock/${barcode}?detailed=true`;
    const { styleNo } = (await rig.call('GET', one)).body.data.variant.details;
    await rig.control('PUT', `/variants/${barcode}/stock`, { quantity: 77 });
    await rig.control('PATCH', `/styles/${styleNo}/prices`, { retail: 12_345 });
    const { variant } = (await rig.call('GET', one)).body.data;
    expect([variant.quantity, variant.details.price]).toEqual([77, 123.45]);
    expect((await rig.control('PUT', '/variants/123/stock', { quantity: 1 })).status).toBe(404);
    const wrong = await rig.control('PUT', `/variants/${barcode}/stock`, { quantity: -1 });
    expect([wrong.status, wrong.body.error]).toEqual([422, expect.stringContaining('quantity')]);
    const season = {
      name: 'SS30',
      deliveries: [{ name: 'SS30 Drop 1', from: '2030-01-01', to: '2030-01-28' }],
    };
    expect((await rig.control('POST', '/seasons', season)).status).toBe(200);
    expect((await rig.control('POST', '/seasons', season)).status).toBe(409);
    expect((await rig.call('GET', '/seasons')).body.data.seasons).toContainEqual({
      seasonName: 'SS30',
      deliveryNames: ['SS30 Drop 1'],
    });
  });
});

describe('control of requests', () => {
  it('changes knobs at run time, but not those that made the world', async () => {
    const rig = await controlled();
    const id = await rig.order(1);
    const path = `/orders/${id}/deliveries`;
    const { body } = await rig.control('POST', `/orders/${id}/pack`);
    const at = `${path}/${body.orderDeliveryId}`;
    await rig.call('POST', at, { body: { status: 'accepted' } });
    const reject = () => rig.call('POST', at, { body: { status: 'rejected' } });
    expect((await reject()).status).toBe(409);
    const change = { orders: { rejectFromAccepted: 'allow' } };
    expect((await rig.control('PATCH', '/knobs', change)).body.orders).toMatchObject(change.orders);
    expect((await reject()).status).toBe(200);
    expect((await rig.control('PATCH', '/knobs', { world: { seed: 8 } })).status).toBe(409);
    const typo = await rig.control('PATCH', '/knobs', { ordrs: {} });
    expect(typo).toMatchObject({ status: 422, body: { error: expect.stringContaining('orders') } });
  });

  it('injects a fault so many times and takes it away', async () => {
    const rig = await controlled();
    const fault = { kind: 'serverError', path: '/api/v1/brands', count: 2 };
    const set = await rig.control('POST', '/faults', fault);
    expect(set.body.faults).toHaveLength(1);
    const status = async () => (await rig.call('GET', '/brands')).status;
    // A change elsewhere does not give the fault its count back.
    expect(await status()).toBe(503);
    await rig.control('PATCH', '/knobs', { strict: true });
    expect([await status(), await status()]).toEqual([503, 200]);
    await rig.control('POST', '/faults', { kind: 'serverError' });
    expect(await status()).toBe(503);
    await rig.control('DELETE', '/faults');
    // The effect stays, the client hears nothing, and the journal knows which order it was.
    await rig.control('POST', '/faults', { kind: 'reset', moment: 'after', count: 1 });
    await expect(rig.order(1)).rejects.toThrow();
    expect((await rig.control('GET', '/state')).body.orders).toBe(1);
    expect((await rig.control('GET', '/journal?method=POST')).body.requests).toMatchObject([
      { path: '/api/v1/orders', reference: 'R1', status: null, faults: ['reset after'] },
    ]);
    await rig.control('DELETE', '/faults');
    expect(await status()).toBe(200);
    expect((await rig.control('POST', '/faults', { kind: 'rain' })).status).toBe(422);
  });

  it('expires every token at once, and every page token', async () => {
    const rig = await controlled();
    const v2 = await v2Client(rig);
    const { links } = (await v2.get('/pdm/types?page[limit]=5')).body;
    await rig.control('POST', '/page-tokens/expire');
    expect((await v2.follow(links.next)).body.errors[0].code).toBe('page_token_expired');
    expect((await v2.get('/pdm/types')).status).toBe(200);
    await rig.control('POST', '/tokens/expire');
    expect((await v2.get('/pdm/types')).status).toBe(401);
  });

  it('drops the relay and resumes it', async () => {
    const rig = await controlled();
    const { relay } = rig.reference;
    const endpoint = relay.createEndpoint({ url: 'http://127.0.0.1:1/hook' });
    expect(endpoint).toBeDefined();
    expect((await rig.control('POST', '/relay/drop')).body.lost).toBe(1);
    await rig.order(1);
    await relay.idle();
    expect(relay.attempts().data).toHaveLength(0);
    expect((await rig.control('POST', '/relay/resume')).body.lost).toBe(0);
    await rig.order(1);
    await relay.idle();
    expect(relay.attempts().data).not.toHaveLength(0);
  });

  it('goes on with the draws of webhook faults when another knob changes', async () => {
    const rig = await controlled({ webhooks: { lost: 0.5 } });
    const { relay } = rig.reference;
    relay.createEndpoint({ url: 'http://127.0.0.1:1/hook' });
    for (let turn = 0; turn < 8; turn += 1) {
      await rig.control('PATCH', '/knobs', { strict: turn % 2 === 0 });
      relay.publish('ping', { ping: turn });
    }
    await relay.idle();
    // Begun anew at each change, the same first draw would lose all of them or none.
    const { length } = relay.attempts().data;
    expect([0, 8]).not.toContain(length);
  });

  it('shows the journal with filters, and forgets it', async () => {
    const rig = await controlled({ strict: true });
    await rig.call('GET', '/brands');
    await rig.call('GET', '/brands?color=red');
    const list = async (query: string) =>
      (await rig.control('GET', `/journal${query}`)).body.requests;
    await rig.order(1);
    expect(await list('')).toHaveLength(3);
    expect(await list('?method=POST&limit=1')).toMatchObject([{ n: 3, reference: 'R1' }]);
    expect(await list('?limit=0')).toEqual([]);
    expect(await list('?path=/api/v1/brands&mistakes=true')).toMatchObject([
      { n: 2, keyId: 'plain', status: 422, mistakes: [expect.stringContaining('color')] },
    ]);
    expect((await rig.control('GET', '/journal?colour=red')).status).toBe(422);
    await rig.control('DELETE', '/journal');
    expect(await list('')).toEqual([]);
  });

  it('lists a portal link that is used twice as a mistake', async () => {
    const rig = await controlled({ strict: true });
    const { url } = (await rig.call('POST', '/webhook-portal', { body: {} })).body.data;
    const exchange = async () => {
      const token = new URL(url).hash.replace('#key=', '');
      const answer = await fetch(new URL('/portal/session', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
        body: JSON.stringify({ token }),
      });
      return answer.status;
    };
    expect([await exchange(), await exchange()]).toEqual([204, 410]);
    expect((await rig.control('GET', '/journal?mistakes=true')).body.requests).toMatchObject([
      { path: '/portal/session', status: 410, mistakes: ['The portal link is used'] },
    ]);
  });

  it('steps the clock and lets happen what falls due', async () => {
    const rig = await controlled({ life: { packAfter: '6s', packJitter: 0 } });
    const id = await rig.order(1);
    const deliveries = async () =>
      (await rig.call('GET', `/orders/${id}/deliveries`)).body.data.deliveries.length;
    expect(await deliveries()).toBe(0);
    const stepped = await rig.control('POST', '/clock/step', { by: '6s' });
    expect(stepped.body).toEqual({ now: '2026-01-05T08:00:06.000Z', stepped: true });
    expect(await deliveries()).toBe(1);
  });

  it('answers no page and no foreign host', async () => {
    const rig = await controlled();
    const { controlUrl } = rig.reference;
    const page = await fetch(`${controlUrl}/keys`, { headers: { origin: 'https://evil.example' } });
    expect(page.status).toBe(403);
    const status = await new Promise((resolve, reject) => {
      request(`${controlUrl}/keys`, { headers: { host: 'evil.example' } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(421);
    expect((await rig.control('GET', '/keys')).body.plain.clientId).toBe('client-plain');
    expect((await rig.control('GET', '/')).body.requests.length).toBeGreaterThan(15);
    expect((await rig.control('GET', '/nothing')).status).toBe(404);
  });
});

describe('states of the world', () => {
  it('brings a kept state back', async () => {
    const rig = await controlled();
    const v2 = await v2Client(rig);
    const barcode = rig.reference.world.catalog.barcodeOf(0);
    await rig.control('POST', '/snapshots', { name: 'before' });
    await rig.control('PUT', `/variants/${barcode}/stock`, { quantity: 999 });
    await rig.order(1);
    await v2.send('POST', '/pdm/brands', { data: { type: 'brand', attributes: { name: 'X' } } });
    const page = await v2.get('/pdm/styles?page[limit]=5');
    const before = (await rig.control('GET', '/state')).body;
    expect(before.orders).toBe(1);
    await rig.control('POST', '/snapshots/before/restore');
    expect((await rig.control('GET', '/state')).body.orders).toBe(0);
    expect(
      (await rig.call('GET', `/variants/stock/${barcode}`)).body.data.variant.quantity,
    ).not.toBe(999);
    expect((await v2.get('/pdm/brands')).body.data).toHaveLength(3);
    expect((await v2.follow(page.body.links.next)).status).toBe(400);
    expect((await rig.control('POST', '/snapshots/after/restore')).status).toBe(404);
  });

  it('begins anew: the same requests give the same journal and the same answers', async () => {
    const rig = await controlled({ strict: true, faults: [{ kind: 'drip', count: 0 }] });
    const run = async () => {
      const answers = [await rig.order(2), (await rig.call('GET', '/orders')).text];
      await rig.control('PATCH', '/styles/S100001/prices', { sale: 100 });
      answers.push((await rig.call('GET', '/variants/stock?styleNo=S100001&detailed=true')).text);
      return [answers, rig.reference.edge.journal.list()];
    };
    const first = JSON.stringify(await run());
    expect((await rig.control('POST', '/reset')).status).toBe(200);
    expect(rig.reference.edge.journal.list()).toEqual([]);
    expect(JSON.stringify(await run())).toBe(first);
  });
});
