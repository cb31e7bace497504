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
