/** Policies that simulated clerks follow, with mistakes, are found again behind ten rules. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suggest } from '../../src/suggest/suggest.ts';
import { buildHouse, copyOf, decideAll, type House, type Policy } from './clerk.ts';
import { MIXTURE, POLICIES } from './policies.ts';
import { agreement, changesOf, faultsOf, sorted } from './trials.ts';

/** Share of the later deliveries on which proposals must do what the policy would. */
const AGREEMENT_MIN = 0.98;
/** Of twenty, with the mixture; some are unlucky with the mistakes of their clerks. */
const FOUND_MIN = 17;

let house: House;
beforeAll(async () => {
  house = await buildHouse({ aDay: 60 });
}, 600_000);
afterAll(() => house.close());

const found: string[] = [];

describe('a planted policy', () => {
  it.each(Object.entries(POLICIES))(
    'is found, or nothing wrong: %s',
    async (name, policy) => {
      const own = await copyOf(house);
      await decideAll(own, { policy });
      const { proposals, learnedUntil, twoWays } = await suggest(own.store.db, own);
      expect(twoWays).toEqual([]);
      for (const proposal of proposals) expect(faultsOf(own, proposal)).toEqual([]);
      const [first] = proposals;
      if (first) expect(sorted(await changesOf(own, first))).toEqual(sorted(first.backtest));
      const share = agreement(own, policy, proposals, learnedUntil);
      if (proposals.length > 0 && share >= AGREEMENT_MIN) found.push(name);
      await own.close();
    },
    600_000,
  );

  it('gives each of two exceptions of one rule a draft of its own', async () => {
    const own = await copyOf(house);
    const policy: Policy = ({ facts, byRules }) => {
      if (byRules.rules.join() !== 'hold-price') return undefined;
      const isGold = facts.customer?.extra?.tier === 'gold';
      return facts.order.freight_type === 'Express' || isGold ? 'accept' : 'hold';
    };
    await decideAll(own, { policy, mistakes: 0 });
    const { proposals } = await suggest(own.store.db, own);
    const ids = proposals.map(({ draft }) => /\bid: ([\w-]+)/.exec(draft)?.[1]);
    expect(ids).toEqual(['hold-price-suggested', 'hold-price-suggested-2']);
    await own.close();
  }, 600_000);

  it('is told as two ways of deciding where two clerks have one each', async () => {
    const own = await copyOf(house);
    await decideAll(own, { policy: MIXTURE });
    const { proposals, twoWays } = await suggest(own.store.db, own);
    expect(proposals).toEqual([]);
    expect(twoWays.map(({ conditions }) => conditions)).toEqual([
      ['delivery.quantity <= 40', 'delivery.quantity > 15'],
    ]);
    found.push('a mixture of two clerks');
    await own.close();
  }, 600_000);

  it('is found in 17 of 20 at least', () => {
    expect(found.length, found.join(', ')).toBeGreaterThanOrEqual(FOUND_MIN);
  });
});
