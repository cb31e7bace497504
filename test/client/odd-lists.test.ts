/** Lists and values as accounts write them whose JSON was made of XML, or for people to read. */
import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import {
  createDecimals,
  type Decimals,
  learnFromRow,
  settle,
} from '../../src/client/tolerant/decimals.ts';
import { readAmount, readFlag, readItems, readWhole } from '../../src/client/tolerant/values.ts';
import { createV1Client } from '../../src/client/v1/client.ts';
import { variantSchema } from '../../src/client/v1/schemas.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { unreadIn } from '../../src/lib/reading/as-it-came.ts';
import { answerJson, envelope, impatient, startFaulty } from './support.ts';
import { readAll } from './v1-support.ts';

async function answeredWith(
  data: object,
  mode: 'stream' | 'pages' = 'stream',
  decimals?: Decimals,
) {
  const server = await startFaulty(({ url }, response) => {
    const isFirst = !/page=[02-9]/.test(url ?? '');
    answerJson(response, 200, envelope(200, isFirst ? data : { variants: [] }));
  });
  const transport = impatient();
  const variants = { ...VARIANT_LIST_DEFAULTS, mode, pageRows: 50 };
  const options = { baseUrl: server.url, variants, seasonParameter: 'seasonName' };
  const client = createV1Client(
    { ...options, idempotencyHeader: undefined },
    { sender: { ...transport, decimals } },
  );
  return {
    client,
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const LINE = { barcode: 'B', quantity: 2, price: 10 };
const ORDER = { orderId: 7, status: 'pending', orderLineItems: LINE };

describe('a list', () => {
  it.each([
    ['one object alone', ORDER, [7]],
    ['objects by their id', { 'SO-7': ORDER, 'SO-8': { ...ORDER, orderId: 8 } }, [7, 8]],
    ['objects by long numbers', { '57120000000071234': ORDER }, [7]],
    ['the list below the name of a row', { order: [ORDER, { ...ORDER, orderId: 8 }] }, [7, 8]],
    ['one object below the name of a row', { order: ORDER }, [7]],
  ])('is read that has %s', async (_name, orders, ids) => {
    await using service = await answeredWith({ orders });
    const { rows, rejects } = await service.client.orders();
    expect(rejects).toEqual([]);
    expect(rows.map(({ orderId }) => orderId)).toEqual(ids);
    expect(rows.map((row) => [row.orderLineItems, unreadIn(row)])).toEqual(
      ids.map(() => [[LINE], []]),
    );
  });

  it.each([
    ['stream', { barcode: 'A', quantity: 1, details: { size: 'M' } }, ['A']],
    ['pages', { barcode: 'A', quantity: 1, details: { size: 'M' } }, ['A']],
    [
      'stream',
      { 'A-1': { barcode: 'A', quantity: 1 }, 'A-2': { barcode: 'B', quantity: 2 } },
      ['A', 'B'],
    ],
    [
      'pages',
      {
        variant: [
          { barcode: 'A', quantity: 1 },
          { barcode: 'B', quantity: 2 },
        ],
      },
      ['A', 'B'],
    ],
  ] as const)('of variants is read as %s: %j', async (mode, variants, barcodes) => {
    await using service = await answeredWith({ variants }, mode);
    const read = await readAll(service.client.stock({}));
    expect(read.variants.map(({ barcode }) => barcode)).toEqual(barcodes);
    expect(read.end).toMatchObject({ rows: barcodes.length, doubts: [] });
  });

  it('of names is read that is one name alone', () => {
    expect([readItems('Drop 1'), readItems(''), readItems(7)]).toEqual([
      ['Drop 1'],
      undefined,
      undefined,
    ]);
  });
});

describe('an amount', () => {
  it.each([
    ['1.234,50', 1234.5],
    ['1,234.50', 1234.5],
    ['12,5', 12.5],
    ['0,125', 0.125],
    ['1234,567', 1234.567],
    ['1.234.567', 1_234_567],
    ['1,234,567.89', 1_234_567.89],
    ["1'234.50", 1234.5],
    ['1 234,50', 1234.5],
    ['-1.234,50', -1234.5],
    ['12.50', 12.5],
    ['1234.567', 1234.567],
  ])('is read where it has one meaning: %s', (text, amount) => {
    expect(readAmount(text)).toBe(amount);
  });

  it.each(['1.234', '12,345', '1.23,45', '1,2,3', '12.34.56', '1.234,56,7', 'EUR 1', ','])(
    'is unknown where it has two meanings or none: %s',
    (text) => expect(readAmount(text)).toBeUndefined(),
  );

  it('of pieces is whole, and unknown where thousands may be decimals', () => {
    const texts = ['12', '12,0', '12.00', '1.234.000', '1.000', '1,000', '1,5'];
    const pieces = [12, 12, 12, 1_234_000, undefined, undefined, undefined];
    expect(texts.map((text) => readWhole(text))).toEqual(pieces);
  });
});

describe('an amount that may have decimals or thousands', () => {
  it.each([
    ['0.750', '12.500', 12.5],
    ['1250.000', '12.500', 12.5],
    ['1,234.50', '1.234', 1.234],
    ['1,234,567', '12,500', 12_500],
    ['12.5', '-1,234', -1_234],
    ['12,5', '1.234', 1_234],
    ['1.234.567', '12,500', 12.5],
    ['1 234,5', '1,234', 1.234],
  ])('is read by what two rows with numbers like %s show, after their list: %s', (...row) => {
    const [proof, text, amount] = row;
    const decimals = createDecimals(true);
    // The same row again shows no more than once.
    for (const texts of [
      [proof, proof],
      [proof, proof],
    ]) {
      learnFromRow(texts, decimals);
      settle(decimals);
    }
    learnFromRow([proof.replace(/[1-9]/, '3')], decimals);
    expect(readAmount(text, decimals)).toBeUndefined();
    settle(decimals);
    expect(readAmount(text, decimals)).toBe(amount);
    for (const against of ['0.5', '0,5']) learnFromRow([against], decimals);
    expect(readAmount(text, decimals)).toBeUndefined();
  });

  it('is unknown where texts disagree, and by the setting whatever they show', () => {
    const [learned, set] = [createDecimals(true), createDecimals(false, ['comma'])];
    for (const decimals of [learned, set]) {
      const shown: string[] = [];
      for (const proof of ['12.50', '12,50', '12', 'no 1.5', '1.23,45'])
        readAmount(proof, { ...decimals, shown });
      for (const text of shown) learnFromRow([text], decimals);
      settle(decimals);
      expect(shown).toEqual(['12.50', '12,50', '12']);
    }
    expect([readAmount('1.234', learned), readWhole('1.000', learned)]).toEqual([
      undefined,
      undefined,
    ]);
    expect([readAmount('1.234', set), readWhole('1.000', set), readWhole('1,000', set)]).toEqual([
      1_234, 1_000, 1,
    ]);
  });

  it('is learned by all readers of the account, of orders and of variants', async () => {
    const decimals = createDecimals(true);
    const variants = ['0.750', '0.850'].map((price) => {
      return { barcode: price, quantity: 1, details: { price } };
    });
    checkRows(variantSchema, variants, decimals);
    settle(decimals);
    const order = { orderId: 7, orderLineItems: [{ ...LINE, price: '12.500' }] };
    await using service = await answeredWith({ orders: [order] }, 'stream', decimals);
    const { rows } = await service.client.orders();
    expect(rows[0]?.orderLineItems?.[0]?.price).toBe(12.5);
  });
});

it('flags are letters, too', () => {
  expect(['Y', 'n', 'yes', 'N', 'x'].map(readFlag)).toEqual([true, false, true, false, undefined]);
});
