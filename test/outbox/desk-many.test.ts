/** What a person does to thousands of rows at once takes a few statements, not some for each. */
import { EventEmitter } from 'node:events';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { createDesk } from '../../src/outbox/desk/operations.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { turnsDuring } from '../support/turns.ts';

const WHO = { actor: 'anna', reason: 'asked support' };
const ROWS = 200;
const DEAD = { filter: { state: 'dead' }, expect: ROWS } as const;
const IN_DOUBT = { filter: { state: 'in_doubt' }, expect: ROWS } as const;

/** Rows in each of two states, with a look at each of those in doubt that could not judge. */
async function deskWithRows() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${2 * ROWS})
    insert into outbox (outbox_id, kind, lane, reference, body, body_hash, state, due_at, attempts,
      created_at, ended_at, cause, in_doubt_since)
    select i, 'order', 'order/' || i, 'R' || i, '{}', '', iif(i % 2, 'dead', 'in_doubt'), 0, 1, 0,
      iif(i % 2, 1, null), 'test', 0 from n`.execute(store.db);
  await sql`insert into outbox_evidence (outbox_id, at, source, found, detail)
    select outbox_id, 0, 'look', 'unclear',
      json_object('detail', json_object('orderIds', json_array(value * outbox_id)))
    from outbox, json_each('[9, 3]') where state = 'in_doubt'`.execute(store.db);
  const planned = notePlans(store);
  const moved = new EventEmitter();
  const desk = createDesk({
    ...{ store: planned.store, clock, quietMs: () => 0, confirm: async () => ({}) },
    ...{ nudge: () => undefined, onMoved: (id: number) => moved.emit('row', id) },
  });
  const states = async () => {
    const query = store.db.selectFrom('outbox').groupBy('state').orderBy('state');
    const rows = await query
      .select((eb) => ['state', eb.fn.countAll<number>().as('n'), eb.fn.count('ended_at').as('e')])
      .execute();
    return rows.map(({ state, n, e }) => `${n} ${state}, ${e} ended`);
  };
  const audit = () => store.db.selectFrom('audit').selectAll().execute();
  return { store, planned, desk, moved, states, audit };
}

it('tries many again', async () => {
  const { planned, desk, states, audit } = await deskWithRows();
  expect(await desk.retry(DEAD, WHO)).toEqual({ rows: ROWS, left: [] });
  expect(await states()).toEqual([`${ROWS} in_doubt, 0 ended`, `${ROWS} queued, 0 ended`]);
  const told = await audit();
  expect(told).toHaveLength(ROWS);
  expect(told[1]).toMatchObject({
    ...{ ...WHO, action: 'outbox.retry', subject: 'outbox:3' },
    detail: '{"reference":"R3","from":"dead"}',
  });
  expect(planned.times(/./)).toBeLessThan(20);
});

it('cancels many, or none of them', async () => {
  const { planned, desk, states, audit } = await deskWithRows();
  const all = { filter: {}, expect: 2 * ROWS };
  await expect(desk.cancel(all, WHO)).rejects.toMatchObject({ code: 'outbox.wrong_state' });
  expect(await audit()).toEqual([]);
  expect(await desk.cancel(DEAD, WHO)).toEqual({ rows: ROWS, left: [] });
  expect(await states()).toEqual([`${ROWS} canceled, ${ROWS} ended`, `${ROWS} in_doubt, 0 ended`]);
  expect(planned.times(/./)).toBeLessThan(20);
});

it('says of many that they are absent, each with what the last look at it found', async () => {
  const { store, planned, desk, states, audit } = await deskWithRows();
  expect(await desk.resolveAbsent(IN_DOUBT, WHO)).toEqual({ rows: ROWS, left: [] });
  expect(await states()).toEqual([`${ROWS} dead, ${ROWS} ended`, `${ROWS} queued, 0 ended`]);
  const said = store.db.selectFrom('outbox_evidence').selectAll().where('source', '=', 'person');
  const [first] = await said.where('outbox_id', '=', 4).execute();
  expect(first).toMatchObject({ found: 'no', complete: 1 });
  expect(JSON.parse(first?.detail ?? '')).toEqual({ ...WHO, notOurs: [12] });
  expect((await audit())[1]).toMatchObject({
    detail: '{"reference":"R4","from":"in_doubt","notOurs":[12]}',
  });
  expect(planned.times(/./)).toBeLessThan(20);
});

it('keeps nobody waiting for thousands', async () => {
  const { store, desk } = await deskWithRows();
  await sql`with recursive n(i) as (select 1000 union all select i + 1 from n where i < 2999)
    insert into outbox (outbox_id, kind, lane, reference, body, body_hash, due_at, created_at,
      cause)
    select i, 'order', 'order/' || i, 'R' || i, '{}', '', 0, 0, 'test' from n`.execute(store.db);
  const all = { filter: { state: 'queued' }, expect: 2_000 } as const;
  expect(await turnsDuring(() => desk.retry(all, WHO))).toBeGreaterThan(15);
  expect(await turnsDuring(() => desk.cancel(all, WHO))).toBeGreaterThan(15);
  expect(await turnsDuring(() => desk.resolveAbsent(IN_DOUBT, WHO))).toBeGreaterThan(0);
});

it.each(['cancel', 'resolveAbsent'] as const)(
  'leaves to %s and names what has changed since it was looked at',
  async (act) => {
    const { store, desk, moved, audit } = await deskWithRows();
    await sql`update outbox set desk_reason = 'unclear' where state = 'in_doubt'`.execute(store.db);
    moved.once('row', () => {
      void sql`update outbox set state = 'confirmed', desk_reason = null, ended_at = 7
        where outbox_id = 400`.execute(store.db);
    });
    expect(await desk[act](IN_DOUBT, WHO)).toEqual({
      rows: ROWS - 1,
      left: [{ outboxId: 400, reference: 'R400', state: 'confirmed' }],
    });
    expect(await audit()).toHaveLength(ROWS - 1);
  },
);

it('tells how many are done where the rest failed', async () => {
  const { store, desk, states } = await deskWithRows();
  await sql`create trigger full before insert on audit when new.subject = 'outbox:399' begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  await expect(desk.retry(DEAD, WHO)).rejects.toMatchObject({
    code: 'outbox.partly_done',
    message: '100 of 200 rows are done, then: the disk is full',
  });
  expect(await states()).toContain('100 dead, 100 ended');
});
