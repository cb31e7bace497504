/** Lists that are absent for a moment; `npm run campaign -- absence` plays more of them. */
import { expect, it } from 'vitest';
import { playAbsence } from './world.ts';

const SEEDS = Number(process.env.ABSENCE_SEEDS ?? 20);
const FIRST = Number(process.env.ABSENCE_FIRST ?? 1);
const seeds = Array.from({ length: SEEDS }, (_none, nth) => FIRST + nth);
const accepted: number[] = [];

it.each(seeds)('a list that comes cut or empty lets nothing through: seed %d', async (seed) => {
  const played = await playAbsence(seed, 12);
  expect(played.wrong).toEqual([]);
  accepted.push(played.accepted);
});

it('what is good is accepted meanwhile, or nothing of this would be proved', () => {
  const sum = accepted.reduce((total, one) => total + one, 0);
  expect(sum).toBeGreaterThan(3 * SEEDS);
});
