/**
 * A delivery under the rules: its facts, the evaluation, and a digest of what the outcome rests on.
 */
import { canonicalJson, sha256 } from '../lib/json.ts';
import type { Operand } from '../rules/cel/operands.ts';
import type { Outcome } from '../rules/combine.ts';
import { decidingValues, type Evaluation, evaluate, factsInContext } from '../rules/evaluate.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Tx } from '../store/store.ts';
import type { DecisionOutcome } from '../store/tables.ts';
import type { Subject } from './facts.ts';
import { type HoldRow, lapsedRules, readHolds } from './holds/holds.ts';
import { armedRuleIds } from './reject/arming.ts';
import type { LoadedRuleSet } from './rule-files.ts';

/**
 * How far decisions may go: `observe` and `paused` (while decisions are paused) push nothing,
 * `shadow` makes no rule live.
 */
export type DecisionMode = 'observe' | 'shadow' | 'live' | 'paused';

/** Inputs of a decision besides the database. */
export interface RulesContext {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Milliseconds that the data of a pulled stream may be old, by stream; others are not pulled. */
export type FreshnessMs = Readonly<Record<string, number | undefined>>;

/** The same, for deliveries that may be accepted. */
export interface PendingContext extends RulesContext {
  /** How old the data of each pulled stream may be. */
  readonly freshness: FreshnessMs;
}

/** The cause that made the delivery due, for the journal. */
export type Trigger =
  | 'new'
  | 'changed'
  | 'push'
  | 'hold'
  | 'manual'
  // By a pass: other rules hold, or facts or the time have moved.
  | 'rules'
  | 'facts';

export interface DecisionContext extends PendingContext {
  readonly trigger: Trigger;
}

export interface Decided {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly outcome: Outcome;
  /** When the grace of a reject that begins to wait is over. */
  readonly rejectAt?: number | undefined;
}

export interface Asked {
  readonly evaluation: Evaluation;
  /** The values behind these rules. */
  readonly valuesOf: (ruleIds: readonly string[]) => readonly Operand[];
  /** The holds when the rules were asked. */
  readonly holds: readonly HoldRow[];
}

export interface Judgement extends Asked {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  readonly subject: Subject;
  readonly outcome: Pick<Outcome, 'reason' | 'rules'> & { readonly kind: DecisionOutcome };
  /** Epoch milliseconds. */
  readonly at: number;
  /** When it is to be evaluated again at the latest; null: not before something changes. */
  readonly dueAt: number | null;
}

/** A pending delivery with the outcome so far. */
export interface Candidate {
  readonly subject: Subject;
  readonly ruleSet: RuleSet;
  readonly outcome: Outcome;
  readonly freshness: FreshnessMs;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A hold in the place of an accept or a reject. */
export interface Precaution {
  readonly outcome: Outcome;
  /** When to check again, in epoch milliseconds; undefined: once something changes. */
  readonly lookAt?: number;
}

/** Identifies the mode and the rules of an evaluation. */
export function rulesKey(mode: DecisionMode, { ruleSet }: LoadedRuleSet): string {
  return `${mode}:${ruleSet.hash}`;
}

/**
 * Evaluates the rules for a delivery, with the armed reject rules and the holds that have lapsed.
 * `operands` false leaves the values behind the clauses out of the evaluation.
 */
export async function askRules(
  tx: Tx,
  { rules: { ruleSet }, mode, now }: RulesContext,
  { facts, delivery }: Subject,
  operands = true,
): Promise<Asked> {
  const holds = await readHolds(tx, delivery.order_delivery_id);
  const seen = factsInContext(ruleSet, facts);
  const evaluation = evaluate(ruleSet, facts, {
    mode: mode === 'shadow' ? 'shadow' : 'live',
    armed: await armedRuleIds(tx, ruleSet, now),
    lapsed: lapsedRules(holds, now),
    seen,
    operands,
  });
  return { evaluation, valuesOf: (ids) => decidingValues(ruleSet, seen, now, ids), holds };
}

/**
 * Digest of what a decision rests on: while it is unchanged, nothing new is journaled. It contains
 * the mode for accepts and rejects, which act, the content for accepts, and the hashes of matching
 * reject rules, because arming counts their matches.
 */
export function basisOf({ mode, subject, outcome, evaluation, valuesOf }: Judgement): string {
  const { kind, rules, reason } = outcome;
  const { live, shadow } = evaluation;
  const content = [subject.delivery.content_hash, subject.orderHash];
  return sha256(
    canonicalJson({
      outcome: [kind, rules, rules.length === 0 ? reason : '', live.missing],
      shadow: [shadow.kind, shadow.rules],
      rejects: evaluation.rules.flatMap(({ action, value, hash }) =>
        action === 'reject' && value === true ? [hash] : [],
      ),
      mode: kind === 'accept' || kind === 'reject' ? mode : '',
      content: kind === 'accept' ? content : [],
      values: valuesOf(rules),
    }),
  );
}
