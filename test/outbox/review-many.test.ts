/** Acts of a person on thousands of rows take a few statements, not some for each. */
import { EventEmitter } from 'node:events';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { pendingRefundSchema, salesOrderSchema } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { createConfirmation } from '../../src/outbox/review/confirmation.ts';
import { createOutboxReview } from '../../src/outbox/review/operations.ts';
import type { ReviewRow } from '../../src/outbox/review/selection.ts';
import { openIncident } from '../../src/store/incidents.ts';
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
    insert into outbox
      (outbox_id, kind, ordering_key, reference, body, body_hash, state, due_at, attempts,
      created_at, ended_at, cause, in_doubt_since)
    select i, 'order', 'order/' || i, 'R' || i, '{}', '', iif(i % 2, 'dead', 'in_doubt'), 0, 1, 0,
      iif(i % 2, 1, null), 'test', 0 from n`.execute(store.db);
  await sql`insert into outbox_evidence (outbox_id, at, source, outcome, detail)
    select outbox_id, 0, 'look', 'ambiguous',
      json_object('detail', json_object('orderIds', json_array(value * outbox_id)))
    from outbox, json_each('[9, 3]') where state = 'in_doubt'`.execute(store.db);
  const planned = notePlans(store);
  const moved = new EventEmitter();
  const review = createOutboxReview({
    ...{
      store: planned.store,
      clock,
      reconcileAfterMs: 0,
      processStartedAt: () => 0,
      confirm: async () => ({}),
    },
    ...{ wakeUp: () => undefined, onMoved: (id: number) => moved.emit('row', id) },
  });
  const states = async () => {
    const query = store.db.selectFrom('outbox').groupBy('state').orderBy('state');
    const rows = await query
      .select((eb) => ['state', eb.fn.countAll<number>().as('n'), eb.fn.count('ended_at').as('e')])
      .execute();
    return rows.map(({ state, n, e }) => `${n} ${state}, ${e} ended`);
  };
  const audit = () => store.db.selectFrom('audit').selectAll().execute();
  return { store, planned, review, moved, states, audit };
}

it('tries many again', async () => {
  const { planned, review, states, audit } = await deskWithRows();
  expect(await review.retry(DEAD, WHO)).toEqual({ rows: ROWS, left: [] });
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
  const { planned, review, states, audit } = await deskWithRows();
  const all = { filter: {}, expect: 2 * ROWS };
  await expect(review.cancel(all, WHO)).rejects.toMatchObject({ code: 'outbox.wrong_state' });
  expect(await audit()).toEqual([]);
  expect(await review.cancel(DEAD, WHO)).toEqual({ rows: ROWS, left: [] });
  expect(await states()).toEqual([`${ROWS} canceled, ${ROWS} ended`, `${ROWS} in_doubt, 0 ended`]);
  expect(planned.times(/./)).toBeLessThan(20);
});

it('says what it would do with many, and refuses what the act would', async () => {
  const { review, states, audit } = await deskWithRows();
  const all = { filter: {} };
  await expect(review.would('cancel', all)).rejects.toMatchObject({ code: 'outbox.wrong_state' });
  const few = { ...DEAD, expect: ROWS - 1 };
  await expect(review.would('retry', few)).rejects.toThrow('the filter fits 200 rows, 199');
  expect(await review.would('retry', all)).toHaveLength(2 * ROWS);
  expect(await review.would('absent', IN_DOUBT)).toHaveLength(ROWS);
  await expect(review.wouldResolve(1, { as: 'noted' })).rejects.toThrow('no difference, loss or');
  expect(await review.wouldResolve(2, { as: 'confirmed', id: '7' })).toMatchObject({ outboxId: 2 });
  expect(await states()).toEqual([`${ROWS} dead, ${ROWS} ended`, `${ROWS} in_doubt, 0 ended`]);
  expect(await audit()).toEqual([]);
});

it('touches none where there are more than anybody can have counted', async () => {
  const { store, review, audit } = await deskWithRows();
  await sql`with recursive n(i) as (select 1001 union all select i + 1 from n where i < 10801)
    insert into outbox
      (outbox_id, kind, ordering_key, reference, body, body_hash, state, due_at, attempts,
      created_at, ended_at, cause)
    select i, 'order', 'order/' || i, 'R' || i, '{}', '', 'dead', 0, 1, 0, 1, 'test' from n
  `.execute(store.db);
  const all = { filter: { state: 'dead' }, expect: 10_000 } as const;
  await expect(review.cancel(all, WHO)).rejects.toThrow(RefusedError);
  expect(await audit()).toEqual([]);
});

it('says of many that they are absent, each with what the last look at it found', async () => {
  const { store, planned, review, states, audit } = await deskWithRows();
  expect(await review.resolveAbsent(IN_DOUBT, WHO)).toEqual({ rows: ROWS, left: [] });
  expect(await states()).toEqual([`${ROWS} dead, ${ROWS} ended`, `${ROWS} queued, 0 ended`]);
  const said = store.db.selectFrom('outbox_evidence').selectAll().where('source', '=', 'person');
  const [first] = await said.where('outbox_id', '=', 4).execute();
  expect(first).toMatchObject({ outcome: 'not_found', complete: 1 });
  expect(JSON.parse(first?.detail ?? '')).toEqual({ ...WHO, notOurs: [12] });
  expect((await audit())[1]).toMatchObject({
    detail: '{"reference":"R4","from":"in_doubt","notOurs":[12]}',
  });
  expect(planned.times(/./)).toBeLessThan(20);
});

it('keeps nobody waiting for thousands', async () => {
  const { store, review } = await deskWithRows();
  await sql`with recursive n(i) as (select 1000 union all select i + 1 from n where i < 2999)
    insert into outbox
      (outbox_id, kind, ordering_key, reference, body, body_hash, due_at, created_at,
      cause)
    select i, 'order', 'order/' || i, 'R' || i, '{}', '', 0, 0, 'test' from n`.execute(store.db);
  const all = { filter: { state: 'queued' }, expect: 2_000 } as const;
  expect(await turnsDuring(() => review.retry(all, WHO))).toBeGreaterThan(15);
  expect(await turnsDuring(() => review.cancel(all, WHO))).toBeGreaterThan(15);
  expect(await turnsDuring(() => review.resolveAbsent(IN_DOUBT, WHO))).toBeGreaterThan(0);
});

it.each(['cancel', 'resolveAbsent'] as const)(
  'leaves to %s and names what has changed since it was looked at',
  async (act) => {
    const { store, review, moved, audit } = await deskWithRows();
    await sql`update outbox set blocked_reason = 'unclear' where state = 'in_doubt'`.execute(
      store.db,
    );
    moved.once('row', () => {
      void sql`update outbox set state = 'confirmed', blocked_reason = null, ended_at = 7
        where outbox_id = 400`.execute(store.db);
    });
    expect(await review[act](IN_DOUBT, WHO)).toEqual({
      rows: ROWS - 1,
      left: [{ outboxId: 400, reference: 'R400', state: 'confirmed' }],
    });
    expect(await audit()).toHaveLength(ROWS - 1);
  },
);

it('tells how many are done where the rest failed', async () => {
  const { store, review, states } = await deskWithRows();
  await sql`create trigger full before insert on audit when new.subject = 'outbox:399' begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  await expect(review.retry(DEAD, WHO)).rejects.toMatchObject({
    code: 'outbox.partly_done',
    message: '100 of 200 rows are done, then: the disk is full',
  });
  expect(await states()).toContain('100 dead, 100 ended');
});

/** A store with one row that waits for a person, or is as given. */
async function reviewWith(row: object, reconcileAfterMs = 0) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const add = async (more: object): Promise<void> => {
    const base = { kind: 'order', ordering_key: 'l', reference: 'R1', body: '{}', body_hash: '' };
    const open = { due_at: 9e15, created_at: 0, ended_at: null, in_doubt_since: null, attempts: 1 };
    const told = { last_error: 'x', blocked_reason: 'two of them', result: null, order_id: null };
    const none = { reference_key: null, expected_from: null, cause: 'test', ...open, ...told };
    await store.db
      .insertInto('outbox')
      .values({ ...base, ...none, ...more })
      .execute();
  };
  await add(row);
  const heard: (number | string)[] = [];
  const made = { orderId: 7, pendingRefundId: 8 };
  const meanwhile: string[] = [];
  const review = createOutboxReview({
    ...{ store, clock, reconcileAfterMs, processStartedAt: () => 0 },
    async confirm() {
      for (const text of meanwhile) await sql.raw(text).execute(store.db);
      return made;
    },
    ...{ wakeUp: () => heard.push('wakeUp'), onMoved: (id: number) => heard.push(id) },
  });
  const now = clock.now();
  const found = (id = 1) =>
    store.db.selectFrom('outbox').selectAll().where('outbox_id', '=', id).executeTakeFirst();
  const audit = async () =>
    (await store.db.selectFrom('audit').selectAll().execute()).map(({ action }) => action);
  return { store, clock, review, add, heard, meanwhile, now, found, audit };
}

const CONFIRMED = { as: 'confirmed', id: '7' } as const;

it.each(['dead', 'queued', 'in_doubt'] as const)(
  'tries what is %s again at once',
  async (state) => {
    const ended_at = state === 'dead' ? 1 : null;
    const { review, heard, now, found } = await reviewWith({ state, ended_at });
    await review.retry({ outboxId: 1 }, WHO);
    const after =
      state === 'in_doubt'
        ? { state, blocked_reason: null }
        : { state: 'queued', last_error: null, ended_at: null };
    expect(await found()).toMatchObject({ ...after, due_at: now });
    expect(heard).toEqual(['wakeUp', 1]);
  },
);

it('cancels what is in doubt only once it is left to a person', async () => {
  const { review, add, now, found } = await reviewWith({ state: 'in_doubt' });
  await add({ state: 'in_doubt', reference: 'R2', blocked_reason: null });
  await review.cancel({ filter: { needsAttention: true }, expect: 1 }, WHO);
  expect(await found()).toMatchObject({
    ...{ state: 'canceled', blocked_reason: null, ended_at: now },
    last_error: `${WHO.actor} canceled it: ${WHO.reason}`,
  });
  await expect(review.cancel({ outboxId: 2 }, WHO)).rejects.toThrow('cannot be canceled');
});

it('says that one is absent once its quiet time is over, and no doubt stays', async () => {
  const doubt = { state: 'in_doubt', result: '{}', in_doubt_since: manualClock().now() };
  const { clock, review, found } = await reviewWith(doubt, 60_000);
  await clock.advance(59_999);
  const absent = () => review.resolve(1, { as: 'absent' }, WHO);
  await expect(absent()).rejects.toMatchObject({ code: 'outbox.too_early' });
  await clock.advance(1);
  expect(await absent()).toEqual({ outboxId: 1, state: 'queued' });
  const gone = { blocked_reason: null, in_doubt_since: null, ended_at: null, result: null };
  expect(await found()).toMatchObject({ ...gone, state: 'queued', due_at: clock.now() });
});

it.each(['queued', 'sending', 'sent', 'confirmed', 'refused', 'canceled'] as const)(
  'lets nobody say what became of one that is %s',
  async (state) => {
    const ended_at = ['confirmed', 'refused', 'canceled'].includes(state) ? 1 : null;
    const { review, found, audit } = await reviewWith({ state, ended_at });
    for (const saying of [{ as: 'absent' }, CONFIRMED] as const) {
      const refused = { code: 'outbox.wrong_state' };
      await expect(review.resolve(1, saying, WHO)).rejects.toMatchObject(refused);
    }
    expect([await found(), await audit()]).toMatchObject([{ state }, []]);
  },
);

it('remembers which refund is not ours, whatever was seen after it', async () => {
  const { store, review } = await reviewWith({ kind: 'pending_refund', state: 'in_doubt' });
  const look = (at: number, outcome: 'ambiguous' | 'not_found', detail: object) => {
    const row = {
      outbox_id: 1,
      at,
      source: 'look-up',
      outcome,
      detail: JSON.stringify({ detail }),
    };
    return store.db.insertInto('outbox_evidence').values(row).execute();
  };
  await look(1, 'ambiguous', { orderId: 7, pendingRefundId: 8 });
  await look(2, 'not_found', { pendingRefundIds: [9] });
  await review.resolve(1, { as: 'absent' }, WHO);
  const said = store.db.selectFrom('outbox_evidence').selectAll().where('source', '=', 'person');
  expect(JSON.parse((await said.executeTakeFirst())?.detail ?? '')).toEqual({
    ...WHO,
    notOurs: [8],
  });
});

it('keeps what a document has become, for what comes behind it, and who said so', async () => {
  // The service answered with an order, and did not show it.
  const answered = { state: 'in_doubt', result: '{"orderId":7}' };
  const { store, review, heard, now, found, audit } = await reviewWith(answered);
  await review.resolve(1, CONFIRMED, WHO);
  const open = { blocked_reason: null, in_doubt_since: null, last_error: null };
  const result = JSON.stringify({ orderId: 7, pendingRefundId: 8 });
  const end = { state: 'confirmed', ended_at: now, order_id: 7, result };
  expect(await found()).toMatchObject({ ...open, ...end });
  expect(await audit()).toEqual(['outbox.confirmed']);
  const evidence = await store.db.selectFrom('outbox_evidence').selectAll().execute();
  expect(evidence).toMatchObject([{ source: 'person', outcome: 'matched' }]);
  expect(heard).toEqual(['wakeUp', 1]);
});

it.each([
  ['sent once more', 'update outbox set attempts = 2'],
  ['corrected', 'update outbox set created_at = created_at + 1'],
  ['canceled', "update outbox set state = 'canceled', ended_at = 1"],
])('confirms nothing that was %s meanwhile', async (_, text) => {
  const { store, review, meanwhile, audit } = await reviewWith({ state: 'in_doubt' });
  meanwhile.push(text);
  await expect(review.resolve(1, CONFIRMED, WHO)).rejects.toMatchObject({
    code: 'outbox.wrong_state',
  });
  expect(await store.db.selectFrom('outbox_evidence').selectAll().execute()).toEqual([]);
  expect(await audit()).toEqual([]);
});

it('does not take one refund for two documents, unless one was called off', async () => {
  const refund = { kind: 'pending_refund', state: 'in_doubt' };
  const { review, add } = await reviewWith(refund);
  const result = JSON.stringify({ orderId: 7, pendingRefundId: 8 });
  await add({ reference: 'R2', state: 'confirmed', ended_at: 1, result });
  await add({ ...refund, reference: 'R3', state: 'canceled', ended_at: 1, result });
  await review.resolve(1, CONFIRMED, WHO);
  await add({ ...refund, reference: 'R4' });
  await expect(review.resolve(4, CONFIRMED, WHO)).rejects.toThrow(
    'pending refund 8 is what outbox 1 (R1) has become',
  );
});

it('leaves what was sent again since it was looked at', async () => {
  const { store, review, moved } = await deskWithRows();
  moved.once('row', () => {
    void sql`update outbox set in_doubt_since = 5 where outbox_id = 400`.execute(store.db);
    void sql`update outbox set blocked_reason = 'other' where outbox_id = 398`.execute(store.db);
  });
  const { rows, left } = await review.resolveAbsent(IN_DOUBT, WHO);
  expect([rows, left.map(({ outboxId }) => outboxId)]).toEqual([ROWS - 2, [398, 400]]);
});

it('takes for a document only what has its reference at the service, or none', async () => {
  const { store } = await reviewWith({ kind: 'pending_refund', state: 'in_doubt', order_id: 7 });
  let shown: string | null = null;
  const read: number[] = [];
  const confirm = createConfirmation({
    store,
    v1: {
      async pendingRefund(orderId, pendingRefundId) {
        if (pendingRefundId !== 8) throw new RefusedError('service.not_found', 'none');
        const row = { pendingRefundId, orderId, status: 'pending', reference: shown };
        return { value: pendingRefundSchema.parse({ ...row, refundLineItems: [] }), startedAt: 0 };
      },
      refunds: async () => ({ rows: [], rejects: [], count: 0, startedAt: 0 }),
    },
    v2: undefined,
    async readOrder(orderId) {
      read.push(orderId);
      const row = { orderId, reference: shown, status: 'pending', orderLineItems: [] };
      return { order: salesOrderSchema.parse(row), deliveries: [] };
    },
  });
  const row: ReviewRow = {
    ...{ outboxId: 1, kind: 'pending_refund', reference: 'R1', state: 'in_doubt' as const },
    ...{ attempts: 1, blockedReason: null, inDoubtSince: null, createdAt: 0 },
  };
  const order = { ...row, kind: 'order' };
  const refused = (code: string) => expect.objectContaining({ code: `outbox.${code}` });
  for (shown of [null, ' r1']) {
    expect(await confirm(row, '8')).toEqual({ orderId: 7, pendingRefundId: 8 });
    expect(await confirm(order, '9')).toEqual({ orderId: 9, orderNo: null, deliveries: [] });
  }
  // The order that it belongs to is brought into the mirror.
  expect(read).toEqual([7, 9, 7, 9]);
  shown = 'R2';
  await expect(confirm(row, '8')).rejects.toEqual(refused('other_reference'));
  await expect(confirm(order, '9')).rejects.toEqual(refused('other_reference'));
  await expect(confirm(row, '9')).rejects.toEqual(refused('not_there'));
  await store.db.updateTable('outbox').set({ order_id: null }).execute();
  await expect(confirm(row, '8')).rejects.toEqual(refused('not_there'));
  for (const id of [null, '0', '-1', 'x']) {
    await expect(confirm(row, id)).rejects.toEqual(refused('no_id'));
  }
});

it.each(['cancel', 'resolveAbsent'] as const)(
  'does nothing to %s many where only the last of them cannot be',
  async (act) => {
    const { store, review, states, audit } = await deskWithRows();
    const others = sql`update outbox set state = 'dead'
      where state = 'in_doubt' and outbox_id < 400`;
    await others.execute(store.db);
    const last = act === 'cancel' ? 'in_doubt' : 'queued';
    await sql`update outbox set state = ${last} where outbox_id = 400`.execute(store.db);
    const before = await states();
    const all = { filter: {}, expect: 2 * ROWS };
    await expect(review[act](all, WHO)).rejects.toMatchObject({ code: 'outbox.wrong_state' });
    expect([await states(), await audit()]).toEqual([before, []]);
  },
);

it('notes in the audit who has noted a difference', async () => {
  const { store, review, now, audit } = await reviewWith({ state: 'confirmed', ended_at: 1 });
  const incident = { kind: 'push_differs', entity: 'outbox', key: '1', detail: {} };
  await store.transaction((tx) => openIncident(tx, incident, now));
  await review.resolve(1, { as: 'noted' }, WHO);
  expect(await audit()).toEqual(['outbox.noted']);
});
