/** The book of open orders: which of them are active, and whose turn it is. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { oldestLookAt, spentWith } from '../../src/mirror/order-book.ts';
import { noteDetailsRead, writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { createOrderLooks } from '../../src/sync/order-looks.ts';
import { denseFrom, openBook, ordersInTurn } from '../../src/sync/streams/order-book.ts';
import { temporaryStore } from '../support/store.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2026-03-10T12:00:00Z');
const LONG_AGO = NOW - 200 * DAY;

interface OrderWish {
  readonly season?: string;
  readonly window?: string;
  readonly fulfilled?: number | null;
  readonly createdAt?: number;
}

/** A mirror of orders that were looked at since they last changed, long ago. */
async function createBookFixture() {
  const store = await temporaryStore();
  const from = { source: 'run:1', readSeq: 1, at: LONG_AGO };
  const order = async (orderId: number, wish: OrderWish = {}): Promise<void> => {
    const { season, window, fulfilled = 0, createdAt = LONG_AGO } = wish;
    const line = {
      ...{ barcode: '1', quantity: 2, fulfilledQuantity: fulfilled },
      ...(season === undefined ? {} : { season, delivery: window }),
    };
    const head = { orderId, status: 'pending', createdAt: new Date(createdAt).toISOString() };
    await store.transaction(async (tx) => {
      await writeOrders(tx, [{ ...head, orderLineItems: [line] }], from);
      await noteDetailsRead(tx, orderId, LONG_AGO + 1);
    });
  };
  const delivery = (orderId: number, status: string, changedAt = LONG_AGO): Promise<void> =>
    store.transaction(async (tx) => {
      const head = { orderDeliveryId: orderId, orderId, status };
      const packed = { ...head, fulfilledLineItems: [{ barcode: '1', fulfilledQuantity: 1 }] };
      await writeDeliveries(tx, [packed], { ...from, at: changedAt });
    });
  const window = async (season: string, name: string, day: string, last: string): Promise<void> => {
    const days = { from_day: day, to_day: last };
    const row = { season_name: season, delivery_name: name, ...days };
    await store.db.insertInto('season_window').values(row).execute();
  };
  const active = async (): Promise<number[]> => {
    const found: number[] = [];
    for await (const slice of openBook(store.db, NOW)) {
      found.push(...slice.filter(({ isActive }) => isActive).map(({ orderId }) => orderId));
    }
    return found;
  };
  return { store, order, delivery, window, active };
}

describe('an open order', () => {
  it('is active from a week before its delivery window until a month after it', async () => {
    const book = await createBookFixture();
    await book.window('AW26', 'July', '2026-07-01', '2026-07-31');
    await book.window('SS26', 'March', '2026-03-17', '2026-03-31');
    await book.window('SS26', 'January', '2026-01-05', '2026-02-09');
    await book.window('SS26', 'December', '2025-12-01', '2025-12-24');
    await book.window('FW25', '', '2026-03-01', '2026-03-31');
    await book.order(1, { season: 'AW26', window: 'July' });
    await book.order(2, { season: 'SS26', window: 'March' });
    await book.order(3, { season: ' SS26 ', window: 'January ' });
    await book.order(4, { season: 'SS26', window: 'December' });
    await book.order(5, { season: 'FW25', window: 'any of the season' });
    await book.order(6, { season: 'SS26', window: 'nobody knows' });
    // Of the window that is near, nothing is wanted any more.
    await book.order(7, { season: 'SS26', window: 'March', fulfilled: 2 });
    await book.order(8, { season: 'SS26', window: 'March', fulfilled: null });
    expect(await book.active()).toEqual([2, 3, 5, 8]);
  });

  it('is active while its window, of which nobody knows the days, is being packed', async () => {
    const book = await createBookFixture();
    await book.window('SS26', 'B', '2026-09-01', '2026-09-30');
    await book.order(1, { season: 'SS26', window: 'A' });
    await book.order(2, { season: 'SS26', window: 'B' });
    await book.order(3, { season: 'SS26', window: 'C' });
    const pack = async (window: string, ...ids: readonly number[]): Promise<void> => {
      for (const id of ids) {
        await book.order(id, { season: 'SS26', window, fulfilled: 2 });
        await book.delivery(id, 'rejected', NOW - 20 * DAY);
      }
    };
    await pack('A', 11, 12);
    // A window whose days are known is not near because some of it is packed early.
    await pack('B', 21, 22, 23);
    await pack('C', 31);
    expect(await book.active()).toEqual([]);
    await pack('A', 13);
    expect(await book.active()).toEqual([1]);
  });

  it('is active while a delivery waits, may ship soon, or has changed lately', async () => {
    const book = await createBookFixture();
    for (const id of [1, 2, 3, 4, 5, 6]) await book.order(id);
    await book.delivery(1, 'pending');
    await book.delivery(2, 'accepted', NOW - 13 * DAY);
    await book.delivery(3, 'accepted', NOW - 15 * DAY);
    await book.delivery(4, 'rejected', NOW - DAY);
    await book.delivery(5, 'rejected', NOW - 3 * DAY);
    // A status that nobody knows may be one that waits.
    await book.delivery(6, 'parked');
    expect(await book.active()).toEqual([1, 2, 4, 6]);
  });

  it('without a season is active for a month after it was made or has changed', async () => {
    const book = await createBookFixture();
    await book.order(1);
    await book.order(2, { createdAt: NOW - 29 * DAY });
    // An order that was imported today may be years old.
    await sql`update sales_order set first_seen_at = ${NOW}, changed_at = ${NOW},
      details_read_at = ${NOW}`.execute(book.store.db);
    expect(await book.active()).toEqual([2]);
  });

  it('is active when its row has changed since the look, or nobody has looked yet', async () => {
    const book = await createBookFixture();
    for (const id of [1, 2, 3, 4]) await book.order(id);
    const set = book.store.db.updateTable('sales_order');
    await set
      .set({ changed_at: LONG_AGO + 2 })
      .where('order_id', '=', 1)
      .execute();
    await set.set({ details_read_at: null }).where('order_id', '=', 2).execute();
    // It was looked at before the clock was set back.
    await set
      .set({ details_read_at: NOW + DAY })
      .where('order_id', '=', 3)
      .execute();
    expect(await book.active()).toEqual([1, 2, 3]);
  });
});

describe('the rotation', () => {
  it('reads each open order within its time, in equal parts, and closed ones never', async () => {
    const { store } = await createBookFixture();
    await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
      insert into sales_order (order_id, status, completed, shipping_address, extra, content_hash,
        first_seen_at, changed_at, read_seq, source)
      select i, iif(i % 10 = 1, 'canceled', 'pending'), i % 10 = 2, '{}', '{}', '',
        ${NOW}, ${NOW}, 1, 'run:1' from n`.execute(store.db);
    const step = 20 * 60_000;
    const parts: number[] = [];
    let oldestMs = 0;
    for (let now = NOW + step; now <= NOW + 2 * DAY; now += step) {
      const turn = { elapsedMs: step, ageMsMax: DAY, since: now, before: now };
      const orders = await ordersInTurn(store.db, turn);
      parts.push(orders.size);
      const ids = JSON.stringify([...orders]);
      await sql`update sales_order set whole_read_at = ${now}
        where order_id in (select value from json_each(${ids}))`.execute(store.db);
      oldestMs = Math.max(oldestMs, now - ((await oldestLookAt(store.db)) ?? 0));
    }
    // 800 open orders, 72 runs a day, and a tenth more, so that a late run does no harm.
    expect(new Set(parts)).toEqual(new Set([13]));
    expect(oldestMs).toBeLessThan(DAY);
    expect(oldestMs).toBeGreaterThan(DAY / 2);
  });

  it('does not take its part a second time in a run that goes on', async () => {
    const book = await createBookFixture();
    for (let id = 1; id <= 10; id += 1) await book.order(id);
    const turn = { elapsedMs: DAY / 2, ageMsMax: DAY, since: NOW, before: NOW };
    const first = [...(await ordersInTurn(book.store.db, turn))];
    expect(first).toEqual([1, 2, 3, 4, 5, 6]);
    await book.store.transaction(async (tx) => {
      for (const id of [1, 2, 3, 4]) await noteDetailsRead(tx, id, NOW + 1);
    });
    expect([...(await ordersInTurn(book.store.db, turn))]).toEqual([5, 6]);
  });
});

describe('the list of orders', () => {
  it('is walked down as far as every tenth order is active', async () => {
    const { store } = await createBookFixture();
    await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
      insert into sales_order (order_id, status, completed, shipping_address, extra, content_hash,
        first_seen_at, changed_at, read_seq, source)
      select i, 'pending', 0, '{}', '{}', '', 0, 0, 1, 'run:1' from n`.execute(store.db);
    const tenths = Array.from({ length: 100 }, (_, index) => 2_001 + index * 10);
    expect(await denseFrom(store.db, tenths)).toBe(2_001);
    // One forgotten order far below is read by itself.
    expect(await denseFrom(store.db, [3, ...tenths])).toBe(2_001);
    expect(await denseFrom(store.db, [3])).toBeNull();
    expect(await denseFrom(store.db, [])).toBeNull();
  });

  it('is proved by twenty orders that it shows as they are, until it shows one otherwise', () => {
    const looks = createOrderLooks(manualClock());
    const compare = (times: number, readSeq: number, isChanged = false): void => {
      for (let left = times; left > 0; left -= 1) looks.compared(readSeq, isChanged);
    };
    compare(20, 5);
    expect(looks.isListProved()).toBe(false);
    looks.walked(7);
    // The walk has not shown these.
    compare(20, 6);
    compare(19, 7);
    expect(looks.isListProved()).toBe(false);
    compare(1, 8);
    expect(looks.isListProved()).toBe(true);
    compare(1, 7, true);
    compare(19, 7);
    expect(looks.isListProved()).toBe(false);
  });
});

it('requests of sweeps are kept by the hour, for a day', () => {
  const hour = 3_600_000;
  const now = 100 * hour + 5;
  const before = [
    { hour: 76 * hour, requests: 1, ms: hour },
    { hour: 77 * hour, requests: 2, ms: hour },
    // Of a clock that was set back since.
    { hour: 101 * hour, requests: 4, ms: hour },
  ];
  const [, kept] = before;
  const once = spentWith(before, { requests: 8, ms: 10 }, now);
  expect(once).toEqual([kept, { hour: 100 * hour, requests: 8, ms: 10 }]);
  expect(spentWith(once, { requests: 2, ms: 5 }, now + 5)).toEqual([
    kept,
    { hour: 100 * hour, requests: 10, ms: 15 },
  ]);
  expect(spentWith(once, undefined, now)).toEqual(once);
});
