import { describe, expect, it } from 'vitest';
import { readSubject } from '../../../src/decisions/facts.ts';
import { factsOfTest } from '../../../src/rules/facts/typical.ts';
import { loadRules } from '../../../src/rules/load.ts';
import { decide, problemsOf, rulesOf, ruleText } from '../../rules/support.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture } from '../support.ts';

const SETTINGS = `version: 1
timezone: Europe/Copenhagen
base_currency: DKK
rates: { EUR: 7.46, SEK: 0.6677 }
season_windows:
  - { season: SS27, delivery: "1st delivery", from: 2027-01-15, to: 2027-03-27 }
  - { season: SS27, from: 2027-01-01, to: 2027-06-30 }
`;
const { settings, rules } = rulesOf(ACCEPT_SMALL, SETTINGS);
const MINUTE = 60_000;

async function factsOf(fixture: DeciderFixture, id: number, all = true) {
  const at = { now: fixture.clock.now(), settings, ...(all ? {} : { rules }) };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, id, at));
  if (!subject) throw new Error(`no delivery ${id}`);
  return subject.facts;
}

async function lineOf(fixture: DeciderFixture, all = true) {
  return (await factsOf(fixture, 1, all)).delivery.lines[0];
}

describe('what the lists say of a product', () => {
  const details = { category: 'Tops', gender: 'Women', type: 'Blouse', countryOfOrigin: 'pt' };

  it('is read from the stock', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 5 }, { a: { details: { ...details, weight: 180 } } });
    await fixture.delivery({ id: 1 });
    const told = { category: 'Tops', gender: 'Women', type: 'Blouse', country_of_origin: 'PT' };
    expect(await lineOf(fixture)).toMatchObject({ ...told, weight: 180 });
  });

  it.each([
    [180.2, 181],
    [0, 0],
    [-1, null],
    ['180 g', null],
    [undefined, null],
  ])('weight %s is %s', async (weight, grams) => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 5 }, { a: { details: { ...details, weight } } });
    await fixture.delivery({ id: 1 });
    expect((await lineOf(fixture))?.weight).toBe(grams);
  });

  it('is null where the lists do not say it, or do not have the barcode', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 5 }, { a: { details: { category: '', type: ' ' } } });
    await fixture.delivery({ id: 1 });
    const none = { category: null, gender: null, type: null, country_of_origin: null };
    expect(await lineOf(fixture)).toMatchObject(none);
    await fixture.delivery({ id: 1, lines: [['b', 1]] });
    expect(await lineOf(fixture)).toMatchObject({ ...none, stock_age: null });
  });

  it('leaves out what costs a look-up and no rule reads', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 5 }, { a: { details: { ...details, weight: 180 } } });
    await fixture.delivery({ id: 1 });
    const line = await lineOf(fixture, false);
    expect(line).toMatchObject({ category: 'Tops' });
    expect(line).not.toHaveProperty('weight');
  });
});

describe('the age of the stock', () => {
  it('counts from the last complete pull, of a variant from its later change', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    expect((await factsOf(fixture, 1)).stock).toEqual({ age: null });
    await fixture.stock({ a: 5 });
    await fixture.clock.advance(10 * MINUTE);
    expect((await factsOf(fixture, 1)).stock).toEqual({ age: 10 * MINUTE });
    expect(await lineOf(fixture)).toMatchObject({ stock_age: 10 * MINUTE });
    const changed_at = fixture.clock.now() - MINUTE;
    await fixture.store.db.updateTable('stock_variant_row').set({ changed_at }).execute();
    expect(await lineOf(fixture)).toMatchObject({ stock_age: MINUTE });
  });

  it('is not known while the clock is behind the pull', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.stock({ a: 5 });
    const complete_at = fixture.clock.now() + MINUTE;
    await fixture.store.db.updateTable('stream_state').set({ complete_at }).execute();
    expect((await factsOf(fixture, 1)).stock).toEqual({ age: null });
    expect(await lineOf(fixture)).toMatchObject({ stock_age: null });
  });
});

describe('delivery windows with days', () => {
  const orderLineItems = (season: string, delivery: string) => [
    { barcode: 'a', quantity: 2, price: 100, season, delivery },
  ];
  const windowOf = async (season: string, delivery: string) => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, {
      SeasonName: season,
      orderLineItems: orderLineItems(season, delivery),
    });
    const more = {
      fulfilledLineItems: [{ barcode: 'a', fulfilledQuantity: 2, price: 100, season }],
    };
    await fixture.delivery({ id: 1, more });
    const line = await lineOf(fixture);
    return [line?.window_from, line?.window_to].map((at) =>
      typeof at === 'number' ? new Date(at).toISOString() : at,
    );
  };

  it('begin with their first day and end with their last, where the business is', async () => {
    const days = ['2027-01-14T23:00:00.000Z', '2027-03-27T23:00:00.000Z'];
    expect(await windowOf('SS27', '1st delivery')).toEqual(days);
    expect(await windowOf('SS27 ', ' 1st delivery')).toEqual(days);
  });

  it('have days for the rest of a season, and none for another season', async () => {
    const rest = ['2026-12-31T23:00:00.000Z', '2027-06-30T22:00:00.000Z'];
    expect(await windowOf('SS27', '2nd delivery')).toEqual(rest);
    expect(await windowOf('AW27', '1st delivery')).toEqual([null, null]);
  });

  it('must not end before they begin', () => {
    const text = `version: 1
season_windows: [{ season: SS27, from: 2027-03-27, to: 2027-01-15 }]
`;
    expect(problemsOf(ruleText(['order.preorder']), text)[0]).toContain(
      'must begin before it ends',
    );
  });
});

describe('amounts in the base currency', () => {
  const base = async (currency: string) => {
    const fixture = await createDeciderFixture();
    await fixture.order(1, { currency });
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    return (await factsOf(fixture, 1)).order;
  };

  it('are converted by the rates of the settings, and unknown without one', async () => {
    const dkk = { base_currency: 'DKK', base_rate: '1' };
    expect(await base('DKK')).toMatchObject(dkk);
    expect(await base('EUR')).toMatchObject({ ...dkk, base_rate: '7.46' });
    expect(await base('USD')).toMatchObject({ base_currency: 'DKK', base_rate: null });
  });

  it.each([
    ['EUR', '7.46', 100.01, 746.0746],
    ['SEK', '0.6677', 0.0001, 0.0001],
    ['SEK', '0.3333', -0.0015, -0.0005],
    ['USD', null, 100, null],
  ])('%s at %s: %s is %s', (currency, base_rate, amount, expected) => {
    const given = { order: { currency, base_rate }, delivery: { amount } };
    const { delivery } = factsOfTest(given);
    expect(delivery.amount_base).toBe(expected === null ? null : Math.round(expected * 10_000));
  });

  const settingsText = 'version: 1\nbase_currency: DKK\n';

  it('compare with a bare number, because the settings name its currency', () => {
    const text = ruleText(['delivery.amount_base > 5000', 'today.amount_base < 100000']);
    expect(problemsOf(text, settingsText)).toEqual([]);
    const given = { order: { currency: 'EUR', base_rate: 7.46 }, delivery: { amount: 700 } };
    expect(decide(text, given).live.kind).toBe('accept');
    expect(decide(text, { delivery: { amount: 700 } }).live.kind).toBe('no_rule');
  });

  it('do not compare with amounts of another currency', () => {
    const text = ruleText(['delivery.amount_base > order.freight_amount']);
    const given = { order: { currency: 'EUR', base_rate: 7.46 } };
    expect(decide(text, given).rules[0]?.value).toBe('unknown');
  });

  it('warn in a set without a base currency', () => {
    const files = [{ path: 'r.yaml', text: ruleText(['delivery.amount_base > 5000']) }];
    const loaded = loadRules(files);
    const warnings = 'ruleSet' in loaded ? loaded.ruleSet.warnings : [];
    expect(warnings[0]?.message).toBe(
      'delivery.amount_base is never known without a base currency',
    );
  });
});

describe('the weight of a delivery', () => {
  it('is the sum over its pieces, and unknown where a line does not tell', () => {
    const line = { quantity: 3, weight: 250 };
    expect(factsOfTest({ delivery: { lines: [line, line] } }).delivery.weight).toBe(1500);
    const odd = { quantity: 3, weight: null };
    expect(factsOfTest({ delivery: { lines: [line, odd] } }).delivery.weight).toBeNull();
  });
});
