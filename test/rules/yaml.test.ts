import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { complaints, problemsOf, rulesOf, ruleText } from './support.ts';

describe('the strict YAML subset', () => {
  it('does not lose a condition that begins with !', () => {
    expect(complaints(['!order.preorder'])).toEqual([
      'r.yaml:7:9 YAML takes a leading ! for a tag and drops the text - ' +
        'put the whole condition in single quotes, or use unless:',
    ]);
    expect(complaints(["'!order.preorder'"])).toEqual([]);
  });

  it('does not take a condition with ? and : for a mapping', () => {
    expect(complaints(['order.preorder ? true : false'])).toEqual([
      'r.yaml:7:9 a: a condition must be a text - put the whole condition in single quotes',
    ]);
    expect(complaints(["'order.preorder ? true : false'"])).toEqual([]);
  });

  it('explains a condition that begins with a quoted text', () => {
    expect(complaints(['"DK" == order.country'])[0]).toContain('whole condition in single quotes');
    expect(complaints(['\'"DK" == order.country\''])).toEqual([]);
  });

  it('explains a text that was cut at " #"', () => {
    expect(complaints(['order.reference == "PO #12"'])[0]).toContain('YAML cut the text at " #"');
    expect(complaints(['\'order.reference == "PO #12"\''])).toEqual([]);
    expect(complaints(['order.preorder # only pre-orders'])).toEqual([]);
  });

  it('explains a condition that was cut at a comma in brackets', () => {
    const cut = (when: string) =>
      problemsOf(ruleText(['x']).replace('    when:\n      - x\n', `    when: [ ${when} ]\n`))[0];
    expect(cut('delivery.lines.all(line, line.missing == 0)')).toContain(
      'YAML cut the text at ","',
    );
    expect(cut('order.country in ["DK", "SE"], order.preorder')).toContain('single quotes');
    expect(cut('order.country == "D,K", order.preorder')).toContain('single quotes');
    expect(cut('order.preorder, has(order.season)')).toBeUndefined();
  });

  it('keeps the hint of a mistake in a condition that is whole before a comma or a comment', () => {
    const list = ruleText(['x']).replace(
      '    when:\n      - x\n',
      '    when: [ x, has(order.season) ]\n',
    );
    const mistake = 'has(order.season) && order.contry == "DK"';
    expect(problemsOf(list.replace('x', mistake)).join()).toContain('did you mean: country?');
    expect(complaints([`${mistake} # at home`])[0]).toContain('did you mean: country?');
  });

  it('blames the quotes only where quotes help', () => {
    const rule = ruleText(['order.preorder']);
    expect(problemsOf(rule.replace('when:', 'wen:')).map((text) => text.split('\n')[0])).toEqual([
      'r.yaml:2:5 a: when is missing',
      'r.yaml:6:5 a: there is no key "wen" - did you mean: when?',
    ]);
    const further = rule.replace('    when:', '      when:');
    expect(problemsOf(further).join()).toContain('indent the lines alike');
  });

  it('says nothing past the log', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const text = ruleText(['order.preorder'], '    message: {{order.country}}\n');
    expect(problemsOf(text)[0]).toContain('message must be a text');
    expect(warn).not.toHaveBeenCalled();
  });

  it('warns of keys that are other numbers than they look', () => {
    const warnings = (settings: string) =>
      rulesOf(ruleText(['order.preorder']), `version: 1\n${settings}`).warnings;
    expect(warnings('tables: { t: { 0123: 1, "0124": 1, 7: 1 } }\n')).toMatchObject([
      { message: 'YAML takes the key 0123 for the number 123', hint: 'write "0123" in quotes' },
    ]);
    expect(warnings('tables: { t: { DKK: 1.000 } }\nlists: { l: [2.000, 1.5] }\n')).toMatchObject([
      { message: '1.000 means 1', line: 2 },
      { message: '2.000 means 2', line: 3 },
    ]);
  });

  it('warns of values that no fact ever has, where rules look for them', () => {
    const rules = ruleText([
      'order.country in lists.near || order.currency in lists.money',
      'delivery.amount <= tables.limits[order.currency]',
      'delivery.lines.exists(line, line.brand in lists.brands)',
    ]);
    const settings = `version: 1
lists:
  near: [DK, " SE", fi]
  money: { from: erp_customer.currency, sample: [eur] }
  brands: [acme, "\u00a0acme"]
tables:
  limits: { dkk: 1, EUR: 2 }
  brands: { dkk: "x " }
`;
    const told = rulesOf(rules, settings).warnings.map(({ file, line, column, message }) => {
      return `${file}:${line}:${column} ${message}`;
    });
    const space = 'has a space at its beginning or end, which counts';
    expect(told).toEqual([
      `settings.yaml:3:14 " SE" ${space}`,
      'settings.yaml:3:21 "fi" is never a value of order.country',
      'settings.yaml:4:50 "eur" is never a value of order.currency',
      `settings.yaml:5:18 "\u00a0acme" ${space}`,
      'settings.yaml:7:13 "dkk" is never a value of order.currency',
      `settings.yaml:8:18 "x " ${space}`,
    ]);
  });

  it('does not warn of a value that another fact may have', () => {
    const rules = ruleText(['order.country in lists.places || order.comment in lists.places']);
    const settings = 'version: 1\nlists: { places: [DK, Copenhagen] }\n';
    expect(rulesOf(rules, settings).warnings).toEqual([]);
  });

  it('refuses folded and broken lines, and keeps the columns of literal blocks', () => {
    expect(complaints(['>\n          order.preorder'])[0]).toContain('a folded block (>)');
    expect(complaints(['order.preorder &&\n          order.preorder'])[0]).toContain('on one line');
    const literal = '|\n          order.preorder &&\n          order.contry == "DK"';
    expect(problemsOf(ruleText([literal]))).toEqual([
      'r.yaml:9:17 a: order has no field "contry" - did you mean: country?\n' +
        '          order.contry == "DK"\n' +
        '                ^^^^^^',
    ]);
  });

  it('finds the column in quoted texts', () => {
    const quoted = `'order.reference == "it''s" && order.contry == "DK"'`;
    expect(complaints([quoted])[0]).toContain('r.yaml:7:46 a: order has no field');
    expect(complaints(['"order.reference == \\"x\\" && order.contry == \\"DK\\""'])[0]).toContain(
      'r.yaml:7:44 a: order has no field',
    );
  });

  it('warns of words that an older YAML takes for true or false', () => {
    const text = (word: string): string =>
      ruleText(
        ['order.preorder'],
        `    tests: [{ name: n, given: { order: { country: ${word} } }, expect: none }]\n`,
      );
    expect(rulesOf(text('NO')).warnings.map(({ message, hint }) => [message, hint])).toEqual([
      ['NO is true or false to older YAML tools', 'write "NO" in quotes'],
    ]);
    expect(rulesOf(text('"NO"')).warnings).toEqual([]);
    const settings = 'version: 1\ntables: { limits: { NO: 5, ON: 1, YES: 2, OFF: 3 } }\n';
    expect(rulesOf(ruleText(['order.preorder']), settings).warnings).toHaveLength(4);
  });

  it('takes mode: off as the manual writes it', () => {
    const off = ruleText(['order.preorder']).replace('mode: live', 'mode: off');
    const { rules, warnings } = rulesOf(off, 'version: 1\ndefaults: { mode: off }\n');
    expect([rules[0]?.mode, warnings]).toEqual(['off', []]);
    expect(problemsOf(off.replace('off', 'no')).join()).toContain('mode is "no"; possible: off, ');
    const owner = ruleText(['order.preorder'], '    owner: off\n');
    expect(rulesOf(owner).warnings).toHaveLength(1);
  });

  it('refuses anchors, aliases, merge keys, tags and duplicate keys', () => {
    const problem = (rest: string): string => problemsOf(ruleText(['order.preorder'], rest)).join();
    expect(problem('    owner: &x y\n')).toContain('anchors (&) cannot be used');
    expect(problem('    owner: &x y\n    message: *x\n')).toContain('aliases (*) cannot be used');
    const tenfold = (at: number) => `[${Array(10).fill(`*a${at}`).join(', ')}]`;
    const bomb = [0, 1, 2, 3].map((at) => `a${at + 1}: &a${at + 1} ${tenfold(at)}\n`).join('');
    expect(problemsOf(`a0: &a0 x\n${bomb}`).join()).toContain('aliases (*) cannot be used');
    expect(problem('    hold: { <<: { then: accept } }\n')).toContain('merge keys');
    expect(problem('    owner: !!str y\n')).toContain('tags (!) cannot be used');
    expect(problem('    title: again\n')).toContain('r.yaml:8:5');
    expect(problem('\towner: y\n')).toContain('r.yaml:8');
  });

  it('refuses unknown keys with the nearest known one', () => {
    const [problem] = problemsOf(ruleText(['order.preorder'], '    unles: []\n'));
    expect(problem).toContain('r.yaml:8:5 a: there is no key "unles" - did you mean: unless?');
    expect(problemsOf('ruls: []\n')[0]).toContain('did you mean: rules?');
  });

  it('survives a file that is nested without end', () => {
    for (const open of ['[', '{a: ', '- ']) {
      expect(problemsOf(`rules: ${open.repeat(20_000)}`).length).toBeGreaterThan(0);
    }
  });

  it('survives a file that is no mapping at all', () => {
    for (const text of ['', '- 1\n', 'hello', 'rules: 5\n', 'rules: [5, null]\n', '{', '\0']) {
      expect(problemsOf(text).length).toBeGreaterThan(0);
    }
  });
});
