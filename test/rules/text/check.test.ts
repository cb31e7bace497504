import { describe, expect, it } from 'vitest';
import { problemsOf, ruleText } from '../support.ts';

const RULE = ruleText(['order.preorder']);
/** Returns the first problem of a file of rules, or of the settings beside one. */
const told = (text: string): string => problemsOf(text)[0]?.split('\n')[0] ?? '';

describe('a mistake in the form of a file', () => {
  it('is told in words that say what to write', () => {
    const list = 'a: when must be a list: each item on a line of its own behind "- "';
    expect(told(RULE.replace(/when:\n.*- /, 'when: '))).toContain(list);
    const hold = (what: string) =>
      told(ruleText(['order.preorder'], `    hold: ${what}\n`, 'hold'));
    expect(hold('3 days')).toContain('hold must be keys with their values');
    expect(hold('{ at_most: 72 }')).toContain('at_most: write 48h or "2 business days"');
    const given = (what: string) =>
      told(
        ruleText(
          ['order.preorder'],
          `    tests: [{ name: x, expect: none, given: { ${what} } }]\n`,
          'hold',
        ),
      );
    expect(given('delivery: { amount: 500 DKK }')).toContain('such as 1234.50, without a currency');
    expect(given('order: { age: 31 }')).toContain('age: write a duration such as 90m, 36h or 3d');
    expect(told(RULE.replace(/ {4}action:.*\n/, ''))).toContain('action is missing; possible: ');
  });

  it.each([
    ['    mode:', 'mode is empty - write one of off, shadow, live, or remove it'],
    ['    effective_from:', 'effective_from is empty - write a time such as 2026-'],
    ['    unless:', 'unless is empty - write a list: each item on a line'],
    ['    unless: [ ~ ]', 'an item of unless is empty - write a condition'],
    ['    message:', 'message is empty - write a text, or remove it'],
    ['    record: { x: }', 'x is empty - write a condition'],
  ])('is told of a rule with nothing behind a key: %s', (line, message) => {
    const rule = RULE.replace('    mode: live\n', '');
    expect(told(`${rule}${line}\n`)).toContain(`a: ${message}`);
  });

  it.each([
    ['mode:', '2:6 mode is empty - write one of off, shadow, live, or remove it'],
    ['tables:', '2:8 tables is empty - write keys with their values, as in { key: value }'],
    ['lists: { a: }', 'a is empty - write a list: '],
    ['lists: { a: { from: erp_customer.account_no, where: } }', 'where is empty - write a text'],
    ['lists: { a: { form: x } }', '2:15 there is no key "form" - did you mean: from?'],
    ['lists: { a: 5 }', '2:13 a must be a list: '],
    ['tables: { t: { DKK: [1] } }', '2:21 DKK must be a text, or a number, without a unit, or'],
  ])('is told of settings: %s', (line, message) => {
    const problems = problemsOf(RULE, `version: 1\n${line}\n`).map((one) => one.split('\n')[0]);
    expect(problems).toContainEqual(expect.stringContaining(message));
  });

  it('is told as one of the indentation, not of quotes, where a key stands too far', () => {
    expect(told(RULE.replace('    title:', '     title:'))).toContain('indent the lines alike');
    expect(told(RULE.replace('title: ', 'title:'))).toContain('write a space behind the colon');
  });
});
