/**
 * The judgement about a delivery: its facts, the evaluation of the rules, and a digest of what the
 * outcome rests on.
 */
import { canonicalJson, sha256 } from '../lib/json.ts';
import { parseDuration } from '../lib/units.ts';
import type { Operand } from '../rules/cel/operands.ts';
import {
  decidingValues,
  type Evaluation,
  evaluate,
  factsInContext,
  type Outcome,
} from '../rules/evaluate.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Tx } from '../store/store.ts';
import type { DecisionOutcome } from '../store/tables.ts';
import type { AcceptedBefore } from './accept/accepted.ts';
import type { Subject } from './facts.ts';
import { type HoldRow, lapsedRules, readHolds } from './holds.ts';
import { armedRuleIds } from './reject/arming.ts';
import type { LoadedRuleSet } from './rule-files.ts';

/**
 * How far decisions may go: `observe` and `paused` (while decisions are paused) push nothing, and
 * in `shadow` no rule acts.
 */
export type DecisionMode = 'observe' | 'shadow' | 'live' | 'paused';

/** Inputs that a decision needs besides the database. */
export interface RulesContext {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  /** Time of the decision, in epoch milliseconds. */
  readonly now: number;
}

/**
 * Milliseconds that the data of a pulled stream may be old, by stream; streams without a value are
 * not pulled.
 */
export type FreshnessMs = Readonly<Record<string, number | undefined>>;

/** Inputs of a decision about a delivery that may be accepted, so with the limits of freshness. */
export interface PendingContext extends RulesContext {
  /** Milliseconds that the data of each pulled stream may be old. */
  readonly freshness: FreshnessMs;
}

/** Cause that made the delivery due; the journal stores it. */
export type Trigger =
  | 'new'
  | 'changed'
  | 'push'
  | 'hold'
  | 'manual'
  // The last two come from a pass (due.ts): the rules, or facts or the time, have changed.
  | 'rules'
  | 'facts';

export interface DecisionContext extends PendingContext {
  readonly trigger: Trigger;
}

export interface Decided {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly outcome: Outcome;
  /** Time at which the grace of a reject that begins to wait is over, in epoch milliseconds. */
  readonly rejectAt?: number | undefined;
}

export interface Asked {
  readonly evaluation: Evaluation;
  /** Gives the facts' values that decided the clauses of these rules. */
  readonly valuesOf: (ruleIds: readonly string[]) => readonly Operand[];
  /** Holds of the delivery at the time when the rules were asked. */
  readonly holds: readonly HoldRow[];
}

export interface Judgement extends Asked {
  readonly rules: LoadedRuleSet;
  readonly mode: DecisionMode;
  readonly subject: Subject;
  readonly outcome: Pick<Outcome, 'reason' | 'rules'> & { readonly kind: DecisionOutcome };
  /** Time of the decision, in epoch milliseconds. */
  readonly at: number;
  /**
   * Time at which the delivery is evaluated again at the latest, in epoch milliseconds; null: not
   * before something changes.
   */
  readonly dueAt: number | null;
}

/** A pending delivery with the outcome that the checks so far have left. */
export interface Candidate {
  readonly subject: Subject;
  readonly ruleSet: RuleSet;
  readonly evaluation: Evaluation;
  readonly outcome: Outcome;
  readonly freshness: FreshnessMs;
  /** Time of the decision, in epoch milliseconds. */
  readonly now: number;
  /** Accepts that a trial supposes, which limits count beside those in the database. */
  readonly supposed?: readonly AcceptedBefore[];
}

/** A write that a plan consists of. */
export type Effect = (tx: Tx) => Promise<unknown>;

/** A hold that a check puts in the place of an accept or a reject. */
export interface Precaution {
  readonly outcome: Outcome;
  /** Time of the next check, in epoch milliseconds; undefined: once something changes. */
  readonly lookAt?: number;
  /** Write that belongs to the answer, whether it holds or not. */
  readonly effect?: Effect;
}

/** The decision of a plan. */
export interface Verdict {
  readonly judgement: Judgement & { readonly outcome: Outcome };
  readonly trigger: Trigger;
  /** Earlier decision that stands, or counts again; undefined: a new one is journaled. */
  readonly standing?: number | undefined;
  /** Status that a new decision sets at the service. */
  readonly push?: 'accepted' | 'pending' | undefined;
}

/** Writes that a delivery's state and its rules ask for. */
export interface Planned {
  /** Whether they change more than when the delivery was evaluated. */
  readonly isChange: boolean;
  /** In this order, before the verdict. */
  readonly effects: readonly Effect[];
  readonly verdict?: Verdict | undefined;
}

/** Key of the mode and the rule set by which a delivery was evaluated. */
export function rulesKey(mode: DecisionMode, { ruleSet }: LoadedRuleSet): string {
  return `${mode}:${ruleSet.hash}`;
}

/**
 * Evaluates the rules for a delivery, with the armed reject rules and the lapsed holds. `operands`
 * false leaves the values behind the clauses out of the evaluation.
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
 * Digest of what an accept rests on: the rules behind it, the values that they read, and the
 * content. Rules that only watch, the mode and the time are not in it.
 */
export function groundsOf({ subject, outcome, valuesOf }: Judgement): string {
  const content = [subject.delivery.content_hash, subject.orderHash];
  return sha256(canonicalJson({ rules: outcome.rules, content, values: valuesOf(outcome.rules) }));
}

/**
 * Digest of what a decision rests on: while it is unchanged, nothing new is journaled. It contains
 * the mode for accepts and rejects, because they act on the service; the delivery's content for
 * accepts; the hashes of matching reject rules, because arming counts their matches; and whether a
 * rule holds because it may not reject, which a safeguard's hold by the same rule is not.
 */
export function basisOf({ mode, subject, outcome, evaluation, valuesOf }: Judgement): string {
  const { kind, rules, reason } = outcome;
  const { live, shadow } = evaluation;
  const isNotArmed = live.code === 'not_armed' && reason === live.reason;
  const why = isNotArmed ? live.code : '';
  const content = [subject.delivery.content_hash, subject.orderHash];
  return sha256(
    canonicalJson({
      outcome: [kind, rules, rules.length === 0 ? reason : why, live.missing],
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

/**
 * Most milliseconds that a decision by the rules may wait to be sent: nobody asks the rules again
 * while it waits, and the ERP may block the customer meanwhile.
 */
const WAIT_MS_MAX = 180_000;

/**
 * Time, in epoch milliseconds, until which the push of a decision made at `at` may be sent: it
 * waits no longer than its facts may age.
 */
export function sendBefore({ safeguards }: RuleSet['settings'], at: number): number {
  return at + Math.min(parseDuration(safeguards.freshness.mirror) ?? 0, WAIT_MS_MAX);
}
