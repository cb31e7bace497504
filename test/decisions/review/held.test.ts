/** What is held, in the order of waiting: a page is read by an index, and skips nothing. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { listForReview } from '../../../src/decisions/review/listing.ts';
import { notePlans } from '../../support/plans.ts';
import { temporaryStore } from '../../support/store.ts';

const DELIVERIES = 40;

/** Held deliveries, among accepted ones, of which four each were packed at the same time. */
async function createHeld() {
  const planned = notePlans(await temporaryStore());
  const { db } = planned.store;
  const numbers = sql`with recursive n(i) as (
    select 1 union all select i + 1 from n where i < ${DELIVERIES})`;
  await sql`${numbers} insert into sales_order (order_id, status, completed, shipping_address,
      country_code, extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select i, 'pending', 0, '{}', iif(i % 5, 'DK', 'SE'), '{}', 'h', 1, 1, 1, '' from n`.execute(
    db,
  );
  await sql`${numbers} insert into delivery (order_delivery_id, order_id, status, created_at,
      tracking_numbers, tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq,
      source)
    select i, i, iif(i % 8, 'pending', 'accepted'), iif(i % 3, i / 4 * 7 % 10, null), '[]', '[]',
      '{}', 'h', i, i, 1, '' from n`.execute(db);
  await sql`${numbers} insert into decision (decision_id, order_delivery_id, order_id, at, trigger,
      actor, rule_set_hash, facts_digest, mode, outcome, reason, rules, shadow, said, matched,
      lapsed, evaluation, previous_hash, hash)
    select i, i, i, 1, 'new', 'daemon', 'r', 'f', 'live', iif(i % 10, 'hold', 'no_rule'), 'why',
      '[]', '{}', '', '[]', '[]', x'', '', i from n`.execute(db);
  await sql`insert into evaluation (order_delivery_id, decision_id, delivery_hash, order_hash,
      rules_key, evaluated_at)
    select order_delivery_id, decision_id, 'h', 'h', 'r', 1 from decision`.execute(db);
  return planned;
}

it('is the whole list in order, page by page, in both directions and with filters', async () => {
  const { store } = await createHeld();
  const { rows } = await sql<{ readonly id: number; readonly country: string }>`
    select order_delivery_id id, o.country_code country
    from delivery d join sales_order o on o.order_id = d.order_id
    where d.status = 'pending' and order_delivery_id % 10
    order by coalesce(d.created_at, d.first_seen_at), order_delivery_id`.execute(store.db);
  for (const descending of [false, true]) {
    for (const country of [undefined, 'SE']) {
      const found: number[] = [];
      let after: string | undefined;
      do {
        const page = { sort: 'waiting', descending, limit: 3, after } as const;
        const { rows: some, next } = await listForReview(
          store.db,
          { shown: 'held', country },
          page,
        );
        found.push(...some.map(({ orderDeliveryId: id }) => id));
        after = next ?? undefined;
      } while (after !== undefined);
      const ids = rows.flatMap((row) =>
        country === undefined || row.country === country ? [row.id] : [],
      );
      expect(ids.length).toBeGreaterThan(3);
      expect(found).toEqual(descending ? ids.toReversed() : ids);
    }
  }
});

it('is not sorted for a page', async () => {
  const planned = await createHeld();
  const page = { sort: 'waiting', descending: true, limit: 3 } as const;
  await listForReview(planned.store.db, { shown: 'held' }, page);
  const steps = await planned.steps(/c\.packed_at place/);
  expect(steps).toContain('SEARCH c USING COVERING INDEX claim_packed (outcome=?)');
  expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
  await listForReview(planned.store.db, { shown: 'waiting' }, page);
  const all = await planned.steps(/union all select \* from \(select c/);
  expect(all).toContain('SCAN c USING COVERING INDEX claim_waits');
});
