/** Turns findings about rules into problems at their places in the rule files. */
import type { RuleSource } from '../compile.ts';
import type { Clause, Rule } from '../rule.ts';
import type { LoadedSettings } from '../settings.ts';
import type { Problem } from '../text/problem.ts';
import { offsetInFile } from '../text/yaml.ts';
import { type Finding, findingsOf } from './findings.ts';

/** Path of a condition in its rule: `when` or `unless`, and its index there. */
function clausePath(rule: Rule, clause: Clause): readonly (string | number)[] {
  const alike = rule.clauses.filter(({ negated }) => negated === clause.negated);
  return [clause.negated ? 'unless' : 'when', alike.indexOf(clause)];
}

function problemOf(finding: Finding, { source, path }: RuleSource): Problem {
  const { rule, clause, start, end, message, hint, isNote: note = false } = finding;
  const inRule = clause ? clausePath(rule, clause) : ['id'];
  const node = source.nodeAt([...path, ...inRule]);
  const [from = 0, to = 0] = node?.range ?? [];
  const range =
    node && start !== undefined && end !== undefined
      ? [start, end].map((offset) => offsetInFile(node, source.file.text, offset))
      : [from, to];
  const detail = { message, hint, ruleId: rule.id, warning: !note, note };
  return source.problem(range[0] ?? from, range[1] ?? to, detail);
}

/**
 * Findings about a rule set as warnings and notes, never as errors: a set with a rule that does
 * nothing can still be used.
 */
export function analysisProblems(
  rules: readonly { readonly from: RuleSource; readonly rule: Rule }[],
  { settings, types }: LoadedSettings,
): readonly Problem[] {
  const sources = new Map(rules.map(({ from, rule }) => [rule, from] as const));
  const written = Object.entries(settings.lists).filter(
    ([name]) => !Object.hasOwn(settings.list_sources, name),
  );
  const context = { types, lists: new Map(written) };
  const findings = findingsOf([...sources.keys()], context);
  return findings.flatMap((finding) => {
    const from = sources.get(finding.rule);
    return from ? [problemOf(finding, from)] : [];
  });
}
