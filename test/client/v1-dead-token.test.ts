/** A token that died, told by the envelope of an answer whose own status is 200. */
import { expect, it, onTestFinished } from 'vitest';
import { createLoginGate, createSession } from '../../src/client/session.ts';
import { createV1Client, type V1Client } from '../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

const LISTS = { orders: [], deliveries: [], variants: [{ barcode: 'A', quantity: 1 }], count: 1 };
const LOGIN = {
  kind: 'login',
  header: 'x-token',
  idMember: 'clientID',
  secretMember: 'clientSecret',
  clientId: 'erp',
  clientSecret: new Secret('client secret', 'open sesame'),
  tokenPointers: ['/data/token'],
} as const;

/** A service that says 401 inside of a 200, and a client that is logged in there. */
async function startService(mode: 'stream' | 'pages', key?: Secret) {
  const service = { valid: '', logins: 0, acceptsNothing: false, refusal: 0 };
  const server = await startFaulty((request, response) => {
    if (request.url === '/auth/login') {
      service.logins += 1;
      if (service.refusal > 0) {
        answerJson(response, 200, envelope(service.refusal, {}, 'no such client'));
        service.refusal = 0;
        return;
      }
      service.valid = `token-${service.logins}`;
      answerJson(response, 200, envelope(200, { token: service.valid }));
      return;
    }
    const isValid = request.headers['x-token'] === service.valid && !service.acceptsNothing;
    const data = request.method === 'POST' ? { orderId: 7, orderStatus: 'pending' } : LISTS;
    answerJson(response, 200, isValid ? envelope(200, data) : envelope(401, {}, 'expired'));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const transport = impatient();
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const clock = systemClock();
  const gate = createLoginGate(clock, { lastLoginAt: () => undefined, recordLogin() {} }, 1);
  const sender = createSession(
    key ? { kind: 'key', header: 'x-token', key } : { ...LOGIN, url: `${server.url}/auth/login` },
    { transport, clock, scrubber: createScrubber(), gate },
  );
  const options = {
    baseUrl: server.url,
    variants: { ...VARIANT_LIST_DEFAULTS, mode },
    seasonParameter: 'season',
    idempotencyHeader: undefined,
  };
  return { service, seen: server.seen, client: createV1Client(options, { sender }) };
}

async function stock(client: V1Client): Promise<number> {
  let rows = 0;
  for await (const batch of client.stock({}).batches) rows += batch.rowCount;
  return rows;
}

it('is dropped: one log-in for all, and reads and writes are repeated once', async () => {
  const { service, seen, client } = await startService('pages');
  await client.orders();
  service.valid = 'revoked';
  await Promise.all([
    client.orders(),
    stock(client),
    client.createOrder({ reference: 'R' }),
    client.deliveries(7),
  ]);
  expect(service.logins).toBe(2);
  expect(seen.filter((line) => line === 'POST /orders')).toHaveLength(2);
});

it('is dropped by a streamed list, which is asked for again by its run', async () => {
  const { service, client } = await startService('stream');
  expect(await stock(client)).toBe(1);
  service.valid = 'revoked';
  const error = await rejection(stock(client));
  expect(error).toMatchObject({ name: 'RetryLaterError', code: 'session.token_refused' });
  expect(await stock(client)).toBe(1);
  expect(service.logins).toBe(2);
});

it('is given up for now when the next one is refused as well', async () => {
  const { service, seen, client } = await startService('pages');
  service.acceptsNothing = true;
  const error = await rejection(client.createOrder({ reference: 'R' }));
  expect(error).toMatchObject({ name: 'RetryLaterError', code: 'session.token_refused' });
  expect(seen.filter((line) => line === 'POST /orders')).toHaveLength(2);
  expect(service.logins).toBe(2);
});

it.each(['stream', 'pages'] as const)('is a key that was refused, mode %s', async (mode) => {
  const { client } = await startService(mode, new Secret('api key', 'dead'));
  const refused = { name: 'RetryLaterError', code: 'session.key_refused' };
  expect(await rejection(client.orders())).toMatchObject(refused);
  expect(await rejection(stock(client))).toMatchObject(refused);
});

it('is a wrong secret where the log-in itself is answered so', async () => {
  const { service, client } = await startService('pages');
  service.refusal = 401;
  expect(await rejection(client.orders())).toMatchObject({
    code: 'session.login_refused',
    message: expect.stringContaining('no such client'),
    hint: 'check the client id and the client secret in the configuration',
  });
});

// A web server that has no such page may also say that none takes a POST.
it.each([404, 405])('may be a wrong address, where a log-in is answered %s', async (status) => {
  const { service, client } = await startService('pages');
  service.refusal = status;
  expect(await rejection(client.orders())).toMatchObject({
    code: 'session.login_refused',
    hint: 'check the base URL, the client id and the client secret in the configuration',
  });
});

it('is asked for again where the envelope of the log-in says that it came too fast', async () => {
  const { service, client } = await startService('pages');
  service.refusal = 429;
  await client.orders();
  expect(service.logins).toBe(2);
});
