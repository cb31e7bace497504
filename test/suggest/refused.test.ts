/** Regularities that are no proposal: they rest on too little, or people do not agree. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Looked, refusalOf } from '../../src/suggest/refusals.ts';
import { createStatistics } from '../../src/suggest/statistics.ts';
import { suggest } from '../../src/suggest/suggest.ts';
import { buildHouse, type Clerks, copyOf, decideAll, type House, type Policy } from './clerk.ts';

const pieces = ({ facts }: Parameters<Policy>[0]): number => facts.delivery.quantity ?? 0;

/** Decides what no rule decided, by the number of its pieces. */
const policy: Policy = (seen) => {
  if (seen.byRules.kind !== 'no_rule') return undefined;
  return pieces(seen) <= 25 ? 'accept' : 'reject';
};

let house: House;
beforeAll(async () => {
  house = await buildHouse({ days: 24, aDay: 30 });
}, 60_000);
afterAll(() => house.close());

async function learned(clerks: Partial<Clerks>) {
  const own = await copyOf(house);
  await decideAll(own, { policy, mistakes: 0, ...clerks });
  const found = await suggest(own.store.db, own);
  await own.close();
  return found;
}

const GROUND = { days: 5, people: 2, ofOnePerson: 0.5, customers: 3, ofOneCustomer: 0.5 };
const NOTHING = { deliveries: 0, amounts: {} };

/** Reason against a regularity of which so many acts were otherwise. */
function against(
  [otherwise, acts]: readonly [number, number],
  errorAllowed = 0.06,
  more: Partial<Looked> & {
    readonly rests?: Partial<typeof GROUND>;
    readonly later?: Partial<typeof GROUND>;
  } = {},
): string | undefined {
  const checked = { since: 0, until: 1, agreed: NOTHING, disagreed: NOTHING, undecided: NOTHING };
  const question = { kind: 'accept', rule: undefined, wanted: 1, errorAllowed } as const;
  return refusalOf({
    question: { ...question, weights: { other: 1, undecided: 1 } },
    checked: { ...checked, acts, otherwise },
    ground: { ...GROUND, ...more.rests },
    groundChecked: { ...GROUND, ...more.later },
    errorMax: createStatistics().upperBound(otherwise, acts, 0.95),
    chance: 0,
    looked: 1,
    ...more,
  })?.code;
}

describe('a regularity', () => {
  it('is proposed from 50 accepts with none otherwise, 250 with 8, and 30 holds with none', () => {
    expect([against([0, 50]), against([0, 48])]).toEqual([undefined, 'unsure']);
    expect([against([8, 250]), against([9, 250])]).toEqual([undefined, 'unsure']);
    expect([against([0, 30], 0.1), against([0, 28], 0.1)]).toEqual([undefined, 'unsure']);
  });

  it('needs ten acts on five days, and more than one person and customer', () => {
    const enough = [0, 100] as const;
    expect(against([0, 9], 1)).toBe('few_acts');
    expect(against(enough, 0.06, { rests: { days: 4 } })).toBe('few_days');
    expect(against(enough, 0.06, { rests: { people: 1, ofOnePerson: 1 } })).toBe('one_person');
    expect(against(enough, 0.06, { later: { people: 1, ofOnePerson: 1 } })).toBe('one_person');
    expect(against(enough, 0.06, { later: { people: 0, ofOnePerson: 1 } })).toBe('one_person');
    expect(against(enough, 0.06, { rests: { ofOneCustomer: 0.51 } })).toBe('one_customer');
    expect(against(enough, 0.06, { rests: { customers: 2 } })).toBe('one_customer');
    expect(against(enough, 0.06, { later: { ofOneCustomer: 0.51 } })).toBe('one_customer');
  });

  it('is none where others are decided alike, the more so the more rules were looked at', () => {
    const twenty = { chance: 2e-5, looked: 20 };
    expect(against([0, 100], 0.06, { chance: 2e-5 })).toBe(undefined);
    expect(against([0, 100], 0.06, twenty)).toBe('chance');
    // A few days with a mood of their own are no hundred decisions.
    expect(against([0, 100], 0.06, { chanceOfDays: 0.01 })).toBe('chance');
  });
});

describe('what people decide', () => {
  it('is proposed once two of them do it, and never as a reject', async () => {
    const { proposals, refused, twoWays } = await learned({});
    expect([proposals.map(({ kind }) => kind), refused, twoWays]).toEqual([['accept'], [], []]);
    expect(proposals[0]?.conditions).toEqual(['delivery.quantity <= 25']);
  });

  it('is proposed though a third is left alone for no reason', async () => {
    const busy: Policy = (seen) => (seen.facts.order.id % 3 === 0 ? undefined : policy(seen, ''));
    const { proposals } = await learned({ policy: busy });
    expect(proposals.map(({ kind, conditions }) => [kind, ...conditions])).toEqual([
      ['accept', 'delivery.quantity <= 25'],
    ]);
  });

  it('is refused while it rests on one person', async () => {
    const { proposals, refused } = await learned({ names: ['ada'] });
    expect([proposals, refused.map(({ code }) => code)]).toEqual([[], ['one_person']]);
  });

  it('is refused while others are programs, or the same person at a command line', async () => {
    const { proposals, refused } = await learned({ names: ['ada', 'cli:ada', 'token:erp'] });
    expect([proposals, refused.map(({ code }) => code)]).toEqual([[], ['one_person']]);
  });

  it('is refused while all others decide in the service, where nobody knows who', async () => {
    const { proposals, refused } = await learned({ names: ['ada', 'external'] });
    expect([proposals, refused.map(({ code }) => code)]).toEqual([[], ['one_person']]);
  });

  it('is refused where all of it was decided in one afternoon, whenever it came', async () => {
    const { proposals, refused } = await learned({ isOneAfternoon: true });
    expect([proposals, refused.map(({ code }) => code)]).toEqual([[], ['few_days']]);
  });

  it('is refused where it was one act on many deliveries', async () => {
    const { proposals, acts } = await learned({ isOneAct: true });
    expect([proposals, acts]).toEqual([[], 4]);
  });

  it('is told as two ways of deciding, by role, where two people have one each', async () => {
    const mixed: Policy = (seen, clerk) => {
      if (seen.byRules.kind !== 'no_rule') return undefined;
      return pieces(seen) <= (clerk === 'ada' ? 10 : 40) ? 'accept' : 'hold';
    };
    const { proposals, twoWays, refused } = await learned({ policy: mixed });
    expect(proposals).toEqual([]);
    expect(twoWays).toMatchObject([{ rule: null, ways: [{ people: 1 }, { people: 1 }] }]);
    expect(JSON.stringify([twoWays, refused])).not.toMatch(/ada|bo\b/);
  });

  it('is no decision where it was given back to the rules', async () => {
    const { decided, proposals } = await learned({ policy: () => 'release' });
    expect([decided, proposals]).toEqual([0, []]);
  });
});
