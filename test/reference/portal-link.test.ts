import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Rig, startRig } from './support.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.reference.close());

it('gives a new portal link each time, on the relay, to keys that may have one', async () => {
  const ask = () => rig.call('POST', '/webhook-portal');
  const [one, two] = [await ask(), await ask()];
  expect(one.status).toBe(200);
  expect(one.body.data.url).not.toBe(two.body.data.url);
  expect(one.body.data.url.startsWith(`${rig.reference.relayUrl}/portal/`)).toBe(true);
  const lifetime = Date.parse(one.body.data.expiresAt) - rig.clock.now();
  expect(lifetime).toBe(5 * 60_000);
  const readOnly = rig.headersOf('readOnly');
  expect((await rig.call('POST', '/webhook-portal', { headers: readOnly })).status).toBe(403);
  expect((await fetch(one.body.data.url)).status).toBe(200);
});

it('gives the same link on V2', async () => {
  const { reference, headersOf } = rig;
  const { token } = await rig
    .call('POST', '/auth/login', {
      headers: {},
      body: {
        clientID: reference.credentials.plain?.clientId,
        clientSecret: reference.credentials.plain?.clientSecret,
      },
    })
    .then(({ body }) => body.data);
  const response = await fetch(`${reference.v2Url}/webhook-portal`, {
    method: 'POST',
    headers: { ...headersOf('plain'), 'x-service-authorization': token },
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    data: { url: expect.stringContaining('/portal/'), expiresAt: expect.any(String) },
  });
});

it('takes a POST that is declared as JSON and has no body', async () => {
  const headers = { ...rig.headersOf('plain'), 'content-type': 'application/json' };
  const { v1Url, v2Url } = rig.reference;
  const ask = (url: string, more = {}) => fetch(url, { method: 'POST', headers, ...more });
  expect((await ask(`${v1Url}/webhook-portal`)).status).toBe(200);
  expect((await ask(`${v1Url}/webhook-portal`, { body: '' })).status).toBe(200);
  expect((await ask(`${v1Url}/webhook-portal`, { body: '{}' })).status).toBe(200);
  // Without its log-in V2 answers 401, and not that the body is wrong.
  expect((await ask(`${v2Url}/webhook-portal`)).status).toBe(401);
  expect((await ask(`${v1Url}/orders`)).status).toBe(422);
  expect((await ask(`${v1Url}/orders`, { body: '{' })).status).toBe(422);
});

/** Adds an endpoint at the portal, as somebody does who follows this key's link. */
async function endpointOf(key: string): Promise<string> {
  const { relayUrl, relay } = rig.reference;
  const link = await rig.call('POST', '/webhook-portal', { headers: rig.headersOf(key) });
  const token = new URL(link.body.data.url).hash.replace('#key=', '');
  const post = (path: string, type: string, body: string, more = {}) => {
    const headers = { 'content-type': type, 'sec-fetch-site': 'same-origin', ...more };
    const init = { method: 'POST', headers, body, redirect: 'manual' } as const;
    return fetch(`${relayUrl}/portal${path}`, init);
  };
  const session = await post('/session', 'application/json', JSON.stringify({ token }));
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? '';
  const form = new URLSearchParams({ url: `http://127.0.0.1:9/${key}` }).toString();
  const added = await post('/endpoints', 'application/x-www-form-urlencoded', form, { cookie });
  expect(added.status).toBe(303);
  return relay.listEndpoints().at(-1)?.id ?? '';
}

it('leads a b2b key to the events of its own account only, and another key to all', async () => {
  const { relay, world } = rig.reference;
  const [own, all] = [await endpointOf('b2b'), await endpointOf('plain')];
  const since = rig.clock.now() - 1;
  const { barcode } = (await rig.call('GET', '/variants/stock?limit=1')).body.data.variants[0];
  for (const key of ['plain', 'b2b', 'b2bDetailed']) {
    const lines = { reference: key, orderLineItems: [{ barcode, quantity: 1, price: 1 }] };
    const headers = rig.headersOf(key);
    expect((await rig.call('POST', '/orders', { headers, body: lines })).status).toBe(200);
  }
  const accounts = (endpointId: string) =>
    relay.messages({ endpointId }).data.map(({ body }) => {
      return JSON.parse(body.toString()).data.salesOrder.shippingAddress.accountNo;
    });
  const mine = world.accounts.at(1).accountNo;
  expect(accounts(own)).toEqual([mine]);
  expect(new Set(accounts(all)).size).toBe(3);
  // Another endpoint of the key gets no more by a replay of what is missing.
  const late = await endpointOf('b2b');
  relay.replayMissing(late, since);
  expect(accounts(late)).toEqual([mine]);
});

it('has by default a key that shows a discount', async () => {
  const headers = rig.headersOf('b2bDetailed');
  const { body } = await rig.call('GET', '/variants/stock?limit=5&detailedPricing=true', {
    headers,
  });
  const [{ pricing }] = body.data.variants;
  expect(pricing.discountPercentage).toBeGreaterThan(0);
  expect(pricing.wspPriceWithDiscount).toBeLessThan(pricing.wspPriceOriginal);
});
