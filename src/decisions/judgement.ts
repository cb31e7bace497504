/** One delivery under the rules: its facts, what the rules say of them, and what that rests on. */
import { canonicalJson, sha256 } from '../lib/json.ts';
import type { Operand } from '../rules/cel/operands.ts';
import type { Outcome } from '../rules/combine.ts';
import { decidingValues, type Evaluation, evaluate, factsInContext } from '../rules/evaluate.ts';
import type { Tx } from '../store/store.ts';
import type { Subject } from './facts.ts';
import { type HoldRow, lapsedRules, readHolds } from './holds/holds.ts';
import { armedRuleIds } from './reject/arming.ts';
import type { LoadedRuleSet } from './rule-files.ts';

/**
 * What the decisions may do: `observe` pushes nothing, `shadow` lets no rule be live, `paused` is
 * observing for as long as decisions are paused.
 */
export type DecisionMode = 'observe' | 'shadow' | 'live' | 'paused';

/** What a decision depends on besides the database. */
export interface RulesContext {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** What made the delivery due, for the journal. */
export type Trigger =
  | 'new'
  | 'changed'
  | 'push'
  | 'hold'
  | 'manual'
  // By a pass: other rules hold, or facts or the time have moved.
  | 'rules'
  | 'facts';

export interface DecisionContext extends RulesContext {
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
  /** Who held the delivery when the rules were asked. */
  readonly holds: readonly HoldRow[];
}

export interface Judgement extends Asked {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  readonly subject: Subject;
  readonly outcome: Pick<Outcome, 'kind' | 'reason' | 'rules'>;
  /** Epoch milliseconds. */
  readonly at: number;
  /** When it is to be evaluated again at the latest; null: not before something changes. */
  readonly dueAt: number | null;
}

/** By which rules, and how strong. */
export function rulesKey(mode: DecisionMode, { ruleSet }: LoadedRuleSet): string {
  return `${mode}:${ruleSet.hash}`;
}

/**
 * What the rules say of a delivery, with what is armed and which holds have lasted their time.
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
 * A digest of what a decision rests on: where it is the same, nothing was decided that the journal
 * does not tell. An accept and a reject act, so they are others in another mode, and an accept for
 * another content. A reject rule that only watches is told by its text: arming counts its matches.
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
