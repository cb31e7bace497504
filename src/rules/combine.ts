/**
 * Combines the results of many rules into one outcome, independent of the order of the rules. If
 * rules disagree or cannot be evaluated, the delivery stays pending, the only state that harms
 * nobody.
 */
import type { Json } from '../lib/json.ts';
import type { Operand } from './cel/operands.ts';
import type { Truth } from './cel/program.ts';
import type { Action } from './rule.ts';

export interface ClauseResult {
  readonly text: string;
  readonly line: number;
  readonly negated: boolean;
  /** Value of the clause's text; for an `unless` clause, false is what lets its rule match. */
  readonly value: Truth;
  /** Fact that is not known, or what else prevented the evaluation of the clause. */
  readonly missing?: string | undefined;
  /** Whether the value is unknown because a fact of a past decision was not gathered. */
  readonly isOpen?: true | undefined;
  readonly operands: readonly Operand[];
}

export interface RuleResult {
  readonly id: string;
  readonly title: string;
  readonly action: Action;
  /** Person or team to ask about the rule. */
  readonly owner?: string | undefined;
  readonly hash: string;
  /**
   * Weakest mode of the rule, the rule set and the daemon; a reject rule that only watches while it
   * is not armed is in shadow.
   */
  readonly mode: 'shadow' | 'live';
  /**
   * Whether a reject rule is armed; other rules have no value. A live one that is not armed holds
   * what it matches.
   */
  readonly armed?: boolean | undefined;
  /**
   * Consequence for a hold rule that has held for its time: it accepts, or lets the other rules
   * decide.
   */
  readonly lapsed?: 'accept' | 'release' | undefined;
  readonly value: Truth;
  readonly missing: readonly string[];
  /** Whether facts of a past decision that were not gathered might give another value. */
  readonly isOpen?: true | undefined;
  readonly clauses: readonly ClauseResult[];
  /** Message of the rule; only rendered when the rule is true. */
  readonly message?: string | undefined;
  readonly record?: Readonly<Record<string, Json>> | undefined;
}

type OutcomeCode =
  | 'hold_rule'
  | 'safeguard'
  | 'empty_delivery'
  | 'below_zero'
  | 'unread'
  | 'not_armed'
  | 'could_not_evaluate'
  | 'rules_disagree'
  | 'reject_rule'
  | 'accept_rule'
  | 'no_rule';

/** Reason why a delivery is held whatever the accept and reject rules say. */
export interface Obstacle {
  readonly code: 'empty_delivery' | 'below_zero' | 'unread';
  readonly reason: string;
}

export interface Outcome {
  readonly kind: 'accept' | 'hold' | 'reject' | 'no_rule';
  readonly code: OutcomeCode;
  /** Ids of the rules that decided, in alphabetical order. */
  readonly rules: readonly string[];
  /** Reason of the outcome, a sentence for people. */
  readonly reason: string;
  /** Facts that were unknown to the deciding rules, in alphabetical order. */
  readonly missing: readonly string[];
}

function outcome(
  kind: Outcome['kind'],
  code: OutcomeCode,
  results: readonly RuleResult[],
  reason: string,
): Outcome {
  const missing = new Set(results.flatMap((result) => result.missing));
  return { kind, code, rules: results.map(({ id }) => id), reason, missing: [...missing].sort() };
}

/**
 * Action of a rule's result. A hold rule whose hold lasted its time accepts or says nothing more;
 * one that cannot be evaluated any more goes on holding.
 */
function actionOf({ action, lapsed, value }: RuleResult): Action | 'release' {
  return lapsed !== undefined && value === true ? lapsed : action;
}

function textOf(result: RuleResult): string {
  const text = result.message ?? result.title;
  return actionOf(result) === result.action ? text : `held for its time: ${text}`;
}

function texts(results: readonly RuleResult[]): string {
  return results.map(textOf).join('; ');
}

/** Names the facts that an accept rule needed and that are unknown. */
function notKnown(accepts: readonly RuleResult[]): string {
  const missing = new Set(accepts.flatMap((result) => result.missing));
  return missing.size === 0 ? '' : `; not known: ${[...missing].sort().join(', ')}`;
}

function notArmed(rejects: readonly RuleResult[]): Outcome {
  const ids = rejects.map(({ id }) => id).join(', ');
  const way = `arm ${rejects.length > 1 ? 'them' : 'it'}, or decide by hand`;
  const why = 'may not now (not armed, or rejects are stopped)';
  const reason = `${ids} would reject this but ${why}: ${texts(rejects)}; ${way}`;
  return outcome('hold', 'not_armed', rejects, reason);
}

function byId(results: readonly RuleResult[]): readonly RuleResult[] {
  return results.length < 2 ? results : results.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * @param which in `shadow`, the outcome of shadow rules as if they were live, reject rules count as
 *   armed.
 */
export function combine(
  all: readonly RuleResult[],
  obstacle: Obstacle | undefined,
  which: 'live' | 'shadow' = 'live',
): Outcome {
  const matched = (action: Action): readonly RuleResult[] =>
    byId(all.filter((result) => result.value === true && actionOf(result) === action));
  const [holds, rejects, accepts] = [matched('hold'), matched('reject'), matched('accept')];
  if (holds.length > 0) return outcome('hold', 'hold_rule', holds, texts(holds));
  if (obstacle) return outcome('hold', obstacle.code, [], obstacle.reason);
  const unarmed = which === 'live' ? rejects.filter(({ armed }) => armed === false) : [];
  if (unarmed.length > 0) return notArmed(unarmed);
  const unknown = all.filter(({ value }) => value === 'unknown');
  const unclear = byId(unknown.filter(({ action }) => action !== 'accept'));
  if (unclear.length > 0) {
    const missing = [...new Set(unclear.flatMap((result) => result.missing))].sort();
    const reason = `could not evaluate: ${missing.join(', ')}`;
    return outcome('hold', 'could_not_evaluate', unclear, reason);
  }
  if (rejects.length > 0 && accepts.length > 0) {
    const both = byId([...accepts, ...rejects]);
    const ids = both.map((one) => `${one.id} says ${actionOf(one)}`).join(', ');
    return outcome('hold', 'rules_disagree', both, `rules disagree: ${ids}`);
  }
  if (rejects.length > 0) return outcome('reject', 'reject_rule', rejects, texts(rejects));
  if (accepts.length > 0) return outcome('accept', 'accept_rule', accepts, texts(accepts));
  const unsure = byId(unknown.filter(({ action }) => action === 'accept'));
  const reason = `no rule applies${notKnown(unsure)}`;
  return { ...outcome('no_rule', 'no_rule', unsure, reason), rules: [] };
}
