import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkRows } from '../../src/client/rows.ts';
import { alwaysDecides, decides } from '../../src/client/tolerant/decides.ts';
import { tolerantReaderOf } from '../../src/client/tolerant/reader.ts';
import { deliverySchema, salesOrderSchema, variantSchema } from '../../src/client/v1/schemas.ts';
import { createVariantReader } from '../../src/client/v1/variant-rows.ts';
import { resourceSchemas } from '../../src/client/v2/resources.ts';
import { asItCame, unreadIn } from '../../src/lib/reading/as-it-came.ts';
import { parseOddJson } from '../../src/lib/reading/odd-json.ts';

const MEMBERS = z.looseObject({
  text: z.string().nullish(),
  whole: z.int().nullish(),
  amount: z.number().nullish(),
  flag: z.boolean().nullish(),
  object: z.looseObject({ of: z.string().nullish() }).nullish(),
  list: z
    .array(z.string())
    .nullish()
    .transform((list) => list ?? []),
});

type Member = keyof typeof MEMBERS.shape;

function read(name: Member, raw: unknown): unknown {
  const found = tolerantReaderOf(MEMBERS)({ [name]: raw });
  return 'value' in found ? found.value[name] : found;
}

function keptOf(name: Member, raw: unknown): unknown {
  const found = tolerantReaderOf(MEMBERS)({ [name]: raw });
  return 'value' in found ? asItCame(found.value)?.[name] : found;
}

describe('the tolerant reader', () => {
  it.each<[Member, unknown, unknown]>([
    ['text', 36, '36'],
    ['text', 1.5, '1.5'],
    ['text', true, 'true'],
    ['text', '', ''],
    ['whole', '12', 12],
    ['whole', ' 12 ', 12],
    ['whole', '-3', -3],
    ['whole', '12.00', 12],
    ['whole', '', null],
    ['amount', '12.50', 12.5],
    ['amount', '1998.345', 1998.345],
    ['amount', '0.12340', 0.1234],
    ['amount', '-7', -7],
    ['flag', 0, false],
    ['flag', '1', true],
    ['flag', 'Yes', true],
    ['flag', 'FALSE', false],
    ['object', [], null],
    ['object', '', null],
    ['list', {}, []],
    ['list', null, []],
    ['list', { 0: 'a', 1: 'b' }, ['a', 'b']],
    ['list', { 3: 'a', 10: 'b' }, ['a', 'b']],
    ['list', [1, 'b'], ['1', 'b']],
  ])('reads a member that is a %s from %j', (name, raw, value) => {
    expect(read(name, raw)).toEqual(value);
    expect(keptOf(name, raw)).toBeUndefined();
  });

  it.each<[Member, unknown]>([
    ['text', {}],
    ['text', ['a']],
    ['text', 2 ** 60],
    ['whole', 1.5],
    ['whole', '12.5'],
    ['whole', '1,234'],
    ['whole', '1e3'],
    ['whole', true],
    ['amount', '1,234'],
    ['amount', '1.234'],
    ['amount', '12,345'],
    ['amount', 'EUR 12'],
    ['amount', '0.12345'],
    ['amount', [1]],
    ['flag', 2],
    ['flag', 'maybe'],
    ['object', [1]],
    ['object', 'text'],
    ['list', 'a,b'],
    ['list', [['a']]],
    ['list', { a: 1 }],
  ])('does not guess what a %s means that came as %j, and keeps it', (name, raw) => {
    expect(read(name, raw)).toEqual(name === 'list' ? [] : undefined);
    expect(keptOf(name, raw)).toEqual(raw);
  });

  it('names what decides by its path, and loses the row only with its key', () => {
    const line = z.looseObject({
      barcode: alwaysDecides(z.string().min(1)),
      note: z.string().nullish(),
    });
    const schema = z.looseObject({
      id: z.int(),
      price: decides(z.number().nullish()),
      lines: alwaysDecides(z.array(line)),
    });
    const raws = [
      { id: '7', price: 'free', lines: [{ barcode: 'A' }, { barcode: {}, note: {} }] },
      { id: 8, lines: 3 },
      { id: 'x', lines: [] },
    ];
    const before = structuredClone(raws);
    const { rows, rejects } = checkRows(schema, raws);
    expect(raws).toEqual(before);
    expect(JSON.parse(JSON.stringify(rows))).toEqual([
      { id: 7, price: null, lines: [{ barcode: 'A' }, { barcode: null }] },
      { id: 8, lines: null },
    ]);
    expect(rows.map(unreadIn)).toEqual([['price', 'lines.1.barcode'], ['lines']]);
    expect(asItCame(Object(rows[0]?.lines?.[1]))).toEqual({ barcode: {}, note: {} });
    expect(rejects).toMatchObject([{ raw: raws[2], path: 'id' }]);
  });

  it('names the member that cost the row, whatever else of it could not be read', () => {
    const line = z.looseObject({ sku: z.string().min(1) });
    const schema = z.looseObject({ lines: z.array(line).nullish(), id: z.int() });
    const { rejects } = checkRows(schema, [{ lines: [{ sku: {} }], id: 'x' }]);
    expect(rejects).toMatchObject([{ path: 'id', reason: expect.stringContaining('number') }]);
  });

  it.each([
    ['salesOrder', salesOrderSchema],
    ['delivery', deliverySchema],
    ['variant', variantSchema],
    ['style', resourceSchemas.style],
  ])('reads what a schema takes as the schema does: %s', (_, schema) => {
    const value = fc.oneof(
      fc.constantFrom('', 'text', 0, 1.5, true, null, [], {}),
      fc.constant([{ barcode: 'B', quantity: 1, fulfilledQuantity: 1 }]),
    );
    const members = Object.keys(schema instanceof z.ZodObject ? schema.shape : {});
    const keys = {
      orderId: 7,
      orderDeliveryId: 8,
      barcode: 'B',
      quantity: 1,
      type: 'style',
      id: '1',
    };
    const sound = { ...keys, status: 'pending', orderLineItems: [], fulfilledLineItems: [] };
    const some = fc.dictionary(fc.constantFrom(...members), value).map((odd) => ({
      ...{ ...sound, ...odd },
    }));
    fc.assert(
      fc.property(some, (raw) => {
        const parsed = z.safeParse(schema, raw);
        if (!parsed.success) return;
        const found = tolerantReaderOf<unknown>(schema)(raw);
        expect(found).toEqual({ value: parsed.data });
        expect('value' in found && unreadIn(Object(found.value))).toEqual([]);
      }),
    );
  });

  it('reads a variant whose every number is a text, and its flags digits', () => {
    const row = {
      ...{ barcode: 5_700_000_001_000, quantity: '12', priceOriginal: '99.95', wspPrice: '40.00' },
      details: { styleNo: 77, size: 42, wspPrice: '40', b2bHidden: 0, colorActive: '1' },
      pricing: [],
    };
    const text = JSON.stringify(row);
    const second = text.replace('1000,', '1001,').replace('"12"', '"7"').replace('42', '44');
    const { rows, rejects } = createVariantReader()(Buffer.from(`${text},${second}`));
    expect(rejects).toEqual([]);
    expect(rows).toMatchObject([
      {
        variant: {
          ...{ barcode: '5700000001000', quantity: 12, priceOriginal: 99.95, wspPrice: 40 },
          details: { styleNo: '77', size: '42', wspPrice: 40, b2bHidden: false, colorActive: true },
          pricing: null,
        },
      },
      // The same but for these: as for rows that the schema takes.
      { repeat: { barcode: '5700000001001', quantity: 7, size: '44' } },
    ]);
  });

  it('cannot read a number of a barcode that has lost its last digits', () => {
    const { rows, rejects } = createVariantReader()(
      Buffer.from('{"barcode":57000000010000000017,"quantity":1},{"barcode":"A","quantity":1}'),
    );
    expect([rows.length, rejects.map(({ path }) => path)]).toEqual([1, ['barcode']]);
  });
});

describe('a value in question', () => {
  const order = (members: string): unknown =>
    parseOddJson(`{"orderId":7,"status":"pending",${members}}`);
  const lines = '"orderLineItems":[{"barcode":"B","quantity":3,"quantity":30}]';

  it('is what comes twice otherwise: it is unknown where it decides', () => {
    const { rows } = checkRows(salesOrderSchema, [order(lines)]);
    expect(rows[0]?.orderLineItems).toMatchObject([{ barcode: 'B', quantity: null }]);
    expect(rows.map(unreadIn)).toEqual([['orderLineItems.0.quantity']]);
    const kept = asItCame(Object(rows[0]?.orderLineItems?.[0]));
    expect(JSON.stringify(kept)).toBe('{"quantity":{"twice":[3,30]}}');
  });

  it('is not what comes twice the same', () => {
    expect(order('"a":{"b":1},"a":{"b":1}')).toEqual({
      orderId: 7,
      status: 'pending',
      a: { b: 1 },
    });
  });

  it('is a text with U+0000: read without it, but where it decides', () => {
    const odd = '"comment":"to\\u0000day","SeasonName":"S\\u0000S","x\\u0000y":"\\u0000"';
    const { rows } = checkRows(salesOrderSchema, [order(`${odd},"orderLineItems":[]`)]);
    expect(rows).toMatchObject([{ comment: 'today', SeasonName: null }]);
    expect(rows.map(unreadIn)).toEqual([['SeasonName']]);
    const kept = JSON.stringify({ ...rows[0], ...asItCame(Object(rows[0])) });
    expect(kept).toContain('"comment":"to␀day","SeasonName":"S␀S","x␀y":"␀"');
  });

  it('is found in a variant, also where the row before could be repeated', () => {
    const good = '{"barcode":"A","quantity":1,"details":{"size":"M"}}';
    const twice = '{"barcode":"B","quantity":1,"details":{"size":"M"},"quantity":10}';
    const nul = '{"barcode":"C\\u0000","quantity":1,"details":{"size":"M"}}';
    const { rows, rejects } = createVariantReader()(Buffer.from([good, twice, nul].join(',')));
    expect(rows).toMatchObject([{ variant: { quantity: 1 } }, { variant: { quantity: null } }]);
    expect(rejects.map(({ path }) => path)).toEqual(['barcode']);
  });

  it('leaves any JSON without one as JSON.parse has it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify({ value, mark: [] });
        expect(parseOddJson(text)).toEqual(JSON.parse(text.replaceAll('\\u0000', '␀')));
      }),
    );
  });
});

it('does not know an amount of more than four decimals, and names it with its row', () => {
  const line = { barcode: 'B', fulfilledQuantity: 1, price: 4.44449 };
  const raw = { orderDeliveryId: 1, orderId: 2, status: 'pending', fulfilledLineItems: [line] };
  const { rows, rejects } = checkRows(deliverySchema, [raw]);
  expect(rejects).toEqual([]);
  expect(rows).toMatchObject([{ fulfilledLineItems: [{ barcode: 'B', price: null }] }]);
  expect(rows.map(unreadIn)).toEqual([['fulfilledLineItems.0.price']]);
  const exact = { ...raw, fulfilledLineItems: [{ ...line, price: 4.4449 }] };
  const [read] = checkRows(deliverySchema, [exact]).rows;
  expect(read).toEqual(exact);
  expect(unreadIn(read ?? {})).toEqual([]);
});
