/** An order that says a number of another place: it is noticed, and hides no other order. */
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createOrderFinder } from '../../src/outbox/kinds/find-order.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';
import { clientsOf, FUSE, runnerOf, runsOn } from './support.ts';

const PAGE = 10;
const NEWEST = 45;
const closed = { status: 'fulfilled', completed: true, orderLineItems: [] };

/** Orders 45 to 1 in their pages; one says another number, wherever it is listed. */
async function startWrong(wrong: number, says: number, more: object = closed) {
  const server = await startFaulty((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const before = Number(searchParams.get('beforeOrderId') ?? NEWEST + 1);
    const ids = Array.from({ length: before - 1 }, (_, at) => before - 1 - at).slice(0, PAGE);
    const orders = ids.map((id) =>
      id === wrong ? { orderId: says, ...more } : { orderId: id, ...closed },
    );
    const isLogin = pathname.endsWith('/auth/login');
    answerJson(response, 200, envelope(200, isLogin ? { token: 'a' } : { orders }));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const credentials = { key: { clientId: 'a', clientSecret: 'b' } };
  const clients = clientsOf({ v1Url: server.url, v2Url: server.url, credentials });
  onTestFinished(() => clients.transport[Symbol.asyncDispose]());
  return clients;
}

it.each([
  ['the last of its page, far too low', 36, 3, closed],
  ['inside of its page, far too low', 40, 3, closed],
  ['inside of its page, too high', 28, 9_000, closed],
  ['the last of its page, and not understood', 36, 3, {}],
])('is noticed, and hides no other order: %s', async (_name, wrong, says, more) => {
  const { v1 } = await startWrong(wrong, says, more);
  const store = await temporaryStore(systemClock());
  // Nobody reads the orders again here.
  const onRefreshRequested = (): void => void store.db.deleteFrom('refresh').execute();
  const deps = { v1, db: () => store.db, clock: systemClock(), onRefreshRequested };
  const also = { refunds: false, pendingRefunds: false };
  const runs = runsOn(runnerOf(store));
  for (const name of ['orders', 'ordersFull'] as const) {
    const stream = createOrdersStream(deps, { name, fuse: FUSE, closedOrders: 500, also });
    const ended = await runs.run(stream);
    const reason = expect.stringContaining(`orders are listed out of their order, near ${says}`);
    expect(ended).toMatchObject({ outcome: 'partial', reason });
  }
  const rows = await store.db.selectFrom('sales_order').select('order_id').execute();
  const seen = new Set(rows.map((row) => row.order_id));
  const all = Array.from({ length: NEWEST }, (_, at) => at + 1);
  expect(all.filter((id) => !seen.has(id))).toEqual([wrong]);
});

it.each([
  ['the last of its page', 36],
  ['inside of it', 40],
])('is no proof that a new order is not there: %s', async (_name, wrong) => {
  const { v1 } = await startWrong(wrong, 3);
  const found = await createOrderFinder(v1).find('mine', 15, new AbortController().signal);
  expect(found).toMatchObject({ complete: false });
});
