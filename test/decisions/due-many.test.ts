/** Due deliveries are found without the others, however many are pending and held. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { dueDeliveries, FIRST, nextDueAt, sweepPending } from '../../src/decisions/due.ts';
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

it('is found by what is due, and not among all that are pending', async () => {
  const { planned } = await manyHeld();
  const due = await dueDeliveries(planned.store.db, query, new Set(), 50);
  const first = [{ orderDeliveryId: 8_000, trigger: 'new' }];
  expect(due).toEqual({ first, later: [], unsettled: [], settledAt: Infinity });
  expect(await nextDueAt(planned.store.db, query.now)).toBe(22);
  expect(planned.rows(/"claim"/)).toBe(1);
  expect(await planned.steps(/"due_at" <= /)).toEqual([
    'SEARCH claim USING COVERING INDEX claim_due (due_at>? AND due_at<?)',
  ]);
});

it('takes new ones before all others, and each kind the oldest first', async () => {
  const { store } = await manyHeld();
  const soon = { ...query, now: 5_000 };
  const some = await dueDeliveries(store.db, soon, new Set([2, 4]), 50);
  expect(some.first.map(({ orderDeliveryId: id }) => id)).toEqual([8_000]);
  const ids = Array.from({ length: 10 }, (_, index) => 6 + 2 * index);
  expect(some.later.map(({ orderDeliveryId: id }) => id)).toEqual(ids);
  await store.db.updateTable('delivery').set({ content_hash: 'others' }).execute();
  let due: Awaited<ReturnType<typeof dueDeliveries>> | undefined;
  const turns = await turnsDuring(async () => {
    due = await dueDeliveries(store.db, soon, new Set(), 3_000);
  });
  // Fifteen slices.
  expect(turns).toBeGreaterThanOrEqual(14);
  expect(due?.later).toEqual([]);
  expect(due?.first).toHaveLength(3_000);
  expect(due?.first[0]).toEqual({ orderDeliveryId: 8_000, trigger: 'new' });
  expect(due?.first.at(-1)).toEqual({ orderDeliveryId: 5_998, trigger: 'changed' });
});

it('is found by the sweep, slice by slice, when nobody was told', async () => {
  const { store } = await manyHeld();
  const { db } = store;
  // As a fault of the triggers would leave them.
  await sql`update claim set due_at = null where order_delivery_id = 8000`.execute(db);
  await sql`update evaluation set delivery_hash = 'other' where order_delivery_id = 8004`.execute(
    db,
  );
  await sql`delete from claim where order_delivery_id in (20, 8004)`.execute(db);
  await sql`update evaluation set order_hash = 'other' where order_delivery_id = 20`.execute(db);
  expect(await dueDeliveries(db, query, new Set(), 50)).toMatchObject({ first: [], later: [] });
  const begin = await sweepPending(store, query.now, FIRST);
  expect(begin).toEqual({ next: 4_000, found: [20] });
  const middle = await sweepPending(store, query.now, begin.next);
  expect(middle).toEqual({ next: 8_000, found: [8_000] });
  const end = await sweepPending(store, query.now, middle.next);
  expect(end).toEqual({ next: FIRST, found: [8_004] });
  const { first } = await dueDeliveries(db, query, new Set(), 50);
  expect(first.map(({ orderDeliveryId: id }) => id)).toEqual([8_000, 20, 8_004]);
  expect(await sweepPending(store, query.now, FIRST)).toMatchObject({ found: [] });
});
