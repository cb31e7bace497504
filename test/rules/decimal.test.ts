import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addExact,
  CurrencyError,
  compareExact,
  Decimal,
  formatExact,
  Money,
  multiplyExact,
  parseDecimal,
} from '../../src/rules/cel/decimal.ts';
import { completeFacts, percentDifference } from '../../src/rules/facts/build.ts';
import { factsOfTest, typicalFacts } from '../../src/rules/facts/typical.ts';
import { complaints, decide, ruleText } from './support.ts';

const cents = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
const dkk = (units: bigint): Money => new Money(units, 2, 'DKK');

describe('exact decimals', () => {
  it('add, subtract and multiply like whole numbers of their units', () => {
    fc.assert(
      fc.property(cents, cents, (a, b) => {
        expect(addExact(dkk(a), dkk(b), 1n)).toMatchObject({ units: a + b, places: 2 });
        expect(addExact(dkk(a), dkk(b), -1n)).toMatchObject({ units: a - b, places: 2 });
        expect(Math.sign(compareExact(dkk(a), dkk(b)))).toBe(Number(a > b) - Number(a < b));
        expect(compareExact(multiplyExact(dkk(a), b), new Decimal(a * b, 2))).toBe(0);
      }),
    );
  });

  it('take a number in a condition for what is written, not for its binary neighbour', () => {
    expect(compareExact(addExact(new Decimal(1n, 1), new Decimal(2n, 1), 1n), 0.3)).toBe(0);
    expect(compareExact(new Decimal(2n, 0), 2.0000001)).toBe(-1);
    expect(compareExact(dkk(3_000_001n), 30_000.01)).toBe(0);
    expect(compareExact(dkk(110n), 1.1)).toBe(0);
    expect(compareExact(1e21, new Decimal(10n ** 21n, 0))).toBe(0);
    expect(compareExact(1e100, new Decimal(10n ** 21n, 0))).toBe(1);
    expect(compareExact(1e-100, new Decimal(0n, 0))).toBe(1);
  });

  it('come back from their text', () => {
    fc.assert(
      fc.property(cents, fc.integer({ min: 0, max: 8 }), (units, places) => {
        const text = formatExact(new Decimal(units, places));
        const parsed = parseDecimal(text);
        expect(parsed && compareExact(parsed, new Decimal(units, places))).toBe(0);
      }),
    );
    expect(formatExact(dkk(-5n), 2)).toBe('-0.05');
    expect(formatExact(new Decimal(25000n, 4))).toBe('2.5');
    expect(formatExact(new Decimal(2n, 0), 2)).toBe('2.00');
    expect(parseDecimal('1,5')).toBeUndefined();
  });

  it('refuse to compare or add two currencies', () => {
    const euro = new Money(1n, 2, 'EUR');
    expect(() => compareExact(dkk(1n), euro)).toThrow(CurrencyError);
    expect(() => addExact(dkk(1n), euro, 1n)).toThrow(CurrencyError);
    expect(addExact(dkk(1n), 1n, 1n)).toMatchObject({ currency: 'DKK', units: 101n });
  });
});

describe('a condition on amounts, percentages or ages', () => {
  const value = (condition: string, currency = 'DKK') => {
    const pinned = [`order.currency == "${currency}"`, `'${condition}'`];
    return decide(ruleText(pinned, '', 'hold'), { order: { currency } }).rules[0]?.value;
  };

  it.each([
    'delivery.amount >= 2000 && delivery.amount <= 2000.0 && delivery.amount == 2000',
    '2000 >= delivery.amount && 2000.0 <= delivery.amount && 2000.0 == delivery.amount',
    '1999.99 < delivery.amount && 2000.01 > delivery.amount && delivery.amount != 2000.01',
    'delivery.amount >= order.amount && delivery.amount <= order.amount',
    'delivery.amount + 0.5 == 2000.5 && 5 + delivery.amount == 2005',
    'delivery.amount - 5 == 1995 && 2000.5 - delivery.amount == 0.5',
    '0.5 * delivery.amount == 1000 && delivery.amount * 2 == 4000',
    'delivery.lines.all(line, 0 <= line.price_diff_pct && line.price_diff_pct < 0.1)',
    'delivery.lines.all(line, 0.1 > line.price_diff_pct && line.price_diff_pct >= 0)',
    'delivery.age == minutes(60) && delivery.age == hours(1) && order.age == days(2)',
  ])('is the same both ways round, and exact: %s', (condition) => {
    expect(value(condition)).toBe(true);
  });

  it.each([
    'delivery.amount < 2000 || delivery.amount > 2000 || delivery.amount != 2000',
    '2000 < delivery.amount || 2000 > delivery.amount',
    'delivery.lines.exists(line, line.price_diff_pct > 0 || line.price_diff_pct < 0)',
  ])('is false at its very boundary: %s', (condition) => {
    expect(value(condition)).toBe(false);
  });

  it('keeps the currency of what it adds', () => {
    expect(value('5 + order.amount < customer.credit.limit')).toBe(true);
    expect(value('5 + order.amount < customer.credit.limit', 'EUR')).toBe('unknown');
    expect(value('0.5 * order.amount < customer.credit.limit', 'EUR')).toBe('unknown');
    expect(complaints(['order.amount * order.amount > delivery.amount'])).toHaveLength(1);
  });
});

describe('the difference of two prices', () => {
  it('is exact where it ends, and never looks smaller than it is', () => {
    expect(percentDifference(102, 100)).toBe('2.0000');
    expect(percentDifference(98, 100)).toBe('2.0000');
    expect(percentDifference(4, 3)).toBe('33.3334');
    expect(percentDifference(5, 5)).toBe('0');
    expect(percentDifference(0, 0)).toBe('0');
    expect(percentDifference(1, 0)).toBeUndefined();
    expect(percentDifference(null, 100)).toBeUndefined();
    const price = fc.integer({ min: 1, max: 10_000_000 });
    fc.assert(
      fc.property(price, price, fc.integer({ min: 0, max: 300 }), (a, b, limit) => {
        const above = BigInt(Math.abs(a - b)) * 100n > BigInt(limit) * BigInt(b);
        const shown = parseDecimal(percentDifference(a, b) ?? '') ?? new Decimal(0n, 0);
        expect(compareExact(shown, BigInt(limit)) > 0).toBe(above);
      }),
    );
  });
});

describe('derived facts', () => {
  it('are computed where they are left out, and kept where they are given', () => {
    const facts = completeFacts(typicalFacts());
    expect(facts.delivery).toMatchObject({ quantity: 10, amount: 2000_0000, currency: 'DKK' });
    expect(facts.delivery.lines[0]).toMatchObject({ missing: 0, price_diff_pct: '0' });
    expect(facts.customer?.credit).toMatchObject({ headroom: 80_000_0000, age: 5 * 3_600_000 });
    expect(completeFacts(facts)).toEqual(facts);
    const given = { ...facts, delivery: { ...facts.delivery, quantity: 3 } };
    expect(completeFacts(given).delivery.quantity).toBe(3);
  });

  it('leave out what was reserved since, and are unknown where that is', () => {
    const headroom = (reserved: number | null) =>
      factsOfTest({ customer: { credit: { reserved } } }).customer?.credit?.headroom;
    expect([headroom(0), headroom(1.25), headroom(null)]).toEqual([80_000_0000, 79_998_7500, null]);
  });

  it('are never negative where they are ages or pieces', () => {
    const then = '2020-01-01T00:00:00Z';
    const facts = factsOfTest({ clock: { now: then }, delivery: { lines: [{ stock_free: 6 }] } });
    expect([facts.delivery.age, facts.order.age, facts.customer?.credit?.age]).toEqual([0, 0, 0]);
    expect(facts.delivery.lines[0]?.missing).toBe(0);
    const unknown = factsOfTest({ delivery: { lines: [{ stock_free: null }] } });
    expect(unknown.delivery.lines[0]?.missing).toBeNull();
  });

  it('compare a price with the ordered one and with the listed one', () => {
    const lines = [{ price: 110, order_price: 100, list_price: 88 }];
    expect(factsOfTest({ delivery: { lines } }).delivery.lines[0]).toMatchObject({
      price_diff_pct: '10.0000',
      list_price_diff_pct: '25.0000',
    });
  });

  it('stay unknown where a price is unknown', () => {
    const facts = typicalFacts();
    const lines = [{ ...facts.delivery.lines[0], barcode: 'x', quantity: 1, price: null }];
    const complete = completeFacts({ ...facts, delivery: { ...facts.delivery, lines } });
    expect(complete.delivery.amount).toBeNull();
    expect(complete.delivery.lines[0]?.price_diff_pct).toBeNull();
  });
});
