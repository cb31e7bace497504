/**
 * Orders whose answer is lost, at services that show references in ten ways: none is there twice,
 * none is lost, none is confirmed by the order of another. `SELVEDGE_SPELLING_ORDERS` (500) and
 * `SELVEDGE_SPELLING_SEEDS` (`1-5`) make it longer; `npm run campaign -- spelling` does.
 */
import { expect, it } from 'vitest';
import { runSpelled } from './spelling/campaign.ts';
import { ODD_WAYS, WAYS } from './spelling/plan.ts';

const { env } = process;
const ORDERS = Number(env.SELVEDGE_SPELLING_ORDERS ?? 12);
const [FIRST = 1, LAST = FIRST] = (env.SELVEDGE_SPELLING_SEEDS ?? '1').split('-').map(Number);
const SEED_MS_MAX = 2_400_000;
const NEEDLESS_MAX = 0.02;

// Ways that no spelling explains are for the long version: people get most of them.
const ways = env.SELVEDGE_SPELLING_ORDERS ? [...WAYS, ...Object.keys(ODD_WAYS)] : WAYS;
const runs = ways.flatMap((way) =>
  Array.from({ length: LAST - FIRST + 1 }, (_, index) => ({ way, seed: FIRST + index })),
);

it.each(runs)(
  'are each there once, whatever is made of references: $way (seed $seed)',
  async ({ way, seed }) => {
    const outcome = await runSpelled({ way, seed, orders: ORDERS });
    expect(outcome.problems).toEqual([]);
    expect(outcome.needless).toBeLessThanOrEqual(Math.ceil(ORDERS * NEEDLESS_MAX));
    if (env.SELVEDGE_SPELLING_ORDERS === undefined) return;
    process.stdout.write(`${way} ${seed}: ${JSON.stringify(outcome)}\n`);
  },
  SEED_MS_MAX,
);
