import { describe, expect, it } from 'vitest';
import { loadRules } from '../../src/rules/load.ts';

const SETTINGS = {
  path: 'settings.yaml',
  text: `
version: 1
defaults: { mode: live }
lists:
  nordic: [DK, SE]
  nobody: []
tables:
  limits: { DKK: 100, EUR: 20 }
`,
};

interface Written {
  readonly id?: string;
  readonly action?: string;
  readonly when: readonly string[];
  readonly unless?: readonly string[];
  readonly more?: string;
}

function ruleText({
  id = 'a-rule',
  action = 'hold',
  when,
  unless = [],
  more = '',
}: Written): string {
  const list = (texts: readonly string[]) => texts.map((text) => `      - '${text}'\n`).join('');
  const not = unless.length > 0 ? `    unless:\n${list(unless)}` : '';
  const head = `  - id: ${id}\n    title: A rule\n    action: ${action}\n${more}`;
  return `${head}    when:\n${list(when)}${not}`;
}

/** The warnings of a set of these rules, as `rule: message - hint`. */
function warnings(...rules: readonly Written[]): readonly string[] {
  const text = `rules:\n${rules.map(ruleText).join('')}`;
  const loaded = loadRules([SETTINGS, { path: 'rules.yaml', text }]);
  const problems = 'ruleSet' in loaded ? loaded.ruleSet.warnings : loaded.problems;
  return problems.map(({ ruleId, severity, message, hint }) => {
    const tail = hint === undefined ? '' : ` - ${hint}`;
    return `${severity === 'warning' ? '' : `${severity} `}${ruleId}: ${message}${tail}`;
  });
}

const says = (expected: RegExp) => [expect.stringMatching(expected)];

describe('the check of a rule set finds', () => {
  it.each<[string, Written, RegExp]>([
    [
      'a number that is never so small',
      { when: ['delivery.lines.exists(line, line.missing > 0)', 'order.other_pending < 0'] },
      /never true: order\.other_pending is never below 0/,
    ],
    [
      'a list that is empty',
      { when: ['order.country in lists.nobody'] },
      /never true: lists\.nobody is empty/,
    ],
    [
      'a state in which the rule is not asked',
      { action: 'accept', when: ['delivery.status == "rejected"', 'order.country == "DK"'] },
      /never true: delivery\.status is one of pending here/,
    ],
    [
      'two conditions that exclude each other',
      { when: ['delivery.quantity > 10', 'delivery.quantity < 5'] },
      /contradicts itself: no delivery\.quantity fits/,
    ],
    [
      'two countries at once',
      { when: ['order.country == "DK"', 'order.country in ["SE", "NO"]'] },
      /contradicts itself: no order\.country fits/,
    ],
    [
      'a fact that must be unknown and equal something',
      { when: ['!has(order.season)', 'order.season == "SS27"'] },
      /contradicts itself/,
    ],
    [
      'a condition and its opposite',
      {
        when: ['delivery.lines.exists(line, line.missing > 0)'],
        unless: ['delivery.lines.exists(line, line.missing > 0)'],
      },
      /also wants the opposite/,
    ],
    [
      'no whole number between two limits',
      { when: ['delivery.quantity > 3', 'delivery.quantity < 4'] },
      /contradicts itself/,
    ],
    [
      'an age that is always so',
      { when: ['order.age >= days(0)', 'order.country == "DK"'] },
      /true for every delivery where it is known/,
    ],
    [
      'a division that loses its fraction',
      { when: ['delivery.quantity / order.quantity < 0.8'] },
      /7 \/ 10 is 0/,
    ],
    [
      'a percent that was meant as a fraction',
      { when: ['delivery.lines.exists(line, line.price_diff_pct > 0.05)'] },
      /0\.05 means 0\.05 % - write 5 for 5 %/,
    ],
    [
      'texts in the order of the alphabet',
      { when: ['order.status > "pending"'] },
      /compared by the alphabet/,
    ],
    [
      'a country that is none',
      { when: ['order.country == "UK"'] },
      /"UK" is no country that is known - did you mean: GB\?/,
    ],
    [
      'a currency that is none',
      { when: ['order.currency in ["DKK", "EUX"]'] },
      /"EUX" is no currency/,
    ],
  ])('%s', (_, rule, expected) => {
    expect(warnings(rule)).toEqual(says(expected));
  });

  it('a rule that matches everything', () => {
    const found = warnings({ when: ['delivery.age >= days(0)'] });
    expect(found).toContainEqual(expect.stringMatching(/matches every delivery, and would hold/));
  });

  it('all(…) over a list that may be empty, and names that list', () => {
    const rule = { action: 'accept', when: ['order.delivery_names.all(name, name != "x")'] };
    expect(warnings(rule)).toEqual(says(/order\.delivery_names is empty - .*delivery_names\.size/));
    const sized = { ...rule, when: [...rule.when, 'order.delivery_names.size() > 0'] };
    expect(warnings(sized)).toEqual([]);
    const other = { ...rule, when: [...rule.when, 'delivery.lines.size() > 0'] };
    expect(warnings(other)).toEqual(says(/order\.delivery_names is empty/));
  });

  it('a rule that adds nothing to another', () => {
    const wide = { id: 'wide', when: ['delivery.quantity >= 10'] };
    const narrow = { id: 'narrow', when: ['delivery.quantity > 20', 'order.country == "DK"'] };
    expect(warnings(wide, narrow)).toEqual(says(/^narrow: the rule adds nothing: .*wide/));
  });

  it('an accept that a hold covers, also through a part that it cannot analyse', () => {
    const part = 'delivery.lines.all(line, line.missing == 0)';
    const hold = { id: 'hold-all', when: [part] };
    const when = [part, 'delivery.lines.size() > 0', 'order.country == "DK"'];
    const accept = { id: 'accept-some', action: 'accept', when };
    expect(warnings(hold, accept)).toEqual(
      says(/^accept-some: the rule never accepts: .*hold-all/),
    );
    const watching = { ...hold, more: '    mode: shadow\n' };
    expect(warnings(watching, accept)).toEqual(says(/^note accept-some: .*once hold-all is live/));
  });
});

/** A finding repairs the condition: what its hint says to write has no such finding. */
function expectRepaired(condition: string, message: RegExp, repaired: string): void {
  const [inner = condition] = condition.startsWith('delivery.lines.')
    ? [condition.slice(condition.indexOf(', ') + 2, -1)]
    : [];
  expect(warnings({ when: [condition] })).toEqual(
    says(new RegExp(` - write ${repaired.replaceAll(/[().]/g, '\\$&')}$`)),
  );
  expect(warnings({ when: [condition] })).toEqual(says(message));
  expect(warnings({ when: [condition.replace(inner, repaired)] })).toEqual([]);
}

describe('a fact that is never negative', () => {
  it.each([
    ['delivery.lines.exists(line, line.price_diff_pct < -5)', 'line.price_diff_pct > 5'],
    [
      'delivery.lines.exists(line, -2.5 >= line.list_price_diff_pct)',
      'line.list_price_diff_pct >= 2.5',
    ],
    ['delivery.lines.exists(line, line.stock_free < 0)', 'line.missing > 0'],
    ['delivery.lines.exists(line, line.weight == -1)', 'line.weight == 1'],
    ['customer.orders_before < 0', 'customer.orders_before == 0'],
    ['order.age < days(-3)', 'order.age > days(3)'],
  ])('is no fact to be below zero: %s', (condition, repaired) => {
    expectRepaired(condition, /never true: \S+ is never below 0/, repaired);
  });

  it.each([
    ['delivery.lines.exists(line, line.price_diff_pct > -5)', 'line.price_diff_pct < 5'],
    ['delivery.lines.all(line, line.missing >= 0)', 'has(line.missing)'],
  ])('is always above a number below zero: %s', (condition, repaired) => {
    const found = warnings({ when: [condition] });
    expect(found).toEqual([expect.stringContaining(`where it is known - write ${repaired}`)]);
  });

  it('is found within an alternative, and in an exception', () => {
    const never = says(/never true: customer\.refunds_90d/);
    expect(warnings({ when: ['order.preorder || customer.refunds_90d < 0'] })).toEqual(never);
    const unless = ['customer.refunds_90d < 0'];
    expect(warnings({ when: ['order.preorder'], unless })).toEqual(never);
    // What was packed beyond the order makes these negative.
    expect(warnings({ when: ['order.remaining_quantity < 0'] })).toEqual([]);
    expect(
      warnings({ when: ['delivery.lines.exists(line, line.remaining_quantity < 0)'] }),
    ).toEqual([]);
  });
});

describe('a fact that there may be none of', () => {
  const held = /is absent when .*, and then the delivery is held - write /;

  it.each([
    [
      'order.similar_within < hours(1)',
      'has(order.similar_within) && order.similar_within < hours(1)',
    ],
    ['order.comment.contains("x")', 'has(order.comment) && order.comment.contains("x")'],
    ['order.season in lists.nordic', 'has(order.season) && order.season in lists.nordic'],
    [
      'customer.credit.overdue_days > 14',
      'has(customer.credit) && customer.credit.overdue_days > 14',
    ],
    [
      'delivery.lines.exists(line, line.window_to < clock.now)',
      'has(line.window_to) && line.window_to < clock.now',
    ],
  ])('holds what it is not about without has(): %s', (condition, repaired) => {
    expectRepaired(condition, held, repaired);
  });

  it('is asked for by has() anywhere in the rule, or by what says that there is one', () => {
    const when = ['order.season != "AW24"'];
    expect(warnings({ when, action: 'reject' })).toEqual(says(held));
    for (const more of ['has(order.season)', 'order.preorder']) {
      expect(warnings({ when: [more, ...when] })).toEqual([]);
    }
    expect(warnings({ when: ['!has(order.season) || order.season == "SS27"'] })).toEqual([]);
    const part = 'order.country == "DK" || order.season == "SS27"';
    expect(warnings({ when: [part] })).toEqual(
      says(/write has\(order\.season\) && order\.season ==/),
    );
    expect(warnings({ when: ['order.country == "DK"'], unless: when })).toEqual(says(held));
  });

  it('does no harm in a rule that accepts', () => {
    const accept = { action: 'accept', when: ['order.similar_within > days(1)'] };
    expect(warnings(accept)).toEqual([]);
  });
});

describe('a code', () => {
  it.each([
    ['order.country == "EL"', /Greece is GR/],
    ['order.country in ["DK", "XI"]', /Northern Ireland is GB/],
    ['order.currency == "XAU"', /nobody pays with it/],
    ['order.currency == "XTS"', /nobody pays with it/],
    ['order.currency == "HRK"', /since 2023-01-01 it is EUR/],
    ['order.currency == "BGN"', /since 2026-01-01 it is EUR/],
    ['order.currency == "ANG"', /since 2025-03-31 it is XCG/],
    ['order.currency == "DEM"', /since 2002-01-01 it is EUR/],
    ['order.currency == "DKX"', /did you mean: DKK/],
  ])('that no order has today says why: %s', (condition, expected) => {
    expect(warnings({ when: [condition] })).toEqual(says(expected));
  });

  it('of today is known', () => {
    for (const code of ['EUR', 'XCG', 'XAF', 'ZWG', 'SLE', 'CHF']) {
      expect(warnings({ when: [`order.currency == "${code}"`] })).toEqual([]);
    }
    for (const code of ['GR', 'GB', 'XK']) {
      expect(warnings({ when: [`order.country == "${code}"`] })).toEqual([]);
    }
  });
});

describe('the check of a rule set is silent about', () => {
  it.each<[string, readonly Written[]]>([
    [
      'a limit of half a percent-free number',
      [{ when: ['delivery.lines.exists(line, line.price_diff_pct > 2)'] }],
    ],
    [
      'two ranges that overlap',
      [
        { id: 'one', when: ['delivery.quantity >= 10', 'order.country == "DK"'] },
        { id: 'two', when: ['delivery.quantity >= 5', 'order.country == "SE"'] },
      ],
    ],
    [
      'a wide hold of another currency',
      [
        { id: 'one', when: ['order.currency == "EUR"', 'delivery.amount > 100'] },
        { id: 'two', action: 'accept', when: ['order.currency == "DKK"', 'delivery.amount > 100'] },
      ],
    ],
    [
      'a hold whose fact the accept does not know',
      [
        { id: 'one', when: ['order.other_pending >= 1'] },
        { id: 'two', action: 'accept', when: ['order.country == "DK"'] },
      ],
    ],
    [
      'either of two countries',
      [{ when: ['order.country == "DK" || order.country == "SE"', 'order.country != "SE"'] }],
    ],
    [
      'a fraction of whole numbers in percent',
      [{ when: ['delivery.quantity * 100 < order.quantity * 80'] }],
    ],
  ])('%s', (_, rules) => {
    expect(warnings(...rules)).toEqual([]);
  });
});
