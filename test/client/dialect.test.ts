import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createInterpreter, statusReader } from '../../src/client/v1/schemas.ts';
import { asItCame, unreadIn } from '../../src/lib/reading/as-it-came.ts';
import { timeIn } from '../../src/lib/reading/wire-time.ts';

describe('a status', () => {
  it.each([
    ['delivery', 'Pending', 'pending'],
    ['delivery', ' ACCEPTED ', 'accepted'],
    ['delivery', 'Cancelled', 'canceled'],
    ['order', 'partially-fulfilled', 'partially_fulfilled'],
    ['order', 'Partially Fulfilled', 'partially_fulfilled'],
    ['order', 'partiallyFulfilled', 'partially_fulfilled'],
    ['pendingRefund', 'CONFIRMED', 'confirmed'],
    ['delivery', 'fulfilled', 'fulfilled'],
    ['delivery', 'On Hold', 'On Hold'],
  ] as const)('of a %s is read from %j as %j', (of, says, means) => {
    expect(statusReader(of, [])(says)).toBe(means);
  });

  it('is what the configuration says, before everything else, of that kind alone', () => {
    const words = [
      { of: 'delivery', says: 'awaiting_acceptance', means: 'pending' },
      { of: 'delivery', says: 'accepted', means: 'rejected' },
    ] as const;
    expect(statusReader('delivery', words)('Awaiting-Acceptance')).toBe('pending');
    expect(statusReader('delivery', words)('accepted')).toBe('rejected');
    expect(statusReader('refund', words)('awaiting_acceptance')).toBe('awaiting_acceptance');
  });
});

describe('a row in the words of the contract', () => {
  const row = { orderDeliveryId: 7, orderId: 5, status: 'PENDING', fulfilledLineItems: [] };
  const interpreter = createInterpreter({
    ...{ statuses: [], members: [], timeZone: 'Europe/Copenhagen' },
  });

  it('keeps its status as it came, and belongs to the order that was asked', () => {
    const own = interpreter.delivery(row, 5);
    expect(own).toMatchObject({ status: 'pending', orderId: 5 });
    expect([asItCame(own), unreadIn(own)]).toEqual([{ status: 'PENDING' }, []]);
    const other = interpreter.delivery({ ...row, status: 'pending' }, 6);
    expect(other).toMatchObject({ orderId: 6 });
    expect([asItCame(other), unreadIn(other)]).toEqual([{ orderId: 5 }, ['orderId']]);
  });

  it('has its time in UTC', () => {
    const local = interpreter.delivery({ ...row, createdAt: '2026-07-01 12:00:00' }, 5);
    expect(local.createdAt).toBe('2026-07-01T10:00:00.000Z');
    const zoned = interpreter.delivery({ ...row, createdAt: '2026-07-01T12:00:00+05:00' }, 5);
    expect(zoned.createdAt).toBe('2026-07-01T12:00:00+05:00');
    expect(interpreter.delivery({ ...row, createdAt: ['x'] }, 5).createdAt).toEqual(['x']);
  });
});

describe('a time without a zone', () => {
  const shown = (zone: string, value: unknown) => {
    const at = timeIn(zone)(value);
    return at === undefined ? undefined : new Date(at).toISOString();
  };

  it.each([
    ['Europe/Copenhagen', '2026-01-15 12:00:00', '2026-01-15T11:00:00.000Z'],
    ['Europe/Copenhagen', '2026-07-15T12:00:00', '2026-07-15T10:00:00.000Z'],
    ['America/New_York', '2026/07/15 12:00:00', '2026-07-15T16:00:00.000Z'],
    ['Asia/Kolkata', '2026-07-15 12:00', '2026-07-15T06:30:00.000Z'],
    ['Europe/Copenhagen', '2026-07-15', '2026-07-14T22:00:00.000Z'],
    // Clocks are put back: the first of two. They are put forward: the hour is not there.
    ['Europe/Copenhagen', '2026-10-25 02:30:00', '2026-10-25T00:30:00.000Z'],
    ['Europe/Copenhagen', '2026-03-29 02:30:00', '2026-03-29T01:30:00.000Z'],
    // These name theirs.
    ['Europe/Copenhagen', '2026-07-15T12:00:00Z', '2026-07-15T12:00:00.000Z'],
    ['Europe/Copenhagen', 'Wed, 15 Jul 2026 12:00:00 GMT', '2026-07-15T12:00:00.000Z'],
    ['Europe/Copenhagen', 1_784_116_800, '2026-07-15T12:00:00.000Z'],
    ['Europe/Copenhagen', '1784116800000', '2026-07-15T12:00:00.000Z'],
    ['UTC', '2026-07-15 12:00:00', '2026-07-15T12:00:00.000Z'],
    ['UTC', '2026-02-30 12:00:00', undefined],
    ['UTC', 'soon', undefined],
    ['UTC', 7, undefined],
  ])('of %s is %j at %s', (zone, value, at) => {
    expect(shown(zone, value)).toBe(at);
  });

  it('is read of an object of PHP, whose zone it has', () => {
    const php = (timezone: string) => ({
      ...{ date: '2026-07-15 12:00:00.000000', timezone_type: 3, timezone },
    });
    expect(shown('UTC', php('Europe/Copenhagen'))).toBe('2026-07-15T10:00:00.000Z');
    expect(shown('UTC', php('+05:00'))).toBe('2026-07-15T07:00:00.000Z');
    expect(shown('UTC', php('Mars/Olympus'))).toBeUndefined();
  });

  it('is what the clocks of the zone show at that moment', () => {
    const zones = ['Europe/London', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia'];
    const moment = fc.integer({ min: 1_600_000_000, max: 2_000_000_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), moment, (zone, seconds) => {
        const format = new Intl.DateTimeFormat('sv-SE', {
          ...{ timeZone: zone, dateStyle: 'short', timeStyle: 'medium' },
        });
        const at = timeIn(zone)(format.format(seconds * 1_000)) ?? 0;
        // An hour that comes twice is the first of them.
        expect(format.format(at)).toBe(format.format(seconds * 1_000));
        expect(at).toBeLessThanOrEqual(seconds * 1_000);
      }),
    );
  });
});
