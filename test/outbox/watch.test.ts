/** Messages to people about pushes that are open, dead, or slower to show than they should be. */
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writePendingRefunds, writeRefunds } from '../../src/mirror/refund.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { enqueueDocument } from '../../src/outbox/enqueue.ts';
import { explain } from '../../src/outbox/evidence/spelling.ts';
import { DIFFERENCE, endedDifferences } from '../../src/outbox/watch/differences.ts';
import { createWatch } from '../../src/outbox/watch/watch.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { writeState } from '../../src/store/state.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';
import { mirrorOrders, openIncidents } from './support.ts';

const MINUTE = 60_000;

interface Push {
  readonly reference: string;
  readonly state: 'queued' | 'in_doubt' | 'dead' | 'refused';
  readonly createdAt: number;
  readonly blockedReason?: string;
}

async function put(store: SqliteStore, pushes: readonly Push[]): Promise<void> {
  const same = { kind: 'order', body: '{}', body_hash: '', due_at: 0, cause: 'test', result: null };
  const none = { expected_from: null, reference_key: null, last_error: null, order_id: null };
  await store.transaction(async (tx) => {
    for (const { reference, state, createdAt, blockedReason = null } of pushes) {
      const isOpen = state === 'queued' || state === 'in_doubt';
      await tx
        .insertInto('outbox')
        .values({
          ...{ ...same, ...none, reference, state, ordering_key: reference, created_at: createdAt },
          in_doubt_since: state === 'in_doubt' ? createdAt : null,
          ...{ ended_at: isOpen ? null : createdAt, blocked_reason: blockedReason },
        })
        .execute();
    }
  });
}

/** Starts the watch; pushes are late after an hour, and the quiet time is twelve minutes. */
function watchOver(store: SqliteStore, clock: ManualClock) {
  const stop = new AbortController();
  const times = { alertAfterMs: 60 * MINUTE, refundAlertAfterMs: MINUTE };
  const watch = createWatch({
    ...{ store, clock, log: silentLogger() },
    limits: { ...times, auditEveryMs: 60 * MINUTE, reconcileAfterMs: 12 * MINUTE },
  });
  const done = watch.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return watch;
}

async function told(store: SqliteStore): Promise<string[]> {
  const pushes = await store.db.selectFrom('outbox').select(['outbox_id', 'reference']).execute();
  const references = new Map(pushes.map((row) => [String(row.outbox_id), row.reference]));
  const rows = await openIncidents(store);
  return rows.map(({ kind, key }) => `${kind} ${references.get(key) ?? key}`);
}

it('tells at once of what is for a person or dead, and of the rest once it is late', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const now = clock.now();
  await put(store, [
    { reference: 'new', state: 'queued', createdAt: now },
    { reference: 'blocked', state: 'in_doubt', createdAt: now, blockedReason: 'two orders' },
    { reference: 'dead', state: 'dead', createdAt: now },
    { reference: 'no', state: 'refused', createdAt: now },
  ]);
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual(['push_in_doubt blocked', 'push_dead dead']);
  await clock.advance(59 * MINUTE);
  expect(await told(store)).toHaveLength(2);
  await clock.advance(2 * MINUTE);
  expect(await told(store)).toEqual(['push_in_doubt blocked', 'push_dead dead', 'push_late new']);
  await store.db
    .updateTable('outbox')
    .set({ state: 'confirmed', ended_at: now })
    .where('ended_at', 'is', null)
    .execute();
  await clock.advance(2 * MINUTE);
  expect(await told(store)).toEqual(['push_dead dead']);
});

it('says of a late push behind another which one goes first', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const now = clock.now();
  await put(store, [
    { reference: 'first', state: 'in_doubt', createdAt: now, blockedReason: 'two orders' },
    { reference: 'behind', state: 'queued', createdAt: now },
  ]);
  await store.db.updateTable('outbox').set({ ordering_key: 'delivery:7' }).execute();
  watchOver(store, clock);
  await clock.advance(61 * MINUTE);
  const late = await store.db
    .selectFrom('incident')
    .select('detail')
    .where('kind', '=', 'push_late')
    .executeTakeFirst();
  expect(JSON.parse(late?.detail ?? '')).toMatchObject({
    reference: 'behind',
    why: 'waits behind push 1, which goes first',
  });
});

it('tells of what is for a person however many are late', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const long = clock.now() - 120 * MINUTE;
  const late = Array.from({ length: 1_100 }, (_, at): Push => {
    return { reference: `late-${at}`, state: 'queued', createdAt: long };
  });
  await put(store, [
    ...late,
    {
      reference: 'blocked',
      state: 'in_doubt',
      createdAt: clock.now(),
      blockedReason: 'two orders',
    },
  ]);
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toContain('push_in_doubt blocked');
});

it('tells of a quiet time that is shorter than twice what was seen', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const learn = (ms: number) =>
    store.transaction((tx) => writeState(tx, 'outbox.latest_effect_ms', String(ms), clock));
  await learn(6 * MINUTE);
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual([]);
  await learn(6 * MINUTE + 1);
  await clock.advance(2 * MINUTE);
  expect(await told(store)).toEqual(['quiet_time_short quietTime']);
});

/** A pending refund that the service has taken. */
async function asked({ db }: SqliteStore, id: number, endedAt: number): Promise<void> {
  const same = { kind: 'pending_refund', state: 'confirmed', body: '{}', body_hash: '' } as const;
  const none = { expected_from: null, reference_key: null, last_error: null, blocked_reason: null };
  const times = { due_at: 0, in_doubt_since: null, created_at: endedAt, ended_at: endedAt };
  const result = JSON.stringify({ pendingRefundId: id });
  const own = { reference: `R-${id}`, ordering_key: 'l', cause: 'test', order_id: 1, result };
  await db
    .insertInto('outbox')
    .values({ ...same, ...none, ...times, ...own })
    .execute();
}

const PROVENANCE = { source: 'run:1', readSeq: 1, at: 0 };

it('tells of a refund that the service does not confirm, until it does', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await asked(store, 8, clock.now());
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual([]);
  await clock.advance(2 * MINUTE);
  expect(await told(store)).toEqual(['refund_unconfirmed R-8']);
  const refund = { orderRefundId: 5, orderId: 1, pendingRefundId: 8, status: 'pending' };
  const refunds = [{ ...refund, refundedLineItems: [] }];
  await store.transaction((tx) => writeRefunds(tx, refunds, PROVENANCE));
  await clock.advance(2 * MINUTE);
  expect(await told(store)).toEqual([]);
});

it('tells of no refund that was called off or asked for half a year ago', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const ago = (days: number) => clock.now() - days * 24 * 60 * MINUTE;
  await asked(store, 8, ago(1));
  await asked(store, 9, ago(1));
  await asked(store, 10, ago(181));
  const pending = { pendingRefundId: 9, orderId: 1, status: 'canceled', refundLineItems: [] };
  await store.transaction((tx) => writePendingRefunds(tx, [pending], PROVENANCE));
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual(['refund_unconfirmed R-8']);
  // The others are not looked at again.
  const watched = await store.db.selectFrom('refund_awaited').selectAll().execute();
  expect(watched).toHaveLength(1);
});

it('takes nothing for put right that has the lines but not the reference', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const lines = [{ barcode: 'b', quantity: 2, price: '12.50' }];
  const made = [
    { kind: 'order', document: { lines }, result: { orderId: 7 } },
    { kind: 'pending_refund', document: { orderId: 7, lines }, result: { pendingRefundId: 8 } },
  ] as const;
  await store.transaction(async (tx) => {
    for (const { kind, document, result } of made) {
      const intent = { kind, reference: 'A-1', document, cause: 'test' };
      const enqueued = await enqueueDocument(tx, intent, 0);
      const id = 'outboxId' in enqueued ? enqueued.outboxId : 0;
      await tx
        .updateTable('outbox')
        .set({ result: JSON.stringify(result) })
        .where('outbox_id', '=', id)
        .execute();
      await openIncident(tx, { ...DIFFERENCE, key: String(id), detail: {} }, 0);
    }
  });
  const show = (reference: string, readSeq: number) =>
    store.transaction(async (tx) => {
      const shown = [{ barcode: 'b', quantity: 2, price: 12.5 }];
      const same = { orderId: 7, reference, status: 'pending' };
      const provenance = { ...PROVENANCE, readSeq };
      await writeOrders(tx, [{ ...same, orderLineItems: shown }], provenance);
      const refund = { ...same, pendingRefundId: 8, refundLineItems: shown };
      await writePendingRefunds(tx, [refund], provenance);
    });
  await show('X', 1);
  expect(await endedDifferences(store.db)).toEqual([]);
  await show('a-1', 2);
  expect(await endedDifferences(store.db)).toEqual(['1', '2']);
});

it('finds two orders with one reference among thousands, whatever its letters', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await sql`with recursive r(n) as (select 1 union all select n + 1 from r where n < 2002)
    insert into sales_order (order_id, reference, status, completed, shipping_address, extra,
      content_hash, first_seen_at, changed_at, read_seq, source)
    select n, case n when 2001 then 'C-1' when 2002 then 'c-1' else format('b-%04d', n) end,
      'pending', 0, '{}', '{}', '', 0, 0, 0, 'test' from r`.execute(store.db);
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual(['duplicate_reference C-1']);
});

it('tells of two orders with one reference for as long as there are two', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const references = ['A', 'B', 'b', ''];
  await mirrorOrders(
    store,
    references.map((reference, at) => ({ orderId: at + 1, reference })),
  );
  const third = (deleted_at: number | null) =>
    store.db.updateTable('sales_order').set({ deleted_at }).where('order_id', '=', 3).execute();
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual(['duplicate_reference B']);
  await third(1);
  await clock.advance(61 * MINUTE);
  expect(await told(store)).toEqual([]);
  // A search in a time to come was made before the clock was set back.
  clock.step(-24 * 60 * MINUTE);
  await third(null);
  await clock.advance(61 * MINUTE);
  expect(await told(store)).toEqual(['duplicate_reference B']);
});

it('tells of no two orders that two documents have become, nor of what all bear', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const shown = ['cut', 'cut', 'half', 'half', 'ONLINE', 'ONLINE'];
  const mirrored = shown.map((reference, at) => ({ orderId: at + 1, reference }));
  await mirrorOrders(store, mirrored);
  const none = {
    expected_from: null,
    last_error: null,
    blocked_reason: null,
    in_doubt_since: null,
  };
  const same = { kind: 'order', body: '{}', body_hash: '', due_at: 0, cause: 'test', result: null };
  const over = { state: 'confirmed', created_at: 0, ended_at: 0, reference_key: null } as const;
  const rows = [1, 2, 3].map((order_id) => {
    const own = { ordering_key: `l-${order_id}`, reference: `R-${order_id}`, order_id };
    return { ...same, ...none, ...over, ...own, shown_reference: null };
  });
  await store.db.insertInto('outbox').values(rows).execute();
  const pairs = ['R-1', 'R-2'].map((sent) => ({ sent, shown: 'ONLINE' }));
  const spellings = JSON.stringify(explain(pairs));
  const known = { kind: 'order', spellings, learned_at: 0, ended_at: null };
  await store.db.insertInto('reference_spelling').values(known).execute();
  watchOver(store, clock);
  await clock.advance(10);
  expect(await told(store)).toEqual(['duplicate_reference half']);
});
