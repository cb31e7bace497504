/** An order that says a number of another place: it is noticed, and hides no other order. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { createOrderFinder } from '../../src/outbox/evidence/find-order.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { searchFor } from '../outbox/support.ts';
import { temporaryStore } from '../support/store.ts';
import { type Clients, DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf, startOrders } from './support.ts';

const PAGE = 10;
const NEWEST = 45;
const closed = { status: 'fulfilled', completed: true, orderLineItems: [] };

/** Orders 45 to 1 in their pages; one says another number, wherever it is listed. */
function startWrong(wrong: number, says: number, more: object = closed) {
  return startOrders((before) => {
    const from = Math.min(before - 1, NEWEST);
    const ids = Array.from({ length: from }, (_, at) => from - at).slice(0, PAGE);
    return ids.map((id) =>
      id === wrong ? { orderId: says, ...more } : { orderId: id, ...closed },
    );
  });
}

/** Runs the two walks; gives how they ended, and which of the orders are there then. */
async function walked({ v1 }: Clients) {
  const store = await temporaryStore(systemClock());
  // Nobody reads the orders again here.
  const onRefetchRequested = (): void => void store.db.deleteFrom('refresh').execute();
  const deps = { v1, db: () => store.db, clock: systemClock(), onRefetchRequested };
  const also = { refunds: false, pendingRefunds: false };
  const runs = runsOn(runnerOf(store));
  const ended = [];
  for (const name of ['orders', 'ordersFull'] as const) {
    const stream = createOrdersStream(deps, {
      name,
      deletionGuard: DELETION_GUARD,
      closedOrders: 500,
      also,
    });
    ended.push(await runs.run(stream));
  }
  const rows = await store.db.selectFrom('sales_order').select('order_id').execute();
  const seen = new Set(rows.map((row) => row.order_id));
  const all = Array.from({ length: NEWEST }, (_, at) => at + 1);
  return { ended, missing: all.filter((id) => !seen.has(id)) };
}

it.each([
  ['the last of its page, far too low', 36, 3, closed],
  ['inside of its page, far too low', 40, 3, closed],
  ['inside of its page, too high', 28, 9_000, closed],
  ['the last of its page, and not understood', 36, 3, {}],
])('is noticed, and hides no other order: %s', async (_name, wrong, says, more) => {
  const { ended, missing } = await walked(await startWrong(wrong, says, more));
  const reason = expect.stringContaining(`orders are listed out of their order, near ${says}`);
  const noticed = expect.objectContaining({ outcome: 'partial', reason });
  expect(ended).toEqual([noticed, noticed]);
  expect(missing).toEqual([wrong]);
});

it.each(['walk', 'sweep'])('is not forgotten by a run that is cut off in its %s', async (where) => {
  const { v1 } = await startWrong(40, 3);
  const store = await temporaryStore(systemClock());
  let isCut = false;
  const cut = (): void => {
    if (isCut) return;
    isCut = true;
    throw new RetryLaterError('transport.reset', 'cut');
  };
  const orders: typeof v1.orders = async (before, call) => {
    if (where === 'walk' && before !== undefined && before < 20) cut();
    return v1.orders(before, call);
  };
  const onRefetchRequested = (): void => {
    if (where === 'sweep') cut();
    void store.db.deleteFrom('refresh').execute();
  };
  const parts = { db: () => store.db, clock: systemClock(), onRefetchRequested };
  const deps = { v1: { ...v1, orders }, ...parts };
  const also = { refunds: false, pendingRefunds: false };
  const options = {
    name: 'ordersFull',
    deletionGuard: DELETION_GUARD,
    closedOrders: 500,
    also,
  } as const;
  const { run } = runsOn(runnerOf(store));
  const stream = createOrdersStream(deps, options);
  expect(await run(stream)).toMatchObject({ outcome: 'interrupted' });
  const reason = expect.stringContaining('orders are listed out of their order, near 3');
  expect(await run(stream)).toMatchObject({ outcome: 'partial', reason });
});

it.each([
  ['the last of its page', 36],
  ['inside of it', 40],
])('is no proof that a new order is not there: %s', async (_name, wrong) => {
  const { v1 } = await startWrong(wrong, 3);
  const found = await createOrderFinder(v1).find(
    searchFor('mine'),
    15,
    new AbortController().signal,
  );
  expect(found).toMatchObject({ complete: false });
});

it('is all seen where most orders are listed by something else than their numbers', async () => {
  // Three of one moment each, of which the oldest comes first.
  const all = Array.from({ length: NEWEST / 3 }, (_, at) => NEWEST - 2 - 3 * at).flatMap((id) =>
    [id, id + 1, id + 2].map((orderId) => ({ orderId, ...closed })),
  );
  const clients = await startOrders((before) =>
    all.filter(({ orderId }) => orderId < before).slice(0, PAGE),
  );
  const { ended, missing } = await walked(clients);
  expect(missing).toEqual([]);
  expect(ended.map(({ outcome }) => outcome)).toEqual(['partial', 'partial']);
});
