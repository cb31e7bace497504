/** What is due is found in slices, however many deliveries are pending and held. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { dueDeliveries, nextDueDelivery } from '../../src/decisions/due.ts';
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
      rules_key, facts_digest, evaluated_at, due_at, due_why)
    select order_delivery_id, 1, 'd', 'o', 'rules', 'f', 9, 20 + order_delivery_id, 'tick'
    from delivery where status = 'pending' and order_delivery_id <> 8000`.execute(store.db);
  return { store, planned: notePlans(store) };
}

const query = { rulesKey: 'rules', now: 10, settleMs: 0, accepted: false };

it('gives others a turn between them', async () => {
  const { planned } = await manyHeld();
  const { db } = planned.store;
  let due: unknown;
  const turns = await turnsDuring(async () => {
    due = await dueDeliveries(db, query, [], 50);
  });
  expect(due).toEqual([{ orderDeliveryId: 8_000, trigger: 'new' }]);
  // Twice through three slices.
  expect(turns).toBeGreaterThanOrEqual(4);
  expect(await nextDueDelivery(db, 0, [8_000])).toBe(22);
  const steps = await planned.steps(/left join "evaluation"/);
  const range = 'order_delivery_id>? AND order_delivery_id<?';
  expect(steps).toContain(`SEARCH d USING INDEX delivery_status (status=? AND ${range})`);
});

it('takes the oldest first, across the slices', async () => {
  const { store } = await manyHeld();
  const later = { ...query, now: 5_000 };
  const some = await dueDeliveries(store.db, later, [2, 4], 50);
  expect(some.map(({ orderDeliveryId: id }) => id)).toEqual([
    ...Array.from({ length: 10 }, (_, index) => 6 + 2 * index),
    8_000,
  ]);
  const all = await dueDeliveries(store.db, { ...query, rulesKey: 'others' }, [], 3_000);
  expect(all).toHaveLength(3_000);
  expect(all.at(-1)).toEqual({ orderDeliveryId: 6_000, trigger: 'rules' });
});
