import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../../src/rules/load.ts';
import { runRuleTests } from '../../src/rules/testing.ts';
import { formatProblem } from '../../src/rules/text/problem.ts';
import { repositoryRoot } from '../support/source.ts';
import { complaints } from './support.ts';

const page = readFileSync(join(repositoryRoot, 'docs/rules.md'), 'utf8');
const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => match[1] ?? '');
const [rule = '', tests = ''] = blocks;
const settings = blocks.find((block) => block.startsWith('version: 1')) ?? '';
const hold = blocks.find((block) => block.includes('hold-large-after-hours')) ?? '';

describe('docs/rules.md', () => {
  it('shows a first rule that loads, and tests that pass', () => {
    const loaded = loadRules([{ path: 'deliveries.yaml', text: `${rule}${tests}` }]);
    if ('problems' in loaded) throw new Error(loaded.problems.map(formatProblem).join('\n'));
    expect(loaded.ruleSet.rules[0]?.mode).toBe('shadow');
    expect(loaded.ruleSet.warnings).toEqual([]);
    const report = runRuleTests(loaded.ruleSet);
    expect(report.tests.every((test) => test.ok)).toBe(true);
    expect(report.unproved.map(({ text }) => text)).toEqual([
      'delivery.lines.size() > 0',
      'unless order.preorder',
    ]);
  });

  it('shows the very message that a typing mistake gives', () => {
    const mistaken = rule.replace('order.country', 'order.contry');
    const loaded = loadRules([{ path: 'deliveries.yaml', text: mistaken }]);
    const [problem] = 'problems' in loaded ? loaded.problems.map(formatProblem) : [];
    expect(page).toContain(problem);
  });

  it('shows settings and a hold that load', () => {
    const own = settings.replace('limits:', 'office_hours_above: { DKK: 1 }\n  limits:');
    const loaded = loadRules([
      { path: 'settings.yaml', text: own },
      { path: 'hold.yaml', text: `rules:\n${hold}` },
    ]);
    expect('problems' in loaded ? loaded.problems.map(formatProblem) : []).toEqual([]);
  });

  it('shows conditions that can be written', () => {
    const lists = 'version: 1\nlists: { nordic: [DK] }\ntables: { limits: { DKK: 5 } }\n';
    const table = page.slice(page.indexOf('| You want | Write'), page.indexOf('Amounts are exact'));
    const shown = [...table.matchAll(/`'?([^`']+)'?`/g)].map((match) => match[1] ?? '');
    const conditions = shown.filter((text) => /[a-z]\.[a-z]/.test(text));
    expect(conditions.length).toBeGreaterThan(12);
    for (const condition of conditions) {
      const when = [`'order.currency == "DKK"'`, `'${condition}'`];
      expect(complaints(when, lists), condition).toEqual([]);
    }
  });
});
