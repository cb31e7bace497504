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

/** Changes of deliveries that two sweeps have found. */
async function swept(): Promise<{ readonly deps: SightingDeps; readonly store: SqliteStore }> {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await sql`insert into sync_run (run_id, stream, cause, started_at, read_seq, options, checkpoint,
      outcome)
    values (1, 'orders', 'schedule', 100, 1, '{}', '{}', 'complete'),
      (2, 'ordersFull', 'schedule', 200, 2, '{}', '{}', 'complete'),
      (3, 'orders', 'schedule', 300, 3, '{}', '{}', 'failed'),
      (4, 'orders', 'schedule', 400, 4, '{}', '{}', 'complete')`.execute(store.db);
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
    'SEARCH sync_run USING INDEX sync_run_stream (stream=? AND run_id<?)',
  ]);
});
