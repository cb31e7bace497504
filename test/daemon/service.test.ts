/** Settings of the service, as they arrive there. */
import type { IncomingHttpHeaders } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { callRaw } from '../../src/client/raw-call.ts';
import type { VariantPull } from '../../src/client/v1/variants.ts';
import { createService, type Service } from '../../src/daemon/service.ts';
import { type Clock, type ManualClock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import { writeStockVariants } from '../../src/mirror/catalog/out-of-band.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import type { Store } from '../../src/store/store.ts';
import { answerJson, envelope, type Handler, rejection, startFaulty } from '../client/support.ts';
import { startTestReference, testConfig } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';

/** More than the longest wait here has milliseconds. */
const TURNS_MAX = 20_000;

type Settings = Readonly<Record<string, unknown>>;

const ALL = { brands: [], variants: [], orders: [], pendingRefunds: [], count: 0, orderId: 7 };

/** A service that answers everything, or as the handler does, and the way to it. */
async function startWay(settings: Settings, clock: Clock = systemClock(), handler?: Handler) {
  const headers: IncomingHttpHeaders[] = [];
  let logins = 0;
  const server = await startFaulty((request, response, nth) => {
    if (request.url?.endsWith('/auth/login')) {
      logins += 1;
      answerJson(response, 200, envelope(200, { token: `token-${logins}` }));
      return;
    }
    headers.push(request.headers);
    if (handler) handler(request, response, nth);
    else answerJson(response, 200, envelope(200, ALL));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const addresses = Object.fromEntries(
    ['v1', 'v2'].map((api) => [`${api}.baseUrl`, `${server.url}/api/${api}`]),
  );
  const written = Object.entries({ ...settings, ...addresses });
  const overrides = written.map(([name, value]) => ({ path: `service.${name}`, value }));
  const { service: config } = testConfig(await startTestReference(), { overrides });
  const start = async (store: Store): Promise<Service> => {
    const stop = new AbortController();
    const parts = { store, clock, random: seededRandom(1), scrubber: createScrubber() };
    const service = await createService(config, { ...parts, stop: stop.signal });
    onTestFinished(async () => {
      stop.abort(new Error('the test has ended'));
      await service.transport[Symbol.asyncDispose]();
    });
    return service;
  };
  const seen = (): string[] => server.seen.filter((line) => !line.includes('/auth/login'));
  return { start, seen, headers, logins: () => logins };
}

async function readAll({ batches }: VariantPull): Promise<void> {
  for await (const _ of batches);
}

/** Lets the clock go, as the pace of requests is by it too. */
async function until(clock: ManualClock, isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns += 1) {
    if (turns > TURNS_MAX) throw new Error('waited in vain');
    await clock.advance(1);
  }
}

it('is asked in the words of the account', async () => {
  const { start, seen, headers } = await startWay({
    ...{
      'dialect.v1.seasonParameter': 'season',
      'dialect.v1.pageLimit': 7,
      'dialect.v1.paging': 'pages',
    },
    ...{
      'v1.readToken': new Secret('readToken', 'read-token'),
      'dialect.v1.readTokenHeader': 'X-Read',
    },
    ...{ 'dialect.v1.tokenHeader': 'X-Token', 'dialect.v1.idempotencyHeader': 'X-Once' },
    'dialect.v1.paths.pendingRefunds': 'refund-requests',
  });
  const { v1 } = await start(await temporaryStore());
  await readAll(v1.seasonVariants('AW27', {}));
  await v1.createOrder({ reference: 'A-1' }, { idempotencyKey: 'key-1' });
  await v1.pendingRefunds(7);
  expect(seen()).toEqual([
    'GET /api/v1/variants/season?season=AW27&page=1&limit=7',
    // An empty list may begin with page 0, which one empty answer does not rule out.
    'GET /api/v1/variants/season?season=AW27&page=0&limit=7',
    'GET /api/v1/variants/season?season=AW27&page=0&limit=7',
    // Nor need all behind it be empty: rows of a page may be hidden.
    'GET /api/v1/variants/season?season=AW27&page=2&limit=7',
    'POST /api/v1/orders',
    'GET /api/v1/orders/7/refund-requests',
  ]);
  expect(headers[0]).toMatchObject({ 'x-read': 'read-token' });
  expect(headers[0]).not.toHaveProperty('x-token');
  expect(headers[4]).toMatchObject({ 'x-token': 'token-1', 'x-once': 'key-1' });
  expect(headers[4]).not.toHaveProperty('x-read');
});

it.each(['application/vnd.api+json', 'application/json'])(
  'is written to in the media type of the account, by hand too: %s',
  async (mediaType) => {
    const { start, headers } = await startWay({
      ...{ 'v2.enabled': true, 'dialect.v2.mediaType': mediaType, 'limits.loginSpacing': '0s' },
      ...{ 'v2.login.clientId': 'id', 'v2.login.clientSecret': new Secret('secret', 'secret') },
    });
    const { v2, raw } = await start(await temporaryStore());
    await v2?.create('type', { attributes: { name: 'N' } }).catch(() => undefined);
    const call = { method: 'POST', path: '/pdm/types', json: {} } as const;
    if (raw.v2) await callRaw(raw.v2, { ...call, api: 'v2' });
    await callRaw(raw.v1, { ...call, api: 'v1' });
    const types = headers.map((sent) => sent['content-type']);
    expect(types).toEqual([mediaType, mediaType, 'application/json']);
  },
);

it('is left alone by whoever waits no longer for what was called by hand', async () => {
  const { start, seen } = await startWay({}, systemClock(), () => undefined);
  const { raw } = await start(await temporaryStore());
  const enough = new AbortController();
  const call = { api: 'v1', method: 'GET', path: '/brands' } as const;
  const called = rejection(callRaw(raw.v1, call, enough.signal));
  await expect.poll(seen).toHaveLength(1);
  enough.abort(new Error('enough'));
  expect(await called).toMatchObject({ message: 'enough' });
});

it('is asked for lists without pages where that is set', async () => {
  const { start, seen } = await startWay({ 'dialect.v1.paging': 'stream' });
  const { v1 } = await start(await temporaryStore());
  await readAll(v1.stock({}));
  expect(seen()).toEqual(['GET /api/v1/variants/stock']);
});

it('is asked as often as is set, and waits half a minute between at most', async () => {
  const clock = manualClock();
  const way = await startWay({ retry: 9 }, clock, (_request, response) => {
    answerJson(response, 502, envelope(502, {}));
  });
  const { v1, transport } = await way.start(await temporaryStore());
  const asked = rejection(v1.order(1));
  for (const retries of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await until(clock, () => transport.stats().retries === retries);
    await clock.advance(Math.min(500 * 2 ** (retries - 1), 30_000));
  }
  await until(clock, () => transport.limiter.active() === 0);
  expect(await asked).toMatchObject({ code: 'service.fault' });
  expect(way.seen()).toHaveLength(9);
});

it('gets the time and the room that are set', async () => {
  const clock = manualClock();
  const settings = { 'timeouts.connect': '60s', 'timeouts.firstByte': '7s', retry: 1 };
  const way = await startWay(
    { ...settings, 'limits.bodyMax': '64KiB' },
    clock,
    (...[, response, nth]) => {
      if (nth > 2) response.writeHead(200).end(' '.repeat(65_537));
    },
  );
  const { v1, transport } = await way.start(await temporaryStore());
  const silent = rejection(v1.order(1));
  await until(clock, () => way.seen().length === 1);
  await clock.advance(6_000);
  expect(transport.limiter.active()).toBe(1);
  await clock.advance(1_000);
  expect(await silent).toMatchObject({ code: 'transport.first_byte_timeout' });
  const large = rejection(v1.order(1));
  await clock.advance(10);
  expect(await large).toMatchObject({ code: 'transport.too_large' });
});

it('remembers its log-in over a restart', async () => {
  const clock = manualClock();
  const way = await startWay({ 'limits.loginSpacing': '6s' }, clock);
  const store = await temporaryStore();
  const first = (await way.start(store)).v1.order(1).catch(() => undefined);
  await until(clock, () => way.seen().length === 1);
  await first;
  const { v1 } = await way.start(store);
  const second = v1.order(1).catch(() => undefined);
  const begin = clock.monotonic();
  await until(clock, () => way.logins() === 2);
  await until(clock, () => way.seen().length === 2);
  await second;
  expect(clock.monotonic()).toBeGreaterThanOrEqual(6_000);
  expect(begin).toBeLessThan(6_000);
});

it('remembers which lists want a brand, as long as address and level stay', async () => {
  const store = await temporaryStore();
  const from = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction(async (tx) => {
    const brands = ['North', 'South'].map((brandName) => BRAND.toRow({ brandName }));
    await upsertRows(tx, BRAND, brands, from);
    const variant = { barcode: '1', quantity: 1, details: { brandName: 'South' } };
    await writeStockVariants(tx, [variant], from);
  });
  const { start } = await startWay({});
  const first = await start(store);
  expect(first.brands.isNeeded('stock')).toBe(false);
  expect(await first.brands.learn('stock')).toBe(true);
  expect(await first.brands.learn('variant')).toBe(true);
  const again = await start(store);
  const reads = ['stock', 'season', 'variant'] as const;
  expect(reads.filter((read) => again.brands.isNeeded(read))).toEqual(['stock', 'variant']);
  expect(await again.brands.candidates('1')).toEqual(['South', 'North']);
  expect(await again.brands.candidates('2')).toEqual(['North', 'South']);
  const elsewhere = await startWay({});
  expect((await elsewhere.start(store)).brands.isNeeded('stock')).toBe(false);
});
