/** Odd answers of V2 under a 200: failures, in its own words or in those of V1, and null. */
import { expect, it, onTestFinished } from 'vitest';
import { createLoginGate, createSession } from '../../src/client/session.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

const BRAND = { type: 'brand', id: '1' };

/** A client that is logged in at a service whose answers depend on the token. */
async function startService(answer: (token: string) => object) {
  const service = { logins: 0 };
  const server = await startFaulty((request, response) => {
    if (request.url === '/auth/login') service.logins += 1;
    const token = { data: { token: `token-${service.logins}` } };
    const isLogin = request.url === '/auth/login';
    answerJson(response, 200, isLogin ? token : answer(String(request.headers['x-token'])));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const scrubber = createScrubber();
  const transport = impatient({ retryWaitsMs: [] }, systemClock(), scrubber);
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const clock = systemClock();
  const gate = createLoginGate(clock, { lastLoginAt: () => undefined, recordLogin() {} }, 1);
  const url = `${server.url}/auth/login`;
  const credential = {
    ...({ kind: 'login', header: 'x-token', clientId: 'erp', url } as const),
    ...{ idMember: 'id', secretMember: 'secret', tokenPointers: ['/data/token'] },
    clientSecret: new Secret('client secret', 'open sesame'),
  };
  const sender = createSession(credential, { transport, clock, scrubber, gate });
  const paging = { pageRows: 2, follow: 'token' } as const;
  const client = createV2Client({ baseUrl: server.url, paging }, sender);
  const brands = async () => {
    const rows: unknown[] = [];
    for await (const page of client.collection('brand').pages) rows.push(...page.rows);
    return rows;
  };
  return { service, client, brands };
}

it.each([
  ['a list of errors', { errors: [{ status: '500', detail: 'out of order' }] }],
  ['an envelope of V1', envelope(500, {}, 'out of order')],
  ['an envelope of V1 with an empty list', envelope(500, [], 'out of order')],
  ['errors beside an empty list', { errors: [{ title: 'out of order' }], data: [] }],
])('failures are no list, and say why: %s', async (_what, answer) => {
  const { brands, client } = await startService(() => answer);
  const broken = {
    code: 'transport.broken_answer',
    message: expect.stringContaining('out of order'),
  };
  expect(await rejection(brands())).toMatchObject(broken);
  expect(await rejection(client.resource('brand', '1'))).toMatchObject(broken);
  const write = client.create('brand', { attributes: { name: 'N' } });
  expect(await rejection(write)).toMatchObject({ code: 'transport.in_doubt' });
});

it('failures have a token renewed that they say has died, and repeat no secret', async () => {
  const { service, brands } = await startService((token) =>
    token === 'token-1' ? envelope(401, {}, `${token} has expired`) : { data: [BRAND] },
  );
  expect(await brands()).toMatchObject([BRAND]);
  expect(service.logins).toBe(2);
  const odd = await startService((token) => ({ errors: [{ detail: `${token} is odd` }] }));
  expect(String(await rejection(odd.brands()))).not.toContain('token-1');
});

it('null in the place of attributes or relationships puts no resource aside', async () => {
  const rows = [
    { ...BRAND, attributes: { name: 'N' }, relationships: null },
    { ...BRAND, id: '2', attributes: null },
  ];
  const { brands } = await startService(() => ({ data: rows }));
  expect(await brands()).toEqual([
    { ...BRAND, attributes: { name: 'N' }, relationships: {} },
    { ...BRAND, id: '2', attributes: {}, relationships: {} },
  ]);
});
