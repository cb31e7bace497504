import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  createEventStore,
  EVENT_STORE_LIMITS,
  type EventStore,
} from '../../src/inbox/event-store.ts';
import { createMeter, type Meter } from '../../src/inbox/meter.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { dueRefetches, requestRefetches, urgentRefetches } from '../../src/mirror/refetch-queue.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';
import { deliveryCreated, eventually } from './support.ts';

interface Bench {
  readonly journal: EventStore;
  readonly meter: Meter;
  readonly store: SqliteStore;
  readonly clock: ManualClock;
  readonly nudges: number[];
}

async function bench(limits: Partial<typeof EVENT_STORE_LIMITS> = {}): Promise<Bench> {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const meter = createMeter(clock, silentLogger());
  const nudges: number[] = [];
  const onAccepted = (): void => {
    nudges.push(meter.stats().accepted);
  };
  const deps = { store, clock, meter, onAccepted };
  const journal = createEventStore(deps, { ...EVENT_STORE_LIMITS, ...limits });
  return { journal, meter, store, clock, nudges };
}

function event(id: string, body: string | Buffer): Parameters<EventStore['accept']>[0] {
  return { eventId: id, sentAt: 1_767_600_000_000, secretName: 'current', body: Buffer.from(body) };
}

const events = async ({ store }: Bench) =>
  store.db.selectFrom('webhook_event').selectAll().orderBy('event_id').execute();

describe('the journal', () => {
  it('writes what arrives together in one transaction, and answers after it', async () => {
    const b = await bench();
    const accepted = Array.from({ length: 100 }, (_, index) =>
      b.journal.accept(event(`msg_${index}`, deliveryCreated(1 + (index % 10)))),
    );
    expect(await events(b)).toEqual([]);
    await Promise.all(accepted);
    expect(await events(b)).toHaveLength(100);
    expect(b.meter.stats()).toMatchObject({ accepted: 100, duplicates: 0 });
    expect(b.nudges).toEqual([100]);
    const refreshes = await b.store.db.selectFrom('refresh').selectAll().execute();
    expect(refreshes.map((row) => row.order_id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(b.clock.pending()).toBe(0);
  });

  it('keeps what was announced last, in whatever order it arrives together', async () => {
    const b = await bench();
    const announce = (orderId: number, status: string, sentAt: number) => {
      const salesOrderDelivery = { orderDeliveryId: orderId * 10, orderId, status };
      const body = { type: 'sales_order.delivery_updated', data: { salesOrderDelivery } };
      return b.journal.accept({ ...event(`${orderId}${status}`, JSON.stringify(body)), sentAt });
    };
    const [early, late] = [1_767_600_000_000, 1_767_600_001_000];
    await Promise.all([
      announce(1, 'pending', early),
      announce(1, 'canceled', late),
      announce(2, 'canceled', late),
      announce(2, 'pending', early),
    ]);
    const kept = await b.store.db.selectFrom('announced').select(['order_id', 'status']).execute();
    const status = 'canceled';
    expect(kept).toEqual([
      { order_id: 1, status },
      { order_id: 2, status },
    ]);
  });

  it('acknowledges once a standby would have it, and else asks for it again (R2)', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const meter = createMeter(clock, silentLogger());
    const kept = Promise.withResolvers<'kept' | 'unknown'>();
    const waits = [kept.promise];
    const keep = () => waits.shift() ?? Promise.resolve('unknown' as const);
    const journal = createEventStore({ store, clock, meter, keep, onAccepted: () => undefined });
    const told: string[] = [];
    const first = journal.accept(event('msg_1', deliveryCreated(1))).then(() => told.push('first'));
    await eventually(() => expect(waits).toEqual([]));
    const second = await journal.accept(event('msg_2', deliveryCreated(2))).catch((error) => error);
    expect(second).toMatchObject({ code: 'inbox.not_kept' });
    const stored = await store.db.selectFrom('webhook_event').select('event_id').execute();
    expect([stored, told]).toEqual([[{ event_id: 'msg_1' }, { event_id: 'msg_2' }], []]);
    kept.resolve('kept');
    await first;
    expect([told, clock.pending()]).toEqual([['first'], 0]);
  });

  it('commits with synchronous=FULL, on the very connection it writes with (R1)', async () => {
    const b = await bench();
    await b.journal.accept(event('msg_1', deliveryCreated(1)));
    const pragma = await sql<{ synchronous: number }>`pragma synchronous`.execute(b.store.db);
    expect(pragma.rows).toEqual([{ synchronous: 2 }]);
  });

  it('counts duplicates inside one group and across groups alike (R3)', async () => {
    const b = await bench();
    const send = (id: string) => b.journal.accept(event(id, deliveryCreated(7)));
    await Promise.all([send('msg_1'), send('msg_1'), send('msg_2'), send('msg_1')]);
    await Promise.all([send('msg_2'), send('msg_2')]);
    expect(await events(b)).toMatchObject([{ duplicates: 2 }, { duplicates: 2 }]);
    expect(b.meter.stats()).toMatchObject({ accepted: 6, duplicates: 4 });
    expect(b.nudges).toEqual([4, 6]);
  });

  it('keeps the first body of an id, whatever a later attempt carries', async () => {
    const b = await bench();
    await b.journal.accept(event('msg_1', deliveryCreated(1)));
    await b.journal.accept(event('msg_1', deliveryCreated(2)));
    expect(await events(b)).toMatchObject([{ order_id: 1, duplicates: 1 }]);
    const refreshes = await b.store.db.selectFrom('refresh').select('order_id').execute();
    expect(refreshes).toEqual([{ order_id: 1 }, { order_id: 2 }]);
  });

  it.each([
    ['an order', { type: 'sales_order.order_created', data: { salesOrder: { orderId: 5 } } }, 5],
    [
      'a refund',
      { type: 'sales_order.refund_updated', data: { salesOrderRefund: { orderId: 6 } } },
      6,
    ],
    [
      'an id in text',
      { type: 'sales_order.order_created', data: { salesOrder: { orderId: '5' } } },
      5,
    ],
    ['a ping', { type: 'ping', data: { ping: true } }, null],
    ['an unknown type', { type: 'stock.moved', data: { salesOrder: { orderId: 5 } } }, null],
    ['a type that is no text', { type: 7, data: { salesOrder: { orderId: 5 } } }, null],
    [
      'an id that is none',
      { type: 'sales_order.order_created', data: { salesOrder: { orderId: -1 } } },
      null,
    ],
    [
      'a huge id',
      { type: 'sales_order.order_created', data: { salesOrder: { orderId: 1e300 } } },
      null,
    ],
    ['no data', { type: 'sales_order.order_created' }, null],
    ['a list', [1, 2], null],
    ['a bare null', null, null],
  ])('stores %s and finds the order it names', async (_what, body, orderId) => {
    const b = await bench();
    const hint = await b.journal.accept(event('msg_1', JSON.stringify(body)));
    expect(hint).toMatchObject({ json: true, orderId });
    const outcome = orderId === null ? 'stored' : 'refresh';
    expect(await events(b)).toMatchObject([{ order_id: orderId, outcome }]);
  });

  it.each([
    ['sales_order.order_created', 'salesOrder', false],
    ['sales_order.order_completed', 'salesOrder', false],
    ['sales_order.delivery_created', 'salesOrderDelivery', false],
    ['sales_order.delivery_updated', 'salesOrderDelivery', false],
    ['sales_order.delivery_canceled', 'salesOrderDelivery', false],
    ['sales_order.refund_created', 'salesOrderRefund', true],
    ['sales_order.refund_updated', 'salesOrderRefund', true],
    ['sales_order.refund_canceled', 'salesOrderRefund', true],
  ])('has the order of %s read again, with what it is about', async (type, subject, refunds) => {
    const b = await bench();
    const body = JSON.stringify({ type, data: { [subject]: { orderId: 5 } } });
    await b.journal.accept(event('msg_1', body));
    const [due] = await dueRefetches(b.store.db, b.clock.now(), 10);
    expect(due).toMatchObject({ orderId: 5, refunds });
    // The next event does not undo the wish of the one before.
    await b.journal.accept(event('msg_2', deliveryCreated(5)));
    const [again] = await dueRefetches(b.store.db, b.clock.now(), 10);
    expect(again).toMatchObject({ orderId: 5, refunds });
  });

  it('keeps the time of the relay beside its own, and when the event came again', async () => {
    const b = await bench();
    await b.clock.advance(1_000);
    const came = b.clock.now();
    const send = () => b.journal.accept(event('msg_1', '{}'));
    await send();
    const first = { received_at: came, sent_at: 1_767_600_000_000, last_duplicate_at: null };
    expect(await events(b)).toMatchObject([first]);
    await b.clock.advance(60_000);
    await send();
    expect(await events(b)).toMatchObject([{ ...first, last_duplicate_at: came + 60_000 }]);
    const twice = () => b.journal.accept(event('msg_2', '{}'));
    await Promise.all([twice(), twice()]);
    expect((await events(b))[1]).toMatchObject({ last_duplicate_at: came + 60_000 });
  });

  it('keeps bytes that are no UTF-8 exactly as they came (R5)', async () => {
    const b = await bench();
    const bytes = Buffer.from([0x22, 0xff, 0x00, 0xfe, 0x22]);
    expect(await b.journal.accept(event('msg_1', bytes))).toMatchObject({ json: false });
    expect((await events(b))[0]?.body).toEqual(bytes);
    expect(b.meter.stats()).toMatchObject({ accepted: 1, unknownType: 0 });
    const almost = Buffer.from('{"type":"ping","data":"\xff"}', 'latin1');
    expect(await b.journal.accept(event('msg_2', almost))).toMatchObject({ json: false });
  });

  it('refuses to hold more than its queue allows (R13)', async () => {
    const b = await bench({ queueEventsMax: 2 });
    const send = (id: string) => b.journal.accept(event(id, '{}'));
    const results = await Promise.allSettled([send('a'), send('b'), send('c')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(results[2]).toMatchObject({ reason: { code: 'inbox.queue_full' } });
    await send('c');
    expect(await events(b)).toHaveLength(3);
  });

  it('splits a crowd into groups (R13)', async () => {
    const b = await bench({ groupEventsMax: 10 });
    const ids = Array.from({ length: 35 }, (_, index) => `msg_${index}`);
    await Promise.all(ids.map((id) => b.journal.accept(event(id, deliveryCreated(1)))));
    expect(b.nudges).toEqual([10, 20, 30, 35]);
  });

  it('gives up on a commit that takes too long, so that the relay keeps it (R2)', async () => {
    const b = await bench();
    const blocker = Promise.withResolvers<void>();
    const blocking = b.store.transaction(() => blocker.promise);
    const accepted = b.journal.accept(event('msg_1', '{}'));
    const refused = expect(accepted).rejects.toMatchObject({ code: 'inbox.deadline' });
    await b.clock.advance(EVENT_STORE_LIMITS.deadlineMs);
    await refused;
    blocker.resolve();
    await blocking;
    // The next attempt of the relay finds the row, or writes it.
    await b.journal.accept(event('msg_1', '{}'));
    expect(await events(b)).toHaveLength(1);
  });
});

describe('the list of orders to read', () => {
  const update = (orderId: number): string =>
    JSON.stringify({
      type: 'sales_order.delivery_updated',
      data: { salesOrderDelivery: { orderId } },
    });

  it('has packed deliveries first, then the oldest wish, and sweeps last', async () => {
    const b = await bench();
    const due = async (): Promise<number[][]> => {
      const urgent = await urgentRefetches(b.store.db, b.clock.now(), 10);
      const all = await dueRefetches(b.store.db, b.clock.now(), 10);
      return [urgent, all].map((found) => found.map(({ orderId }) => orderId));
    };
    const sweep = { orderId: 1, cause: 'sweep:1' };
    await b.store.transaction((tx) => requestRefetches(tx, [sweep], b.clock.now()));
    for (const orderId of [2, 3]) {
      await b.clock.advance(1_000);
      await b.journal.accept(event(`msg_${orderId}`, update(orderId)));
    }
    await b.journal.accept(event('msg_4', deliveryCreated(4)));
    expect(await due()).toEqual([[4], [2, 3, 4, 1]]);
    // An order that waits already is packed: it passes the others, though its wish is not new.
    await b.clock.advance(1);
    await b.journal.accept(event('msg_3b', deliveryCreated(3)));
    expect(await due()).toEqual([
      [3, 4],
      [2, 3, 4, 1],
    ]);
    // The next sweep goes by: what an event asked for stays before it.
    const next = [1, 2].map((orderId) => ({ orderId, cause: 'sweep:2' }));
    await b.store.transaction((tx) => requestRefetches(tx, next, b.clock.now()));
    expect(await due()).toEqual([
      [3, 4],
      [2, 3, 4, 1],
    ]);
    const causes = await b.store.db
      .selectFrom('refresh')
      .select('cause')
      .where('order_id', 'in', [1, 2])
      .orderBy('order_id')
      .execute();
    expect(causes).toEqual([{ cause: 'sweep:2' }, { cause: 'event:msg_2' }]);
  });
});

describe('the meter', () => {
  it("takes our clock's offset from the fastest of the recent attempts (R9)", () => {
    const clock = manualClock();
    const lines: object[] = [];
    const log = { ...silentLogger(), warn: (line: object) => lines.push(line) };
    const meter = createMeter(clock, log);
    expect(meter.stats().clockOffsetMs).toBeUndefined();
    for (const late of [9_000, 400, 2_000]) meter.signed(clock.now() - late);
    expect(meter.stats().clockOffsetMs).toBe(400);
    expect(lines).toEqual([]);
    for (let attempt = 0; attempt < 64; attempt += 1) meter.signed(clock.now() - 61_000);
    expect(meter.stats().clockOffsetMs).toBe(61_000);
    expect(lines).toEqual([{ offsetMs: 61_000 }]);
  });

  it('logs one line a minute of a kind, and how many it did not say (L10)', async () => {
    const clock = manualClock();
    const lines: object[] = [];
    const log = { ...silentLogger(), warn: (line: object) => lines.push(line) };
    const meter = createMeter(clock, log);
    for (let index = 0; index < 1_000; index += 1) meter.refused('forged');
    expect(lines).toEqual([{}]);
    await clock.advance(60_000);
    meter.refused('forged');
    expect(lines).toEqual([{}, { unsaid: 999 }]);
    expect(meter.stats().refused).toMatchObject({ forged: 1_001, retired: 0 });
  });
});
