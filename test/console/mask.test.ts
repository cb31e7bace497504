/** Private texts are found wherever they stand, in whatever letters. */
import { expect, it } from 'vitest';
import { maskPrivate } from '../../src/console/mask.ts';
import { MASK } from '../../src/lib/reading/quoted.ts';

it('masks a private text in other letters, and opens the same members in any', () => {
  const order = { Company: 'Madsen ApS', shippingAddress: { City: 'Odense', AccountNo: 'C-1234' } };
  const reason = 'MADSEN APS (c-1234) of odense, not of Odensegade';
  expect(maskPrivate({ order, reason })).toEqual({
    order: { Company: MASK, shippingAddress: { City: MASK, AccountNo: 'C-1234' } },
    reason: `${MASK} (c-1234) of ${MASK}, not of Odensegade`,
  });
});
