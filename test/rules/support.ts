import { expect } from 'vitest';
import { type EvaluateOptions, type Evaluation, evaluate } from '../../src/rules/evaluate.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';
import { loadRules } from '../../src/rules/load.ts';
import type { RuleSet } from '../../src/rules/rule.ts';
import { formatProblem } from '../../src/rules/text/problem.ts';

/** A rule with these conditions, as the text of a file. */
export function ruleText(when: readonly string[], rest = '', action = 'accept'): string {
  const items = when.map((condition) => `      - ${condition}`).join('\n');
  const head = `rules:\n  - id: a\n    title: A\n    action: ${action}\n    mode: live\n`;
  return `${head}    when:\n${items}\n${rest}`;
}

export function rulesOf(text: string, settings = 'version: 1\n'): RuleSet {
  const loaded = loadRules([
    { path: 'settings.yaml', text: settings },
    { path: 'r.yaml', text },
  ]);
  if ('problems' in loaded) expect.fail(loaded.problems.map(formatProblem).join('\n'));
  return loaded.ruleSet;
}

/** The problems of a file as people see them; empty when it loads. */
export function problemsOf(text: string, settings = 'version: 1\n'): readonly string[] {
  const loaded = loadRules([
    { path: 'settings.yaml', text: settings },
    { path: 'r.yaml', text },
  ]);
  return 'problems' in loaded ? loaded.problems.map(formatProblem) : [];
}

/** First lines of the problems of a rule with these conditions. */
export function complaints(when: readonly string[], settings?: string): readonly string[] {
  return problemsOf(ruleText(when), settings).map((problem) => problem.split('\n')[0] ?? '');
}

export function decide(
  text: string,
  given: Readonly<Record<string, unknown>> = {},
  options: EvaluateOptions = {},
): Evaluation {
  return evaluate(rulesOf(text), factsOfTest(given), options);
}
