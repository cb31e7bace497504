/** The loss meter looks at what is new, however much there was before. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { recordSightings, type SightingDeps } from '../../src/inbox/loss/sightings.ts';
import { createTypesSent } from '../../src/inbox/loss/types-sent.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { writeState } from '../../src/store/state.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

const NUMBERS = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)`;

async function events(store: SqliteStore, last: string): Promise<void> {
  await sql`${NUMBERS}
    insert into webhook_event (event_id, received_at, sent_at, type, order_id, body, secret_name,
      outcome)
    select 'msg_' || i, i, i, iif(i = 3000, ${last}, 'sales_order.order_created'), i, x'7b7d', 'a',
      'refresh' from n`.execute(store.db);
}

/** Changes of deliveries that two sweeps have found. */
async function swept(): Promise<{ readonly deps: SightingDeps; readonly store: SqliteStore }> {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await sql`insert into sync_run (run_id, stream, cause, started_at, read_seq, options, checkpoint,
      outcome, ended_at)
    values (1, 'orders', 'schedule', 100, 1, '{}', '{}', 'complete', 100),
      (2, 'ordersFull', 'schedule', 200, 2, '{}', '{}', 'complete', 200),
      (3, 'orders', 'schedule', 300, 3, '{}', '{}', 'failed', 300),
      (4, 'orders', 'schedule', 400, 4, '{}', '{}', 'complete', 400)`.execute(store.db);
  await sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
      tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq, source)
    values (7, 7, 'pending', '[]', '[]', '{}', 'h', 0, 0, 1, 'x')`.execute(store.db);
  await sql`insert into change (at, entity, key, op, diff, cause)
    values (450, 'delivery', '7', 'insert', '{}', 'refresh:sweep:4')`.execute(store.db);
  await store.transaction((tx) => writeState(tx, 'loss_meter_seq', '0', clock));
  const typesSent = createTypesSent(() => store.db, clock);
  return { store, deps: { store, clock, listeningSince: 0, typesSent, graceMs: 1_000 } };
}

it('takes changes by their number, and the sweep before from an index', async () => {
  const { store, deps } = await swept();
  const planned = notePlans(store);
  await recordSightings({ ...deps, store: planned.store });
  expect(await store.db.selectFrom('sighting').select(['seen_by', 'late_ms']).execute()).toEqual([
    // Since the latest sweep that was whole, whichever stream it was.
    { seen_by: 'sweep', late_ms: 250 },
  ]);
  expect(await planned.steps(/from "change"/)).toEqual([
    'SEARCH change',
    'SEARCH change USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
  ]);
  expect(await planned.steps(/from "sync_run"/)).toEqual([
    'SCALAR SUBQUERY 1',
    'SEARCH own USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH sync_run USING INDEX sync_run_stream (stream=? AND run_id<?)',
  ]);
});

it('looks at each event once for the types that are sent', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const planned = notePlans(store);
  const typesSent = createTypesSent(() => planned.store.db, clock);
  expect(await typesSent.mayCome('sales_order.refund_created')).toBe(true);
  await events(store, 'sales_order.refund_updated');
  expect(await typesSent.mayCome('sales_order.refund_created')).toBe(false);
  expect(await typesSent.mayCome('sales_order.refund_updated')).toBe(true);
  await sql`update webhook_event set event_id = 'new_' || event_id,
    type = 'sales_order.refund_created' where rowid = 1`.execute(store.db);
  expect(await typesSent.mayCome('sales_order.refund_created')).toBe(false);
  await sql`insert into webhook_event (event_id, received_at, sent_at, type, order_id, body,
      secret_name, outcome)
    values ('late', 1, 1, 'sales_order.refund_created', 1, x'7b7d', 'a', 'refresh')`.execute(
    store.db,
  );
  expect(await typesSent.mayCome('sales_order.refund_created')).toBe(true);
  const steps = await planned.steps(/webhook_event/);
  expect(steps).toContain('SEARCH webhook_event USING INTEGER PRIMARY KEY (rowid>?)');
});
