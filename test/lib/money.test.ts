import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  amountUnits,
  currencyDecimals,
  decimalOf,
  formatAmount,
  formatDecimal,
  sumOfUnits,
  worthOf,
} from '../../src/lib/money.ts';

const UNITS = fc.integer({ min: -1e15, max: 1e15 });

describe('an amount', () => {
  it('is exact to four decimals', () => {
    const amounts = [1.005, -1.005, 0.29, 19.99, 4.4449, 12.345, 0.0001, 999_999_999.9999];
    expect(amounts.map(amountUnits)).toEqual([
      ...[10_050, -10_050, 2_900, 199_900, 44_449, 123_450, 1, 9_999_999_999_999],
    ]);
    expect([amountUnits(-0), amountUnits(null), amountUnits(undefined)]).toEqual([0, null, null]);
  });

  it('is unknown where it has more decimals, or is beyond what integers hold', () => {
    const odd = [1.00005, 12.34567, 0.00001, 900_719_925_475, -1e300, Number.NaN, Infinity];
    expect(odd.map(amountUnits)).toEqual(odd.map(() => null));
  });

  it('is what binary arithmetic has left of it', () => {
    expect([0.1 + 0.2, 6.1 * 3, 1.1 * 1.1, 4.35 * 100].map(amountUnits)).toEqual([
      ...[3_000, 183_000, 12_100, 4_350_000],
    ]);
  });

  it('comes back from the wire and from people as it was', () => {
    fc.assert(
      fc.property(UNITS, (units) => {
        expect(amountUnits(JSON.parse(JSON.stringify(decimalOf(units))))).toBe(units);
        expect(amountUnits(Number(formatAmount(units)))).toBe(units);
      }),
    );
  });
});

describe('a sum', () => {
  it('is exact, or unknown', () => {
    expect(worthOf([{ price: 44_449, quantity: 450 }])).toBe(20_002_050);
    expect(
      worthOf([
        { price: 44_449, quantity: 450 },
        { price: null, quantity: 1 },
      ]),
    ).toBeNull();
    expect([worthOf([]), sumOfUnits([1, null]), sumOfUnits([1, undefined])]).toEqual([
      0,
      null,
      null,
    ]);
    const most = Number.MAX_SAFE_INTEGER;
    expect([sumOfUnits([most, 0]), sumOfUnits([most, 1]), sumOfUnits([most, 2, -2])]).toEqual([
      ...[most, null, null],
    ]);
    expect(
      worthOf([
        { price: most, quantity: 2 },
        { price: -most, quantity: 1 },
      ]),
    ).toBeNull();
  });
});

describe('what people see of an amount', () => {
  it('has the decimals of the currency, and more only where it has more', () => {
    expect([5_00, -5_00, 0, 1234_5000].map((units) => formatAmount(units))).toEqual([
      ...['0.05', '-0.05', '0.00', '1234.50'],
    ]);
    const shown = ['EUR', 'JPY', 'KWD', 'CLF', 'jpy ', 'XDR', null, undefined];
    expect(shown.map((currency) => formatAmount(1234_5000, currency))).toEqual([
      ...['1234.50', '1234.5', '1234.500', '1234.5000', '1234.5', '1234.50', '1234.50', '1234.50'],
    ]);
    expect([formatAmount(1000_0000, 'JPY'), formatAmount(4_4449, 'JPY')]).toEqual([
      '1000',
      '4.4449',
    ]);
    expect([formatAmount(4_4449, 'EUR'), formatAmount(-1, 'KWD')]).toEqual(['4.4449', '-0.0001']);
    expect([formatDecimal(12.345, 'KWD'), formatDecimal(12, 'EUR')]).toEqual(['12.345', '12.00']);
  });

  it('goes by ISO 4217', () => {
    const codes = ['JPY', 'KRW', 'VND', 'ISK', 'KWD', 'TND', 'BHD', 'DKK', 'USD', ''];
    expect(codes.map(currencyDecimals)).toEqual([0, 0, 0, 0, 3, 3, 3, 2, 2, 2]);
  });
});
