/** Thousands of quarantined rows, tried again after an upgrade. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { retryQuarantine } from '../../src/sync/quarantine.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { turnsDuring } from '../support/turns.ts';

it('forgets the proof of a stream once for each slice, with turns in between', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    insert into quarantine (id, entity, raw, raw_hash, path, reason, source, first_seen_at,
      last_seen_at)
    select i, iif(i % 4, 'brand', 'pending_refund'),
      iif(i % 5, json_object('brandName', 'B' || i, 'orderId', i / 40, 'pendingRefundId', i,
        'status', 'pending', 'refundLineItems', json('[]')), '{}'), 'h' || i, '', '', 'run:1', 0, 0
    from n`.execute(store.db);
  await sql`insert into chunk (stream, part, first_row, row_count, digest, keys)
    values ('brands', '', 0, 1, x'01', '["B1"]'), ('stock', '', 0, 1, x'01', '[1]')`.execute(
    store.db,
  );
  await sql`insert into stream_state (stream, due_at) values ('brands', 9)`.execute(store.db);
  const planned = notePlans(store);
  let result: unknown;
  const turns = await turnsDuring(async () => {
    result = await retryQuarantine({ store: planned.store, clock });
  });
  expect(result).toEqual({ understood: 800, left: 200 });
  expect(planned.times(/update "chunk"/)).toBe(5);
  expect(turns).toBeGreaterThanOrEqual(5);
  const left = await store.db.selectFrom('quarantine').select('id').execute();
  expect(left).toHaveLength(200);
  const proved = store.db.selectFrom('chunk').select('stream').where('digest', 'is not', null);
  expect(await proved.execute()).toEqual([{ stream: 'stock' }]);
  const orders = await store.db.selectFrom('refresh').select(['order_id', 'cause']).execute();
  expect(orders).toHaveLength(25);
  expect(orders[3]).toEqual({ order_id: 3, cause: 'sweep:quarantine' });
  const [state] = await store.db.selectFrom('stream_state').select('due_at').execute();
  expect(state).toEqual({ due_at: clock.now() });
});
