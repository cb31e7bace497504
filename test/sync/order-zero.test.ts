/** An order whose number is none: it is put aside, and the walk sees all orders below it. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createOrderFinder } from '../../src/outbox/evidence/find-order.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { searchFor } from '../outbox/support.ts';
import { temporaryStore } from '../support/store.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { runnerOf, startOrders } from './support.ts';

const PAGE = 10;
const closed = { status: 'fulfilled', completed: true, orderLineItems: [] };

/** Orders 30 to 1; on the first page one says 0 instead. */
function startZero(odd: object) {
  return startOrders((before) => {
    const from = Math.min(before - 1, 30);
    const ids = Array.from({ length: from }, (_, at) => from - at).slice(0, PAGE);
    return ids.map((orderId) => (orderId === 25 ? odd : { orderId, ...closed }));
  });
}

it.each([
  ['that is whole', { orderId: 0, ...closed }],
  ['that is not', { orderId: 0 }],
])('hides no order below it from the walk: one %s', async (_name, odd) => {
  const { v1 } = await startZero(odd);
  const store = await temporaryStore(systemClock());
  // Nobody reads the orders again here.
  const onRefetchRequested = (): void => void store.db.deleteFrom('refresh').execute();
  const deps = { v1, db: () => store.db, clock: systemClock(), onRefetchRequested };
  const also = { refunds: false, pendingRefunds: false };
  const options = {
    name: 'ordersFull',
    deletionGuard: DELETION_GUARD,
    closedOrders: 500,
    also,
  } as const;
  const ended = await runsOn(runnerOf(store)).run(createOrdersStream(deps, options));
  expect(ended).toMatchObject({ outcome: 'partial', rows: 30 });
  const orders = await store.db.selectFrom('sales_order').select('order_id').execute();
  expect(orders).toHaveLength(29);
  const aside = await store.db.selectFrom('quarantine').select('path').execute();
  expect(aside).toEqual([{ path: 'orderId' }]);
});

it('is no proof that a new order is not there', async () => {
  const { v1 } = await startZero({ orderId: 0, reference: 'other', ...closed });
  const found = createOrderFinder(v1).find(searchFor('mine'), 15, new AbortController().signal);
  expect(await found).toMatchObject({ complete: true, walkedTo: 13 });
});
