import { describe, expect, it } from 'vitest';
import { farPrice, farPrices, type PricedLine } from '../../../src/outbox/preflight/far-price.ts';

const LISTED = [
  { units: 24_9500, currency: 'EUR' },
  { units: 100_0000, currency: 'EUR' },
  { units: 1_0000, currency: 'DKK' },
];

function told(price: string, more: Partial<PricedLine> = {}, factor: number | null = 10) {
  const line = { index: 2, barcode: 'b-1', currency: 'EUR', price, ...more };
  const listed = line.barcode === 'round' ? [{ units: 100_0000, currency: 'EUR' }] : LISTED;
  return farPrice(line, listed, factor)?.message;
}

describe('a price far from the list price', () => {
  it('is refused with line, price, list price and factor, and how it is confirmed', () => {
    expect(told('2495.00')).toBe(
      '2495.00 EUR in line 3 is more than 10 times the list price of b-1, 100.00 EUR ' +
        '(intake.priceFactor: 10): correct it or, if it is meant, submit the document again with ' +
        '"priceConfirmed": true in this line',
    );
    expect(told('0.25')).toMatch(
      /^0\.25 EUR in line 3 is less than 1\/10 of the list price of b-1/,
    );
  });

  it.each([
    ['at the factor of any list price', '1000.00', {}, 10],
    ['at the factor below any list price', '2.495', {}, 10],
    ['of goods that are free', '0.00', {}, 10],
    ['in a currency without a list price', '9999.00', { currency: 'SEK' }, 10],
    ['in no currency that is known', '9999.00', { currency: null }, 10],
    ['where none is compared', '9999.00', {}, null],
    ['that is confirmed', '9999.00', { priceConfirmed: true }, 10],
    ['of a reduction, which may be small', '0.25', { isReduction: true }, 10],
    ['of a line that has none', '0', { price: undefined }, 10],
  ] as const)('is taken %s', (_, price, more, factor) => {
    expect(told(price, more, factor)).toBeUndefined();
  });

  it.each([
    ['just above the factor', '1000.01', {}, 10],
    ['just below it', '2.4949', {}, 10],
    ['with a confirmation that says no', '9999.00', { priceConfirmed: false }, 10],
    ['of a reduction that is too large', '9999.00', { isReduction: true }, 10],
    ['in the currency of another list', '10.01', { currency: 'DKK' }, 10],
    ['by a smaller factor', '151.00', {}, 1.5],
    ['that is one unit by a mistake of scale', '1.00', { barcode: 'round' }, 10],
  ] as const)('is refused %s', (_, price, more, factor) => {
    expect(told(price, more, factor)).toBeDefined();
  });

  it('is told, and goes, where it is one unit of the currency: a symbolic price', () => {
    const line = { index: 0, barcode: 'b-1', currency: 'EUR', price: '1.00' };
    expect(farPrice(line, LISTED, 10)).toEqual({
      path: 'lines[0].price',
      message:
        '1.00 EUR in line 1 is taken for a symbolic price: the list price of b-1 is 24.95 EUR',
      severity: 'warning',
    });
  });

  it('is told a hundred times, and then counted', () => {
    const far = farPrice({ index: 0, barcode: 'b', currency: 'EUR', price: '9999' }, LISTED, 10);
    const found = farPrices([undefined, ...Array.from({ length: 150 }, () => far)]);
    expect(found).toHaveLength(101);
    expect(found.at(-1)).toMatchObject({ path: 'lines', severity: 'error' });
    expect(found.at(-1)?.message).toMatch(/^and 50 more prices/);
    const symbolic = farPrice({ index: 0, barcode: 'b', currency: 'EUR', price: '1' }, LISTED, 10);
    const warned = farPrices(Array.from({ length: 150 }, () => symbolic));
    expect(warned.every(({ severity }) => severity === 'warning')).toBe(true);
  });
});
