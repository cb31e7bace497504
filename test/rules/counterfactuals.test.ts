import { describe, expect, it } from 'vitest';
import { createCounterfactuals } from '../../src/rules/analysis/counterfactuals.ts';
import { factsInContext } from '../../src/rules/evaluate.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';
import { rulesOf } from './support.ts';

const SETTINGS = `
version: 1
lists: { nordic: [DK, SE], watched: [C-1] }
tables: { limits: { DKK: 1500, EUR: 200 } }
`;

interface Rules {
  readonly accept: readonly string[];
  readonly hold?: readonly string[];
}

function ruleOf(id: string, when: readonly string[]): string {
  const items = when.map((condition) => `      - '${condition}'\n`).join('');
  return `  - id: ${id}-it\n    title: T\n    action: ${id}\n    mode: live\n    when:\n${items}`;
}

function found({ accept, hold }: Rules, given: Readonly<Record<string, unknown>> = {}) {
  const text = `rules:\n${ruleOf('accept', accept)}${hold ? ruleOf('hold', hold) : ''}`;
  const ruleSet = rulesOf(text, SETTINGS);
  const judged = { ruleSet, facts: factsOfTest(given), options: {}, which: 'live' } as const;
  return createCounterfactuals()(judged).map((one) => `${one.rule} ${one.line}: ${one.text}`);
}

const PIECES = { delivery: { quantity: 25 } };

describe('a counterfactual', () => {
  it('names the limit that lets the delivery pass, also of a table', () => {
    expect(found({ accept: ['delivery.quantity <= 20'] }, PIECES)).toEqual([
      'accept-it 7: with a limit of 25 instead of 20',
    ]);
    expect(found({ accept: ['delivery.quantity < 20'] }, PIECES)).toEqual([
      'accept-it 7: with a limit of 26 instead of 20',
    ]);
    expect(found({ accept: ['delivery.amount <= tables.limits[order.currency]'] })).toEqual([
      'accept-it 7: with a limit of 2000.00 DKK instead of 1500.00 DKK',
    ]);
    expect(found({ accept: ['order.age > days(3)'] })).toEqual([
      'accept-it 7: with a limit of 1d 23h 59m instead of 3d',
    ]);
  });

  it('names the limit of the one rule that holds', () => {
    const rules = { accept: ['order.country == "DK"'], hold: ['delivery.quantity > 20'] };
    expect(found(rules, PIECES)).toEqual(['hold-it 13: with a limit of 25 instead of 20']);
  });

  it('names what a list lacks, or has too much', () => {
    const finland = { order: { country: 'FI' } };
    expect(found({ accept: ['order.country in lists.nordic'] }, finland)).toEqual([
      'accept-it 7: with FI in lists.nordic',
    ]);
    const rules = {
      accept: ['order.preorder == false'],
      hold: ['order.account_no in lists.watched'],
    };
    expect(found(rules)).toEqual(['hold-it 13: without C-1 in lists.watched']);
  });

  it('looks into loops over lines, and names the pieces that are missing', () => {
    const short = { delivery: { lines: [{ barcode: '57', quantity: 5, stock_free: 4 }, {}] } };
    const stock = ['delivery.lines.all(line, line.missing == 0)'];
    expect(found({ accept: stock }, short)).toEqual(['accept-it 7: with 1 more piece of 57']);
    const prices = { delivery: { lines: [{ price_diff_pct: 7.5 }, { price_diff_pct: 6 }, {}] } };
    const close = ['delivery.lines.all(line, line.price_diff_pct <= 5)'];
    expect(found({ accept: close }, prices)).toEqual([
      'accept-it 7: with a limit of 7.5 instead of 5',
    ]);
    const amounts = { delivery: { lines: [{ price: 90 }, { price: 110.5 }] } };
    const cheap = ['order.currency == "DKK"', 'delivery.lines.all(line, line.price < 100)'];
    expect(found({ accept: cheap }, amounts)).toEqual([
      'accept-it 8: with a limit of 110.51 DKK instead of 100.00 DKK',
    ]);
    const some = ['delivery.lines.filter(line, line.noos).all(line, line.quantity <= 3)'];
    const noos = { delivery: { lines: [{ noos: true, quantity: 5 }, { quantity: 9 }] } };
    expect(found({ accept: some }, noos)).toEqual(['accept-it 7: with a limit of 5 instead of 3']);
  });

  it('says for each of many deliveries the same as for one alone', () => {
    const ruleSet = rulesOf(
      `rules:\n${ruleOf('accept', ['delivery.lines.all(line, line.missing <= 1)'])}`,
      SETTINGS,
    );
    const ofAll = createCounterfactuals();
    for (const short of [2, 3, 2, 1, 3]) {
      const facts = factsOfTest({ delivery: { lines: [{ quantity: 5, stock_free: 5 - short }] } });
      const judged = { ruleSet, facts, options: {}, which: 'live' } as const;
      const seen = factsInContext(ruleSet, facts);
      const found = ofAll({ ...judged, options: { seen } });
      expect(found).toEqual(createCounterfactuals()(judged));
      expect(found.map(({ change }) => change)).toEqual(
        short === 1 ? [] : [`with a limit of ${short} instead of 1`, 'with more stock'],
      );
    }
  });

  it('says nothing where two conditions stand in the way, or the delivery passes', () => {
    const twice = ['delivery.quantity <= 20', 'order.country == "SE"'];
    expect(found({ accept: twice }, PIECES)).toEqual([]);
    const rules = { accept: ['delivery.quantity <= 20'], hold: ['delivery.quantity > 20'] };
    expect(found(rules, PIECES)).toEqual([]);
    expect(found({ accept: ['delivery.quantity <= 20'] })).toEqual([]);
    expect(found({ accept: ['order.comment == "x"'] })).toEqual([]);
  });
});
