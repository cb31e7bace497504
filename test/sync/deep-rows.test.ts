/**
 * Rows with so many brackets inside each other that nothing could be written of them: they are
 * put aside, and their neighbours are mirrored.
 */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { retryQuarantine } from '../../src/sync/quarantine.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf, startClients } from './support.ts';

const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const order = (id: number) => `"orderId":${id},"status":"pending","orderLineItems":[]`;

/** A service each of whose lists has a good row behind one with a member nested so deep. */
async function startDeep(depth: number, mode: 'stream' | 'pages' = 'pages') {
  const odd = `"odd":${nested(depth)}`;
  const answers: Readonly<Record<string, string>> = {
    '/auth/login': '{"token":"a"}',
    '/brands': `{"count":2,"brands":[{"brandName":"a",${odd}},{"brandName":"b"}]}`,
    '/variants/stock': `{"count":2,"variants":[{"barcode":"a","quantity":1,${odd}},
      {"barcode":"b","quantity":1}]}`,
    '/orders/1': `{${order(1)}}`,
    '/orders/2': `{${order(2)},${odd}}`,
    '/orders/1/deliveries': `{"deliveries":[{"orderDeliveryId":7,"orderId":1,"status":"pending",
      "fulfilledLineItems":[],${odd}}]}`,
    '/orders/2/deliveries': '{"deliveries":[]}',
    '/orders': `{"orderId":3,"orderStatus":"pending","salesOrder":{${order(3)},${odd}},${odd}}`,
  };
  const clients = await startClients(
    (request, response) => {
      const data = answers[new URL(request.url ?? '', 'http://x').pathname];
      response.writeHead(200).end(`{"status":200,"message":"ok","data":${data}}`);
    },
    { mode },
  );
  const store = await temporaryStore(systemClock());
  const aside = () => store.db.selectFrom('quarantine').select(['entity', 'path', 'raw']).execute();
  return { ...clients, store, aside, ...runsOn(runnerOf(store)) };
}

const DEPTHS = [300, 1_100, 5_000, 100_000];

it.each(DEPTHS)('are put aside in every kind of list: %i brackets', async (depth) => {
  for (const mode of ['stream', 'pages'] as const) {
    const { v1, run, store, aside } = await startDeep(depth, mode);
    const level = { detailed: false, detailedPricing: false, includeVariantsOnOrder: false };
    const streams: Stream[] = [
      createStockStream(v1, { level, mode, pageRows: 100, deletionGuard: DELETION_GUARD }),
      createShortListStream({
        name: 'brands',
        entity: BRAND,
        deletionGuard: DELETION_GUARD,
        read: (call) => v1.shortList('brands', call),
      }),
    ];
    for (const stream of streams) {
      const ended = {
        outcome: 'partial',
        rows: 2,
        reason: expect.stringMatching(/^1 rows cannot/),
      };
      expect(await run(stream)).toMatchObject(ended);
      expect(await run(stream)).toMatchObject({ ...ended, changed: 0 });
    }
    expect(await aside()).toEqual([
      { entity: 'stock_variant', path: 'odd', raw: expect.stringContaining('"barcode":"a"') },
      { entity: 'brand', path: 'odd', raw: expect.stringContaining('"brandName":"a"') },
    ]);
    const stock = await store.db.selectFrom('stock_variant').select('barcode').execute();
    expect(stock).toEqual([{ barcode: 'b' }]);
    const retried = await retryQuarantine({ store, clock: systemClock() });
    expect(retried).toEqual({ understood: 0, left: 2 });
  }
});

it.each(DEPTHS)('stop no read of their order: %i brackets', async (depth) => {
  const { v1, store, aside } = await startDeep(depth);
  const clock = systemClock();
  const sequence = createReadSequence(store, clock);
  const also = { refunds: false, pendingRefunds: false };
  const read = createOrderReader({
    ...{ store, v1, sequence, clock, also },
    levels: await levelsOf(store, clock),
  });
  const request = { cause: 'x', priority: 'read', signal: new AbortController().signal } as const;
  expect(await read(1, request)).toMatchObject({ deliveries: [] });
  expect(await aside()).toMatchObject([{ entity: 'delivery', path: 'odd' }]);
  await expect(read(2, request)).rejects.toMatchObject({
    code: 'transport.broken_answer',
    message: expect.stringContaining('data.odd: it is nested too deep'),
  });
});

it.each(DEPTHS)('put no new order in doubt: %i brackets', async (depth) => {
  const { v1 } = await startDeep(depth);
  const { value } = await v1.createOrder({ reference: 'r' });
  expect(value).toMatchObject({ orderId: 3, salesOrder: { orderId: 3 } });
  expect(JSON.stringify(value).length).toBeLessThan(2_000);
});
