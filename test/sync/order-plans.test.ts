/** A walk over the orders never goes through all that the mirror has in one statement. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { diffAgainstWalk, orderSlices } from '../../src/mirror/sales-order.ts';
import { createOrdersStream } from '../../src/sync/streams/orders.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { startOrders } from './orders-support.ts';
import { DELETION_GUARD } from './pull.ts';

it('gives all orders in slices, the newest first', async () => {
  const store = await temporaryStore();
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 4500)
    insert into sales_order (order_id, status, completed, shipping_address, extra, content_hash,
      first_seen_at, changed_at, deleted_at, read_seq, source)
    select 2 * i, 'fulfilled', 1, '{}', '{}', '', 0, 0, iif(i = 9, 1, null), i % 1000 > 0, 'test'
    from n`.execute(store.db);
  const slices = [];
  for await (const slice of orderSlices(store.db, 4)) slices.push(slice);
  expect(slices).toEqual([
    { from: 5_002, before: Number.MAX_SAFE_INTEGER },
    { from: 1_002, before: 5_002 },
    { from: 4, before: 1_002 },
  ]);
  await sql`insert into quarantine (entity, raw, raw_hash, path, reason, source, first_seen_at,
      last_seen_at)
    values ('sales_order', '{"orderId":4000}', 'a', '', '', 'run:1', 7, 7),
      ('sales_order', '{"orderId":2000}', 'b', '', '', 'run:1', 6, 6),
      ('sales_order', 'no order', 'c', '', '', 'run:1', 7, 7)`.execute(store.db);
  const walk = { readSeq: 1, startedAt: 7 };
  expect(await diffAgainstWalk(store.db, walk)).toEqual({
    ...{ live: 4_499, duplicates: 0, missing: [2_000, 6_000, 8_000] },
  });
  expect(await diffAgainstWalk(store.db, walk, 7_000)).toMatchObject({ missing: [8_000] });
});

it.each([['orders'], ['ordersFull']] as const)('goes by these slices: %s', async (name) => {
  const { store, v1, run, wakeUp } = await startOrders({ world: { orders: 20 } });
  const planned = notePlans(store);
  const deps = { v1, clock: systemClock(), onRefetchRequested: wakeUp };
  const also = { refunds: true, pendingRefunds: true };
  const options = { name, deletionGuard: DELETION_GUARD, closedOrders: 5, also };
  await run(createOrdersStream({ ...deps, db: () => planned.store.db }, options));
  const steps = await planned.steps(/sales_order\b/);
  expect(steps).toContain('SEARCH sales_order USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)');
  expect(steps).not.toContain('SCAN sales_order');
});
