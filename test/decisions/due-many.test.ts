/** Due deliveries are found in slices, however many are pending and held. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { dueDeliveries } from '../../src/decisions/due.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { turnsDuring } from '../support/turns.ts';

const PENDING = 4_500;

/** Pending deliveries with even ids, all evaluated but one; the accepted ones between are not. */
async function manyHeld() {
  const store = await temporaryStore();
  await sql`insert into sales_order (order_id, status, completed, shipping_address, extra,
      content_hash, first_seen_at, changed_at, read_seq, source)
    values (1, 'pending', 0, '{}', '{}', 'o', 0, 0, 1, 'test')`.execute(store.db);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${2 * PENDING})
    insert into delivery (order_delivery_id, order_id, status, tracking_numbers, tracking_links,
      extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select i, 1, iif(i % 2, 'accepted', 'pending'), '[]', '[]', '{}', 'd', 0, 5, 1, 'test'
    from n`.execute(store.db);
  await sql`insert into evaluation (order_delivery_id, decision_id, delivery_hash, order_hash,
      rules_key, evaluated_at, due_at)
    select order_delivery_id, 1, 'd', 'o', 'rules', 9, 20 + order_delivery_id
    from delivery where status = 'pending' and order_delivery_id <> 8000`.execute(store.db);
  return { store, planned: notePlans(store) };
}

const query = { now: 10, settleMs: 0 };

it('gives others a turn between them', async () => {
  const { planned } = await manyHeld();
  const { db } = planned.store;
  let due: unknown;
  const turns = await turnsDuring(async () => {
    due = await dueDeliveries(db, query, new Set(), 50);
  });
  const first = [{ orderDeliveryId: 8_000, trigger: 'new' }];
  expect(due).toEqual({ first, later: [], nextAt: 22 });
  // Three slices.
  expect(turns).toBeGreaterThanOrEqual(2);
  const steps = await planned.steps(/left join "evaluation"/);
  const range = 'order_delivery_id>? AND order_delivery_id<?';
  expect(steps).toContain(`SEARCH d USING INDEX delivery_status (status=? AND ${range})`);
});

it('takes new ones before all others, and each kind the oldest first', async () => {
  const { store } = await manyHeld();
  const soon = { ...query, now: 5_000 };
  const some = await dueDeliveries(store.db, soon, new Set([2, 4]), 50);
  expect(some.first.map(({ orderDeliveryId: id }) => id)).toEqual([8_000]);
  const ids = Array.from({ length: 10 }, (_, index) => 6 + 2 * index);
  expect(some.later.map(({ orderDeliveryId: id }) => id)).toEqual(ids);
  await store.db.updateTable('evaluation').set({ delivery_hash: 'others' }).execute();
  const { first, later } = await dueDeliveries(store.db, soon, new Set(), 3_000);
  expect(later).toEqual([]);
  expect(first).toHaveLength(3_000);
  expect(first.at(-1)).toEqual({ orderDeliveryId: 6_000, trigger: 'changed' });
});
