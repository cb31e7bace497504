import { describe, expect, it } from 'vitest';
import type { RawListing } from '../../src/client/v1/calls.ts';
import type { SalesOrder } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { InDoubtError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createDesk } from '../../src/outbox/desk/operations.ts';
import { createOrderFinder } from '../../src/outbox/kinds/find-order.ts';
import { nextLookAt } from '../../src/outbox/look-times.ts';
import { checkOrder } from '../../src/outbox/preflight/order.ts';
import { createWatch } from '../../src/outbox/watch/watch.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';
import { type Bench, createBench, mirrorOrders, NO, openIncidents, YES } from './support.ts';

const MINUTE = 60_000;
const WHO = { actor: 'anna', reason: 'asked support' };
const signal = new AbortController().signal;

function deskOf({ store, clock }: Bench) {
  return createDesk({
    ...{ store, clock, quietMs: 12 * MINUTE, confirm: async () => ({}) },
    ...{ nudge: () => undefined, onMoved: () => undefined },
  });
}

describe('what makes something new, in doubt', () => {
  it('is sent again only after two complete looks past the quiet time', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.look = () => (bench.sends.length < 2 ? NO : YES);
    bench.script.send = () => {
      if (bench.sends.length > 1) return {};
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(12.9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt' });
    await bench.clock.advance(0.2 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 2 });
  });

  it.each([1, -1])(
    'waits for its quiet time though the clock is moved by %i h meanwhile',
    async (hours) => {
      const bench = await createBench();
      bench.creates = true;
      const id = await bench.add(1);
      bench.script.look = () => (bench.sends.length < 2 ? NO : YES);
      bench.script.send = () => {
        if (bench.sends.length > 1) return {};
        throw new InDoubtError('transport.in_doubt', 'reset');
      };
      bench.start();
      await bench.clock.advance(3 * MINUTE);
      bench.clock.step(hours * 60 * MINUTE);
      await bench.clock.advance(9 * MINUTE);
      expect(bench.sends).toEqual([id]);
      // Set back, it is on the safe side: the quiet time is waited for once more.
      await bench.clock.advance((hours > 0 ? 2 : 5) * MINUTE);
      expect(bench.sends).toEqual([id, id]);
      expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 2 });
    },
  );

  it('needs looks of its own after the clock was set back since the last doubt', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const answer = Promise.withResolvers<void>();
    bench.script.look = () => NO;
    bench.script.send = async () => {
      if (bench.sends.length === 2) await answer.promise;
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(14 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    bench.clock.step(-60 * MINUTE);
    answer.resolve();
    await bench.clock.advance(11 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    await bench.clock.advance(3 * MINUTE);
    expect(bench.sends).toEqual([id, id, id]);
  });

  it('is looked for as often as before after the clock was set back', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    let isThere = false;
    bench.script.look = () => (isThere ? YES : NO);
    bench.script.send = () => {
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(3 * MINUTE);
    bench.clock.step(-60 * MINUTE);
    await bench.clock.advance(3 * MINUTE);
    isThere = true;
    await bench.clock.advance(1.1 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 1 });
  });

  it.each([
    ['while it was looked for', false],
    ['while nobody worked on it', true],
  ])('ends in its quiet time also where the clock was set back %s', async (_, restarts) => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.look = () => NO;
    bench.script.send = () => {
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.clock.step(24 * 60 * MINUTE);
    const { stop } = bench.start();
    await bench.clock.advance(12.5 * MINUTE);
    if (restarts) await stop();
    bench.clock.step(-24 * 60 * MINUTE);
    if (restarts) bench.start();
    await bench.clock.advance(9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(5 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('proves nothing by what was found due before a person had it sent again', async () => {
    const bench = await createBench();
    bench.creates = true;
    const ids: number[] = [];
    for (const delivery of [1, 2, 3, 4, 5]) ids.push(await bench.add(delivery));
    const last = ids.at(-1) ?? 0;
    const hands = Promise.withResolvers<void>();
    let isSlow = false;
    bench.script.look = async ({ outboxId, state }) => {
      // Every hand that looks is busy with one of the others.
      if (isSlow && state === 'in_doubt' && outboxId !== last) await hands.promise;
      return NO;
    };
    bench.script.send = () => {
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(12.5 * MINUTE);
    isSlow = true;
    await bench.clock.advance(0.1 * MINUTE);
    expect(await bench.row(last)).toMatchObject({ state: 'in_doubt', attempts: 1 });
    await bench.clock.advance(1 * MINUTE);
    await deskOf(bench).resolve(last, { as: 'absent' }, WHO);
    await bench.clock.advance(1.5 * MINUTE);
    expect(await bench.row(last)).toMatchObject({ state: 'in_doubt', attempts: 2 });
    hands.resolve();
    await bench.clock.advance(5 * MINUTE);
    expect(bench.sends.filter((id) => id === last)).toHaveLength(2);
  });

  it('forgets the answer of before once a person had it sent again', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.deskAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    const results: (string | null)[] = [];
    // What was answered is shown no more: by itself that proves nothing.
    bench.script.look = ({ result, state }) => {
      if (state === 'in_doubt') results.push(result);
      return { ...NO, complete: result === null };
    };
    bench.script.send = () => {
      if (bench.sends.length === 1) return { orderId: 7 };
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(22 * MINUTE);
    expect((await bench.row(id)).desk_reason).toContain('neither found nor proved absent');
    results.length = 0;
    await deskOf(bench).resolve(id, { as: 'absent' }, WHO);
    await bench.clock.advance(MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', attempts: 2, result: null });
    await bench.clock.advance(15 * MINUTE);
    expect(new Set(results)).toEqual(new Set([null]));
    expect(bench.sends).toHaveLength(3);
  });

  it('is never sent again for looks that may have missed it; then a person has it', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.deskAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    bench.script.look = () => (bench.sends.length === 0 ? NO : { ...NO, complete: false });
    bench.script.send = () => {
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(19 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', desk_reason: null });
    await bench.clock.advance(3 * MINUTE);
    expect(bench.sends).toEqual([id]);
    expect((await bench.row(id)).desk_reason).toContain('neither found nor proved absent');
  });

  it('is proved absent by complete looks only, whatever others between them missed', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const begun = bench.clock.now();
    bench.script.look = () => ({ ...NO, complete: bench.clock.now() - begun > 12.5 * MINUTE });
    bench.script.send = () => {
      throw new InDoubtError('transport.in_doubt', 'reset');
    };
    bench.start();
    await bench.clock.advance(13.9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(1 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('is looked at soon, then every minute, and exactly when the quiet time is over', () => {
    const pace = { quietMs: 12 * MINUTE, everyMs: MINUTE };
    const times: number[] = [];
    for (let at = 0; at < 14 * MINUTE; at = nextLookAt(0, pace, at)) times.push(at / 1_000);
    expect(times.slice(0, 6)).toEqual([0, 2, 10, 30, 90, 150]);
    expect(times).toContain(720);
    expect(times).toContain(780);
  });
});

function page(ids: readonly number[], rejects: readonly unknown[] = []): RawListing<SalesOrder> {
  const rows = ids.map((orderId) => ({
    ...{ orderId, reference: `R-${orderId}`, status: 'pending', orderLineItems: [] },
  }));
  return {
    rows,
    raws: [...rows, ...rejects],
    rejects: rejects.map((raw) => ({ raw, path: '', reason: 'odd' })),
    ...{ count: undefined, startedAt: 0 },
  };
}

describe('a walk over the orders', () => {
  const finder = (pages: readonly RawListing<SalesOrder>[]) => {
    let asked = 0;
    const orders = async () => {
      asked += 1;
      return pages[asked - 1] ?? page([]);
    };
    return { ...createOrderFinder({ orders }), asked: () => asked };
  };

  it('is complete when it has seen an order at or below the floor', async () => {
    const walk = finder([page([9, 8, 7]), page([7, 6, 5]), page([5])]);
    const found = await walk.find('r-8', 6, signal);
    expect(found).toMatchObject({ complete: true, walkedTo: 6, pages: 2 });
    expect(found.orders.map(({ orderId }) => orderId)).toEqual([8]);
  });

  it('proves nothing when the list is empty, ends too early or overlooks its cursor', async () => {
    expect(await finder([page([])]).find('x', 6, signal)).toMatchObject({ complete: false });
    expect(await finder([page([9, 8])]).find('x', 6, signal)).toMatchObject({ complete: false });
    const astray = finder([page([9, 8]), page([9, 8]), page([9, 8])]);
    expect(await astray.find('x', 6, signal)).toMatchObject({ complete: false });
  });

  it('proves nothing about a reference that a row which cannot be read may have', async () => {
    const rows = [page([9, 6, 5], [{ reference: 'X' }])];
    expect(await finder(rows).find('x', 6, signal)).toMatchObject({ complete: false });
    expect(await finder(rows).find('y', 6, signal)).toMatchObject({ complete: true });
    expect(await finder([page([9, 6, 5], ['<'])]).find('y', 6, signal)).toMatchObject({
      complete: false,
    });
  });

  it('serves all who ask in the same moment', async () => {
    const walk = finder([page([9, 8, 7]), page([7, 6, 5])]);
    await Promise.all([walk.find('r-9', 8, signal), walk.find('r-7', 6, signal)]);
    expect(walk.asked()).toBe(2);
  });
});

async function mirror(store: SqliteStore): Promise<void> {
  const common = { extra: '{}', content_hash: '', first_seen_at: 0, changed_at: 0 };
  const row = { ...common, deleted_at: null, read_seq: 0, source: 'test' };
  const variant = {
    ...{ variant_type: null, style_no: null, style_name: null, brand_name: null },
    ...{ color_code: null, color_name: null, size: null, price: null, price_original: null },
    ...{ b2c_sale_price: null, category: null, gender: null, b2b_hidden: null },
    ...{ color_active: null, season_name: null, wsp_price: 2_000 },
  };
  const { db } = store;
  const of = (barcode: string, quantity: number, currency: string) =>
    ({ ...row, ...variant, barcode, quantity, currency }) as const;
  await db
    .insertInto('stock_variant')
    .values([of('b-1', 5, 'EUR'), of('b-2', 5, 'DKK'), { ...of('b-3', 5, 'EUR'), deleted_at: 1 }])
    .execute();
  await db
    .insertInto('season')
    .values({ ...row, season_name: 'AW27' })
    .execute();
  const delivery = { season_name: 'AW27', line_no: 1, delivery_name: 'Drop 1' };
  await db.insertInto('season_delivery').values(delivery).execute();
  await db
    .insertInto('freight_option')
    .values({ ...row, freight_type: 'standard' })
    .execute();
  for (const stream of ['stock', 'seasons', 'freight']) {
    await db
      .insertInto('stream_state')
      .values({
        ...{ stream, due_at: 0, last_run_id: null, complete_at: 1, complete_rows: 1 },
        ...{ last_error: null, requested: null },
      })
      .execute();
  }
}

describe('the pre-flight of an order', () => {
  const rules = { freight: 'learned', level: '1.4.14' } as const;
  const told = async (store: SqliteStore, order: Parameters<typeof checkOrder>[1], own = rules) =>
    (await checkOrder(store.db, order, own)).map((one) => `${one.severity} ${one.path}`);
  const line = (barcode: string, quantity = 1, price = '20.00') => ({ barcode, quantity, price });

  it('names what is unknown, deleted, of another currency or short', async () => {
    const store = await temporaryStore();
    await mirror(store);
    expect(await told(store, { lines: [line('b-1')] })).toEqual([]);
    expect(await told(store, { lines: [line('b-9'), line('b-3')] })).toEqual([
      'error lines[0].barcode',
      'error lines[1].barcode',
    ]);
    expect(await told(store, { lines: [line('b-1'), line('b-2')] })).toEqual([
      'error lines[1].barcode',
    ]);
    expect(await told(store, { lines: [line('b-1')], currency: 'USD' })).toEqual([
      'error currency',
    ]);
    expect(await told(store, { lines: [line('b-1', 9, '0.00')] })).toEqual([
      'warning lines[0].price',
      'warning lines[0].quantity',
    ]);
  });

  it('wants season and delivery on every line, and names that there are', async () => {
    const store = await temporaryStore();
    await mirror(store);
    const named = { ...line('b-1'), deliveryName: 'Drop 1' };
    expect(await told(store, { lines: [named], seasonName: 'AW27' })).toEqual([]);
    expect(await told(store, { lines: [named] })).toEqual(['error lines[0].deliveryName']);
    expect(await told(store, { lines: [named, line('b-1')], seasonName: 'AW27' })).toEqual([
      'error lines[1].deliveryName',
    ]);
    const second = { ...named, deliveryName: 'Drop 2' };
    const wrong = { lines: [second], seasonName: 'AW27' };
    const [problem] = await checkOrder(store.db, wrong, rules);
    expect(problem?.message).toContain('did you mean Drop 1?');
    expect(await told(store, { lines: [named], seasonName: 'AW28' })).toEqual(['error seasonName']);
  });

  it('wants freight where the account does, of a kind that there is', async () => {
    const store = await temporaryStore();
    await mirror(store);
    const order = { lines: [line('b-1')] };
    const required = { ...rules, freight: 'required' } as const;
    const old = { ...rules, level: '1.2.0' } as const;
    expect(await checkOrder(store.db, order, required)).toMatchObject([{ path: 'freight' }]);
    expect(await checkOrder(store.db, order, old)).toMatchObject([
      { path: 'freight' },
      { path: 'shippingAddress' },
    ]);
    const freight = { amount: '5.00', type: 'standart' };
    expect(await checkOrder(store.db, { ...order, freight }, rules)).toMatchObject([
      { path: 'freight.type', message: 'there is no freight standart; did you mean standard?' },
    ]);
  });
});

describe('the watch over the outbox', () => {
  it('tells of two orders with one reference and of a late refund, while it is so', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    await mirrorOrders(store, [
      { orderId: 1, reference: 'A' },
      { orderId: 2, reference: 'B' },
      { orderId: 3, reference: 'b' },
      { orderId: 4, reference: '' },
    ]);
    const base = { kind: 'pending_refund', lane: 'l', body: '{}', body_hash: '', last_error: null };
    const told = { due_at: 0, in_doubt_since: null, created_at: 0, cause: 'test', order_id: 1 };
    const extra = { expected_from: null, reference_key: null, desk_reason: null };
    await store.db
      .insertInto('outbox')
      .values({
        ...{ ...base, ...told, ...extra, reference: 'R-1', state: 'confirmed' },
        ...{ ended_at: clock.now(), result: JSON.stringify({ pendingRefundId: 8 }) },
      })
      .execute();
    const stop = new AbortController();
    const limits = { alertAfterMs: MINUTE, refundAlertAfterMs: MINUTE };
    const watch = createWatch({
      ...{ store, clock, log: silentLogger() },
      pauseReason: () => undefined,
      limits: { ...limits, auditEveryMs: 60 * MINUTE, quietMs: 12 * MINUTE },
    });
    const done = watch.run(stop.signal);
    await clock.advance(10);
    const open = async () => {
      const rows = await openIncidents(store);
      return rows.map(({ kind, key }) => `${kind} ${key}`);
    };
    expect(await open()).toEqual(['duplicate_reference B']);
    await clock.advance(2 * MINUTE);
    expect(await open()).toEqual(['duplicate_reference B', 'refund_unconfirmed 1']);
    await store.db.updateTable('outbox').set({ result: '{"pendingRefundId":9}' }).execute();
    const refund = { order_refund_id: 5, refund_no: null, order_id: 1, reference: null };
    const more = { order_no: null, status: 'pending', pending_refund_id: 9, created_at: null };
    const common = { extra: '{}', content_hash: '', first_seen_at: 0, changed_at: 0 };
    await store.db
      .insertInto('refund')
      .values({ ...refund, ...more, ...common, deleted_at: null, read_seq: 0, source: 'test' })
      .execute();
    await store.db
      .updateTable('sales_order')
      .set({ deleted_at: 1 })
      .where('order_id', '=', 3)
      .execute();
    await clock.advance(61 * MINUTE);
    expect(await open()).toEqual([]);
    // A search in a time to come was made before the clock was set back.
    clock.step(-24 * 60 * MINUTE);
    await store.db.updateTable('sales_order').set({ deleted_at: null }).execute();
    await clock.advance(61 * MINUTE);
    expect(await open()).toContain('duplicate_reference B');
    stop.abort();
    await done;
  });
});
