import { describe, expect, it } from 'vitest';
import { loadRules } from '../../src/rules/load.ts';
import { formatTestReport, runRuleTests, type TestReport } from '../../src/rules/testing.ts';
import { formatProblem } from '../../src/rules/text/problem.ts';
import { problemsOf, rulesOf, ruleText } from './support.ts';

function report(when: readonly string[], tests: string, action = 'accept'): TestReport {
  return runRuleTests(rulesOf(ruleText(when, `    tests:\n${tests}`, action)));
}

const DANISH = '      - { name: at home, given: { order: { country: DK } }, expect: accept }\n';
const SWEDISH = '      - { name: abroad, given: { order: { country: SE } }, expect: none }\n';

describe('what a test is given', () => {
  it('draws a warning where no delivery ever has it', () => {
    const settings = 'version: 1\ncustomer_fields: { risk: whole number }\n';
    const given = (text: string) => {
      const tests = `    tests: [{ name: x, expect: none, given: ${text} }]\n`;
      return rulesOf(ruleText(['order.preorder'], tests), settings).warnings;
    };
    expect(given('{ order: { country: dk } }')).toMatchObject([
      { message: '"dk" is never a value of order.country', line: 8, column: 65 },
    ]);
    expect(given('{ customer: { credit: { currency: kr } } }')).toMatchObject([
      { message: '"kr" is never a value of customer.credit.currency' },
    ]);
    expect(given('{ customer: { extra: { rsik: 3 } } }')).toMatchObject([
      { message: 'customer.extra has no field "rsik"', hint: 'did you mean: risk?' },
    ]);
    expect(given('{ order: { country: DK }, customer: { extra: { risk: 3 } } }')).toEqual([]);
    expect(given('{ order: { country: ~ }, delivery: { lines: [{}] }, customer: ~ }')).toEqual([]);
    const loaded = loadRules([
      { path: 'r.yaml', text: ruleText(['order.preorder']) },
      {
        path: 'scenarios.yaml',
        text: 'scenarios: [{ name: x, expect: no_rule, given: { order: { currency: dkk } } }]',
      },
    ]);
    expect('ruleSet' in loaded && loaded.ruleSet.warnings).toMatchObject([
      { file: 'scenarios.yaml', message: '"dkk" is never a value of order.currency' },
    ]);
  });
});

describe('rule tests', () => {
  it('takes a derived fact away where null is given, too', () => {
    const tests = [
      ['order.currency == "DKK" && delivery.amount > 5', '{ delivery: { amount: null } }'],
      ['customer.credit.headroom > 0', '{ customer: { credit: { headroom: null } } }'],
      [
        'delivery.lines.exists(line, line.missing > 0)',
        '{ delivery: { lines: [{ missing: null }] } }',
      ],
    ] as const;
    const reports = tests.map(([condition, given]) => {
      const test = `    tests: [{ name: unknown, given: ${given}, expect: unknown }]\n`;
      return runRuleTests(rulesOf(ruleText([condition], test, 'hold')));
    });
    expect(reports.map((report) => report.tests[0]?.actual)).toEqual(Array(3).fill('unknown'));
  });

  it('lay given over a typical delivery and look at their rule, whatever its mode', () => {
    const text = ruleText(['order.country == "DK"'], `    tests:\n${DANISH}${SWEDISH}`);
    const off = runRuleTests(rulesOf(text.replace('mode: live', 'mode: off')));
    expect(off.tests.map(({ ok }) => ok)).toEqual([true, true]);
    expect(off.ok).toBe(true);
  });

  it('say what they got when they fail', () => {
    const wrong = report(['order.country == "DK"'], SWEDISH.replace('none', 'unknown'));
    expect(wrong.ok).toBe(false);
    expect(formatTestReport(wrong)).toBe(
      [
        'FAIL a: abroad',
        '       expected unknown, got none',
        '       line 7 order.country == "DK" is false',
        '0 passed, 1 failed, 0 clauses not shown to matter',
      ].join('\n'),
    );
  });

  it('report the clauses that no test shows to matter', () => {
    const twice = ['order.country == "DK"', 'order.country in ["DK", "NO"]'];
    const found = report(twice, `${DANISH}${SWEDISH}`);
    expect(found.unproved.map(({ line, required }) => [line, required])).toEqual([
      [7, false],
      [8, false],
    ]);
    expect(found.ok).toBe(true);
    const norway = '      - { name: n, given: { order: { country: "NO" } }, expect: none }\n';
    expect(report(twice, `${DANISH}${norway}`).unproved).toMatchObject([{ line: 8 }]);
  });

  it('demand of reject rules that every clause is shown to matter', () => {
    const none = `${SWEDISH.replace('none', 'reject')}${DANISH.replace('accept', 'none')}`;
    expect(report(['order.country == "SE"'], none, 'reject').ok).toBe(true);
    expect(report(['order.country == "SE"', 'order.quantity > 0'], none, 'reject').ok).toBe(false);
  });

  it('merge a credit row, and take one away with null', () => {
    const tests =
      '      - { name: l, given: { customer: { credit: { overdue_days: 15 } } }, expect: hold }\n' +
      '      - { name: fine, expect: none }\n' +
      '      - { name: no, given: { customer: { credit: null } }, expect: unknown }\n' +
      '      - { name: nobody, given: { customer: null }, expect: unknown }\n';
    const when = ['customer.credit.overdue_days > 14 && customer.credit.limit > 0'];
    const pinned = ['customer.credit.currency == "DKK"', ...when];
    expect(report(pinned, tests, 'hold').tests.map(({ ok }) => ok)).toEqual(Array(4).fill(true));
  });

  it('see the sample of a list, not what the ERP says today', () => {
    const list = '{ from: erp_customer.account_no, where: blocked, sample: [C-1] }';
    const loaded = loadRules([
      { path: 'settings.yaml', text: `version: 1\nlists: { blocked: ${list} }\n` },
      { path: 'lists.json', text: '{ "blocked": ["C-2"] }' },
      {
        path: 'r.yaml',
        text: ruleText(
          ['order.account_no in lists.blocked'],
          '    tests: [{ name: x, expect: hold }]\n',
          'hold',
        ),
      },
    ]);
    if ('problems' in loaded) expect.fail(loaded.problems.map(formatProblem).join('\n'));
    expect(loaded.ruleSet.settings.lists.blocked).toEqual(['C-2']);
    expect(runRuleTests(loaded.ruleSet).ok).toBe(true);
  });

  it('refuse facts that do not exist or cannot be', () => {
    const problem = (given: string): string =>
      problemsOf(
        ruleText(['order.preorder'], `    tests: [{ name: x, given: ${given}, expect: none }]\n`),
      ).join();
    expect(problem('{ order: { contry: DK } }')).toContain('did you mean: country?');
    expect(problem('{ ordre: { country: DK } }')).toContain('did you mean: order?');
    expect(problem('{ order: { preorder: yes } }')).toContain('preorder');
    expect(problem('{ delivery: { amount: 1.00005 } }')).toContain('at most four decimals');
    expect(problem('{ delivery: { amount: 900719925475 } }')).toContain('too large');
    expect(problem('{ delivery: { amount: 1.0005 } }')).toBe('');
    expect(problem('{ delivery: { lines: [{ price_diff_pct: -5 }] } }')).toContain(
      'price_diff_pct',
    );
    expect(problem('{ delivery: { status: pendng } }')).toContain('did you mean: pending?');
    expect(problem('{ delivery: { age: 3 days } }')).toContain('write a duration');
    expect(problem('{ clock: { now: yesterday } }')).toContain('write a time');
    expect(problem('{ delivery: { id: null } }')).toContain('id');
    for (const always of ['delivery', 'order', 'clock']) {
      expect(problem(`{ ${always}: null }`)).toContain(`${always} is empty - write keys with`);
    }
    for (const maybe of ['customer', 'season']) expect(problem(`{ ${maybe}: null }`)).toBe('');
  });
});

describe('scenarios', () => {
  const rules = { path: 'rules/r.yaml', text: ruleText(['order.country == "DK"']) };

  function run(scenario: string): TestReport {
    const text = `scenarios:\n  - ${scenario}\n`;
    const loaded = loadRules([rules, { path: 'rules/scenarios.yaml', text }]);
    if ('problems' in loaded) expect.fail(loaded.problems.map(formatProblem).join('\n'));
    return runRuleTests(loaded.ruleSet);
  }

  it('look at the combined outcome and at the rules that decided', () => {
    expect(run('{ name: x, expect: accept, rules: [a] }').ok).toBe(true);
    expect(run('{ name: x, expect: no_rule }')).toMatchObject({
      ok: false,
      scenarios: [{ ok: false, expected: 'no_rule', actual: 'accept' }],
    });
    const abroad = '{ name: x, given: { order: { country: SE } }, expect: accept, rules: [a] }';
    expect(formatTestReport(run(abroad))).toContain('expected accept by a, got no_rule by no rule');
  });

  it('take only those reject rules for armed that they name', () => {
    const text = ruleText(['order.country == "DK"'], '', 'reject');
    const of = (armed: string) => {
      const scenario = `scenarios: [{ name: x, expect: no_rule, armed: ${armed} }]\n`;
      const loaded = loadRules([
        { path: 'r.yaml', text },
        { path: 'scenarios.yaml', text: scenario },
      ]);
      return 'ruleSet' in loaded && runRuleTests(loaded.ruleSet).scenarios[0]?.actual;
    };
    expect([of('[]'), of('[a]')]).toEqual(['hold', 'reject']);
  });

  it('refuse rules that do not exist', () => {
    const text = 'scenarios:\n  - { name: x, expect: accept, rules: [b] }\n';
    const loaded = loadRules([rules, { path: 'rules/scenarios.yaml', text }]);
    const armed = { path: 'rules/scenarios.yaml', text: text.replace('rules: [b]', 'armed: [b]') };
    expect('problems' in loadRules([rules, armed])).toBe(true);
    expect('problems' in loaded && loaded.problems.map(formatProblem)).toEqual([
      'rules/scenarios.yaml:2:40 there is no rule "b" - did you mean: a?\n' +
        '  - { name: x, expect: accept, rules: [b] }\n' +
        '                                       ^',
    ]);
  });
});
