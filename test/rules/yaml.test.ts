import { describe, expect, it } from 'vitest';
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

  it('refuses anchors, aliases, merge keys, tags and duplicate keys', () => {
    const problem = (rest: string): string => problemsOf(ruleText(['order.preorder'], rest)).join();
    expect(problem('    owner: &x y\n')).toContain('anchors (&) cannot be used');
    expect(problem('    owner: &x y\n    message: *x\n')).toContain('aliases (*) cannot be used');
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
