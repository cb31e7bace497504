import { describe, expect, it } from 'vitest';
import { diffRuleSets, type RuleSetDiff } from '../../../src/decisions/simulation/diff.ts';
import { valueText } from '../../../src/lib/json.ts';
import { rulesOf, ruleText } from '../../rules/support.ts';

const SETTINGS = 'version: 1\ntables: { limits: { DKK: 100, SEK: 200 } }\n';
const BEFORE = `${ruleText(['order.country == "DK"', 'delivery.quantity <= 10'])}
  - id: gone
    title: Gone
    action: hold
    when: [ order.preorder ]
`;
const WHEN = ['order.country == "DK"', 'delivery.quantity <= 12'];
const AFTER = `${ruleText(WHEN, '    unless: [ order.preorder ]\n')}
  - id: come
    title: Come
    action: hold
    when: [ order.preorder ]
`.replace('mode: live', 'mode: shadow');

function differenceLines({
  path,
  before,
  after,
}: RuleSetDiff['settings'][number]): readonly string[] {
  return [
    ...(before === undefined ? [] : [`   - ${path}: ${valueText(before)}`]),
    ...(after === undefined ? [] : [`   + ${path}: ${valueText(after)}`]),
  ];
}

function formatRuleSetDiff(diff: RuleSetDiff): string {
  const { from, to, added, removed, changed, settings } = diff;
  const lines = [
    ...removed.map((id) => `- rule ${id}`),
    ...added.map((id) => `+ rule ${id}`),
    ...changed.flatMap(({ id, differences: found }) => [
      `~ rule ${id}`,
      ...found.flatMap(differenceLines),
    ]),
    ...(settings.length > 0 ? ['~ settings', ...settings.flatMap(differenceLines)] : []),
  ];
  const head = `rules ${from.slice(0, 16)} -> ${to.slice(0, 16)}`;
  return [head, ...(lines.length > 0 ? lines : ['no difference in effect'])].join('\n');
}

describe('the difference of two rule sets', () => {
  it('is told rule by rule and setting by setting', () => {
    const settings = SETTINGS.replace('DKK: 100, SEK', 'DKK: 150, NOK');
    const diff = diffRuleSets(rulesOf(BEFORE, SETTINGS), rulesOf(AFTER, settings));
    expect(formatRuleSetDiff(diff).split('\n').slice(1)).toEqual([
      '- rule gone',
      '+ rule come',
      '~ rule a',
      '   - when: delivery.quantity <= 10',
      '   + when: delivery.quantity <= 12',
      '   + unless: order.preorder',
      '   - mode: live',
      '   + mode: shadow',
      '~ settings',
      '   - tables.limits.DKK: 100',
      '   + tables.limits.DKK: 150',
      '   - tables.limits.SEK: 200',
      '   + tables.limits.NOK: 200',
    ]);
  });

  it('tells other times of a rule, and other states that it is asked about', () => {
    const hold = (more: string) =>
      rulesOf(`rules: [{ id: h, title: H, action: hold, when: [ order.preorder ], ${more} }]`);
    const told = (more: string) =>
      formatRuleSetDiff(diffRuleSets(hold('hold: { at_most: 3h }'), hold(more)))
        .split('\n')
        .slice(2);
    expect(told('hold: { at_most: 4h }')).toHaveLength(2);
    const same = 'hold: { at_most: 3h }';
    expect(told(`${same}, applies_to: [pending, accepted]`)[0]).toContain('appliesTo');
    expect(told(`${same}, effective_from: 2026-01-01`)[0]).toContain('effectiveFrom');
    expect(told(`${same}, effective_until: 2026-01-01`)[0]).toContain('effectiveUntil');
  });

  it('is none when titles, comments, tests or the order of rules differ', () => {
    const again = `# a comment\n${BEFORE.replace('title: Gone', 'title: Away')}`;
    const diff = diffRuleSets(rulesOf(BEFORE), rulesOf(again));
    expect(formatRuleSetDiff(diff)).toMatch(/^rules (\w+) -> \1\nno difference in effect$/);
  });
});
