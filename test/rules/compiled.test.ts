import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { leave } from '../../src/rules/cel/code.ts';
import { contextOf, evaluateRule } from '../../src/rules/evaluate.ts';
import type { Frame } from '../../src/rules/facts/build.ts';
import type { Facts } from '../../src/rules/facts/plain.ts';
import { typicalFacts } from '../../src/rules/facts/typical.ts';
import { loadRules } from '../../src/rules/load.ts';
import type { RuleSet } from '../../src/rules/rule.ts';
import { load } from './independent/compare.ts';
import { readFacts } from './independent/pages.ts';
import { randomSet } from './independent/sets.ts';
import { randomFacts } from './independent/world.ts';

const SETS = 25;

/** What each kind of fact, sign and function means, also where random sets do not write it. */
const CONDITIONS = [
  'order.age < days(3) && order.age == hours(48)',
  'delivery.age - order.age < minutes(-5)',
  'order.age + minutes(1) < duration("58s")',
  'delivery.currency == "DKK"',
  'clock.now - customer.first_order_at > days(400) || order.created_at + days(2) <= clock.now',
  'order.created_at > timestamp("2026-03-01T10:00:00Z")',
  'order.quantity % 3 == 1 && order.quantity / 3 == 3 || -order.quantity < -9',
  'order.quantity / order.other_pending > 1',
  'order.other_pending + 9007199254740991 > 3',
  'order.amount * 0.5 > order.freight_amount',
  'order.amount - order.freight_amount > 20 && order.currency == "DKK"',
  'customer.credit.balance > customer.credit.limit * 0.9',
  'delivery.amount > customer.credit.headroom',
  'order.base_rate * 2.00001 < 15',
  'has(customer.credit.limit) || has(customer.credit.currency)',
  'has(order.comment) && order.comment.contains("urgent")',
  'customer.extra.share * 2 == 5 || customer.extra.risk in [1, 4] || customer.extra.vip',
  'customer.extra.group.startsWith(order.country)',
  'order.country in tables.limits || delivery.amount <= tables.limits[order.currency]',
  'tables.limits[order.city] > 2',
  'order.country in lists.many && lists.many.exists(code, code == order.country)',
  'order.preorder == delivery.lines.exists(line, line.noos) ? order.canceled : order.preorder',
  'delivery.lines.filter(line, line.missing > 0).exists(short, short.price_diff_pct > 2)',
  'delivery.lines.filter(line, line.noos).size() == 1 || order.delivery_names.size() > 1',
  'delivery.lines.all(line, line.price_diff_pct <= 2.5 && line.weight * line.quantity > 100)',
  'delivery.lines.exists(line, line.window_to - clock.now < days(2))',
  'delivery.lines.exists_one(line, line.noos)',
  'delivery.lines.all(line, line.noos && line.style_active)',
  'delivery.lines.map(line, line.barcode).size() > 1',
  'order.delivery_names.all(name, name in season.delivery_names)',
  'lower(order.city) == "oslo" || order.zip < "5000" || order.city.size() > 4',
];

/** Facts that a condition may find: odd numbers and texts, nulls, and gaps. */
const FACTS: readonly ((typical: Facts) => object)[] = [
  () => ({}),
  () => ({ customer: null, season: null, stock: null, today: null }),
  ({ customer }) => ({ customer: { ...customer, credit: null, extra: { risk: 4, share: 'x' } } }),
  ({ customer, order }) => ({
    customer: { ...customer, extra: { share: '2.5', vip: null, group: 'DK1', risk: 'x' } },
    order: { ...order, currency: 'EUR', age: -1_500, comment: '', delivery_names: ['1st'] },
    season: { name: 'AW26', delivery_names: ['2nd'] },
  }),
  ({ order, delivery }) => ({
    order: { ...order, amount: 9_007_199_254_740_991, other_pending: 3, base_rate: '7.46051' },
    delivery: { ...delivery, currency: 'EUR', amount: null },
  }),
  ({ delivery }) => ({
    delivery: {
      ...delivery,
      currency: null,
      lines: delivery.lines.flatMap((line) => [
        { ...line, price_diff_pct: '2.50001', noos: true, style_active: null, missing: null },
        { ...line, price: 9_007_199_254_740_000, order_price: 1, quantity: null, noos: null },
        { ...line, price: 2_010_000, window_to: 1_772_700_000_000, stock_free: 4 },
      ]),
    },
  }),
];

const SETTINGS = `version: 1
customer_fields: { risk: whole number, share: decimal, vip: true/false, group: text }
lists: { many: [DK, SE, NO, DE, FR, NL, BE, PL, IT, ES] }
tables: { limits: { DKK: 15000, EUR: 2000.5 } }
`;

/** The same facts, which compiled code does not see: the expression library evaluates all. */
function forLibrary(frame: Frame): Frame {
  const unseen = {
    get facts() {
      return leave();
    },
  };
  return { ...frame, view: Object.assign(Object.create(unseen), { currencies: {} }) };
}

function isCompiled(ruleSet: RuleSet): readonly boolean[] {
  const clauses = ruleSet.rules.flatMap((rule) => rule.clauses);
  return clauses.map(({ program }) => program.code !== undefined);
}

function expectSame(ruleSet: RuleSet, facts: Facts): void {
  for (const rule of ruleSet.rules) {
    const compiled = evaluateRule(rule, contextOf(ruleSet, facts));
    const byLibrary = evaluateRule(rule, forLibrary(contextOf(ruleSet, facts)));
    expect(compiled).toEqual(byLibrary);
  }
}

describe('a compiled condition', () => {
  it('says the same as the expression library, with the same values behind it', () => {
    const rules = CONDITIONS.map((text, at) => {
      const message = '{{delivery.amount}} {{order.age}} {{order.created_at}} {{order.preorder}}';
      const record = "{ lines: 'delivery.lines.filter(line, line.missing > 0)' }";
      const head = `  - { id: r${at}, title: R, action: hold, message: '${message}'`;
      return `${head}, record: ${record}, when: [ '${text}' ] }\n`;
    });
    const files = [
      { path: 'settings.yaml', text: SETTINGS },
      { path: 'rules.yaml', text: `rules:\n${rules.join('')}` },
    ];
    const loaded = loadRules(files, true);
    if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
    for (const change of FACTS) {
      const typical = typicalFacts();
      expectSame(loaded.ruleSet, { ...typical, ...change(typical) });
    }
  });

  it(`says the same as the expression library in ${SETS} random rule sets`, () => {
    const facts = readFacts();
    const compiled: boolean[] = [];
    for (let seed = 1; seed <= SETS; seed += 1) {
      const random = seededRandom(seed);
      const set = randomSet(random, facts);
      const ruleSet = load(set);
      compiled.push(...isCompiled(ruleSet));
      for (const unknown of [0, 0.05, 0.25]) {
        expectSame(ruleSet, randomFacts(random, facts, set.told, unknown));
      }
    }
    const share = compiled.filter(Boolean).length / compiled.length;
    expect(share).toBeGreaterThan(0.9);
  });
});
