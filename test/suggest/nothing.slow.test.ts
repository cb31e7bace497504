/** Where there is nothing to learn, nothing is proposed: random decisions, and hidden reasons. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { suggest } from '../../src/suggest/suggest.ts';
import { buildHouse, copyOf, decideAll, type House, type Policy } from './clerk.ts';

const SEEDS = 100;
const DAY_MS = 86_400_000;

let house: House;
beforeAll(async () => {
  house = await buildHouse({ days: 36, aDay: 30 });
}, 300_000);
afterAll(() => house.close());

/** Reasons that no fact tells: chance, the mood of the day, and how the hour was. */
const REASONS: readonly ((random: Random) => Policy)[] = [
  (random) => () => (random.chance(0.5) ? 'accept' : 'hold'),
  (random) => () => (random.chance(0.93) ? 'accept' : 'hold'),
  (random) => () => (random.chance(0.97) ? 'accept' : undefined),
  (random) => () => {
    const drawn = random.pick(['accept', 'hold', 'reject', 'left'] as const);
    return drawn === 'left' ? undefined : drawn;
  },
  (random) => {
    const moods = new Map<number, boolean>();
    return ({ facts }) => {
      const day = Math.floor(facts.clock.now / DAY_MS);
      const isGood = moods.get(day) ?? random.chance(0.6);
      moods.set(day, isGood);
      return isGood ? 'accept' : 'hold';
    };
  },
];

it('random decisions and hidden reasons give no proposal in a hundred houses', async () => {
  const proposed: string[] = [];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const policy = REASONS[seed % REASONS.length]?.(seededRandom(seed));
    if (!policy) throw new Error('a seed has a reason');
    const own = await copyOf(house);
    await decideAll(own, { policy, seed, mistakes: 0 });
    const { proposals } = await suggest(own.store.db, own);
    proposed.push(...proposals.map(({ kind, title }) => `seed ${seed}: ${kind} ${title}`));
    await own.close();
  }
  expect(proposed).toEqual([]);
}, 1_800_000);
