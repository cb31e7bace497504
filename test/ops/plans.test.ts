/** Scrapes every few seconds cost no more when more was sent. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { readDatabase } from '../../src/ops/metrics/readings.ts';
import { readStatus } from '../../src/ops/status.ts';
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
    sql`insert into outbox
      (kind, ordering_key, reference, body, body_hash, due_at, cause, created_at,
          state, in_doubt_since, blocked_reason, ended_at)
        select 'order', '', ${reference}, '', '', 0, '', json_extract(value, '$.at'), ${state},
          json_extract(value, '$.since'), json_extract(value, '$.blocked'),
          json_extract(value, '$.end')
        from (select ${JSON.stringify({ at: 1_000, ...more })} as value)`.execute(db);
  await put('A', 'queued', { at: 2_000 });
  await put('B', 'queued', { at: 3_000 });
  await put('C', 'sent', { at: 4_000 });
  await put('D', 'in_doubt', { since: 6_000 });
  await put('E', 'in_doubt', { since: 5_000, blocked: 'unclear' });
  await put('F', 'confirmed', { end: 1 });
  await put('G', 'dead', { end: 1, blocked: 'of before' });
  const { outbox, dead, needsAttention } = await readDatabase(db, 10_000, {});
  expect(outbox.map(({ name, count, oldestMs }) => ({ name, count, oldestMs }))).toEqual([
    { name: 'order/queued', count: 2, oldestMs: 8_000 },
    { name: 'order/sent', count: 1, oldestMs: 6_000 },
    { name: 'order/in_doubt', count: 2, oldestMs: 5_000 },
  ]);
  expect({ dead, needsAttention }).toEqual({ dead: 1, needsAttention: 1 });
});

it('counts what is open, with the age of the oldest of it', async () => {
  const { db } = await temporaryStore();
  const incident = (key: string, end: number | null) =>
    sql`insert into incident (at, kind, entity, key, detail, resolved_at)
        values (1, 'fuse', 'stream', ${key}, '{}', ${end})`.execute(db);
  await incident('a', null);
  await incident('b', 2);
  const reject = (state: string, end: number | null) =>
    sql`insert into reject_entry (order_delivery_id, order_id, rule_id, rule_hash, delivery_hash,
          decision_id, queued_at, due_at, state, ended_at)
        values (1, 1, 'r', '', '', 1, 1, 1, ${state}, ${end})`.execute(db);
  await reject('waiting', null);
  await reject('stopped', 1);
  const delivery = (id: number, status: string, seenAt: number, end: number | null) =>
    sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
          tracking_links, extra, content_hash, first_seen_at, changed_at, deleted_at, read_seq,
          source)
        values (${id}, 1, ${status}, '[]', '[]', '{}', '', ${seenAt}, 1, ${end}, 1, '')`.execute(
      db,
    );
  await delivery(1, 'pending', 2_000, null);
  await delivery(2, 'pending', 3_000, null);
  await delivery(3, 'pending', 1_000, 1);
  await delivery(4, 'accepted', 1_000, null);
  for (const [orderId, at] of Object.entries({ 1: 6_000, 2: 5_000 })) {
    await sql`insert into refresh (order_id, requested_at, due_at, cause)
              values (${Number(orderId)}, ${at}, 1, '')`.execute(db);
  }
  await sql`insert into stream_state (stream, due_at) values ('orders', 0), ('off', 0)`.execute(db);
  const readings = await readDatabase(db, 10_000, { orders: 60_000 });
  expect(readings).toMatchObject({
    incidents: { fuse: 1 },
    rejects: 1,
    pending: [{ name: 'undecided', count: 2, oldestMs: 8_000 }],
    toRead: { count: 2, oldestMs: 5_000 },
    streams: [{ stream: 'orders', ageMs: Infinity, rows: undefined, limitMs: 60_000 }],
    lastEventAt: undefined,
  });
  const status = await readStatus(db, 10_000, { orders: 60_000 });
  expect(status).toMatchObject({
    daemon: { running: false },
    openIncidents: 1,
    rejectsWaiting: 1,
    deliveries: { pending: 2, accepted: 1 },
    pending: { undecided: 2 },
    streams: [
      { stream: 'off', off: true, stale: false },
      { stream: 'orders', ageMs: null, off: false, running: false },
    ],
    events: { count: 0, lastAgeMs: null },
  });
});
