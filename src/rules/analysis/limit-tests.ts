/**
 * Finds live rules without tests, and limits that no test tries within one step on both sides. A
 * test says something about a limit only if every other condition of the rule holds in it.
 */
import { type ClauseResult, contextOf, truthOfClauses } from '../evaluate.ts';
import { factsOfTest } from '../facts/typical.ts';
import type { Rule, RuleSet } from '../rule.ts';
import { type Limit, type LimitKind, limitsOf, numbersAt, STEPS } from './limits.ts';

export interface UntestedLimit {
  readonly ruleId: string;
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface TestRun {
  readonly test: Rule['tests'][number];
  readonly clauses: readonly ClauseResult[];
}

const ORDERS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);
/** Steps between a limit and a test's value are rounded to this fraction of a step. */
const STEP_PARTS = 1e6;

/**
 * Text of a limit for people.
 * @param value in the units of the limit: pieces, amounts, milliseconds.
 */
export function limitText(kind: LimitKind, value: number): string {
  if (kind === 'duration') {
    const minutes = Math.round(value / STEPS.duration);
    const parts = [Math.trunc(minutes / 1440), Math.trunc(minutes / 60) % 24, minutes % 60];
    const shown = parts.flatMap((count, at) => (count === 0 ? [] : [`${count}${'dhm'[at]}`]));
    return shown.join(' ') || '0m';
  }
  return kind === 'time' ? new Date(value).toISOString() : String(value);
}

interface Trial {
  readonly bound: number;
  /** Number of steps from the limit to the value in the test. */
  readonly steps: number;
}

function trialsOf(limit: Limit, step: number, ruleSet: RuleSet, runs: readonly TestRun[]): Trial[] {
  return runs.flatMap(({ test, clauses }) => {
    const others = clauses.filter(({ line, text }) => {
      return line !== limit.clause.line || text !== limit.clause.text;
    });
    if (truthOfClauses(others) !== true) return [];
    return numbersAt(limit, contextOf(ruleSet, factsOfTest(test.given))).map(({ value, bound }) => {
      const steps = Math.round(((value - bound) / step) * STEP_PARTS) / STEP_PARTS;
      return { bound, steps };
    });
  });
}

function problemOf(limit: Limit, ruleSet: RuleSet, runs: readonly TestRun[]): string | undefined {
  const { kind, op, clause } = limit;
  if (kind === 'list' || !ORDERS.has(op)) return undefined;
  const step = STEPS[kind];
  const trials = trialsOf(limit, step, ruleSet, runs);
  // The limit itself belongs to the lower side for `<=` and `>`, and to the upper side for `<` and
  // `>=`.
  const isLow = op === '<=' || op === '>';
  const below = trials.some(({ steps }) =>
    isLow ? steps > -1 && steps <= 0 : steps >= -1 && steps < 0,
  );
  const above = trials.some(({ steps }) =>
    isLow ? steps > 0 && steps <= 1 : steps >= 0 && steps < 1,
  );
  if (below && above) return undefined;
  const bound = trials[0]?.bound;
  const { node } = limit;
  const shown = clause.text.slice(node.start, node.end);
  if (bound === undefined) return `no test tries this limit: ${shown}`;
  const missing = [
    ...(below ? [] : [isLow ? bound : bound - step]),
    ...(above ? [] : [isLow ? bound + step : bound]),
  ].map((value) => limitText(kind, Math.round(value * STEP_PARTS) / STEP_PARTS));
  return `no test tries ${missing.join(' or ')} at this limit: ${shown}`;
}

/**
 * Finds limits that no test tries, and live rules without tests.
 * @param runs gives the tests of a rule, with the values of its conditions.
 */
export function untestedLimits(
  ruleSet: RuleSet,
  runs: (rule: Rule) => readonly TestRun[],
): readonly UntestedLimit[] {
  return ruleSet.rules.flatMap((rule) => {
    if (rule.mode !== 'live') return [];
    const { id: ruleId, file, line } = rule;
    if (rule.tests.length === 0)
      return [{ ruleId, file, line, message: 'a live rule needs tests' }];
    return limitsOf(rule, ruleSet.types).flatMap((limit) => {
      const message = problemOf(limit, ruleSet, runs(rule));
      return message === undefined ? [] : [{ ruleId, file, line: limit.clause.line, message }];
    });
  });
}
