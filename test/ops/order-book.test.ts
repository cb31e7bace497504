/** What is told of the book of open orders: in the status, its check, the doctor and metrics. */
import { expect, it } from 'vitest';
import { checkOpenOrders } from '../../src/daemon/doctor/database.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { writeBook } from '../../src/mirror/order-book.ts';
import { noteDetailsRead, writeOrders } from '../../src/mirror/sales-order.ts';
import {
  type BookStatus,
  describeBook,
  limitOf,
  overdueLooks,
  readBookStatus,
} from '../../src/ops/order-book.ts';
import { startTestReference, testConfig, without } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const BOOK: BookStatus = {
  ...{ active: 1_480, calm: 28_520, activeAgeMs: 12 * MINUTE + 5, calmAgeMs: 21.5 * HOUR },
  ...{ requestsPerSecond: 2.2, activeRequests: 1_600, roundRequests: 61_000 },
};

it('tells how old the looks are, and what the sweeps have taken since', async () => {
  const clock = manualClock(100 * HOUR);
  const store = await temporaryStore(clock);
  expect(await readBookStatus(store.db, clock.now())).toBeNull();
  const head = { status: 'pending', orderLineItems: [] };
  const orders = [1, 2].map((orderId) => ({ orderId, ...head }));
  await store.transaction(async (tx) => {
    await writeOrders(tx, orders, { source: 'run:1', readSeq: 1, at: 80 * HOUR });
    await noteDetailsRead(tx, 2, 90 * HOUR);
  });
  const spent = [
    { hour: 98 * HOUR, requests: 100, ms: HOUR },
    { hour: 99 * HOUR, requests: 260, ms: HOUR },
  ];
  const book = {
    ...{ startedAt: 99 * HOUR, active: 1, calm: 1, activeLookedAt: 99 * HOUR, denseFrom: null },
    ...{ activeRequests: 2, roundRequests: 4, spent },
  };
  await writeBook(store.db, book, clock);
  expect(await readBookStatus(store.db, clock.now())).toEqual({
    ...{ active: 1, calm: 1, activeAgeMs: HOUR, calmAgeMs: 20 * HOUR },
    ...{ requestsPerSecond: 0.05, activeRequests: 2, roundRequests: 4 },
  });
});

it('is one line of the status', () => {
  expect(describeBook(BOOK, 20)).toBe(
    '1480 active, the oldest look 12m ago; 28520 calm, the oldest look 21h 30m ago; ' +
      'sweeps take 11 % of 20/s',
  );
  const none = { ...BOOK, active: 0, calm: 0, activeAgeMs: null, calmAgeMs: null };
  expect(describeBook({ ...none, requestsPerSecond: null }, 20)).toBe('none active');
  // An order that could not be read.
  expect(describeBook({ ...none, active: 1 }, undefined)).toBe('1 active, one never read');
});

it('is late for the check of the status once a look is older than the setting', async () => {
  const config = testConfig(await startTestReference());
  const late = (calmAgeMs: number, one = config) => overdueLooks({ ...BOOK, calmAgeMs }, one);
  expect(late(24 * HOUR)).toBeUndefined();
  expect(late(25 * HOUR)).toBe(
    'the oldest look at an open order was 1d 1h ago (streams.orders.calmFreshness: 1d)',
  );
  expect(overdueLooks(null, config)).toBeUndefined();
  const off = testConfig(await startTestReference(), { overrides: [without('orders')] });
  expect(late(25 * HOUR, off)).toBeUndefined();
});

it('is more than the limit can carry, for the doctor', async () => {
  const config = testConfig(await startTestReference(), {
    overrides: [{ path: 'service.limits.requestsPerSecond', value: 20 }],
  });
  const now = 100 * HOUR;
  const check = (more: Partial<BookStatus>, perSecond = 20, at = now) => {
    const pace = { at, perSecond, perSecondMax: 20, busy: 1, waiting: 0 };
    const [found] = checkOpenOrders({ book: { ...BOOK, ...more }, pace, service: [] }, config, now);
    return found;
  };
  expect(check({})?.grade).toBe('ok');
  // 1,600 requests in 30 minutes and 61,000 in a day: 1.6 a second.
  expect(check({}, 3)?.grade).toBe('warning');
  const bad = check({}, 1.5);
  expect(bad).toMatchObject({ grade: 'failed', advice: expect.stringContaining('season_windows') });
  expect(bad?.text).toMatch(/^the limit cannot carry them: .* looks in time need 1\.6\/s$/);
  // The pace of a night long ago is none of today.
  expect(check({}, 1.5, now - 25 * HOUR)?.grade).toBe('ok');
  expect(check({ activeRequests: 45_000 })?.grade).toBe('failed');
  expect(check({ calmAgeMs: 30 * HOUR })?.grade).toBe('warning');
  expect(checkOpenOrders({ book: null, pace: null, service: [] }, config, now)).toEqual([]);
  expect(limitOf(config, null, now)).toBe(20);
});
