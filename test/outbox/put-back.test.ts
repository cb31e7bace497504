/** Orders of ours that are gone, because the service was put back, and what people hear of it. */
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError, SelvedgeError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import { SALES_ORDER, writeOrders } from '../../src/mirror/sales-order.ts';
import { writeWalk } from '../../src/mirror/walks.ts';
import { documentState } from '../../src/outbox/document-state.ts';
import { orderIdOf } from '../../src/outbox/evidence/mirrored.ts';
import { listOutbox } from '../../src/outbox/review/listing.ts';
import { createOutboxReview } from '../../src/outbox/review/operations.ts';
import type { ReadOrder } from '../../src/outbox/service.ts';
import { createAccountWatch } from '../../src/outbox/watch/account-watch.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;

interface ServiceOrder {
  readonly reference: string | null;
  readonly barcode: string;
  readonly quantity?: number;
  readonly createdAt?: string;
}

function recordOf(orderId: number, order: ServiceOrder) {
  const { reference, barcode, quantity = 1 } = order;
  return {
    ...{ orderId, reference, status: 'pending', orderNo: `SO-${orderId}`, completed: false },
    ...{ createdAt: order.createdAt ?? '2026-05-01T10:00:00Z', currency: 'EUR' },
    orderLineItems: [{ barcode, quantity, price: 10, fulfilledQuantity: 0 }],
    shippingAddress: {},
  };
}

/** `own`: orders of ours by number, confirmed an hour ago and in the mirror. */
async function startWatch(own: Readonly<Record<number, ServiceOrder>>) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const service = new Map(Object.entries(own).map(([id, order]) => [Number(id), order]));
  let readSeq = 1;
  let outage: Error | undefined;
  const broken = new Set<number>();
  const asked: number[] = [];
  const write = (ids: readonly number[]) =>
    store.transaction((tx) => {
      readSeq += 1;
      const records = ids.flatMap((id) => {
        const order = service.get(id);
        return order ? [recordOf(id, order)] : [];
      });
      return writeOrders(tx, records, { source: 'run:1', readSeq, at: clock.now() });
    });
  await write([...service.keys()]);
  for (const [id, { reference }] of Object.entries(own)) {
    const text = {
      kind: 'order',
      ordering_key: `order/${id}`,
      body: '{}',
      body_hash: '',
      cause: 'test',
    };
    await store.db
      .insertInto('outbox')
      .values({
        ...{ ...text, reference: `OURS-${id}`, reference_key: `ours-${id}`, state: 'confirmed' },
        ...{ due_at: 0, created_at: 0, ended_at: clock.now(), order_id: Number(id) },
        ...{ expected_from: null, in_doubt_since: null, last_error: null, blocked_reason: null },
        result: JSON.stringify({ orderId: Number(id), reference }),
      })
      .execute();
  }
  await clock.advance(60 * MINUTE);
  const readOrder: ReadOrder = async (orderId) => {
    asked.push(orderId);
    if (outage) throw outage;
    if (broken.has(orderId)) throw new RetryLaterError('service.fault', 'HTTP 500');
    const order = service.get(orderId);
    if (!order) throw new RefusedError('service.not_found', 'HTTP 404: no such order');
    await write([orderId]);
    return { order: recordOf(orderId, order), deliveries: [] };
  };
  const walks: string[] = [];
  const watch = createAccountWatch({
    ...{ store, clock, log: silentLogger(), readOrder },
    requestWalk: async () => void walks.push('walk'),
  });
  const stop = new AbortController();
  const done = watch.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  const incidents = async () => {
    const rows = await store.db
      .selectFrom('incident')
      .select(['kind', 'key', 'detail'])
      .where('resolved_at', 'is', null)
      .execute();
    return rows.map(({ kind, detail }) => ({ kind, ...JSON.parse(detail) }));
  };
  const settle = async () => {
    for (let at = 0; at < 3; at += 1) await clock.advance(MINUTE);
  };
  await settle();
  const review = createOutboxReview({
    ...{ store, clock, reconcileAfterMs: 0, processStartedAt: () => 0, confirm: async () => ({}) },
    ...{ wakeUp: () => undefined, onMoved: () => undefined },
  });
  return {
    ...{ clock, store, service, broken, asked, walks, incidents, settle, review, write },
    /** A sound walk over all orders from this number up. */
    async walk(bottom = 0) {
      const startedAt = clock.now();
      await write([...service.keys()].filter((id) => id >= bottom));
      const own = { readSeq, startedAt, bottom };
      await store.transaction((tx) => writeWalk(tx, 'ordersFull', own, clock));
    },
    /** Single orders are answered so. */
    fails(error: Error | undefined) {
      outage = error;
    },
    async states() {
      const rows = await listOutbox(store.db, { limit: 10 });
      return Object.fromEntries(rows.map(({ reference, lost }) => [reference, lost]));
    },
  };
}

const OWN = {
  500: { reference: 'OURS-500', barcode: 'b-1' },
  501: { reference: 'OURS-501', barcode: 'b-2' },
  502: { reference: 'OURS-502', barcode: 'b-3' },
};

it('a number that became another order is told in one incident, with what is there', async () => {
  const { service, walk, settle, incidents, states, store, walks } = await startWatch(OWN);
  expect(await incidents()).toEqual([]);
  service.set(501, { reference: 'FOREIGN', barcode: 'b-9', createdAt: '2026-06-01T00:00:00Z' });
  service.set(502, { reference: null, barcode: 'b-8', createdAt: '2026-06-01T00:00:00Z' });
  await walk();
  await settle();
  const instead = { reference: 'FOREIGN', orderNo: 'SO-501' };
  expect(await incidents()).toMatchObject([
    {
      ...{ kind: 'service_put_back', lost: 2 },
      orders: [
        { reference: 'OURS-501', orderId: 501, instead },
        { reference: 'OURS-502', orderId: 502, instead: { reference: null } },
      ],
    },
  ]);
  expect(await states()).toMatchObject({ 'OURS-500': null, 'OURS-501': { instead } });
  const state = await documentState(store.db, 2);
  expect(state).toMatchObject({ state: 'confirmed', lost: { orderId: 501 } });
  expect(state?.nextAction).toMatch(
    /^decide: confirmed, but .* no longer .*FOREIGN.*new reference/,
  );
  expect(walks.length).toBeGreaterThan(0);
});

it('a refund of a lost order is none of the order that has its number now', async () => {
  const { service, store, walk, settle } = await startWatch(OWN);
  expect(await orderIdOf(store.db, 'ours-501')).toBe(501);
  service.set(501, { reference: 'FOREIGN', barcode: 'b-9' });
  await walk();
  await settle();
  expect(await orderIdOf(store.db, 'ours-501')).toBe(undefined);
  expect(await orderIdOf(store.db, 'ours-500')).toBe(500);
});

it('an order that a walk does not meet and its own address does not know is gone', async () => {
  const { service, walk, settle, incidents, asked } = await startWatch(OWN);
  service.delete(502);
  await walk();
  await settle();
  expect(asked).toEqual([502]);
  expect(await incidents()).toMatchObject([{ lost: 1, orders: [{ orderId: 502, instead: null }] }]);
});

it('what a walk did not come down to, or its own address shows, is not gone', async () => {
  const { service, store, clock, walk, settle, incidents, asked } = await startWatch(OWN);
  const order = service.get(500);
  service.delete(500);
  await walk(501);
  await settle();
  expect(asked).toEqual([]);
  // A list that lags behind.
  if (order) service.set(500, order);
  const late = { readSeq: 1_000, startedAt: clock.now(), bottom: 502 };
  await store.transaction((tx) => writeWalk(tx, 'orders', late, clock));
  await settle();
  expect(asked).toEqual([502]);
  expect(await incidents()).toEqual([]);
});

it('nothing is said to be gone while the service cannot be asked', async () => {
  const { service, walk, settle, incidents, fails } = await startWatch(OWN);
  service.delete(502);
  fails(new RetryLaterError('service.fault', 'HTTP 503'));
  await walk();
  await settle();
  expect(await incidents()).toEqual([]);
  fails(undefined);
  await settle();
  expect(await incidents()).toMatchObject([{ lost: 1 }]);
});

it('orders that always fail do not hide the lost ones behind them', async () => {
  const own = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [500 + at, { reference: `R-${at}`, barcode: `b-${at}` }]),
  );
  const { clock, service, broken, walk, settle, incidents, asked } = await startWatch(own);
  service.clear();
  for (let orderId = 500; orderId < 506; orderId += 1) broken.add(orderId);
  await walk();
  await settle();
  expect(await incidents()).toMatchObject([
    { lost: 2, orders: [{ orderId: 506 }, { orderId: 507 }] },
  ]);
  // Those that fail stay to be asked for, and a service that is away gets five requests a look.
  asked.length = 0;
  await settle();
  expect(new Set(asked)).toEqual(new Set([500, 501, 502, 503, 504, 505]));
  expect(asked.length).toBeLessThanOrEqual(3 * 5);
  for (const orderId of [501, 502, 503, 504, 505]) broken.delete(orderId);
  await clock.advance(15 * MINUTE);
  asked.length = 0;
  await clock.advance(180 * MINUTE);
  expect(asked).toEqual([500, 500, 500, 500, 500, 500]);
});

it.each([
  ['is refused', new RefusedError('service.refused', 'HTTP 400: not for this key')],
  ['cannot be read', new SelvedgeError('transport.broken_answer', 'no JSON')],
])('an order whose own address answers with what %s is not gone', async (_, error) => {
  const { service, walk, settle, incidents, asked, fails } = await startWatch(OWN);
  service.delete(502);
  fails(error);
  await walk();
  await settle();
  expect(asked).toEqual([502]);
  expect(await incidents()).toEqual([]);
});

it('an order that was confirmed just before a walk began is not missed by it', async () => {
  const { service, store, clock, walk, settle, incidents, asked } = await startWatch(OWN);
  service.delete(502);
  await store.db.updateTable('outbox').set({ ended_at: clock.now() }).execute();
  await clock.advance(MINUTE / 3);
  await walk();
  await settle();
  expect(asked).toEqual([]);
  expect(await incidents()).toEqual([]);
});

it('an order that was edited, or respelled, is the same one', async () => {
  const { service, walk, settle, incidents } = await startWatch(OWN);
  service.set(500, { reference: 'OURS-500', barcode: 'b-7', quantity: 3 });
  service.set(501, { reference: 'OURS5', barcode: 'b-2' });
  service.set(502, { ...OWN[502], createdAt: '2026-05-01T08:00:00Z' });
  await walk();
  await settle();
  expect(await incidents()).toEqual([]);
});

it('orders that were marked as deleted are told, and no more once they are back', async () => {
  const { service, store, clock, settle, incidents, states, write } = await startWatch(OWN);
  service.delete(500);
  const provenance = { source: 'run:9', readSeq: 50, at: clock.now() };
  await store.transaction((tx) => markDeleted(tx, SALES_ORDER, [500], provenance));
  await settle();
  expect(await incidents()).toMatchObject([{ lost: 1, orders: [{ orderId: 500 }] }]);
  service.set(500, OWN[500]);
  for (let at = 0; at < 60; at += 1) await write([]);
  await write([500]);
  await settle();
  expect(await incidents()).toEqual([]);
  expect(await states()).toMatchObject({ 'OURS-500': null });
});

it('a person ends it for all that are lost, which stay shown; one more is told anew', async () => {
  const { service, walk, settle, incidents, states, review, store } = await startWatch(OWN);
  service.delete(501);
  service.delete(502);
  await walk();
  await settle();
  expect(await incidents()).toMatchObject([{ lost: 2 }]);
  const who = { actor: 'ann', reason: 'support restored it' };
  await review.resolve(2, { as: 'noted' }, who);
  expect(await incidents()).toEqual([]);
  expect(await states()).toMatchObject({ 'OURS-501': { orderId: 501 }, 'OURS-500': null });
  await expect(review.resolve(2, { as: 'noted' }, who)).rejects.toThrow(
    /no difference, loss or refusal/,
  );
  service.delete(500);
  await walk();
  await settle();
  expect(await incidents()).toMatchObject([{ lost: 1, orders: [{ orderId: 500 }] }]);
  const audit = await store.db.selectFrom('audit').select(['action', 'subject']).execute();
  expect(audit).toEqual([{ action: 'outbox.noted', subject: 'outbox:2' }]);
});
