/** A short form of `npm run campaign -- soak`. */
import { expect, it } from 'vitest';
import { runSoak } from './soak.ts';

it('after an hour of faults and late orders, all that was lent is given back', async () => {
  const { problems, accepted } = await runSoak(1, { orders: 100, late: 40 });
  expect(problems).toEqual([]);
  expect(accepted).toBeGreaterThan(100);
});
