/** Proposals on trial: checked, tested strictly, and in a backtest with the rules in force. */
import { expect } from 'vitest';
import { backtest } from '../../src/decisions/simulation/backtest.ts';
import { backtestJson } from '../../src/decisions/simulation/backtest-text.ts';
import { layOver } from '../../src/decisions/simulation/trial-files.ts';
import { evaluate } from '../../src/rules/evaluate.ts';
import { loadRules } from '../../src/rules/load.ts';
import type { RuleSet } from '../../src/rules/rule.ts';
import { runRuleTests } from '../../src/rules/testing.ts';
import { formatProblem } from '../../src/rules/text/problem.ts';
import type { Proposal } from '../../src/surface/suggestion.ts';
import type { House, Policy } from './clerk.ts';

/** The text of a rule, as live as a person may make it. */
function live(text: string): string {
  return text.replace(/^( {4}mode:) shadow$/m, '$1 live');
}

/** The rules in force with these proposals, live. */
export function rulesWith(house: House, texts: readonly string[]): RuleSet {
  const files = texts.map((text, at) => ({ path: `suggested-${at}.yaml`, text: live(text) }));
  const loaded = loadRules(layOver(house.files, { over: 'rules', files }));
  if ('problems' in loaded) return expect.fail(loaded.problems.map(formatProblem).join('\n'));
  return loaded.ruleSet;
}

/** What is wrong with a proposal as "rules check --strict" and "rules test --strict" find it. */
export function faultsOf(house: House, { id, text, draft }: Proposal): readonly string[] {
  return [text, draft].flatMap((one) => {
    const ruleSet = rulesWith(house, [one]);
    const own = one === text ? id : ruleSet.rules.at(-1)?.id;
    const report = runRuleTests(ruleSet, true);
    const isOwn = ({ ruleId }: { readonly ruleId?: string | undefined }) => ruleId === own;
    // A copy that is watched beside its rule adds nothing yet, as a warning says.
    const warnings = one === text ? ruleSet.warnings : [];
    return [
      ...warnings.filter(isOwn).map(formatProblem),
      ...report.tests.filter((test) => isOwn(test) && !test.ok).map(({ name }) => name),
      ...(report.untested ?? []).filter(isOwn).map(({ message }) => message),
    ];
  });
}

/** Deliveries that end otherwise in a backtest of the rules in force with the proposal. */
export async function changesOf(house: House, { text }: Proposal) {
  const { since, until } = house;
  const rules = rulesWith(house, [text]);
  const { changes } = backtestJson(await backtest(house.store.db, { since, until }, { rules }));
  return changes.map(({ examples: _, ...change }) => change);
}

export function sorted<T extends { readonly from: string; readonly to: string }>(
  changes: readonly T[],
) {
  return changes.toSorted((a, b) => (`${a.from}${a.to}` < `${b.from}${b.to}` ? -1 : 1));
}

/**
 * Share of the deliveries since a time on which the rules with the proposals do what the policy
 * would; what a rule in force holds stays with it.
 */
export function agreement(
  house: House,
  policy: Policy,
  proposals: readonly Pick<Proposal, 'text'>[],
  since: number,
): number {
  const ruleSet = rulesWith(
    house,
    proposals.map(({ text }) => text),
  );
  const later = house.deliveries.filter(({ facts }) => facts.clock.now >= since);
  const agreed = later.filter((seen) => {
    if (seen.byRules.kind !== 'no_rule') return true;
    const wanted = policy(seen, 'ada');
    const { kind } = evaluate(ruleSet, seen.facts, { operands: false }).live;
    return (wanted === 'accept') === (kind === 'accept');
  });
  return agreed.length / later.length;
}
