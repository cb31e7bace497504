/** Accepts of what has become right meanwhile are no accepts of what came. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluate } from '../../src/rules/evaluate.ts';
import { completeFacts } from '../../src/rules/facts/build.ts';
import type { Facts } from '../../src/rules/facts/plain.ts';
import { suggest } from '../../src/suggest/suggest.ts';
import {
  buildHouse,
  type Clerks,
  copyOf,
  decideAll,
  HOUSE_FILES,
  type House,
  type Policy,
} from './clerk.ts';
import { changesOf, faultsOf, rulesWith, sorted } from './trials.ts';

type Seen = Parameters<Policy>[0];

/** Ten rules, of which one does not ask whether the price of the order is known. */
const RULES = HOUSE_FILES[1].text
  .replace('has(line.price_diff_pct) && line.price_diff_pct > 8', 'line.price_diff_pct > 8')
  .replace('overdue_days > 30', 'overdue_days > 5');

let house: House;
beforeAll(async () => {
  house = await buildHouse({ days: 40, aDay: 60, rules: RULES });
}, 60_000);
afterAll(() => house.close());

async function proposed(clerks: Pick<Clerks, 'policy'> & Partial<Clerks>) {
  const own = await copyOf(house);
  await decideAll(own, { mistakes: 0, ...clerks });
  const { proposals } = await suggest(own.store.db, own);
  await own.close();
  return proposals.map(({ kind, id, conditions }) => [kind, id, ...conditions]);
}

/** Accepts small deliveries that no rule decided. */
const policy: Policy = ({ facts, byRules }) => {
  if (byRules.kind !== 'no_rule') return undefined;
  return (facts.delivery.quantity ?? 0) <= 40 ? 'accept' : 'hold';
};

function heldBy({ byRules }: Seen, rule: string): boolean {
  return byRules.kind === 'hold' && byRules.rules.join() === rule;
}

/** The facts when the ERP has booked what the customer paid. */
function paid(facts: Facts): Facts {
  const { customer } = facts;
  const { headroom: _, ...credit } = customer?.credit ?? {};
  const now = { ...credit, balance: 0, overdue_days: 0 };
  return completeFacts({ ...facts, customer: { ...customer, credit: now } });
}

describe('an accept', () => {
  it('is none of what the same people held first', async () => {
    const first: Policy = (seen) =>
      seen.facts.order.freight_type === 'Express' ? policy(seen, '') && 'hold' : undefined;
    const found = await proposed({ policy, first });
    expect(found.filter(([kind]) => kind === 'accept')).toEqual([
      [
        'accept',
        'accept-by-quantity-freight-type',
        'delivery.quantity <= 40',
        'order.freight_type in ["Pick-up", "Standard"]',
      ],
    ]);
  });

  it('is none of what did not fit the credit until the customer had paid', async () => {
    const fits = ({ facts: { delivery, customer } }: Seen) =>
      (delivery.amount ?? 0) <= (customer?.credit?.headroom ?? 0);
    const meanwhile = (seen: Seen) => (fits(seen) ? undefined : paid(seen.facts));
    const found = await proposed({ policy, meanwhile });
    expect(found.filter(([kind]) => kind === 'accept')).toEqual([
      [
        'accept',
        'accept-by-quantity-credit',
        'delivery.quantity <= 40',
        'delivery.amount <= customer.credit.headroom',
      ],
    ]);
  });

  it('is no exception of a hold that had ended by itself', async () => {
    const isOverdue = (seen: Seen) => heldBy(seen, 'hold-overdue');
    const isDanish = ({ facts }: Seen) => facts.order.country === 'DK';
    const chased: Policy = (seen) => {
      if (!isOverdue(seen)) return undefined;
      return isDanish(seen) ? 'accept' : 'hold';
    };
    const meanwhile = (seen: Seen) =>
      isOverdue(seen) && isDanish(seen) ? paid(seen.facts) : undefined;
    expect(await proposed({ policy: chased, meanwhile })).toEqual([]);
  });

  it('is not proposed for what people mostly leave alone', async () => {
    const asked: Policy = ({ facts: { order }, byRules }) => {
      const isTaken = order.country === 'DK' && order.id % 3 === 0;
      return isTaken && byRules.kind === 'no_rule' ? 'accept' : undefined;
    };
    expect(await proposed({ policy: asked })).toEqual([]);
  });
});

describe('an exception', () => {
  it('frees nothing that is held because a fact is not known', async () => {
    const own = await copyOf(house);
    const express: Policy = (seen) => {
      if (!heldBy(seen, 'hold-price')) return undefined;
      return seen.facts.order.freight_type === 'Express' ? 'accept' : 'hold';
    };
    await decideAll(own, { policy: express, mistakes: 0 });
    const { proposals } = await suggest(own.store.db, own);
    const [proposal] = proposals;
    if (!proposal) return expect.fail('an exception is proposed');
    expect(proposal).toMatchObject({ kind: 'unless', id: 'hold-price' });
    const ruleSet = rulesWith(own, [proposal.text]);
    const freed = own.deliveries.filter(
      (seen) => heldBy(seen, 'hold-price') && seen.facts.order.freight_type === 'Express',
    );
    const kindOf = (facts: Facts) => evaluate(ruleSet, facts, { operands: false }).live.kind;
    expect(freed.map(({ facts }) => kindOf(facts))).not.toContain('hold');
    const unpriced = freed.map(({ facts }) => {
      const lines = facts.delivery.lines.map(({ price_diff_pct: _, ...line }) => {
        return { ...line, order_price: null };
      });
      return kindOf(completeFacts({ ...facts, delivery: { ...facts.delivery, lines } }));
    });
    expect(new Set(unpriced)).toEqual(new Set(['hold']));
    expect(faultsOf(own, proposal)).toEqual([]);
    expect(sorted(await changesOf(own, proposal))).toEqual(sorted(proposal.backtest));
    await own.close();
  });
});
