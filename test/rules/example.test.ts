import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../../src/rules/load.ts';
import { formatTestReport, runRuleTests } from '../../src/rules/testing.ts';
import { formatProblem } from '../../src/rules/text/problem.ts';
import { rulesJsonSchema } from '../../src/rules/text/schema.ts';
import { repositoryRoot } from '../support/source.ts';

const folder = join(repositoryRoot, 'config/rules');
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => ({ path: name, text: readFileSync(join(folder, name), 'utf8') }));

describe('the example rules', () => {
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems.map(formatProblem).join('\n'));
  const { ruleSet } = loaded;

  it('load without a warning', () => {
    expect(ruleSet.warnings.map(formatProblem)).toEqual([]);
    expect(ruleSet.rules.length).toBeGreaterThanOrEqual(6);
  });

  it('pass their tests, and every clause is shown to matter', () => {
    const report = runRuleTests(ruleSet);
    expect(report.unproved, formatTestReport(report)).toEqual([]);
    expect(report.ok, formatTestReport(report)).toBe(true);
    expect(ruleSet.rules.filter(({ tests }) => tests.length === 0)).toEqual([]);
  });

  it('have live accept and hold rules, and no live reject rule', () => {
    const live = ruleSet.rules.filter(({ mode }) => mode === 'live').map(({ action }) => action);
    expect(new Set(live)).toEqual(new Set(['accept', 'hold']));
    expect(ruleSet.rules.some(({ action }) => action === 'reject')).toBe(true);
  });
});

describe('what is generated from the fact table', () => {
  // `npm run references` writes it.
  it('the JSON Schema beside the rules is current', async () => {
    const path = join(folder, 'rules.schema.json');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(rulesJsonSchema());
  });
});
