/** What is scraped every few seconds does not grow with what was sent. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { readDatabase } from '../../src/ops/metrics/readings.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

it('counts the documents of the outbox by its indexes', async () => {
  const planned = notePlans(await temporaryStore());
  await readDatabase(planned.store.db, 0, {});
  const steps = await planned.steps(/from "outbox"/);
  expect(steps).toContain('SEARCH outbox USING COVERING INDEX outbox_ended (kind=? AND state=?)');
  // Nor with what waits: a row is only looked at where it is in doubt, or the oldest.
  expect(steps.filter((step) => step.startsWith('SCAN outbox'))).toEqual([]);
});

it('tells of each kind and state how much there is, and since when', async () => {
  const { db } = await temporaryStore();
  const put = (reference: string, state: string, more: object = {}) =>
    sql`insert into outbox (kind, lane, reference, body, body_hash, due_at, cause, created_at,
          state, in_doubt_since, desk_reason, ended_at)
        select 'order', '', ${reference}, '', '', 0, '', json_extract(value, '$.at'), ${state},
          json_extract(value, '$.since'), json_extract(value, '$.desk'),
          json_extract(value, '$.end')
        from (select ${JSON.stringify({ at: 1_000, ...more })} as value)`.execute(db);
  await put('A', 'queued', { at: 2_000 });
  await put('B', 'queued', { at: 3_000 });
  await put('C', 'sent', { at: 4_000 });
  await put('D', 'in_doubt', { since: 6_000 });
  await put('E', 'in_doubt', { since: 5_000, desk: 'unclear' });
  await put('F', 'confirmed', { end: 1 });
  await put('G', 'dead', { end: 1, desk: 'of before' });
  const { outbox, dead, desk } = await readDatabase(db, 10_000, {});
  expect(outbox.map(({ name, count, oldestMs }) => ({ name, count, oldestMs }))).toEqual([
    { name: 'order/queued', count: 2, oldestMs: 8_000 },
    { name: 'order/sent', count: 1, oldestMs: 6_000 },
    { name: 'order/in_doubt', count: 2, oldestMs: 5_000 },
  ]);
  expect({ dead, desk }).toEqual({ dead: 1, desk: 1 });
});
