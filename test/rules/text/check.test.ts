import { describe, expect, it } from 'vitest';
import { problemsOf, ruleText } from '../support.ts';

const RULE = ruleText(['order.preorder']);
/** What is said first of a file of rules, or of the settings beside one. */
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

  it('is told as one of the indentation, not of quotes, where a key stands too far', () => {
    expect(told(RULE.replace('    title:', '     title:'))).toContain('indent the lines alike');
    expect(told(RULE.replace('title: ', 'title:'))).toContain('write a space behind the colon');
  });
});
