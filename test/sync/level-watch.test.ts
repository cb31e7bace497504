/** Accounts that have less than their level says. */
import { expect, it } from 'vitest';
import { type Clock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { createReadSequence } from '../../src/store/state.ts';
import type { Store } from '../../src/store/store.ts';
import { createOrderReader } from '../../src/sync/read-order.ts';
import { answerJson, envelope } from '../client/support.ts';
import { levelsOf } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { startClients } from './support.ts';

const MINUTE_MS = 60_000;
const PAGE = new RefusedError('service.no_such_page', 'GET /x: HTTP 404: <h1>Not Found</h1>');

async function incidents({ db }: Pick<Store, 'db'>) {
  const rows = await db.selectFrom('incident').select(['key', 'detail', 'resolved_at']).execute();
  return rows.map(({ key, detail, resolved_at }) => {
    return { key, ...JSON.parse(detail), isOpen: resolved_at === null };
  });
}

it('is sure once three things lack it, and goes on without for ten minutes', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const levels = await levelsOf(store, clock);
  for (const about of ['1', '2', '2', '1']) {
    await levels.missing('pendingRefunds', PAGE, about);
    expect(levels.isThere('pendingRefunds')).toBe(true);
  }
  expect(await incidents(store)).toEqual([]);
  await levels.missing('pendingRefunds', PAGE, '3');
  expect(levels.isThere('pendingRefunds')).toBe(false);
  expect(levels.whyNot('pendingRefunds')).toContain('set service.dialect.v1.level to what it has');
  expect(await incidents(store)).toMatchObject([
    {
      ...{ key: 'service.dialect.v1.level', setting: 'service.dialect.v1.level', level: '1.4.14' },
      ...{ looksLike: 'below 1.4.11', lacking: ['pendingRefunds'], isOpen: true },
      said: expect.stringContaining('HTTP 404'),
    },
  ]);
  await clock.advance(10 * MINUTE_MS);
  expect(levels.isThere('pendingRefunds')).toBe(true);
  await levels.missing('pendingRefunds', PAGE, '4');
  expect(levels.isThere('pendingRefunds')).toBe(false);
  clock.step(-1_440 * MINUTE_MS);
  await clock.advance(10 * MINUTE_MS);
  expect(levels.isThere('pendingRefunds')).toBe(true);
});

it('is one incident of all that is lacking, and is over when all of it was answered', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const levels = await levelsOf(store, clock);
  await levels.missing('pendingRefunds', PAGE);
  await levels.missing('stockList', PAGE);
  const [both, ...others] = await incidents(store);
  expect(others).toEqual([]);
  expect(both).toMatchObject({ looksLike: 'below 1.4.0', isOpen: true });
  await levels.answered('stockList');
  expect(await incidents(store)).toMatchObject([{ looksLike: 'below 1.4.11', isOpen: true }]);
  await levels.answered('pendingRefunds');
  expect(await incidents(store)).toMatchObject([{ isOpen: false }]);
});

it('knows after a restart what was lacking, until the level is put right', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await (await levelsOf(store, clock)).missing('pendingRefunds', PAGE);
  const again = await levelsOf(store, clock);
  expect(again.whyNot('pendingRefunds')).toContain('below 1.4.11');
  // The level may be otherwise by now, so it is asked once.
  expect(again.isThere('pendingRefunds')).toBe(true);
  await again.missing('pendingRefunds', PAGE, '1');
  expect(again.isThere('pendingRefunds')).toBe(false);
  const right = await levelsOf(store, clock, '1.4.10');
  expect(await incidents(store)).toMatchObject([{ isOpen: false }]);
  expect(right.isThere('pendingRefunds')).toBe(false);
  expect(right.whyNot('pendingRefunds')).toContain('came with 1.4.11');
});

type Answered = 'list' | 'page' | 'unknown' | 'no route';

/** `refunds`: of each order, where they are listed. */
async function openReader(
  level: string,
  answer: (path: string) => Answered,
  { status = 'pending', refunds = [] as readonly object[], clock = systemClock() as Clock } = {},
) {
  const asked: string[] = [];
  const { v1 } = await startClients((request, response) => {
    const path = request.url ?? '';
    if (path.endsWith('/auth/login')) {
      answerJson(response, 200, envelope(200, { token: 'a' }));
      return;
    }
    asked.push(path);
    const [, , orderId, list] = path.split('/');
    const how = list === undefined ? 'list' : answer(path);
    if (how === 'page') {
      response.writeHead(404).end('<h1>Not Found</h1>');
      return;
    }
    if (how === 'unknown') {
      answerJson(response, 404, envelope(404, {}, 'not found'));
      return;
    }
    if (how === 'no route') {
      answerJson(response, 404, { message: 'no Route matched with those values' });
      return;
    }
    const order = { orderId: Number(orderId), status, orderLineItems: [] };
    const lists = { deliveries: [], refunds, pendingRefunds: [] };
    answerJson(response, 200, envelope(200, list === undefined ? order : lists));
  });
  const store = await temporaryStore(clock);
  const levels = await levelsOf(store, clock, level);
  const sequence = createReadSequence(store, clock);
  const also = { refunds: true, pendingRefunds: true };
  const read = createOrderReader({ store, v1, sequence, clock, also, levels });
  const { signal } = new AbortController();
  return {
    store,
    levels,
    async read(orderId: number) {
      asked.length = 0;
      await read(orderId, { cause: 'event:m', priority: 'read', refunds: true, signal });
      return [...asked].sort();
    },
  };
}

it('reads all orders of an account without pending refunds, and stops asking', async () => {
  const { store, read } = await openReader('1.4.14', (path) =>
    path.endsWith('pending-refunds') ? 'page' : 'list',
  );
  for (const orderId of [1, 2, 3]) expect(await read(orderId)).toHaveLength(4);
  expect(await read(4)).toEqual(['/orders/4', '/orders/4/deliveries', '/orders/4/refunds']);
  const orders = await store.db.selectFrom('sales_order').select('details_read_at').execute();
  expect(orders.map((row) => row.details_read_at !== null)).toEqual([true, true, true, true]);
  expect(await incidents(store)).toMatchObject([{ looksLike: 'below 1.4.11' }]);
});

it('reads orders alone where nothing is listed below them, once that is sure', async () => {
  const { store, read } = await openReader('1.4.14', () => 'page');
  // A page may also be that of something in the way, for a moment.
  for (const orderId of [1, 2]) await expect(read(orderId)).rejects.toThrow('404');
  await read(3);
  expect(await read(4)).toEqual(['/orders/4']);
  expect(await incidents(store)).toMatchObject([{ looksLike: 'below 1.3.0' }]);
});

it('takes a 404 for an empty list where other lists without rows are one, too', async () => {
  const { store, read } = await openReader('1.4.14', () => 'unknown');
  for (const orderId of [1, 2, 3, 4]) expect(await read(orderId)).toHaveLength(4);
  expect(await incidents(store)).toEqual([]);
});

it('has pending refunds after all where pages end, and a 404 is an empty list', async () => {
  const clock = manualClock();
  let pending: Answered = 'page';
  let others: Answered = 'unknown';
  const { store, levels, read } = await openReader(
    '1.4.14',
    (path) => (path.endsWith('pending-refunds') ? pending : others),
    { clock },
  );
  for (const orderId of [1, 2, 3]) await read(orderId);
  expect(levels.whyNot('pendingRefunds')).toContain('set service.dialect.v1.level');
  // A gateway that knows neither address says nothing of the account.
  pending = others = 'no route';
  await clock.advance(10 * MINUTE_MS);
  await read(4);
  expect(levels.whyNot('pendingRefunds')).toContain('set service.dialect.v1.level');
  pending = others = 'unknown';
  await clock.advance(10 * MINUTE_MS);
  await read(5);
  expect(levels.whyNot('pendingRefunds')).toBeUndefined();
  expect(await incidents(store)).toMatchObject([{ isOpen: false }]);
});

it('cannot tell what a 404 means for an order that has refunds', async () => {
  const refund = { orderRefundId: 1, orderId: 1, status: 'pending', refundedLineItems: [] };
  const { store, read } = await openReader(
    '1.4.14',
    (path) => (path.endsWith('/refunds') ? 'list' : 'unknown'),
    { refunds: [refund] },
  );
  for (const orderId of [1, 2, 3, 4]) expect(await read(orderId)).toHaveLength(4);
  expect(await incidents(store)).toEqual([]);
});

it.each([
  ['pending refunds, where refunds are listed', /pending-refunds$/, 'pending', 'below 1.4.11'],
  ['deliveries, though goods have left', /deliveries$|\/refunds$/, 'fulfilled', 'below 1.3.0'],
])('takes a 404 for no address of %s', async (_name, missing, status, looksLike) => {
  const answer = (path: string) => (missing.test(path) ? 'unknown' : 'list');
  const { store, read } = await openReader('1.4.14', answer, { status });
  for (const orderId of [1, 2, 3]) expect(await read(orderId)).toHaveLength(4);
  expect((await read(4)).some((path) => missing.test(path))).toBe(false);
  expect(await incidents(store)).toMatchObject([{ looksLike }]);
});

it.each([
  ['1.4.10', ['/orders/1', '/orders/1/deliveries', '/orders/1/refunds']],
  ['1.2.56', ['/orders/1']],
])('asks an account of level %s for no list that it does not have', async (level, asked) => {
  const { store, read } = await openReader(level, () => 'list');
  expect(await read(1)).toEqual(asked);
  expect(await incidents(store)).toEqual([]);
});
