/** Runs over answers that are not as the contract has them, or come out of caches. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { driftOfStream } from '../../src/sync/drift.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { answerJson, envelope } from '../client/support.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf, startClients } from './support.ts';

const DAY_S = 86_400;
const LEVEL = { detailed: false, detailedPricing: false, includeVariantsOnOrder: false };

type Answer = (path: string, response: ServerResponse) => void;

async function start(answer: Answer, mode: 'stream' | 'pages' = 'stream') {
  const clients = await startClients((request: IncomingMessage, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    if (pathname.endsWith('/auth/login')) {
      answerJson(response, 200, envelope(200, { token: 'a' }));
    } else answer(pathname, response);
  });
  const store = await temporaryStore(systemClock());
  const deps = runnerOf(store);
  const brands = createShortListStream({
    ...{ name: 'brands', entity: BRAND, deletionGuard: DELETION_GUARD },
    read: (call) => clients.v1.shortList('brands', call),
  });
  const options = { mode, pageRows: 100, deletionGuard: DELETION_GUARD, level: LEVEL };
  const stock = createStockStream(clients.v1, options);
  return { ...clients, store, deps, brands, stock, ...runsOn(deps) };
}

describe('a run over answers of another form', () => {
  it('counts what was other, where a person looks for drift', async () => {
    const { store, run, brands } = await start((_path, response) => {
      response.writeHead(200, {
        ...{ 'content-type': 'application/json; charset=iso-8859-1', 'content-encoding': 'utf-8' },
      });
      const body = { status: '200', message: 'OK', data: { brands: { 0: { brandName: 'Brød' } } } };
      response.end(Buffer.from(JSON.stringify(body), 'latin1'));
    });
    expect(await run(brands)).toMatchObject({ outcome: 'complete', rows: 1 });
    const [document] = await driftOfStream(store.db, 'brands');
    expect(document).toMatchObject({
      entity: 'document',
      unknownMembers: {},
      newValues: {
        'charset=iso-8859-1': 1,
        'content-encoding=utf-8 (none)': 1,
        'envelope.status=text': 1,
        'brands={"0": …}': 1,
      },
      unreadable: {},
    });
    const names = await store.db.selectFrom('brand').select('brand_name').execute();
    expect(names).toEqual([{ brand_name: 'Brød' }]);
  });

  it.each<[string, number, unknown, RegExp]>([
    [
      'invalid_data',
      422,
      { status: 422, message: 'no', invalid_data: { brandName: ['missing'] } },
      /HTTP 422: ‹no: brandName: missing›/,
    ],
    [
      'errors',
      400,
      { message: 'bad', errors: [{ detail: 'unknown level' }] },
      /bad: unknown level/,
    ],
    ['a page', 404, '<h1>Not here</h1>', /HTTP 404: ‹<h1>Not here<\/h1>/],
    ['words', 400, 'brand is missing', /HTTP 400: ‹brand is missing›/],
  ])('fails with the words that it was refused with: %s', async (_name, status, body, words) => {
    const { run, brands, lastRun, state } = await start((_path, response) => {
      if (typeof body === 'string') response.writeHead(status).end(body);
      else answerJson(response, status, body);
    });
    expect(await run(brands)).toMatchObject({ outcome: 'failed' });
    expect(await lastRun('brands')).toMatchObject({ reason: expect.stringMatching(words) });
    expect(await state('brands')).toMatchObject({ last_error: expect.stringMatching(words) });
  });

  it('goes on later while a page stands in the place of the service', async () => {
    const { run, brands } = await start((_path, response) => {
      response.writeHead(200).end('<html>maintenance until 6</html>');
    });
    // Six times, as in any other outage.
    for (let time = 1; time <= 5; time += 1) {
      expect(await run(brands)).toMatchObject({
        ...{ outcome: 'interrupted', reason: expect.stringContaining('maintenance until 6') },
      });
    }
  });
});

describe.each(['stream', 'pages'] as const)('a list out of a cache, read as %s', (mode) => {
  async function withCache() {
    let quantity = 5;
    let age: number | undefined;
    const rows = ['a', 'b', 'c'];
    const house = await start((_path, response) => {
      const variants = rows.map((barcode) => ({ barcode, quantity }));
      if (age !== undefined) response.setHeader('age', String(age));
      answerJson(response, 200, envelope(200, { count: variants.length, variants }));
    }, mode);
    const quantities = async () => {
      const live = house.store.db.selectFrom('stock_variant').where('deleted_at', 'is', null);
      const all = await live.select(['barcode', 'quantity']).orderBy('barcode').execute();
      return Object.fromEntries(all.map((one) => [one.barcode, one.quantity]));
    };
    const tell = (told: { quantity?: number; age?: number; rows?: string[] }): void => {
      quantity = told.quantity ?? quantity;
      age = told.age;
      rows.splice(0, rows.length, ...(told.rows ?? rows));
    };
    return { ...house, quantities, tell };
  }

  it('takes nothing from what is known better, and says so', async () => {
    const { run, stock, quantities, tell, state } = await withCache();
    await run(stock);
    const { complete_at: before } = await state('stock');
    tell({ quantity: 1, age: DAY_S, rows: ['a', 'b', 'd'] });
    for (let time = 0; time < 2; time += 1) {
      const told = expect.stringMatching(/out of a cache, up to 1d old/);
      expect(await run(stock)).toMatchObject({ outcome: 'complete', reason: told });
      // Its own rows are new; rows that it lacks were not asked for since.
      expect(await quantities()).toEqual({ a: 5, b: 5, c: 5, d: 1 });
      expect(await state('stock')).toMatchObject({ complete_at: before, last_error: null });
    }
    tell({ quantity: 2 });
    expect(await run(stock)).toMatchObject({ outcome: 'complete', reason: null });
    expect(await quantities()).toMatchObject({ a: 2, b: 2, d: 2 });
  });

  it('makes its stream as fresh as it is, when nothing was known before', async () => {
    const { run, stock, tell, state, quantities } = await withCache();
    tell({ age: 2 * DAY_S });
    await run(stock);
    const { complete_at: at } = await state('stock');
    expect(Date.now() - Number(at)).toBeGreaterThanOrEqual(2 * DAY_S * 1_000);
    expect(await quantities()).toEqual({ a: 5, b: 5, c: 5 });
  });

  it('proves nothing when it is older than its stream may get', async () => {
    const { run, stock, tell, state, quantities } = await withCache();
    const bounded = { ...stock, freshnessMs: 3_600_000 };
    await run(bounded);
    const { complete_at: before } = await state('stock');
    tell({ quantity: 1, age: 2 * 3_600, rows: ['a', 'b', 'd'] });
    const { outcome, reason } = await run(bounded);
    expect(outcome).toBe('partial');
    expect(reason).toMatch(/^the list is 2h old, more than streams.stock.freshness \(1h\) allows/);
    expect(await state('stock')).toMatchObject({ complete_at: before });
    expect(await quantities()).toMatchObject({ a: 5, b: 5, c: 5 });
    tell({ age: 1_800, rows: ['a', 'b', 'c'] });
    expect(await run(bounded)).toMatchObject({ outcome: 'complete' });
  });

  it('is not told of for less than a minute', async () => {
    const { run, stock, tell } = await withCache();
    tell({ age: 45 });
    expect(await run(stock)).toMatchObject({ outcome: 'complete', reason: null });
  });
});

describe('an order out of a cache', () => {
  const order = { orderId: 7, status: 'pending', orderLineItems: [] };
  const delivery = (status: string) => ({
    ...{ orderDeliveryId: 70, orderId: 7, status, fulfilledLineItems: [] },
  });

  async function withOrder() {
    const clock = systemClock();
    const told: { status: string; age?: number } = { status: 'accepted' };
    const { v1, store, deps, run, brands } = await start((path, response) => {
      if (told.age !== undefined) response.setHeader('age', String(told.age));
      const deliveries = { deliveries: [delivery(told.status)] };
      if (path.endsWith('/brands')) answerJson(response, 200, envelope(200, { brands: [] }));
      else answerJson(response, 200, envelope(200, path.endsWith('7') ? order : deliveries));
    });
    const also = { refunds: false, pendingRefunds: false };
    const readOrder = createOrderReader({
      ...{ store, v1, clock, also, sequence: createReadSequence(store, clock) },
      levels: await levelsOf(store, clock),
    });
    const { signal } = new AbortController();
    const read = () => readOrder(7, { cause: 'event:1', priority: 'read', signal });
    const status = async () => {
      const row = await store.db.selectFrom('delivery').select('status').executeTakeFirst();
      return row?.status;
    };
    return { told, read, status, run: () => run(brands), deps };
  }

  it('does not undo what a newer read has brought', async () => {
    const { told, read, status } = await withOrder();
    await read();
    Object.assign(told, { status: 'pending', age: 30 });
    await read();
    expect(await status()).toBe('accepted');
    delete told.age;
    await read();
    expect(await status()).toBe('pending');
  });

  it('decides nothing when it is old', async () => {
    const { told, read, status } = await withOrder();
    told.age = 600;
    await expect(read()).rejects.toMatchObject({
      ...{ name: 'RetryLaterError', code: 'sync.cached_answer' },
      message: expect.stringMatching(/order 7 came out of a cache and is 10m old/),
    });
    expect(await status()).toBeUndefined();
  });
});
