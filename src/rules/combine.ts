/**
 * Many rules, one outcome. The table is independent of the order of the rules, and falls to
 * pending, the only state that harms nobody, wherever rules disagree or cannot be evaluated.
 */
import type { Truth } from './cel/program.ts';
import type { Action } from './rule.ts';

export interface Verdict {
  readonly id: string;
  readonly action: Action;
  readonly value: Truth;
  /** Facts that were not known, when `value` is unknown. */
  readonly missing: readonly string[];
  /** The rule's message, or its title. */
  readonly text: string;
}

type OutcomeCode =
  | 'hold_rule'
  | 'rail'
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
  readonly kind: 'accept' | 'hold' | 'reject' | 'nothing';
  readonly code: OutcomeCode;
  /** Ids of the rules that decided, in alphabetical order. */
  readonly rules: readonly string[];
  /** One sentence for people. */
  readonly reason: string;
  /** Facts whose absence decided, in alphabetical order. */
  readonly missing: readonly string[];
}

function outcome(
  kind: Outcome['kind'],
  code: OutcomeCode,
  verdicts: readonly Verdict[],
  reason: string,
): Outcome {
  const missing = new Set(verdicts.flatMap((verdict) => verdict.missing));
  return { kind, code, rules: verdicts.map(({ id }) => id), reason, missing: [...missing].sort() };
}

function texts(verdicts: readonly Verdict[]): string {
  return verdicts.map(({ text }) => text).join('; ');
}

/** What a rule to accept would have had to know. */
function notKnown(accepts: readonly Verdict[]): string {
  const missing = new Set(accepts.flatMap((verdict) => verdict.missing));
  return missing.size === 0 ? '' : `; not known: ${[...missing].sort().join(', ')}`;
}

export function combine(all: readonly Verdict[], obstacle: Obstacle | undefined): Outcome {
  const sorted = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const matched = (action: Action): readonly Verdict[] =>
    sorted.filter((verdict) => verdict.action === action && verdict.value === true);
  const [holds, rejects, accepts] = [matched('hold'), matched('reject'), matched('accept')];
  if (holds.length > 0) return outcome('hold', 'hold_rule', holds, texts(holds));
  if (obstacle) return outcome('hold', obstacle.code, [], obstacle.reason);
  const unclear = sorted.filter(({ action, value }) => action !== 'accept' && value === 'unknown');
  if (unclear.length > 0) {
    const missing = [...new Set(unclear.flatMap((verdict) => verdict.missing))].sort();
    const reason = `could not evaluate: ${missing.join(', ')}`;
    return outcome('hold', 'could_not_evaluate', unclear, reason);
  }
  if (rejects.length > 0 && accepts.length > 0) {
    const both = [...accepts, ...rejects].sort((a, b) => (a.id < b.id ? -1 : 1));
    const ids = both.map(({ id, action }) => `${id} says ${action}`).join(', ');
    return outcome('hold', 'rules_disagree', both, `rules disagree: ${ids}`);
  }
  if (rejects.length > 0) return outcome('reject', 'reject_rule', rejects, texts(rejects));
  if (accepts.length > 0) return outcome('accept', 'accept_rule', accepts, texts(accepts));
  const unsure = sorted.filter(({ action, value }) => action === 'accept' && value === 'unknown');
  const reason = `no rule applies${notKnown(unsure)}`;
  return { ...outcome('nothing', 'no_rule', unsure, reason), rules: [] };
}
