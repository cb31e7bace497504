import { describe, expect, it } from 'vitest';
import { evaluate } from '../../src/rules/evaluate.ts';
import { explain, explainFolded } from '../../src/rules/explain.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';
import { complaints, decide, problemsOf, rulesOf, ruleText } from './support.ts';

const HOLD = ruleText(['customer.credit.overdue_days > 14'], '', 'hold');

describe('the message of a rule with alternatives', () => {
  it('names those that held, unless all of them did', () => {
    const when = ['delivery.quantity > 20 || order.country == "SE" || (order.preorder)'];
    const text = ruleText(when, "    message: '{{delivery.quantity}} pieces'\n", 'hold');
    const reason = (given: Readonly<Record<string, unknown>>) => decide(text, given).live.reason;
    expect(reason({ delivery: { quantity: 30 } })).toBe('30 pieces (delivery.quantity > 20)');
    expect(reason({ order: { country: 'SE', preorder: true } })).toBe(
      '10 pieces (order.country == "SE", order.preorder)',
    );
    const all = { delivery: { quantity: 30 }, order: { country: 'SE', preorder: true } };
    expect(reason(all)).toBe('30 pieces');
  });
});

describe('a rule', () => {
  it('is true when all of when hold and none of unless', () => {
    const text = ruleText(['order.country == "DK"'], '    unless: [order.preorder]\n');
    expect(decide(text).live).toMatchObject({ kind: 'accept', rules: ['a'] });
    expect(decide(text, { order: { preorder: true } }).live.kind).toBe('no_rule');
    expect(decide(text, { order: { country: 'SE' } }).live.kind).toBe('no_rule');
  });

  it('is false as soon as one clause decides so, although another is unknown', () => {
    const text = ruleText(['customer.credit.overdue_days > 14', 'order.preorder'], '', 'hold');
    const given = { customer: { credit: null } };
    expect(decide(text, given).rules[0]).toMatchObject({ value: false, missing: [] });
    expect(decide(text, { ...given, order: { preorder: true } }).rules[0]?.value).toBe('unknown');
  });

  it('is unknown when a fact is missing, and names it', () => {
    expect(decide(HOLD, { customer: { credit: null } }).rules[0]).toMatchObject({
      value: 'unknown',
      missing: ['customer.credit'],
    });
    expect(decide(HOLD, { customer: null }).rules[0]?.missing).toEqual(['customer.credit']);
    const loop = ruleText(['delivery.lines.exists(line, line.missing > 0)'], '', 'hold');
    const lines = [{ stock_free: null }, { stock_free: 5 }];
    expect(decide(loop, { delivery: { lines } }).rules[0]?.missing).toEqual([
      'delivery.lines.missing',
    ]);
  });

  it('takes a time beyond the calendar for very far off', () => {
    const settings = 'version: 1\ncustomer_fields: { terms: whole number }\n';
    const due = 'order.created_at + days(customer.extra.terms) < clock.now';
    const rules = rulesOf(ruleText([due], '', 'hold'), settings);
    const given = (terms: number) => factsOfTest({ customer: { extra: { terms } } });
    const live = (terms: number) => evaluate(rules, given(terms)).live.kind;
    const most = Number.MAX_SAFE_INTEGER;
    expect([1, 99_999_999, most].map(live)).toEqual(['hold', 'no_rule', 'no_rule']);
    expect([-99_999_999, -most].map(live)).toEqual(['hold', 'hold']);
    const never = "'!(clock.now <= order.created_at + days(customer.extra.terms))'";
    const reject = rulesOf(ruleText([never], '', 'reject'), settings);
    const armed = new Set(['a']);
    const tried = evaluate(reject, given(99_999_999), { armed, operands: false });
    expect(tried.live.kind).toBe('no_rule');
    expect(complaints(['order.age > duration("99999999999h")'])[0]).toContain('is not a duration');
  });

  it('takes has() of a missing fact for false, of one in a missing group for unknown', () => {
    const text = ruleText(['has(customer.credit)'], '', 'hold');
    expect(decide(text, { customer: null }).rules[0]?.value).toBe(false);
    const guarded = ruleText(['has(order.season) && order.season == "AW24"'], '', 'hold');
    expect(decide(guarded).rules[0]?.value).toBe(false);
    expect(decide(guarded, { order: { season: 'AW24' } }).rules[0]?.value).toBe(true);
    const deep = 'has(customer.credit.limit) && customer.credit.limit > customer.credit.balance';
    const values = [deep, `has(customer.credit) && ${deep}`].map(
      (condition) => decide(ruleText([condition], '', 'hold'), { customer: null }).rules[0]?.value,
    );
    expect(values).toEqual(['unknown', false]);
  });

  it('never takes a null for a value', () => {
    const text = ruleText(['has(order.season)'], '', 'hold');
    expect(decide(text, { order: { season: null } }).rules[0]?.value).toBe(false);
    const compared = ruleText(['order.season != "AW24"'], '', 'hold');
    expect(decide(compared, { order: { season: null } }).rules[0]?.value).toBe('unknown');
  });

  it('cannot compare amounts of two currencies', () => {
    const text = ruleText(['customer.credit.headroom >= delivery.amount']);
    expect(decide(text).live.kind).toBe('accept');
    const euro = decide(text, { order: { currency: 'EUR' } });
    expect(euro.live.kind).toBe('no_rule');
    expect(euro.rules[0]?.missing[0]).toContain('amounts in DKK and in EUR cannot be compared');
    const unknown = decide(text, { customer: { credit: { currency: null } } });
    expect(unknown.rules[0]?.value).toBe('unknown');
    const neither = { order: { currency: null }, customer: { credit: { currency: null } } };
    expect(decide(text, neither).rules[0]?.value).toBe('unknown');
    const own = { order: { currency: null }, delivery: { currency: 'DKK' } };
    expect(decide(text, own).live.kind).toBe('accept');
  });

  it('is unknown where an amount is no whole number of its smallest units', () => {
    const rules = rulesOf(ruleText(['order.amount > 0'], '', 'hold'));
    const facts = factsOfTest({});
    const broken = { ...facts, order: { ...facts.order, amount: 0.5 } };
    expect(evaluate(rules, broken).live.code).toBe('could_not_evaluate');
  });

  it('is decided exactly at the boundary', () => {
    const text = ruleText(['order.currency == "DKK"', 'delivery.amount <= 30000']);
    const kind = (amount: number): string => decide(text, { delivery: { amount } }).live.kind;
    expect([kind(30_000), kind(30_000.01), kind(29_999.99)]).toEqual([
      'accept',
      'no_rule',
      'accept',
    ]);
    const young = ruleText(['delivery.age < duration("1.5s")']);
    const aged = (age: string) => decide(young, { delivery: { age } }).live.kind;
    expect([aged('1499ms'), aged('1500ms')]).toEqual(['accept', 'no_rule']);
    const percent = ruleText(['delivery.lines.exists(line, line.price_diff_pct > 2)'], '', 'hold');
    const off = (price: number, order_price: number): unknown =>
      decide(percent, { delivery: { lines: [{ price, order_price }] } }).rules[0]?.value;
    expect([off(102, 100), off(102.01, 100), off(98, 100), off(97.99, 100)]).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect([off(3.06, 3), off(0, 0), off(1, 0)]).toEqual([false, false, 'unknown']);
  });
});

describe('modes', () => {
  it('lets the weakest of rule, set and global mode win', () => {
    const text = (mode: string): string => HOLD.replace('mode: live', `mode: ${mode}`);
    const given = { customer: { credit: { overdue_days: 15 } } };
    expect(decide(text('live'), given).live.kind).toBe('hold');
    expect(decide(text('live'), given, { mode: 'shadow' }).live.kind).toBe('no_rule');
    expect(decide(text('live'), given, { mode: 'shadow' }).shadow.kind).toBe('hold');
    expect(decide(text('shadow'), given).live.kind).toBe('no_rule');
    expect(decide(text('shadow'), given).shadow.kind).toBe('hold');
    expect(decide(text('off'), given).rules).toEqual([]);
    const set = (mode: string) =>
      evaluate(rulesOf(HOLD, `version: 1\nmode: ${mode}\n`), factsOfTest(given));
    expect(set('live').live.kind).toBe('hold');
    expect([set('shadow').live.kind, set('shadow').shadow.kind]).toEqual(['no_rule', 'hold']);
    expect(set('off').rules).toEqual([]);
    expect(rulesOf(HOLD.replace('    mode: live\n', '')).rules[0]?.mode).toBe('shadow');
  });

  it('lets a live reject rule hold until it is armed itself', () => {
    const text = ruleText(['order.country == "SE"'], '', 'reject');
    const given = { order: { country: 'SE' } };
    const [id, hash] = [rulesOf(text).rules[0]?.id ?? '', rulesOf(text).rules[0]?.hash ?? ''];
    expect(decide(text, given)).toMatchObject({
      live: { kind: 'hold', code: 'not_armed', rules: [id] },
      shadow: { kind: 'reject' },
      rules: [{ mode: 'live', armed: false }],
    });
    expect(decide(text, given, { armed: new Set([id]) }).live.kind).toBe('reject');
    expect(decide(text, given, { armed: new Set([hash]) }).live.kind).toBe('hold');
    expect(decide(text, { order: { country: null } }).live.code).toBe('could_not_evaluate');
    const armed = new Set<string>();
    expect(decide(text, given, { armed, mode: 'shadow' }).live.kind).toBe('no_rule');
    const watched = decide(text, given, { armed, watching: new Set([id]) });
    expect(watched).toMatchObject({ live: { kind: 'no_rule' }, rules: [{ mode: 'shadow' }] });
  });

  it('holds nothing by a reject rule with otherwise: nothing, nor by one that is not live', () => {
    const text = ruleText(['order.country == "SE"'], '    otherwise: nothing\n', 'reject');
    const given = { order: { country: 'SE' } };
    const quiet = { live: { kind: 'no_rule' }, shadow: { kind: 'reject' } };
    expect(decide(text, given)).toMatchObject({ ...quiet, rules: [{ mode: 'shadow' }] });
    expect(decide(text, given, { armed: new Set(['a']) }).live.kind).toBe('reject');
    const plain = text.replace('    otherwise: nothing\n', '');
    expect(decide(plain.replace('mode: live', 'mode: shadow'), given)).toMatchObject(quiet);
    expect(decide(plain.replace('mode: live', 'mode: off'), given).rules).toEqual([]);
    const [with_, without] = [rulesOf(text), rulesOf(plain)];
    expect(with_.rules[0]?.hash).toBe(without.rules[0]?.hash);
    expect(with_.hash).not.toBe(without.hash);
    expect(rulesOf(text.replace('nothing', 'hold')).hash).toBe(without.hash);
    const misplaced = problemsOf(text.replace('action: reject', 'action: hold'));
    expect(misplaced[0]).toContain('otherwise: belongs to reject rules, this one is hold');
  });

  it('applies rules in their time and to deliveries of their state only', () => {
    const dated = ruleText(
      ['order.country == "DK"'],
      '    effective_until: 2026-03-03T10:00:00Z\n',
    );
    expect(decide(dated).live.kind).toBe('no_rule');
    const before = { clock: { now: '2026-03-03T09:59:59Z' } };
    expect(decide(dated, before).live.kind).toBe('accept');
    const late = decide(dated.replace('_until', '_from'), before);
    expect([late.live.kind, late.rules]).toEqual(['no_rule', []]);
    expect(decide(dated.replace('_until', '_from')).live.kind).toBe('accept');
    const accepted = { delivery: { status: 'accepted' } };
    expect(decide(HOLD, { ...accepted, customer: { credit: null } }).rules).toEqual([]);
  });
});

describe('an evaluation', () => {
  it('holds a delivery without lines, whatever the rules say', () => {
    const text = ruleText(['delivery.lines.all(line, line.missing == 0)']);
    expect(decide(text, { delivery: { lines: [] } }).live).toMatchObject({
      kind: 'hold',
      code: 'empty_delivery',
    });
    const none = decide(text.replace('mode: live', 'mode: off'), { delivery: { lines: [] } });
    expect([none.rules, none.live.code]).toEqual([[], 'empty_delivery']);
    const observing = decide(text, { delivery: { lines: [] } }, { mode: 'shadow' });
    expect([observing.live.code, observing.shadow.code]).toEqual(['no_rule', 'empty_delivery']);
  });

  it('holds a delivery that is worth less than nothing, whatever the rules say', () => {
    const text = ruleText(['delivery.amount <= 15000.0', 'order.currency == "DKK"']);
    const code = (lines: unknown) => decide(text, { delivery: { lines } }).live.code;
    expect(code([{ quantity: 10, price: -40 }])).toBe('below_zero');
    expect(code([{ quantity: -10, price: 40 }])).toBe('below_zero');
    expect(
      code([
        { quantity: 10, price: 40 },
        { quantity: 1, price: -400.01 },
      ]),
    ).toBe('below_zero');
    // A rebate beside goods, as far as something is left, and goods that are given free.
    expect(
      code([
        { quantity: 10, price: 40 },
        { quantity: 1, price: -399 },
      ]),
    ).toBe('accept_rule');
    expect(code([{ quantity: 10, price: 0 }])).toBe('accept_rule');
    // What is returned is no part of a delivery, however much the rest is worth.
    expect(
      code([
        { quantity: 10, price: 40 },
        { quantity: -1, price: 1 },
      ]),
    ).toBe('below_zero');
  });

  it('takes a hold that has lasted its time for an accept only where it still matches', () => {
    const ends = `${HOLD}    hold: { then: accept }\n`;
    const lapsed = new Set([rulesOf(ends).rules[0]?.textHash ?? '']);
    const live = (credit: unknown) => decide(ends, { customer: { credit } }, { lapsed }).live;
    expect(live({ overdue_days: 15 })).toMatchObject({
      kind: 'accept',
      rules: ['a'],
      reason: 'held for its time: A',
    });
    expect(live({ overdue_days: null })).toMatchObject({
      kind: 'hold',
      code: 'could_not_evaluate',
    });
    expect(live({ overdue_days: 14 }).kind).toBe('no_rule');
  });

  it('lets the other rules decide once a hold that ends with release has lasted its time', () => {
    const ends = `${HOLD}    hold: { then: release }\n`;
    const lapsed = new Set([rulesOf(ends).rules[0]?.textHash ?? '']);
    const live = (overdue: number | null) =>
      decide(ends, { customer: { credit: { overdue_days: overdue } } }, { lapsed }).live;
    expect(live(15)).toMatchObject({ kind: 'no_rule', rules: [] });
    expect(live(null)).toMatchObject({ kind: 'hold', code: 'could_not_evaluate' });
  });

  it('takes an empty text for unknown in has(), and for a text everywhere else', () => {
    const value = (when: string, comment: string | null) =>
      decide(ruleText([when]), { order: { comment } }).rules[0]?.value;
    expect(value('has(order.comment)', '')).toBe(false);
    expect(value('has(order.comment)', 'x')).toBe(true);
    expect(value('has(order.comment)', null)).toBe(false);
    expect(value('order.comment == ""', '')).toBe(true);
    expect(value('order.comment.contains("stop")', '')).toBe(false);
    const guarded = 'has(order.comment) && order.comment != "" && order.season == "SS27"';
    const [rule] = decide(ruleText([guarded]), { order: { comment: 'x', season: null } }).rules;
    expect(rule).toMatchObject({ value: 'unknown', missing: ['order.season'] });
  });

  it('compares texts whatever their letters by lower()', () => {
    const [rule] = decide(ruleText(['lower(order.company) == "müller"']), {
      order: { company: 'MÜLLER' },
    }).rules;
    expect(rule?.value).toBe(true);
  });

  it('names the row that a table has not', () => {
    const text = ruleText(['delivery.amount <= tables.limits[order.currency]'], '', 'hold');
    const set = rulesOf(text, 'version: 1\ntables: { limits: { EUR: 5 } }\n');
    const { live } = evaluate(set, factsOfTest({}));
    expect(live.reason).toBe('could not evaluate: tables.limits has no row "DKK"');
  });

  it('renders messages and records extras', () => {
    const rest =
      "    message: '{{delivery.quantity}} pcs, {{delivery.amount}} {{delivery.currency}}, " +
      "{{order.season}}, {{order.age}}'\n" +
      "    record: { worst: 'order.rejected_before', none: 'order.season' }\n";
    const [rule] = decide(ruleText(['order.country == "DK"'], rest)).rules;
    expect(rule?.message).toBe('10 pcs, 2000.00 DKK, ?, 2d');
    expect(rule?.record).toEqual({ worst: 0, none: null });
    expect(decide(ruleText(['order.country == "DK"'])).rules[0]?.message).toBe('A');
    const set = rulesOf(ruleText(['order.country == "DK"'], rest));
    const bare = evaluate(set, factsOfTest({}), { messages: false });
    expect(bare.rules[0]).toMatchObject({ value: true, clauses: [{ value: true }] });
    expect(bare.rules[0]).not.toHaveProperty('message');
    expect(bare.live.kind).toBe('accept');
  });

  it('explains each clause with the values behind it', () => {
    const text = ruleText(
      ['has(order.season)', 'delivery.lines.all(line, line.missing == 0)', 'order.age > days(1)'],
      '    unless: [order.preorder]\n',
    );
    const lines = [{ barcode: 'A-1', quantity: 5, stock_free: 4 }, { barcode: 'A-2' }];
    expect(explain(decide(text, { delivery: { lines }, order: { season: 'AW24' } }))).toBe(
      [
        'D-7001 => NO_RULE (no rule applies)',
        'a (accept, live): does not match',
        '  ok  line 7 has(order.season)',
        '         has(order.season) = true',
        '  no  line 8 delivery.lines.all(line, line.missing == 0)',
        '         delivery.lines that fail = 1 of 2 [barcode A-1, missing 1]',
        '  ok  line 9 order.age > days(1)',
        '         order.age = 2d',
        '  ok  line 10 unless order.preorder',
        '         order.preorder = false',
      ].join('\n'),
    );
  });

  it('folds rules that were not near, and shows the one condition that a rule missed by', () => {
    const rule = (id: string, action: string, ...when: string[]) => {
      const conditions = when.map((one) => `'${one}'`).join(', ');
      const what = `action: ${action}, mode: live, when: [${conditions}]`;
      return `  - { id: ${id}, title: ${id}, ${what} }\n`;
    };
    const text = [
      'rules:\n',
      rule('far', 'accept', 'delivery.quantity > 99', 'order.country == "SE"'),
      rule('holding', 'hold', 'delivery.quantity > 9'),
      rule('near', 'accept', 'delivery.quantity > 9', 'order.country == "SE"'),
      rule('unclear', 'accept', 'delivery.quantity > 9', 'customer.credit.overdue_days > 5'),
      rule('matching', 'accept', 'delivery.quantity > 9'),
      rule('other', 'hold', 'order.country == "SE"'),
    ].join('');
    const decided = decide(text, { customer: null });
    expect(explainFolded(decided)).toBe(
      [
        'D-7001 => HOLD (hold rule)  holding',
        '  holding',
        'holding (hold, live): matches',
        '     holding',
        '  ok  line 3 delivery.quantity > 9',
        '         delivery.quantity = 10',
        'near (accept, live): does not match',
        '  no  line 4 order.country == "SE"',
        '         order.country = DK',
        'unclear (accept, live): unknown (customer.credit)',
        '  ??  line 5 customer.credit.overdue_days > 5',
        '         customer.credit.overdue_days = ? (customer.credit is not known)',
        'matching (accept, live): matches',
        '     matching',
        '2 other rules do not match (--all shows them)',
      ].join('\n'),
    );
    expect(explain(decided)).toContain('far (accept, live): does not match');
  });

  it('says what was not known', () => {
    expect(explain(decide(HOLD, { customer: null }))).toBe(
      [
        'D-7001 => HOLD (could not evaluate)  a',
        '  could not evaluate: customer.credit',
        'a (hold, live): unknown (customer.credit)',
        '  ??  line 7 customer.credit.overdue_days > 14',
        '         customer.credit.overdue_days = ? (customer.credit is not known)',
      ].join('\n'),
    );
  });

  it('says whom to ask about a rule that has a say', () => {
    const owned = HOLD.replace('title:', 'owner: credit-control\n    title:');
    const told = (credit: object | null): string | undefined =>
      explain(decide(owned, { customer: { credit } }))
        .split('\n')
        .find((line) => line.startsWith('a ('));
    expect(told({ overdue_days: 15 })).toBe('a (hold, live): matches, ask credit-control');
    expect(told(null)).toBe('a (hold, live): unknown (customer.credit), ask credit-control');
    expect(told({ overdue_days: 14 })).toBe('a (hold, live): does not match');
  });

  it('knows what each rule reads', () => {
    const text = ruleText(['delivery.lines.all(line, line.missing == 0)', 'has(order.season)']);
    expect(rulesOf(text).rules[0]?.reads).toEqual([
      'delivery.lines',
      'delivery.lines.missing',
      'order.season',
    ]);
    const keyed = ruleText([
      'delivery.amount <= tables.limits[order.currency]',
      'order.reference.contains(order.comment)',
    ]);
    const settings = 'version: 1\ntables: { limits: { DKK: 5 } }\n';
    expect(rulesOf(keyed, settings).rules[0]?.reads).toEqual([
      'delivery.amount',
      'order.comment',
      'order.currency',
      'order.reference',
      'tables.limits',
    ]);
  });
});

describe('the values behind a condition', () => {
  it('tell a list of lines by its length, however long it is', () => {
    const clause = (lines: number) => {
      const given = { delivery: { lines: Array.from({ length: lines }, () => ({})) } };
      return decide(ruleText(['delivery.lines.size() > 0']), given).rules[0]?.clauses[0];
    };
    expect(clause(40)).toMatchObject({
      value: true,
      operands: [{ text: 'delivery.lines', value: '40 lines' }],
    });
    expect(clause(1)?.operands).toEqual([{ text: 'delivery.lines', value: '1 line' }]);
    const [rule] = rulesOf(ruleText(['delivery.lines.size() > 0'])).rules;
    expect(rule?.reads).toEqual(['delivery.lines']);
  });

  const behind = (condition: string) =>
    decide(ruleText([condition]), {}).rules[0]?.clauses[0]?.operands;

  it('are those of the whole loop where its item has a name of the library', () => {
    for (const item of ['list', 'type', 'cel']) {
      const text = `delivery.lines.exists(${item}, ${item}.stock_free < 5)`;
      expect(behind(text)).toEqual([{ text, value: false }]);
    }
  });

  it('keep the parentheses of the condition', () => {
    expect(behind('order.quantity - (order.other_pending + 3) > 5')).toEqual([
      { text: 'order.quantity - (order.other_pending + 3)', value: 7 },
    ]);
    const left = '((order.quantity - 1)) * (order.quantity + 2) > 5';
    expect(behind(left)).toEqual([
      { text: '((order.quantity - 1)) * (order.quantity + 2)', value: 108 },
    ]);
    const text = `'("a)\\")(" + order.reference).size() > 0'`;
    expect(behind(text)).toEqual([{ text: '"a)\\")(" + order.reference', value: 'a)")(PO-1' }]);
    const share = 'delivery.amount * 0.0000000001 > 0';
    expect(behind(share)).toEqual([{ text: 'delivery.amount * 0.0000000001', value: '0.0000002' }]);
    const lines = 'delivery.lines.exists(line, line.quantity - (line.ordered - 3) == 3)';
    expect(behind(lines)).toMatchObject([{ which: 'match', of: 2, count: 2 }]);
  });

  it('stand on one line, however many the condition has', () => {
    const condition = '|\n          order.quantity - // whole order\n          3 > 5';
    expect(behind(condition)).toEqual([{ text: 'order.quantity - // whole order 3', value: 7 }]);
  });

  it('are shown whatever a comment within them says', () => {
    const value = (comment: string) =>
      behind(
        `|\n          (order.quantity - 1) * // ${comment}\n          (3 + order.quantity) > 5`,
      );
    expect(value("don't :)")).toMatchObject([{ value: 117 }]);
    expect(value('(')).toMatchObject([{ value: 117 }]);
  });
});

describe('hashes', () => {
  const base = ruleText(['order.country in lists.nordic'], '', 'reject');
  const settings = 'version: 1\nlists: { nordic: [DK], other: [x] }\n';
  const hashes = (text: string, data = settings): readonly [string | undefined, string] => {
    const set = rulesOf(text, data);
    return [set.rules[0]?.hash, set.hash];
  };

  it('change with a condition, and with a list that the rule reads', () => {
    const [rule, set] = hashes(base);
    expect(hashes(base.replace('nordic', 'other'))[0]).not.toBe(rule);
    const [edited, editedSet] = hashes(base, settings.replace('[DK]', '[DK, SE]'));
    expect(edited).not.toBe(rule);
    expect(editedSet).not.toBe(set);
  });

  it('change with all that says when and how the rule acts', () => {
    const rests = [
      '',
      'unless: [order.preorder]',
      'unless: [season.listed]',
      'applies_to: [pending, accepted]',
      'effective_from: 2026-01-01',
      'effective_until: 2026-01-01',
      'effective_until: 2026-01-02',
      'hold: { at_most: 1h }',
      'hold: { at_most: 1h, then: accept }',
    ];
    const when = ['clock.business_hours'];
    const texts = rests.map((rest) => ruleText(when, rest && `    ${rest}\n`, 'hold'));
    const all = [...texts, ruleText(when), ruleText(when, '', 'reject')];
    expect(new Set(all.map((text) => hashes(text)[0])).size).toBe(all.length);
    const table = ruleText(['delivery.amount <= tables.t[order.currency]'], '', 'reject');
    const limits = ['5', '5.01'].map((limit) => `version: 1\ntables: { t: { DKK: ${limit} } }\n`);
    expect(new Set(limits.map((data) => hashes(table, data)[0])).size).toBe(2);
  });

  it('do not depend on the order of the rules, but on safeguards and the calendar', () => {
    const other = base.replace('id: a', 'id: b').slice('rules:\n'.length);
    const swapped = `rules:\n${other}${base.slice('rules:\n'.length)}`;
    expect(hashes(`${base}${other}`)[1]).toBe(hashes(swapped)[1]);
    const more = [
      'safeguards: { revocation: { max_per_day: 1 } }',
      'calendar: { holidays: [2026-12-24] }',
    ];
    const sets = ['', ...more].map((line) => hashes(base, `${settings}${line}\n`)[1]);
    expect(new Set(sets).size).toBe(3);
  });

  it('stay with a comment, a title, a test, and a list that the rule does not read', () => {
    const [rule, set] = hashes(base);
    expect(hashes(`# note\n${base.replace('title: A', 'title: B')}`)).toEqual([rule, set]);
    expect(hashes(`${base}    tests: [{ name: x, expect: none }]\n`)).toEqual([rule, set]);
    expect(hashes(base, settings.replace('[x]', '[y]'))[0]).toBe(rule);
    expect(hashes(base, settings.replace('[x]', '[y]'))[1]).not.toBe(set);
  });

  it('of a reject rule change with what the settings make of the facts that it reads', () => {
    const fields = (type: string) => `customer_fields: { risk: ${type}, vip: true/false }`;
    const days = ['timezone: UTC', 'timezone: Europe/Copenhagen'] as const;
    const hours = ['', 'calendar: { to: "18:00" }', 'calendar: { holidays: [2026-12-24] }'];
    const readings = {
      'clock.weekday == "friday"': [days, hours],
      'clock.business_hours': [[...days, ...hours.slice(1)], ['timezone: UTC']],
      'has(customer.extra.risk) && customer.extra.risk > 3': [
        ['whole number', 'decimal'].map(fields),
        [fields('decimal'), fields('decimal').replace('true/false', 'text')],
      ],
    };
    for (const [reading, [count, ignored]] of Object.entries(readings)) {
      const rule = (line: string): string | undefined =>
        hashes(ruleText([reading], '', 'reject'), `version: 1\n${line}\n`)[0];
      expect(new Set(count?.map(rule)).size).toBe(count?.length);
      expect(new Set(ignored?.map(rule)).size).toBe(1);
    }
  });

  it('let the mode change the set but not the rule', () => {
    const [rule, set] = hashes(base);
    const [offRule, offSet] = hashes(base.replace('mode: live', 'mode: off'));
    expect(offRule).toBe(rule);
    expect(offSet).not.toBe(set);
  });
});
