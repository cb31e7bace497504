/** Differences in effect between two rule sets; titles, comments and tests have no effect. */
import { canonicalJson, isJsonObject } from '../../lib/json.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';

interface Difference {
  /** Path of the differing value: `when`, `mode`, `reject.graceMs`, `tables.limits.DKK` … */
  readonly path: string;
  /** Value in the first rule set; undefined when it has none there. */
  readonly before: unknown;
  readonly after: unknown;
}

export interface RuleSetDiff {
  readonly from: string;
  readonly to: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly { readonly id: string; readonly differences: readonly Difference[] }[];
  readonly settings: readonly Difference[];
}

function differences(path: string, before: unknown, after: unknown): readonly Difference[] {
  // A table of 100,000 rows that nobody touched is the same object.
  if (before === after) return [];
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      differences(path === '' ? name : `${path}.${name}`, before[name], after[name]),
    );
  }
  return canonicalJson({ value: before }) === canonicalJson({ value: after })
    ? []
    : [{ path, before, after }];
}

/**
 * Compares the clauses of a rule as whole texts: an edited clause is one that was removed and one
 * that was added.
 */
function clauseDifferences(path: string, before: Rule, after: Rule): readonly Difference[] {
  const negated = path === 'unless';
  const texts = (rule: Rule): string[] =>
    rule.clauses.filter((clause) => clause.negated === negated).map(({ text }) => text);
  const [gone, come] = [texts(before), texts(after)];
  return [
    ...gone
      .filter((text) => !come.includes(text))
      .map((text) => ({ path, before: text, after: undefined })),
    ...come
      .filter((text) => !gone.includes(text))
      .map((text) => ({ path, before: undefined, after: text })),
  ];
}

function effectOf({ action, mode, appliesTo, effectiveFrom, effectiveUntil, ...rule }: Rule) {
  const { hold, reject, otherwise } = rule;
  return { action, mode, appliesTo, effectiveFrom, effectiveUntil, hold, reject, otherwise };
}

export function diffRuleSets(from: RuleSet, to: RuleSet): RuleSetDiff {
  const before = new Map(from.rules.map((rule) => [rule.id, rule]));
  const after = new Map(to.rules.map((rule) => [rule.id, rule]));
  const changed = from.rules.flatMap((rule) => {
    const other = after.get(rule.id);
    if (!other) return [];
    const found = [
      ...clauseDifferences('when', rule, other),
      ...clauseDifferences('unless', rule, other),
      ...differences('', effectOf(rule), effectOf(other)),
    ];
    return found.length > 0 ? [{ id: rule.id, differences: found }] : [];
  });
  return {
    from: from.hash,
    to: to.hash,
    added: to.rules.flatMap(({ id }) => (before.has(id) ? [] : [id])),
    removed: from.rules.flatMap(({ id }) => (after.has(id) ? [] : [id])),
    changed,
    settings: differences('', from.settings, to.settings),
  };
}
