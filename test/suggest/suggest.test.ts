/** Rules proposed from what people decided: found, proved, written, and the same each time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suggest } from '../../src/suggest/suggest.ts';
import type { Suggestion } from '../../src/surface/suggestion.ts';
import { buildHouse, decideAll, type House, type Policy } from './clerk.ts';
import { agreement, changesOf, faultsOf, sorted } from './trials.ts';

const pieces = ({ facts }: Parameters<Policy>[0]): number => facts.delivery.quantity ?? 0;

/** Two limits by country, and an exception of a hold rule. */
const policy: Policy = (seen) => {
  const { facts, byRules } = seen;
  if (byRules.kind === 'no_rule') {
    return pieces(seen) <= (facts.order.country === 'DK' ? 40 : 15) ? 'accept' : 'hold';
  }
  if (!byRules.rules.includes('hold-price') || byRules.rules.length > 1) return undefined;
  return facts.order.freight_type === 'Express' ? 'accept' : 'hold';
};

let house: House;
let found: Suggestion;
beforeAll(async () => {
  house = await buildHouse({ days: 60, aDay: 30 });
  await decideAll(house, { policy, mistakes: 0.01 });
  found = await suggest(house.store.db, house);
}, 120_000);
afterAll(() => house.close());

describe('what people decide', () => {
  it('is proposed as rules that agree with their policy on what came later', () => {
    expect(found.proposals.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['accept', 'hold', 'unless']),
    );
    const share = agreement(house, policy, found.proposals, found.learnedUntil);
    expect(share).toBeGreaterThanOrEqual(0.98);
  });

  it('passes the checks and the strict tests of rules', () => {
    for (const proposal of found.proposals) expect(faultsOf(house, proposal)).toEqual([]);
  });

  it('changes in a backtest what it claims', async () => {
    const kinds = new Map(found.proposals.map((proposal) => [proposal.kind, proposal]));
    for (const proposal of kinds.values()) {
      expect(sorted(await changesOf(house, proposal))).toEqual(sorted(proposal.backtest));
    }
  });

  it('is proposed in the same words each time', async () => {
    expect(await suggest(house.store.db, house)).toEqual(found);
  });
});
