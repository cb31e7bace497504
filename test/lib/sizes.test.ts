import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareSizes, sortSizes } from '../../src/lib/sizes.ts';

/** Sizes in the order that people expect, each list by itself. */
const ORDERED: readonly (readonly [what: string, sizes: readonly string[]])[] = [
  ['letters', ['XXS', 'XS', 'S', 'M', 'L', 'XL', 'XXL', '3XL', '4XL', '5XL']],
  ['pairs of letters', ['XS', 'XS/S', 'S', 'S/M', 'M', 'M/L', 'L', 'L/XL', 'XL']],
  ['jeans', ['27', '28', '29', '30', '36', '50']],
  ['waist and length', ['30/30', '30/32', '31/30', '32/30', '32/34', 'W33 L32', '34/30']],
  ['shoes and dresses', ['36', '36,5', '37', '37.5', '38 1/2', '39', '46']],
  ['bras', ['70D', '75A', '75B', '80A', '100A']],
  ['children', ['98/104', '110/116', '122/128']],
  ['ages', ['3M', '6M', '12-18M', '2Y', '3Y', '10 years']],
  ['all kinds', ['S', 'XL', '34', '98/104', '6M', 'One Size', 'Tall', 'Assortment A', 'Mix']],
  ['assortments', ['L', '40', '12 pack', '27-30 assorted', 'XS-L assorted']],
];

/** Texts near to real sizes, so that every branch meets every other. */
const size = fc.oneof(
  fc.constantFrom(...ORDERED.flatMap(([, sizes]) => sizes)),
  fc.constantFrom('', ' ', 'm', ' M', 'os', 'O/S', 'EU 38', 'UK 8', '2XL', '3xs', '12 pack', 'É'),
  fc.stringMatching(/^[0-9XSML/ .,-]{1,7}$/),
  fc.string({ maxLength: 6 }),
);

describe('the order of sizes', () => {
  it.each(ORDERED)('lays out %s as people do', (_, sizes) => {
    expect(sortSizes([...sizes].reverse())).toEqual(sizes);
    expect(sortSizes([...sizes].sort())).toEqual(sizes);
  });

  it('is one order: equal only for the same text, the other way round, and transitive', () => {
    fc.assert(
      fc.property(size, size, size, (a, b, c) => {
        const [ab, ba, bc, ac] = [
          compareSizes(a, b),
          compareSizes(b, a),
          compareSizes(b, c),
          compareSizes(a, c),
        ];
        expect(ab === 0).toBe(a === b);
        expect(Math.sign(ab)).toBe(-Math.sign(ba) + 0);
        if (ab <= 0 && bc <= 0) expect(ac).toBeLessThanOrEqual(0);
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not depend on the order in which sizes come, and has each once', () => {
    fc.assert(
      fc.property(
        fc.array(size, { maxLength: 12 }),
        fc.array(size, { maxLength: 4 }),
        (all, own) => {
          const sorted = sortSizes(all, own);
          expect(sortSizes([...all].reverse().concat(all), own)).toEqual(sorted);
          expect(new Set(sorted)).toEqual(new Set(all));
        },
      ),
    );
  });

  it('puts the sizes of an own order first, and leaves the others as they are', () => {
    const own = ['Tall', 'regular'];
    expect(sortSizes(['S', 'Regular', 'XS', 'Tall'], own)).toEqual(['Tall', 'Regular', 'XS', 'S']);
  });
});
