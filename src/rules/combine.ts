/**
 * Many rules, one outcome. The table is independent of the order of the rules, and falls to
 * pending, the only state that harms nobody, wherever rules disagree or cannot be evaluated.
 */
import type { Json } from '../lib/json.ts';
import type { Operand } from './cel/operands.ts';
import type { Truth } from './cel/program.ts';
import type { Action } from './rule.ts';

export interface ClauseResult {
  readonly text: string;
  readonly line: number;
  readonly negated: boolean;
  /** The value of the text itself; an `unless` clause helps its rule when it is false. */
  readonly value: Truth;
  /** The fact that is not known, or what else prevented the evaluation. */
  readonly missing?: string | undefined;
  readonly operands: readonly Operand[];
}

export interface RuleResult {
  readonly id: string;
  readonly title: string;
  readonly action: Action;
  /** Whom to ask about it. */
  readonly owner?: string | undefined;
  readonly hash: string;
  /** The weakest of rule, set and global mode; a reject that is not armed is in shadow. */
  readonly mode: 'shadow' | 'live';
  /** Reject rules only. */
  readonly armed?: boolean | undefined;
  /** Hold rules only: it has held for its time, and then accepts, or lets the others decide. */
  readonly lapsed?: 'accept' | 'release' | undefined;
  readonly value: Truth;
  readonly missing: readonly string[];
  readonly clauses: readonly ClauseResult[];
  /** Rendered only when the rule is true. */
  readonly message?: string | undefined;
  readonly record?: Readonly<Record<string, Json>> | undefined;
}

type OutcomeCode =
  | 'hold_rule'
  | 'safeguard'
  | 'empty_delivery'
  | 'unread'
  | 'could_not_evaluate'
  | 'rules_disagree'
  | 'reject_rule'
  | 'accept_rule'
  | 'no_rule';

/** Why a delivery is held, whatever the rules say. */
export interface Obstacle {
  readonly code: 'empty_delivery' | 'unread';
  readonly reason: string;
}

export interface Outcome {
  readonly kind: 'accept' | 'hold' | 'reject' | 'no_rule';
  readonly code: OutcomeCode;
  /** Ids of the rules that decided, in alphabetical order. */
  readonly rules: readonly string[];
  /** A sentence for people. */
  readonly reason: string;
  /** Facts whose absence decided, in alphabetical order. */
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
 * A hold that lasted its time accepts or says nothing more; one that can no longer be evaluated
 * goes on holding.
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

export function combine(all: readonly RuleResult[], obstacle: Obstacle | undefined): Outcome {
  const sorted = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const matched = (action: Action): readonly RuleResult[] =>
    sorted.filter((result) => actionOf(result) === action && result.value === true);
  const [holds, rejects, accepts] = [matched('hold'), matched('reject'), matched('accept')];
  if (holds.length > 0) return outcome('hold', 'hold_rule', holds, texts(holds));
  if (obstacle) return outcome('hold', obstacle.code, [], obstacle.reason);
  const unclear = sorted.filter(({ action, value }) => action !== 'accept' && value === 'unknown');
  if (unclear.length > 0) {
    const missing = [...new Set(unclear.flatMap((result) => result.missing))].sort();
    const reason = `could not evaluate: ${missing.join(', ')}`;
    return outcome('hold', 'could_not_evaluate', unclear, reason);
  }
  if (rejects.length > 0 && accepts.length > 0) {
    const both = [...accepts, ...rejects].sort((a, b) => (a.id < b.id ? -1 : 1));
    const ids = both.map((one) => `${one.id} says ${actionOf(one)}`).join(', ');
    return outcome('hold', 'rules_disagree', both, `rules disagree: ${ids}`);
  }
  if (rejects.length > 0) return outcome('reject', 'reject_rule', rejects, texts(rejects));
  if (accepts.length > 0) return outcome('accept', 'accept_rule', accepts, texts(accepts));
  const unsure = sorted.filter(({ action, value }) => action === 'accept' && value === 'unknown');
  const reason = `no rule applies${notKnown(unsure)}`;
  return { ...outcome('no_rule', 'no_rule', unsure, reason), rules: [] };
}
