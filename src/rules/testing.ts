/**
 * Runs the tests that are written beside the rules, and the scenarios of the whole rule set.
 *
 * A test changes a typical delivery by `given` and looks at one rule, whatever its mode; a scenario
 * looks at the combined live outcome. A clause without which every test would end the same is
 * reported: either a test is missing, or the clause is superfluous.
 */

import { type UntestedLimit, untestedLimits } from './analysis/limit-tests.ts';
import type { Truth } from './cel/program.ts';
import {
  contextOf,
  evaluate,
  evaluateRule,
  type Outcome,
  type RuleResult,
  truthOfClauses,
} from './evaluate.ts';
import { factsOfTest } from './facts/typical.ts';
import type { Rule, RuleSet } from './rule.ts';

type Expectation = 'accept' | 'hold' | 'reject' | 'none' | 'unknown';

interface TestResult {
  readonly ruleId: string;
  readonly name: string;
  readonly expected: Expectation;
  readonly actual: Expectation;
  readonly ok: boolean;
  /** Result of the rule with the values behind it, which explains a failure. */
  readonly result: Omit<RuleResult, 'mode' | 'armed'>;
}

interface ScenarioResult {
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
  readonly ok: boolean;
  readonly outcome: Outcome;
}

interface UnprovedClause {
  readonly ruleId: string;
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /**
   * Whether the missing proof is an error: reject rules must prove every clause, for others it is
   * advice.
   */
  readonly required: boolean;
}

export interface TestReport {
  readonly tests: readonly TestResult[];
  readonly scenarios: readonly ScenarioResult[];
  readonly unproved: readonly UnprovedClause[];
  /** Live rules without tests, and limits that no test comes close to; only in a strict run. */
  readonly untested?: readonly UntestedLimit[];
  /**
   * Whether all tests and scenarios pass, every reject rule proves its clauses, and a strict run
   * finds nothing untested.
   */
  readonly ok: boolean;
}

function expectationOf(rule: Rule, value: Truth): Expectation {
  if (value === 'unknown') return 'unknown';
  return value ? rule.action : 'none';
}

function runTest(ruleSet: RuleSet, rule: Rule, test: Rule['tests'][number]): TestResult {
  const result = evaluateRule(rule, contextOf(ruleSet, factsOfTest(test.given)));
  const actual = expectationOf(rule, result.value);
  const { name, expect: expected } = test;
  return { ruleId: rule.id, name, expected, actual, ok: actual === expected, result };
}

/** Clauses that could be removed without changing the result of any test. */
function unprovedClauses(rule: Rule, tests: readonly TestResult[]): readonly UnprovedClause[] {
  return rule.clauses.flatMap((clause, index) => {
    const matters = tests.some(({ result }) => {
      const without = result.clauses.filter((_, at) => at !== index);
      return truthOfClauses(without) !== result.value;
    });
    if (matters) return [];
    const { line, negated, text } = clause;
    const place = { ruleId: rule.id, file: rule.file, line };
    const shown = negated ? `unless ${text}` : text;
    return [{ ...place, text: shown, required: rule.action === 'reject' }];
  });
}

function runScenario(ruleSet: RuleSet, scenario: RuleSet['scenarios'][number]): ScenarioResult {
  const armed = new Set(scenario.armed);
  const facts = factsOfTest(scenario.given);
  const { live } = evaluate(ruleSet, facts, { armed, operands: false });
  const describe = (kind: string, rules: readonly string[] | undefined): string =>
    rules === undefined ? kind : `${kind} by ${rules.toSorted().join(', ') || 'no rule'}`;
  const expected = describe(scenario.expect, scenario.rules);
  const actual = describe(live.kind, scenario.rules === undefined ? undefined : live.rules);
  return { name: scenario.name, expected, actual, ok: expected === actual, outcome: live };
}

export function runRuleTests(tested: RuleSet, isStrict = false): TestReport {
  // Tests use the samples of lists, so that contents of the database never make one pass or fail.
  const ruleSet = { ...tested, variables: tested.samples };
  const tests: TestResult[] = [];
  const unproved: UnprovedClause[] = [];
  for (const rule of ruleSet.rules) {
    const results = rule.tests.map((test) => runTest(ruleSet, rule, test));
    tests.push(...results);
    unproved.push(...unprovedClauses(rule, results));
  }
  const untested = isStrict
    ? untestedLimits(ruleSet, ({ id, tests: given }) =>
        tests
          .filter(({ ruleId }) => ruleId === id)
          .flatMap(({ result: { clauses } }, index) => {
            const test = given[index];
            return test ? [{ test, clauses }] : [];
          }),
      )
    : undefined;
  const scenarios = ruleSet.scenarios.map((scenario) => runScenario(ruleSet, scenario));
  const ok =
    tests.every((test) => test.ok) &&
    scenarios.every((scenario) => scenario.ok) &&
    unproved.every(({ required }) => !required) &&
    (untested ?? []).length === 0;
  return { tests, scenarios, unproved, ...(untested ? { untested } : {}), ok };
}

/** The report as text for people: failures with their reason, then what no test proves. */
export function formatTestReport(report: TestReport): string {
  const { tests, scenarios, unproved, untested = [] } = report;
  const lines: string[] = [];
  for (const { ruleId, name, expected, actual, ok, result } of tests) {
    lines.push(`${ok ? 'ok  ' : 'FAIL'} ${ruleId}: ${name}`);
    if (ok) continue;
    lines.push(`       expected ${expected}, got ${actual}`);
    for (const { text, line, negated, value } of result.clauses) {
      lines.push(`       line ${line} ${negated ? 'unless ' : ''}${text} is ${value}`);
    }
  }
  for (const { name, expected, actual, ok, outcome } of scenarios) {
    lines.push(`${ok ? 'ok  ' : 'FAIL'} scenario: ${name}`);
    if (!ok) lines.push(`       expected ${expected}, got ${actual}: ${outcome.reason}`);
  }
  for (const { ruleId, file, line, text, required } of unproved) {
    const kind = required ? 'FAIL' : 'note';
    lines.push(`${kind} ${file}:${line} ${ruleId}: no test shows that this matters: ${text}`);
  }
  for (const { ruleId, file, line, message } of untested) {
    lines.push(`FAIL ${file}:${line} ${ruleId}: ${message}`);
  }
  const failed = [...tests, ...scenarios].filter((test) => !test.ok).length;
  const passed = tests.length + scenarios.length - failed;
  lines.push(`${passed} passed, ${failed} failed, ${unproved.length} clauses not shown to matter`);
  return lines.join('\n');
}
