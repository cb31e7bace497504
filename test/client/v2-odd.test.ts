/** Odd answers of V2 under a 200: failures, in its own words or in those of V1, and null. */
import { expect, it, onTestFinished } from 'vitest';
import { createLoginGate, createSession } from '../../src/client/session.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

const BRAND = { type: 'brand', id: '1' };

/** A client that is logged in at a service whose answers depend on the token. */
async function startService(answer: (token: string, path: string) => object | undefined) {
  const service = { logins: 0 };
  const server = await startFaulty((request, response) => {
    if (request.url === '/auth/login') service.logins += 1;
    const token = { data: { token: `token-${service.logins}` } };
    const isLogin = request.url === '/auth/login';
    const body = isLogin ? token : answer(String(request.headers['x-token']), request.url ?? '');
    if (body === undefined) response.writeHead(204).end();
    else answerJson(response, 200, body);
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
    for await (const page of client.collection('brand')) rows.push(...page.rows);
    return rows;
  };
  const dialects = () => Object.keys(transport.stats().dialects);
  return { service, client, brands, dialects };
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

it.each<[string, object | undefined, readonly string[]]>([
  ['by number', { data: { 0: { ...BRAND, attributes: { name: 'N' } } } }, ['data={"0": …}']],
  ['that is the whole document', [{ ...BRAND, attributes: { name: 'N' } }], ['document=none']],
  [
    'with lists for what else is empty',
    { data: [{ ...BRAND, attributes: { name: 'N' } }], links: [], meta: [] },
    [],
  ],
])('resources come in a list %s', async (_what, answer, noted) => {
  const { brands, dialects } = await startService(() => answer);
  expect(await brands()).toMatchObject([{ id: '1', attributes: { name: 'N' } }]);
  expect(dialects()).toEqual(noted);
});

it.each<[string, object | undefined]>([
  ['null', { data: null }],
  ['{}', { data: {}, meta: [] }],
  ['204', undefined],
])('a collection without resources may be %s', async (_what, answer) => {
  const { brands, dialects } = await startService(() => answer);
  expect(await brands()).toEqual([]);
  expect(dialects()).toHaveLength(1);
});

it.each([
  ['an object', (url: string) => ({ next: { href: url } })],
  ['a text', (url: string) => ({ next: url })],
])('a link may be %s, and an empty one or false is none', async (_what, linkTo) => {
  const { brands } = await startService((_token, path) => {
    const offset = Number(new URL(path, 'http://x').searchParams.get('page[offset]') ?? 0);
    const data = [0, 1].map((nth) => ({ ...BRAND, id: String(offset + nth) }));
    const url = `http://x/pdm/brands?page[limit]=2&page[offset]=${offset + 2}`;
    return { data, links: offset === 2 ? { next: '' } : linkTo(url), meta: { pageToken: 7 } };
  });
  expect(await brands()).toHaveLength(4);
  const one = await startService(() => ({ data: [BRAND], links: { next: false } }));
  expect(await one.brands()).toHaveLength(1);
});

it('a resource may come without a document, and none is made of a failure', async () => {
  const { client } = await startService(() => ({ ...BRAND, attributes: { name: 'N' } }));
  expect((await client.resource('brand', '1')).value).toMatchObject({ attributes: { name: 'N' } });
  const other = await startService(() => ({ message: 'maintenance' }));
  expect(await rejection(other.client.resource('brand', '1'))).toMatchObject({
    code: 'transport.broken_answer',
  });
  expect(await rejection(other.brands())).toMatchObject({ code: 'transport.broken_answer' });
});
