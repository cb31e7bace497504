/** Tests at the limits of a rule that has none there, from a real delivery on which it was true. */
import { limitsOf, numbersAt, STEPS } from '../../rules/analysis/limits.ts';
import { contextOf, evaluateRule } from '../../rules/evaluate.ts';
import { factsOfTest } from '../../rules/facts/typical.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import { type Given, mergeGiven } from '../facts/field.ts';
import { givenPath } from '../facts/numbers.ts';
import type { RuleTest } from './tests.ts';

const MS_PER_SECOND = 1_000;
/** Fractions of binary numbers are cut behind these decimals. */
const DECIMALS = 4;

function written(path: string, kind: string, value: number): unknown {
  if (kind === 'duration') return `${Math.round(value / MS_PER_SECOND)}s`;
  if (kind === 'time') return new Date(value).toISOString();
  const number = Number(value.toFixed(DECIMALS));
  return /_pct$|discount$|base_rate$/.test(path) ? String(number) : number;
}

/** Facts in which a path has this value, on each line where it is of lines. */
function at(path: string, value: unknown): Given {
  const [, inner] = /^delivery\.lines\.(\w+)$/.exec(path) ?? [];
  return inner === undefined
    ? givenPath(path, value)
    : { delivery: { lines: [{ [inner]: value }] } };
}

export function limitTestsOf(ruleSet: RuleSet, rule: Rule, real: Given): readonly RuleTest[] {
  const samples = { ...ruleSet, variables: ruleSet.samples };
  const frame = (given: Given) => contextOf(samples, factsOfTest(given));
  return limitsOf(rule, ruleSet.types).flatMap((limit): readonly RuleTest[] => {
    const { kind, path, op } = limit;
    if (kind === 'list' || !/^[<>]=?$/.test(op) || path.endsWith('size()')) return [];
    const [first] = numbersAt(limit, frame(real));
    if (!first) return [];
    return [-1, 0, 1].map((steps) => {
      const value = written(path, kind, first.bound + steps * STEPS[kind]);
      const given = mergeGiven([real, at(path, value)]);
      const is = evaluateRule(rule, frame(given)).value;
      const matched = is === true ? rule.action : 'none';
      return { name: `${path} is ${value}`, given, expect: is === 'unknown' ? is : matched };
    });
  });
}
