/** A service that shows orders later than its events, and events of orders it never shows. */
import { describe, expect, it } from 'vitest';
import { createEventStore } from '../../src/inbox/event-store.ts';
import { createMeter } from '../../src/inbox/meter.ts';
import { askingEvent, createUnknownOrders } from '../../src/inbox/read-announced.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { ORDERS_UNKNOWN } from '../../src/mirror/refetch-queue.ts';
import { openDetail } from '../../src/store/incidents.ts';
import { readState } from '../../src/store/state.ts';
import { openSystemKeys, type SystemKeys } from '../../src/store/system-keys.ts';
import { fastClock, placeOrders, startFastReference } from '../e2e/support.ts';
import { startTestDaemon, testConfig, until } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';

/** No sweep finds what an event has announced. */
const EVENTS_ALONE = [
  { path: 'service.limits.loginSpacing', value: '0s' },
  { path: 'streams.orders.schedule', value: '0 3 1 1 *' },
  { path: 'streams.ordersFull.schedule', value: '0 3 1 1 *' },
];

async function startLagging(readLag: string) {
  const clock = fastClock(100);
  const life = { packAfter: '5s', cancelShare: 0, splitShare: 0, shipAfter: '1h' };
  const reference = await startFastReference({ life, dialect: { readLag } }, clock);
  const config = testConfig(reference, { overrides: EVENTS_ALONE });
  const daemon = await startTestDaemon(reference, config, clock);
  const { db } = daemon.store;
  await until('the first sweep', () =>
    db
      .selectFrom('stream_state')
      .select('stream')
      .where('stream', '=', 'orders')
      .where('complete_at', 'is not', null)
      .executeTakeFirst(),
  );
  const openIncidents = () =>
    db
      .selectFrom('incident')
      .select(['kind', 'key', 'detail'])
      .where('resolved_at', 'is', null)
      .execute();
  return { clock, reference, db, openIncidents };
}

const notFound = () => new RefusedError('service.not_found', 'HTTP 404: no such order');

/** Signed events with a system key, as the relay sends them. */
async function startEventStore() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const changed: string[] = [];
  const open = () =>
    openSystemKeys(store, clock, (key, isForeign) => changed.push(`${key} ${isForeign}`));
  let count = 0;
  const send = async (systemKeys: SystemKeys, systemKey: string, orderId: number) => {
    count += 1;
    const meter = createMeter(clock, silentLogger());
    const events = createEventStore({
      store,
      clock,
      meter,
      systemKeys,
      onAccepted: () => undefined,
    });
    const body = JSON.stringify({
      type: 'sales_order.order_created',
      references: { systemKey },
      data: { salesOrder: { orderId, reference: `R-${orderId}` } },
    });
    const eventId = `msg_${count}`;
    const event = { eventId, sentAt: clock.now(), secretName: 'x', body: Buffer.from(body) };
    await events.accept(event);
    return eventId;
  };
  const requested = async () => {
    const rows = await store.db.selectFrom('refresh').select('order_id').execute();
    return rows.map(({ order_id }) => order_id);
  };
  return { clock, store, changed, open, send, requested };
}

describe('orders that are shown later than their events', () => {
  it('are all read and decided, however many are late at once, and nothing is kept', async () => {
    const { reference, db, openIncidents } = await startLagging('2s');
    placeOrders(reference, 12);
    const { orders, deliveries } = reference.world.book;
    const decided = await until('all decisions', async () => {
      const rows = await db.selectFrom('evaluation').select('order_delivery_id').execute();
      const waiting = await db.selectFrom('refresh').select('order_id').execute();
      return rows.length === 12 && waiting.length === 0 ? rows : undefined;
    });
    expect(decided).toHaveLength(deliveries.all.length);
    const mirrored = await db.selectFrom('sales_order').select('order_id').execute();
    expect(mirrored).toHaveLength(orders.all.length);
    expect(await openIncidents()).toEqual([]);
    expect(await db.selectFrom('announced').selectAll().execute()).toEqual([]);
  });

  it('are taken out of the incident that told of them, which ends with the last', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const keys = await openSystemKeys(store, clock, () => undefined);
    const unknown = createUnknownOrders(store, clock, keys);
    const event = { systemKey: 'ours' };
    const incident = async () =>
      JSON.parse((await openDetail(store.db, { ...ORDERS_UNKNOWN, key: 'ours' })) ?? 'null');
    const tell = (orderId: number) => unknown.tell({ orderId, error: notFound(), event });
    expect([await tell(7), await tell(8), await tell(8)]).toEqual([true, false, false]);
    expect(await incident()).toMatchObject({ count: 2, orders: [7, 8] });
    const found = (id: number) => store.transaction((tx) => unknown.found(tx, id));
    await found(7);
    await found(9);
    expect(await incident()).toMatchObject({ count: 1, orders: [8] });
    await found(8);
    expect(await incident()).toBeNull();
  });
});

describe('events of orders that are never there', () => {
  it('lead to one request each but for the first, and to one incident', async () => {
    const { clock, reference, openIncidents } = await startLagging('0s');
    const publish = (orderId: number) => {
      const salesOrder = { orderId, reference: `N-${orderId}` };
      const references = { systemKey: 'neighbour' };
      reference.relay.publish('sales_order.order_created', { salesOrder }, references);
    };
    reference.edge.journal.clear();
    for (let minute = 0; minute < 6; minute += 1) {
      for (let nth = 0; nth < 4; nth += 1) publish(7_000_000 + minute * 4 + nth);
      await clock.sleep(60_000);
    }
    const missed = reference.edge.journal.list({ status: 404 });
    const READS_OF_FIRST = 7;
    expect(missed.length).toBeLessThan(24 + READS_OF_FIRST);
    const twice = Map.groupBy(missed, ({ path }) => path).values();
    expect([...twice].filter((asked) => asked.length > 1)).toHaveLength(1);
    expect(await openIncidents()).toMatchObject([{ kind: 'orders_unknown', key: 'neighbour' }]);
  });

  it('are asked for again under a key of which an order was there', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const keys = await openSystemKeys(store, clock, () => undefined);
    const unknown = createUnknownOrders(store, clock, keys);
    const readsOf = async (orderId: number, systemKey: string | null) => {
      const event = { systemKey };
      for (let attempts = 0; ; attempts += 1) {
        const error = await unknown.judge({ orderId, attempts, error: notFound(), event });
        if (!(error instanceof RetryLaterError)) return attempts + 1;
      }
    };
    const [long, first, short] = [10, 7, 1];
    expect(await readsOf(1, 'theirs')).toBe(first);
    for (const orderId of [2, 3, 4]) expect(await readsOf(orderId, 'theirs')).toBe(short);
    // As long as no event of ours has a key, those without may be ours.
    expect(await readsOf(5, null)).toBe(long);
    await keys.note('ours', true);
    expect(await readsOf(7, 'ours')).toBe(long);
    await keys.note('ours', true);
    for (let orderId = 10; orderId < 20; orderId += 1) {
      expect(await readsOf(orderId, 'ours')).toBe(long);
    }
    expect(keys.isForeign('theirs')).toBe(true);
    // Our events have a key, so those without are somebody else's.
    expect(await readsOf(6, null)).toBe(short);
  });

  it('wait for the first of their key, and are asked for when that one is there', async () => {
    const clock = manualClock();
    const store = await temporaryStore(clock);
    const keys = await openSystemKeys(store, clock, () => undefined);
    const unknown = createUnknownOrders(store, clock, keys);
    const event = { systemKey: 'new' };
    const judge = (orderId: number, attempts = 0) =>
      unknown.judge({ orderId, attempts, error: notFound(), event });
    const instead = (orderId: number, attempts = 1) =>
      unknown.insteadOf({ orderId, attempts, event });
    for (const orderId of [1, 2]) expect(await judge(orderId)).toBeInstanceOf(RetryLaterError);
    expect([instead(1), instead(2), instead(3, 0)]).toEqual([
      ...[undefined, expect.any(RetryLaterError), undefined],
    ]);
    await keys.note('new', true);
    await store.transaction((tx) => unknown.found(tx, 1));
    expect(instead(2)).toBeUndefined();
    const other = { systemKey: 'other' };
    await unknown.judge({ orderId: 4, attempts: 9, error: notFound(), event: other });
    const left = unknown.insteadOf({ orderId: 5, attempts: 1, event: other });
    expect(left).toMatchObject({ name: 'RefusedError', code: 'service.not_found' });
  });

  it('are one incident when they are replayed, too', async () => {
    const { store, open, send } = await startEventStore();
    const id = await send(await open(), 'theirs', 7);
    expect(await askingEvent(store.db, `replay:${id}`)).toMatchObject({ systemKey: 'theirs' });
    expect(await askingEvent(store.db, `sweep:${id}`)).toBeUndefined();
  });
});

describe('a system key that was taken for that of another account', () => {
  it('is tried every ten minutes, after a restart too, until an order is there', async () => {
    const { clock, store, changed, open, send, requested } = await startEventStore();
    const keys = await open();
    await keys.note('ours', true);
    await keys.note('ours', true);
    for (let nth = 0; nth < 3; nth += 1) await keys.note('renamed', false);
    await send(keys, 'renamed', 1);
    expect(await requested()).toEqual([]);
    await clock.advance(600_000);
    for (const orderId of [2, 3]) await send(keys, 'renamed', orderId);
    expect(await requested()).toEqual([2]);
    const again = await open();
    await clock.advance(600_000);
    await send(again, 'renamed', 4);
    expect(await requested()).toEqual([2, 4]);
    expect(changed).toEqual(['renamed true']);
    await again.note('renamed', true);
    await send(again, 'renamed', 5);
    expect(await requested()).toEqual([2, 4, 5]);
    expect(changed).toEqual(['renamed true', 'renamed false']);
    await again.note('renamed', true);
    expect(await readState(store.db, 'account_system_key')).toBe('renamed');
  });

  it('is ours again when an order without a reference is read', async () => {
    const { changed, open, send, requested } = await startEventStore();
    const keys = await open();
    for (let nth = 0; nth < 3; nth += 1) await keys.note('plain', false);
    expect(keys.mayBeLate('plain')).toBe('no');
    await keys.acquit('plain');
    expect(keys.mayBeLate('plain')).toBe('yes');
    await send(keys, 'plain', 1);
    expect([await requested(), changed]).toEqual([[1], []]);
  });

  it('makes room for a new key, so that fifty strangers do not hide ours', async () => {
    const { clock, open } = await startEventStore();
    const keys = await open();
    for (let nth = 0; nth < 60; nth += 1) {
      await keys.note(`stranger ${nth}`, false);
      await clock.advance(1_000);
    }
    for (let nth = 0; nth < 2; nth += 1) await keys.note('ours', true);
    for (let nth = 0; nth < 3; nth += 1) await keys.note('theirs', false);
    expect(keys.isForeign('theirs')).toBe(true);
  });
});
