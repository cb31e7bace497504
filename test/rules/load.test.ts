import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../../src/rules/load.ts';
import { complaints, problemsOf, rulesOf, ruleText } from './support.ts';

const DKK = 'order.currency == "DKK"';

describe('the loader', () => {
  it('tells every problem at once, each at its place with the source line', () => {
    const text = ruleText([
      'order.contry == "DK" && delivery.amont > 5',
      'order.preorder and true',
    ]);
    expect(problemsOf(text)).toEqual([
      'r.yaml:7:15 a: order has no field "contry" - did you mean: country?\n' +
        '      - order.contry == "DK" && delivery.amont > 5\n' +
        '              ^^^^^^',
      'r.yaml:7:42 a: delivery has no field "amont" - did you mean: amount?\n' +
        '      - order.contry == "DK" && delivery.amont > 5\n' +
        '                                         ^^^^^',
      'r.yaml:8:24 a: Unexpected character: \'d\' - did you mean: write && instead of "and"?\n' +
        '      - order.preorder and true\n' +
        '                       ^^^',
    ]);
  });

  it('checks the conditions of a rule whose keys are wrong, too', () => {
    const text = ruleText(['order.contry == "DK"'], '    holt: {}\n');
    expect(problemsOf(text).map((problem) => problem.split('\n')[0])).toEqual([
      'r.yaml:7:15 a: order has no field "contry" - did you mean: country?',
      'r.yaml:8:5 a: there is no key "holt" - did you mean: hold?',
    ]);
  });

  it('walks the argument of has()', () => {
    expect(complaints(['has(order.seeson)'])).toEqual([
      'r.yaml:7:19 a: order has no field "seeson" - did you mean: season?',
    ]);
    expect(complaints(['delivery.lines.exists(line, has(line.seeson))'])).toEqual([
      'r.yaml:7:46 a: line has no field "seeson" - did you mean: season?',
    ]);
    expect(complaints(['order.?season == "x"'])).toHaveLength(1);
    for (const owner of ['order', 'lists', 'tables', 'customer.extra']) {
      expect(complaints([`has(${owner}.constructor)`]), owner).toHaveLength(1);
    }
  });

  it('walks what is left of a filtered list', () => {
    const filtered = 'delivery.lines.filter(line, line.quantity > 2)';
    const [rule] = rulesOf(ruleText([`${filtered}.all(l, l.stock_free == 0)`])).rules;
    expect(rule?.reads).toContain('delivery.lines.stock_free');
    const [first] = rulesOf(ruleText([`${filtered}[0].noos`])).rules;
    expect(first?.reads).toContain('delivery.lines.noos');
    expect(complaints([`${filtered}.exists(l, has(l.nooss))`])).toEqual([
      'r.yaml:7:72 a: line has no field "nooss" - did you mean: noos?',
    ]);
    expect(complaints([`${filtered}[0].price > 100`])).toEqual([
      expect.stringContaining('but in which currency?'),
    ]);
  });

  it('warns of a rule that says exactly what another one says', () => {
    const [one] = ruleText(['order.preorder'], '', 'hold').split('rules:\n').slice(1);
    const two = one?.replace('id: a', 'id: b').replace('title: A', 'title: B') ?? '';
    const warnings = (other: string) => rulesOf(`rules:\n${one}${other}`).warnings;
    expect(warnings(two)).toMatchObject([
      { ruleId: 'b', line: 8, column: 9, message: expect.stringContaining('exactly what a says') },
    ]);
    expect(warnings(two.replace('action: hold', 'action: accept'))).toMatchObject([
      { ruleId: 'b', message: expect.stringContaining('wherever it matches, a holds') },
    ]);
    expect(warnings(`${two}    hold: { at_most: 1h }\n`)).toEqual([]);
  });

  it('refuses what hides which fact, list or table is read', () => {
    const settings = 'version: 1\nlists: { closed: [AW23] }\n';
    const behindPoint = 'the name of a fact, list or table stands behind a point';
    expect(complaints([`'order.season in lists["closed"]'`], settings)).toEqual([
      `r.yaml:7:26 a: ${behindPoint} - write .closed instead`,
    ]);
    expect(complaints([`'delivery.lines[0]["stock_free"] == 0'`])).toEqual([
      `r.yaml:7:10 a: ${behindPoint} - write .stock_free instead`,
    ]);
    expect(complaints(["'[delivery.lines[0]][0].stock_free == 0'"])).toEqual([
      expect.stringContaining('it cannot be told where "stock_free" comes from'),
    ]);
    const lines = '(order.preorder ? delivery.lines : delivery.lines)';
    for (const list of ['delivery.lines.map(l, l)', '[delivery.lines[0]]', lines]) {
      expect(complaints([`'${list}.all(x, x.stock_free == 0)'`])).toEqual([
        expect.stringContaining('it cannot be told where "stock_free" comes from'),
      ]);
    }
  });

  it('knows the values of an enum', () => {
    const possible = 'possible: pending, accepted, rejected, canceled';
    const never = `a: "pendng" is never a value of delivery.status; ${possible}`;
    expect(complaints(['\'delivery.status == "pendng"\''])).toEqual([`r.yaml:7:29 ${never}`]);
    expect(complaints(['\'"pendng" != delivery.status\''])).toEqual([`r.yaml:7:10 ${never}`]);
    expect(complaints(['\'delivery.status in ["pending", "pendng"]\''])).toHaveLength(1);
  });

  it('knows the form of country and currency codes', () => {
    expect(complaints(['order.country == "dk"'])).toEqual([
      'r.yaml:7:26 a: "dk" is never a value of order.country - ' +
        'a country is two capital letters such as "DK"',
    ]);
    expect(complaints(['order.currency in ["DKK", "Euro"]'])).toHaveLength(1);
    expect(complaints(['order.country == "DNK"'])).toHaveLength(1);
    expect(complaints(['order.currency == "EURO"'])).toHaveLength(1);
  });

  it('does not search in a text where a list was meant', () => {
    expect(complaints(['order.country in "DK"'])[0]).toContain('in needs a list');
    expect(complaints(['\'"DK" in order.country\''])[0]).toContain('in needs a list');
    expect(complaints(['order.country in ["DK"]'])).toEqual([]);
    expect(complaints(['\'"A" in order.delivery_names\''])).toEqual([]);
  });

  it('bounds the size of a condition', () => {
    const long = Array(300).fill('order.preorder').join(' && ');
    expect(complaints([long])).toHaveLength(1);
    const deep = `'${'!('.repeat(60)}order.preorder${')'.repeat(60)}'`;
    expect(complaints([deep])).toHaveLength(1);
    const oneOf = (count: number) => `order.quantity in [${Array(count).fill('7').join(', ')}]`;
    expect(complaints([oneOf(200)])).toEqual([]);
    expect(complaints([oneOf(201)])).toHaveLength(1);
    expect(complaints([Array(4).fill(oneOf(120)).join(' || ')])).toHaveLength(1);
  });

  it('bounds the number of files', () => {
    const files = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ path: `${at}.yaml`, text: 'rules: []\n' }));
    expect('ruleSet' in loadRules(files(100))).toBe(true);
    const many = loadRules(files(101));
    expect('problems' in many && many.problems[0]?.message).toBe('more than 100 rule files');
  });

  it('takes any text for a rule file without failing', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        complaints([text.replaceAll('\n', ' ')]);
        complaints([`'${text.replaceAll(/[\n']/g, ' ')}'`]);
        problemsOf(text);
      }),
    );
  });

  it('evaluates literal durations and times at load', () => {
    expect(complaints(['order.age > duration("3d")'])).toEqual([
      'r.yaml:7:30 a: "3d" is not a duration - write days(3), hours(36) or minutes(90)',
    ]);
    expect(complaints(['clock.now > timestamp("2026-13-01T00:00:00Z")'])).toHaveLength(1);
    expect(complaints(['clock.now > timestamp("2026-02-30T00:00:00Z")'])).toHaveLength(1);
    expect(complaints(['clock.now > timestamp(order.reference)'])).toHaveLength(1);
    const tooLong = '2026-03-03T10:00:00.12345678901Z';
    for (const never of ['2026-03-03T10:00:00', '2026-03-03T10:00Z', '2026-03-03', tooLong]) {
      expect(complaints([`clock.now > timestamp("${never}")`])).toEqual([
        expect.stringContaining(`"${never}" is not a point in time`),
      ]);
    }
    expect(complaints(['order.age > duration("2880h")', 'order.age > days(120)'])).toEqual([]);
    for (const text of ['-0.5s', '-1m500ms', '-0.0001h']) {
      expect(complaints([`order.age + duration("${text}") > hours(1)`])).toEqual([
        expect.stringContaining('is negative and not in whole hours, minutes or seconds'),
      ]);
    }
    expect(complaints(['order.age + duration("-90m") > duration("0.5s")'])).toEqual([]);
  });

  it('takes a time that only a machine would understand for no time', () => {
    const during = (text: string) =>
      problemsOf(ruleText([DKK], `    effective_until: '${text}'\n`));
    for (const vague of ['1.12.2026', '12', '2026-02-30', '2026-12-01T08:00:00', 'Dec 1']) {
      expect(during(vague)).toEqual([
        expect.stringContaining('effective_until: write a time such as 2026-03-01T08:00:00Z'),
      ]);
    }
    for (const time of ['2026-12-01', '2026-12-01T08:00Z', '2026-12-01T08:00:00+01:00']) {
      expect(during(time)).toEqual([]);
    }
    const given = (at: string) => `{ order: { created_at: ${at} } }`;
    const test = (at: string) => `    tests: [{ name: n, expect: accept, given: ${given(at)} }]\n`;
    expect(problemsOf(ruleText([DKK], test('2026-02-30T00:00:00Z')))).toHaveLength(1);
    expect(problemsOf(ruleText([DKK], test('2026-02-28T00:00:00Z')))).toEqual([]);
  });

  it('demands true or false, and nothing that only might be', () => {
    expect(complaints(['order.quantity'])[0]).toContain('must be true or false');
    expect(complaints(['order.reference'])[0]).toContain('must be true or false');
    expect(complaints(['dyn(order.preorder)'])[0]).toContain('dyn() cannot be used');
    expect(complaints(['\'"Submit order"\''])[0]).toContain('a condition must be true or false');
  });

  it('forbids what can hang or mislead', () => {
    expect(complaints(['order.reference.matches("(a+)+$")'])).toEqual([
      'r.yaml:7:9 a: matches() cannot be used in a rule - use startsWith, endsWith or contains',
    ]);
    expect(complaints(['clock.now.getHours("Europe/Copenhagn") > 17'])).toEqual([
      'r.yaml:7:9 a: getHours() cannot be used in a rule - ' +
        'use clock.business_hours, clock.weekday or an age',
    ]);
    const nested = 'delivery.lines.all(l, delivery.lines.exists(m, m.barcode == l.barcode))';
    expect(complaints([nested])[0]).toContain('exists() inside another loop');
    expect(complaints(['delivery.lines.all(order, true)'])[0]).toContain('needs its own name');
    expect(complaints(['delivery.lines.all()'])[0]).toContain('needs a name for the item');
    // Its result would be that of binary fractions: 0.30000000000000004.
    const sum = 'delivery.lines.all(line, line.price_diff_pct <= 0.1 + 0.2)';
    expect(complaints([sum])[0]).toContain('write the result instead of a calculation');
    const picked = 'delivery.lines.map(line, line.quantity > 2, line.season).size() > 0';
    expect(complaints([picked])).toEqual([]);
  });

  it('explains the habits of people who are no programmers', () => {
    const hint = (condition: string): string | undefined => complaints([condition])[0];
    expect(hint('order.preorder or true')).toContain('write || instead of "or"');
    expect(hint('not order.preorder')).toContain('write ! instead of "not"');
    expect(hint('order.country = "DK"')).toContain('write == to compare');
    expect(hint('delivery.quantity => 20')).toContain('write >= for "at least"');
    expect(hint('delivery.quantity =< 20')).toContain('write <= for "at most"');
    expect(hint('order.country <> "DK"')).toContain('write != for "is not"');
    expect(hint('delivery.quantity > 5%')).toContain('write 5 without %');
    expect(hint('delivery.quantity > 50,000')).toContain('write 50000 without');
    expect(hint('delivery.quantity > 50.000')).toContain('write 50000 without');
    const diff = 'delivery.lines.exists(line, line.price_diff_pct > 2,5)';
    expect(hint(diff)).toBe(
      'r.yaml:7:61 a: exists() takes a name and one condition - ' +
        'did you mean: write 2.5 with a decimal point?',
    );
    expect(hint('delivery.lines.all(line)')).toContain('write all(line, …)');
    expect(hint('order.country == “DK”')).toContain('use plain quotes');
    expect(hint('order.season == null')).toContain('has(order.season)');
    expect(hint('order.age > 3')).toContain('write days(3)');
    expect(hint('order.quantity == "3"')).toContain('numbers without');
    expect(hint('order.preorder == "yes"')).toContain('true or false, without quotes');
    expect(hint('ordre.preorder')).toContain('did you mean: order?');
    expect(hint('line.missing == 0')).toContain('delivery.lines.all(line, …)');
    expect(hint('delivery.lines.missing == 0')).toContain('delivery.lines.exists(line, …)');
    expect(hint('delivery.lines.exsts(line, true)')).toContain('did you mean: exists?');
    expect(hint('order.country in lists.nordic')).toContain('settings.yaml has none');
  });

  it('refuses a rule that would never be asked', () => {
    const told = (rest: string, action = 'hold') =>
      problemsOf(ruleText(['order.preorder'], rest, action))[0]?.split('\n')[0];
    const times = (from: string, until: string) =>
      told(`    effective_from: ${from}\n    effective_until: ${until}\n`);
    expect(times('2026-12-24', '2026-12-01T08:00:00Z')).toBe(
      'r.yaml:9:22 a: the rule ends before it begins: effective_until must be after effective_from',
    );
    expect(times('2026-12-01T08:00:00+01:00', '2026-12-01T07:00:00Z')).toContain(
      'before it begins',
    );
    expect(times('2026-12-01', '2026-12-01T00:00:00Z')).toContain('before it begins');
    expect(times('2026-12-01', '2026-12-24')).toBeUndefined();
    for (const action of ['accept', 'reject']) {
      expect(told('    applies_to: [accepted]\n', action)).toContain('only hold rules look at');
      expect(told('    applies_to: [pending, accepted]\n', action)).toBeUndefined();
    }
    expect(told('    applies_to: [accepted]\n')).toBeUndefined();
    const text = ruleText(['order.preorder'], '    applies_to: [accepted]\n', 'accept');
    expect('ruleSet' in loadRules([{ path: 'r.yaml', text }], true)).toBe(true);
  });

  it('knows the lists and tables of the settings', () => {
    const settings = 'version: 1\nlists: { nordic: [DK, SE] }\ntables: { limits: { DK: 5 } }\n';
    expect(complaints(['order.country in lists.nordic'], settings)).toEqual([]);
    expect(complaints(['order.country in lists.nordik'], settings)).toEqual([
      'r.yaml:7:32 a: there is no list "nordik" - did you mean: nordic?',
    ]);
    expect(complaints(['order.quantity in lists.nordic'], settings)).toHaveLength(1);
    const mixed = 'version: 1\nlists: { odd: [DK, 5] }\n';
    expect(complaints(['order.preorder'], mixed)[0]).toContain('mixes texts, numbers');
    const warned = 'version: 1\nlists: { odd: [AW24, 1.000] }\n';
    expect(complaints(['order.season in lists.odd'], warned)).toEqual([
      expect.stringContaining('1.000 means 1'),
      expect.stringContaining('mixes texts, numbers'),
    ]);
  });

  it('lets texts be joined into the key of a table', () => {
    const settings = 'version: 1\ntables: { limits: { DK-DKK: 5 } }\n';
    const key = '(order.country + "-" + order.currency)';
    expect(complaints([`${key} in tables.limits`], settings)).toEqual([]);
    expect(complaints(['order.country == "-"'])[0]).toContain('is never a value of');
    const limit = (joined: string) =>
      complaints([`delivery.amount <= tables.limits[${joined}]`], settings);
    expect(limit('order.country + "-" + order.currency')).toEqual([]);
    expect(limit('order.country + "-DKK"')[0]).toContain('in which currency?');
    expect(limit('order.country + customer.credit.currency')[0]).toContain('in which currency?');
  });

  it('asks in which currency a bare number is meant', () => {
    expect(complaints(['delivery.amount > 5000'])[0]).toContain('in which currency?');
    expect(complaints([DKK, 'delivery.amount > 5000'])).toEqual([]);
    expect(complaints(['delivery.amount > 0'])).toEqual([]);
    expect(complaints(['delivery.amount <= order.amount'])).toEqual([]);
    expect(complaints([DKK, 'customer.credit.headroom > 5000'])).toHaveLength(1);
    const settings = 'version: 1\ntables: { limits: { DKK: 5, EUR: 1 } }\n';
    expect(complaints(['delivery.amount < tables.limits[order.currency]'], settings)).toEqual([]);
    const byCountry = settings.replace('DKK', 'DK').replace('EUR', 'DE');
    expect(complaints(['delivery.amount < tables.limits[order.country]'], byCountry)).toHaveLength(
      1,
    );
    const sometimes = 'order.currency == "DKK" || order.preorder';
    expect(complaints([sometimes, 'delivery.amount > 5000'])).toHaveLength(1);
  });

  it('takes for a currency only what says which one it is', () => {
    const bare = 'delivery.amount > 5000';
    for (const vague of [
      'order.currency != "DKK"',
      'order.currency == customer.credit.currency',
      'customer.credit.currency == "DKK"',
    ]) {
      expect(complaints([vague, bare])[0]).toContain('in which currency?');
    }
    const unless = problemsOf(ruleText([bare], `    unless: ['${DKK}']\n`));
    expect(unless[0]).toContain('r.yaml:7:9 a: an amount is compared with a number');
    const both = ruleText([DKK], `    unless: [has(order.season), customer.credit.limit > 5]\n`);
    expect(problemsOf(both)[0]).toContain('r.yaml:8:33 a: an amount is compared');
    expect(complaints([`'"DKK" == order.currency && order.preorder'`, bare])).toEqual([]);
    expect(complaints(['delivery.amount > 0.0'])).toEqual([]);
    expect(complaints(["'delivery.amount in [order.amount]'"])).toEqual([]);
    const twice = '2 * (delivery.amount + order.amount) > 5000';
    const mixed = `${twice} && customer.credit.headroom > delivery.amount`;
    expect(complaints([DKK, mixed])).toEqual([]);
    expect(complaints([mixed])).toHaveLength(1);
  });

  it('does not ask a set that was in force for its currencies', () => {
    const files = [{ path: 'r.yaml', text: ruleText(['delivery.amount > 5000']) }];
    expect('problems' in loadRules(files)).toBe(true);
    expect('ruleSet' in loadRules(files, true)).toBe(true);
  });

  it('asks for the currency also where an amount came by way of a list', () => {
    const made = [
      'delivery.lines.map(line, line.price).exists(price, price > 500)',
      'delivery.lines.map(line, line.price * 2).exists(price, price + 1 < 500)',
      'delivery.lines.map(line, line.price)[0] > 500',
      "'[delivery.amount][0] > 500'",
      "'500 > (order.preorder ? [delivery.amount][0] : order.amount)'",
    ];
    for (const text of made) {
      expect(complaints([text])[0]).toContain('in which currency?');
      expect(complaints([DKK, text])).toEqual([]);
    }
    const both = "'[delivery.amount, customer.credit.limit].exists(a, a > 500)'";
    expect(complaints([DKK, both])).toHaveLength(1);
    const whole = 'delivery.lines.map(line, line.quantity).exists(pieces, pieces > 500)';
    expect(complaints([whole])).toEqual([]);
    const own = 'delivery.lines.map(line, line.price).exists(price, price > delivery.amount)';
    expect(complaints([own])).toEqual([]);
    const settings = 'version: 1\ntables: { limits: { DKK: 5, EUR: 1 } }\n';
    const table = 'delivery.lines.map(line, line.price)[0] < tables.limits[order.currency]';
    expect(complaints([table], settings)).toEqual([]);
  });

  it('warns that all() holds for a delivery without lines', () => {
    const all = 'delivery.lines.all(line, line.missing == 0)';
    expect(rulesOf(ruleText([all])).warnings).toHaveLength(1);
    expect(rulesOf(ruleText([all, 'delivery.lines.size() > 0'])).warnings).toEqual([]);
    expect(rulesOf(ruleText([all], '', 'hold')).warnings).toEqual([]);
    const unless = ruleText(['order.preorder'], `    unless: ['${all}']\n`);
    expect(rulesOf(unless).warnings).toEqual([]);
  });

  it('refuses two rules of one name, and timing that belongs to another action', () => {
    const twice = `${ruleText(['order.preorder'])}${ruleText(['order.preorder']).slice(7)}`;
    expect(problemsOf(twice)[0]).toContain('the id "a" is used twice');
    const hold = ruleText(['order.preorder'], '    hold: { at_most: 24h }\n');
    expect(problemsOf(hold)[0]).toContain('hold: belongs to hold rules');
    const reject = ruleText(['order.preorder'], '    reject: { grace: 2h }\n');
    expect(problemsOf(reject)[0]).toContain('reject: belongs to reject rules');
  });

  it('checks the expressions of messages and records', () => {
    const message = ruleText(['order.preorder'], "    message: 'to {{order.contry}}'\n");
    expect(problemsOf(message)[0]).toContain('r.yaml:8:26 a: order has no field "contry"');
    const open = ruleText(['order.preorder'], "    message: 'to {{order.country'\n");
    expect(problemsOf(open)[0]).toContain('{{ and }} must come in pairs');
    const record = ruleText(['order.preorder'], "    record: { x: 'order.contry' }\n");
    expect(problemsOf(record)[0]).toContain('order has no field "contry"');
  });
});
