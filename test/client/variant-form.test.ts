import { describe, expect, it } from 'vitest';
import { variantReader } from '../../src/client/v1/variant-form.ts';
import { variantRowsReader } from '../../src/client/v1/variant-rows.ts';

const FLAT = {
  barcode: 5_701_234_567_890,
  quantity: '12',
  styleNo: 4711,
  size: 36,
  price: '399.95',
  currency: 'SEK',
  b2bHidden: '0',
  tags: [],
  wspPrice: '160.00',
  shelf: 'B4',
};

describe('a variant whose details stand beside its barcode', () => {
  it('is read as one of a later level, whatever the kinds of its values', () => {
    const read = variantReader([]);
    for (const details of [undefined, null, [], {}, '']) {
      const found = read({ ...FLAT, ...(details === undefined ? {} : { details }) });
      expect(found).toMatchObject({
        value: {
          ...{ barcode: '5701234567890', quantity: 12, wspPrice: 160, shelf: 'B4' },
          details: {
            ...{ styleNo: '4711', size: '36', price: 399.95, currency: 'SEK' },
            ...{ b2bHidden: false, tags: [], wspPrice: 160 },
          },
        },
      });
    }
  });

  it('keeps what cannot be read of them where a later level has it', () => {
    const found = variantReader([])({ ...FLAT, price: { amount: 399.95 } });
    expect(found).toMatchObject({ value: { details: { size: '36' } } });
  });

  it('is left alone when it has details, or nothing that could be of them', () => {
    const read = variantReader([]);
    const own = { barcode: '1', quantity: 2, size: 'L', details: { size: 'M' } };
    expect(read(own)).toEqual({ value: own });
    const bare = { barcode: '1', quantity: 2, shelf: 'B4' };
    expect(read(bare)).toEqual({ value: bare });
  });
});

describe('members that the account names otherwise', () => {
  const names = [
    { of: 'details', ours: 'styleName', theirs: 'style_name' },
    { of: 'variant', ours: 'quantity', theirs: 'qty' },
    { of: 'variant', ours: 'details', theirs: 'product' },
  ] as const;
  const OWN = { barcode: '1', quantity: 4, details: { size: 'M', styleName: 'Ylva' } };

  it('have the names of the contract, also where the details stand beside the barcode', () => {
    const read = variantReader(names);
    const nested = { barcode: '1', qty: 4, product: { size: 'M', style_name: 'Ylva' } };
    const flat = { barcode: '1', qty: 4, size: 'M', style_name: 'Ylva' };
    expect([read(nested), read(flat)]).toEqual([{ value: OWN }, { value: OWN }]);
  });

  it('may have each other’s names', () => {
    const swapped = variantReader([
      { of: 'details', ours: 'styleNo', theirs: 'styleName' },
      { of: 'details', ours: 'styleName', theirs: 'styleNo' },
    ]);
    const details = { styleNo: 'Ylva', styleName: '77-1' };
    expect(swapped({ barcode: '1', quantity: 4, details })).toMatchObject({
      value: { details: { styleNo: '77-1', styleName: 'Ylva' } },
    });
  });

  it('are found in every row of a list, of which most repeat the one before', () => {
    const read = variantRowsReader(names)();
    const row = (barcode: string, qty: number) =>
      `{"barcode":"${barcode}","qty":${qty},"size":"M","style_name":"Ylva"}`;
    const { rows, rejects } = read(Buffer.from(`${row('1', 4)},${row('2', 7)}`));
    expect(rejects).toEqual([]);
    expect(rows).toEqual([{ variant: OWN }, { variant: { ...OWN, barcode: '2', quantity: 7 } }]);
    const others = variantRowsReader([{ of: 'details', ours: 'wash', theirs: 'care' }])();
    const washed = (size: string) =>
      `{"barcode":"${size}1","quantity":4,"details":{"size":"${size}","care":"30°"}}`;
    expect(others(Buffer.from(`${washed('M')},${washed('L')}`)).rows).toEqual([
      { variant: { barcode: 'M1', quantity: 4, details: { size: 'M', wash: '30°' } } },
      { repeat: { barcode: 'L1', quantity: 4, size: 'L' } },
    ]);
  });
});
