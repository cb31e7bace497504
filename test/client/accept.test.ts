import { assert, constantFrom, jsonValue, oneof, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { acceptorOf } from '../../src/client/accept.ts';
import { deliverySchema, variantSchema } from '../../src/client/v1/schemas.ts';
import { isJsonObject } from '../../src/lib/json.ts';

const RUNS = 2_000;

const anything = oneof(
  constantFrom(null, '', 'text', 0, -0, 1.5, 2 ** 60, true, [], ['a'], [1], {}, { size: 'M' }),
  jsonValue(),
);
/** Mostly one of these, and sometimes anything. */
const mostly = (...right: unknown[]) =>
  oneof({ arbitrary: constantFrom(...right), weight: 12 }, { arbitrary: anything, weight: 1 });
const details = record(
  {
    styleNo: mostly('S1', '', null),
    price: mostly(1.5, -2, null),
    b2bHidden: mostly(true, false, null),
    tags: mostly('NOOS', ['NOOS', 'sale'], [], null),
    images: mostly([], [1, 'a'], null),
    new: anything,
  },
  { requiredKeys: [] },
);
const rows = record(
  {
    barcode: mostly('5700', '1', 'x\ud83d\ude00', '\ud800'),
    quantity: mostly(1, -3, 0),
    wspPrice: mostly(1.25, 4.4449, 1.00005, null),
    details: oneof({ arbitrary: details, weight: 12 }, { arbitrary: anything, weight: 1 }),
    pricing: mostly({}, { currency: 'EUR', more: [1] }, { discountPercentage: 2.5 }, null),
    unknownMember: anything,
  },
  { requiredKeys: ['barcode', 'quantity'] },
);

/** Answers as a service could spell them: JSON.parse makes `__proto__` an own member. */
const CUT = [
  '{"barcode":"5700","quantity":1,"__proto__":{"a":1}}',
  '{"barcode":"5700","quantity":1,"details":{"__proto__":false}}',
];

describe('what accepts a row without a copy', () => {
  it('accepts exactly what the schema gives as it is', () => {
    const accepts = acceptorOf(variantSchema);
    let accepted = 0;
    assert(
      property(rows, (row) => {
        const { success, data } = variantSchema.safeParse(row);
        // zod drops a member of this name in each object that it looks into.
        const isCut = [row, row.details, row.pricing].some(
          (one) => isJsonObject(one) && Object.hasOwn(one, '__proto__'),
        );
        expect(accepts?.(row)).toBe(success && !isCut);
        if (success && !isCut) expect(data).toEqual(row);
        if (success && isCut) expect(data).not.toEqual(row);
        accepted += Number(success);
      }),
      { numRuns: RUNS, examples: CUT.map((text) => [JSON.parse(text)]) },
    );
    expect(accepted / RUNS).toBeGreaterThan(0.1);
    expect(accepted / RUNS).toBeLessThan(0.9);
  });

  it.each<[string, z.ZodType]>([
    ['gives another value', deliverySchema],
    ['strips members', z.object({ name: z.string() })],
    ['refuses members', z.strictObject({ name: z.string() })],
    ['asks for more than a type', z.looseObject({ name: z.string().regex(/a/) })],
    ['asks for a range', z.looseObject({ n: z.number().min(3) })],
    ['refines a whole', z.looseObject({ n: z.number() }).refine(({ n }) => n > 3)],
    ['wants a length', z.looseObject({ list: z.array(z.string()).min(1) })],
    ['coerces', z.looseObject({ n: z.coerce.number() })],
  ])('leaves a schema to zod that %s', (_, schema) => {
    expect(acceptorOf(schema)).toBeUndefined();
  });
});
