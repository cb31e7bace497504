/** Statements of a run about those before it do not grow with their number. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { changedRuns } from '../../src/decisions/accept/freshness.ts';
import { runBefore } from '../../src/sync/run/run-repository.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

it('reads the run before, and none of the others', async () => {
  const store = await temporaryStore();
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 50)
    insert into sync_run (stream, cause, started_at, read_seq, options, checkpoint, outcome)
    select 'stock', 'schedule', i, i, '{}', '{}', iif(i = 39, 'failed', 'complete')
    from n`.execute(store.db);
  const planned = notePlans(store);
  const before = await runBefore(planned.store.db, { stream: 'stock', runId: 40 });
  expect(before).toMatchObject({ runId: 39, outcome: 'failed', released_at: null });
  expect(planned.rows(/from "sync_run"/)).toBe(1);
});

it('finds the runs that decisions wait for by their indexes', async () => {
  const store = await temporaryStore();
  const planned = notePlans(store);
  expect(await changedRuns(planned.store.db)).toEqual([]);
  const steps = (await planned.steps(/change_guard/)).filter((step) => /sync_run/.test(step));
  expect(steps).toEqual([
    expect.stringMatching(/USING INDEX sync_run_changed$/),
    expect.stringMatching(/USING INDEX sync_run_running$/),
  ]);
});
