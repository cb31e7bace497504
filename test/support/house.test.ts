import { expect, it } from 'vitest';
import { until } from './house.ts';

it('waits for what a look tells is not so yet, as for what is not there yet', async () => {
  const looks = [false, undefined, false, true];
  expect(await until('the last look', () => looks.shift())).toBe(true);
  expect(looks).toEqual([]);
});
