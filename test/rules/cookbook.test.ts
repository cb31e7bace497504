import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readRuleFiles, unreadRuleFiles } from '../../src/decisions/rule-files.ts';
import { loadRules } from '../../src/rules/load.ts';
import { formatTestReport, runRuleTests } from '../../src/rules/testing.ts';
import { formatProblem } from '../../src/rules/text/problem.ts';

const rulesFolder = fileURLToPath(new URL('../../config/rules/', import.meta.url));
const folder = `${rulesFolder}cookbook`;
const LINES_MAX = 10;

const all = readRuleFiles(folder);
const isPolicy = (path: string) => path.endsWith('.yaml') && path !== 'settings.yaml';
const policies = all.filter(({ path }) => isPolicy(path));
const shared = all.filter(({ path }) => !isPolicy(path));

function loaded(files: typeof all) {
  const result = loadRules(files);
  if ('problems' in result) throw new Error(result.problems.map(formatProblem).join('\n'));
  return result.ruleSet;
}

/** Lines of each rule of a file, from its id to its tests. */
function linesOfRules(text: string): readonly number[] {
  const rules = text.split(/^ {2}- (?=id: )/m).slice(1);
  return rules.map(
    (rule) =>
      rule
        .split(/^ {4}tests:/m)[0]
        ?.trimEnd()
        .split('\n').length ?? 0,
  );
}

describe('the cookbook', () => {
  it('has the 27 everyday policies, and only tables that one of them reads', () => {
    expect(policies).toHaveLength(27);
    const reads = loaded(all).rules.flatMap((rule) => rule.reads);
    const { lists, table_files: tables } = loaded(all).settings;
    expect(Object.keys(lists).filter((name) => !reads.includes(`lists.${name}`))).toEqual([]);
    expect(Object.keys(tables).filter((name) => !reads.includes(`tables.${name}`))).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.endsWith('.csv'))).toHaveLength(
      Object.keys(tables).length,
    );
  });

  it('is a rule set of its own for the rules beside it', () => {
    expect(unreadRuleFiles(rulesFolder)).toEqual([]);
  });

  it.each(policies.map((file) => [file.path, file] as const))(
    '%s loads alone without a warning, in few lines, and its tests show every clause to matter',
    (_, file) => {
      const ruleSet = loaded([...shared, file]);
      expect(ruleSet.warnings.map(formatProblem)).toEqual([]);
      const report = runRuleTests(ruleSet);
      expect(report.ok, formatTestReport(report)).toBe(true);
      expect(report.unproved, formatTestReport(report)).toEqual([]);
      expect(ruleSet.rules.every(({ tests }) => tests.length > 1)).toBe(true);
      expect(Math.max(...linesOfRules(file.text))).toBeLessThanOrEqual(LINES_MAX);
    },
  );

  it('loads as a whole without a warning', () => {
    expect(loaded(all).warnings.map(formatProblem)).toEqual([]);
  });
});
