import { describe, expect, it } from 'vitest';
import { decide, problemsOf, ruleText } from './support.ts';

const LINES = [
  {},
  { style_name: 'Odin Jacket', color_name: 'Washed Navy', size_name: 'M', stock_free: 1 },
  { style_name: 'Lund Shirt', color_name: null, size_name: 'L', stock_free: 2 },
  { style_name: null, style_no: 'S-7', color_name: 'Ecru', size_name: null, stock_free: 0 },
  { style_name: null, style_no: null, barcode: '5700000000097', stock_free: 0 },
];
const NAMED =
  'Odin Jacket, Washed Navy, M (4 of 5 missing); Lund Shirt, L (3 of 5 missing); ' +
  'S-7, Ecru (5 of 5 missing) and 1 more';
const SHORT = 'delivery.lines.exists(line, line.missing > 0)';
const SAYS = "    message: '{{lines.size()}} of {{delivery.lines.size()}} short: {{ lines }}'\n";

function reasonOf(when: readonly string[], rest: string, lines: readonly object[] = LINES): string {
  return decide(ruleText(when, rest, 'hold'), { delivery: { lines } }).live.reason;
}

describe('a message', () => {
  it('names the lines that made the condition true: three in words, the others as a number', () => {
    expect(reasonOf([SHORT], SAYS)).toBe(`4 of 5 short: ${NAMED}`);
    expect(reasonOf([SHORT], SAYS, LINES.slice(0, 2))).toBe(
      '1 of 2 short: Odin Jacket, Washed Navy, M (4 of 5 missing)',
    );
    expect(reasonOf([SHORT], SAYS, LINES.slice(4))).toBe(
      '1 of 1 short: 5700000000097 (5 of 5 missing)',
    );
  });

  it.each([
    ['an all that fails', 'delivery.lines.all(line, line.missing > 0) == false'],
    ['a negated all', "'!delivery.lines.all(line, line.missing == 0)'"],
    ['a filter', 'delivery.lines.filter(line, line.missing > 0).size() >= 2'],
    ['one side of an or', `order.preorder || ${SHORT}`],
    ['one of them alone', 'delivery.lines.exists_one(line, line.ordered == 77)'],
  ])('finds the lines behind %s', (_, when) => {
    const lines = LINES.map((line, at) => (at === 1 ? { ...line, ordered: 77 } : line));
    expect(reasonOf([when], SAYS, lines)).toContain('short: Odin Jacket, Washed Navy, M');
  });

  it('finds the lines that fail what an unless asks of all lines', () => {
    const unless = '    unless: ["delivery.lines.all(line, line.missing == 0)"]\n';
    expect(reasonOf(['delivery.quantity > 0'], `${unless}${SAYS}`)).toBe(`4 of 5 short: ${NAMED}`);
  });

  it('leaves out lines of which nothing is known, and what nothing picked out', () => {
    const lines = [...LINES, { style_name: 'Unknown', stock_free: null }];
    expect(reasonOf([SHORT], SAYS, lines)).toBe(`4 of 6 short: ${NAMED}`);
    const either = `delivery.lines.exists(line, line.quantity > 900) || ${SHORT}`;
    expect(reasonOf([either], SAYS)).toContain(NAMED);
  });

  it('names the lines behind the title of a rule that has none', () => {
    expect(reasonOf([SHORT], '')).toBe(`A (4 of 5 lines: ${NAMED})`);
    expect(reasonOf(['delivery.quantity > 0'], '')).toBe('A');
  });

  it('that names lines where no condition picks out any is a mistake', () => {
    const all = ['delivery.quantity > 0', 'delivery.lines.all(line, line.missing == 0)'];
    expect(problemsOf(ruleText(all, SAYS)).join()).toContain('no condition of this rule picks out');
    expect(problemsOf(ruleText([SHORT], "    message: '{{lines.missing}}'\n", 'hold'))).not.toEqual(
      [],
    );
  });
});
