/**
 * Evaluates a rule set on the facts of one delivery. The function is pure: the time is one of the
 * facts, and the armed rules are an input.
 *
 * Every rule is evaluated every time; there is no order among rules, and none is skipped because of
 * another one's result. A rule is true when all `when` are true and all `unless` are false; false
 * as soon as one clause decides so, even if another is unknown; else unknown. Live rules give the
 * live outcome; live and shadow rules together give the shadow outcome, "what would have happened".
 */
import type { Json } from '../lib/json.ts';
import { formatAmount } from '../lib/money.ts';
import { NotKnown } from './cel/code.ts';
import type { Operand } from './cel/operands.ts';
import type { Truth } from './cel/program.ts';
import { amountOf, currencyOf, type Frame, frameOf, type View, viewOf } from './facts/build.ts';
import type { Facts } from './facts/plain.ts';
import type { Action, Clause, Mode, Rule, RuleSet } from './rule.ts';

// Combines the results of many rules into one outcome, independent of the order of the rules. If
// rules disagree or cannot be evaluated, the delivery stays pending, the only state that harms
// nobody.

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

function texts(results: readonly RuleResult[]): string {
  const all = results.map((result) => {
    const text = result.message ?? result.title;
    return actionOf(result) === result.action ? text : `held for its time: ${text}`;
  });
  return all.join('; ');
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

export interface Evaluation {
  /** Number of the delivery, for people. */
  readonly delivery: string;
  readonly setHash: string;
  readonly rules: readonly RuleResult[];
  readonly live: Outcome;
  readonly shadow: Outcome;
}

export interface EvaluateOptions {
  /** Strongest mode that rules may have; `shadow`: no rule is live. Default `live`. */
  readonly mode?: Mode | undefined;
  /** Ids of the reject rules that a person armed with this text; none when left out. */
  readonly armed?: ReadonlySet<string> | undefined;
  /**
   * Ids of reject rules that only watch while they are not armed, whatever `otherwise` says: all of
   * them did before version 0.2.0, whose decisions are replayed so.
   */
  readonly watching?: ReadonlySet<string> | undefined;
  /**
   * Whether the rules alone judge a delivery that is worth less than nothing, as before version
   * 0.2.0, whose decisions are replayed so.
   */
  readonly allowsBelowZero?: boolean | undefined;
  /**
   * Text hashes of the hold rules that have held this delivery for their time and hold it no more.
   */
  readonly lapsed?: ReadonlySet<string> | undefined;
  /** View made of the same facts before by `factsInContext`, to save making it again. */
  readonly seen?: View | undefined;
  /**
   * Whether the values behind the clauses, and the values to record, are collected. Default true.
   */
  readonly operands?: boolean | undefined;
  /** Whether rules that match tell their message, of which the reason is made. Default true. */
  readonly messages?: boolean | undefined;
  /** Paths of facts that were not gathered: what depends on one of them is open. */
  readonly notGathered?: ReadonlySet<string> | undefined;
}

/** What a condition calls that takes an absent fact for an answer. */
const ASKS_ABSENCE = /\bhas\s*\(/;
const STRENGTH: Readonly<Record<Mode, number>> = { off: 0, shadow: 1, live: 2 };
const NONE: ReadonlySet<string> = new Set();
const NO_PASSES: Frame['passes'] = [];

function weakest(modes: readonly Mode[]): Mode {
  return modes.reduce((weak, mode) => (STRENGTH[mode] < STRENGTH[weak] ? mode : weak));
}

/**
 * Whether a rule applies to the delivery: outside of its period, or for deliveries in another
 * state, a rule counts as off.
 */
function applies(rule: Rule, facts: Facts): boolean {
  const { status } = facts.delivery;
  if (!rule.appliesTo.some((state) => state === status)) return false;
  const { now } = facts.clock;
  return now >= (rule.effectiveFrom ?? now) && now < (rule.effectiveUntil ?? now + 1);
}

function evaluateClause(
  clause: Clause,
  frame: Frame,
  { operands = true, notGathered = NONE }: EvaluateOptions,
): ClauseResult {
  const { text, line, negated, program } = clause;
  // A fact that was not gathered and that the clause reads.
  const hidden =
    notGathered.size === 0 ? undefined : program.reads.find((path) => notGathered.has(path));
  frame.passes = NO_PASSES;
  const shown = operands ? clause.operands.map(({ run }) => run(frame)) : [];
  const value =
    hidden !== undefined && ASKS_ABSENCE.test(text) ? new NotKnown(hidden) : program.test(frame);
  if (!(value instanceof NotKnown)) return { text, line, negated, value, operands: shown };
  return {
    text,
    line,
    negated,
    value: 'unknown',
    missing: value.missing,
    // Whatever an absent fact were, it would not change a value that is known without it.
    ...(hidden === undefined ? {} : { isOpen: true }),
    operands: shown,
  };
}

/** Value of a rule, from the values of its clauses. */
export function truthOfClauses(
  clauses: readonly { readonly value: Truth; readonly negated: boolean }[],
): Truth {
  if (clauses.some(({ value, negated }) => value === negated)) return false;
  return clauses.some(({ value }) => value === 'unknown') ? 'unknown' : true;
}

/**
 * Evaluates a rule whatever its mode, its period and the delivery's status; rule tests need that.
 */
export function evaluateRule(
  rule: Rule,
  frame: Frame,
  options: EvaluateOptions = {},
): Omit<RuleResult, 'mode' | 'armed'> {
  const clauses = rule.clauses.map((clause) => evaluateClause(clause, frame, options));
  const value = truthOfClauses(clauses);
  const { id, title, action, owner, hash } = rule;
  const isOpen = value === 'unknown' && clauses.some((clause) => clause.isOpen);
  return {
    id,
    title,
    action,
    ...(owner === undefined ? {} : { owner }),
    hash,
    value,
    missing: value === 'unknown' ? missingOf(clauses) : [],
    ...(isOpen ? { isOpen } : {}),
    clauses,
    ...(value === true && options.messages !== false
      ? extras(rule, frame, options.operands ?? true)
      : {}),
  };
}

function missingOf(clauses: readonly ClauseResult[]): readonly string[] {
  return [...new Set(clauses.flatMap((clause) => clause.missing ?? []))].sort();
}

/** Sides of `a || b` that are true, unless all sides are: they show why the rule matched. */
function heldAlternatives({ clauses }: Rule, frame: Frame): readonly string[] {
  return clauses.flatMap(({ negated, alternatives }) => {
    if (negated || alternatives.length === 0) return [];
    const held = alternatives.filter((side) => side.test(frame) === true);
    return held.length < alternatives.length
      ? held.map(({ text }) => text.replaceAll(/\s+/g, ' '))
      : [];
  });
}

function extras(
  rule: Rule,
  frame: Frame,
  withRecord: boolean,
): Pick<RuleResult, 'message' | 'record'> {
  const held = heldAlternatives(rule, frame);
  const because = held.length > 0 ? ` (${held.join(', ')})` : '';
  const message = `${rule.message?.(frame) ?? rule.title}${because}`;
  if (!withRecord) return { message };
  const record: Record<string, Json> = {};
  for (const [name, program] of Object.entries(rule.record)) {
    const shown = program.show(frame);
    record[name] = shown instanceof NotKnown ? null : shown.value;
  }
  return { message, record };
}

/** View of the facts, the same for every rule set that declares the same fields of the ERP. */
export function factsInContext(ruleSet: RuleSet, facts: Facts): View {
  return viewOf(facts, ruleSet.types.extra);
}

/** Everything that the conditions of the rule set see: the facts, `lists` and `tables`. */
export function contextOf(
  ruleSet: RuleSet,
  facts: Facts,
  seen: View = factsInContext(ruleSet, facts),
): Frame {
  return frameOf(seen, ruleSet.variables(facts.clock.now));
}

/**
 * Values of facts behind these rules: another value makes a new decision although the outcome is
 * the same.
 */
export function decidingValues(
  ruleSet: RuleSet,
  seen: View,
  nowMs: number,
  ids: readonly string[],
): readonly Operand[] {
  const frame = frameOf(seen, ruleSet.variables(nowMs));
  const clauses = ruleSet.rules.flatMap((rule) => (ids.includes(rule.id) ? rule.clauses : []));
  const operands = clauses.flatMap((clause) => clause.operands);
  return operands.flatMap(({ run, decides }) => (decides ? [run(frame)] : []));
}

const EMPTY: Obstacle = { code: 'empty_delivery', reason: 'the delivery has no lines' };

/**
 * Says what of the delivery is below zero. Each limit on amounts and pieces is an upper one, so a
 * sign that was typed by mistake would pass all of them.
 */
function belowZeroOf(facts: Facts): Obstacle | undefined {
  const { lines } = facts.delivery;
  const line = lines.find(({ quantity }) => typeof quantity === 'number' && quantity < 0);
  if (line) {
    const reason = `a line has ${line.quantity} pieces: ${line.barcode ?? 'without a barcode'}`;
    return { code: 'below_zero', reason };
  }
  const amount = amountOf(facts);
  if (amount === null || amount >= 0) return undefined;
  const currency = currencyOf(facts) ?? '';
  const reason = `worth less than nothing: ${formatAmount(amount, currency)} ${currency}`.trimEnd();
  return { code: 'below_zero', reason };
}

/**
 * Reason to hold a delivery without lines, below zero, or with unreadable data that matters: an
 * accept could rest on a guess.
 */
function obstacleOf(facts: Facts, { allowsBelowZero }: EvaluateOptions): Obstacle | undefined {
  const { unread, lines } = facts.delivery;
  if (unread && unread.length > 0) {
    return { code: 'unread', reason: `cannot be read: ${unread.join(', ')}` };
  }
  if (lines.length === 0) return EMPTY;
  return allowsBelowZero ? undefined : belowZeroOf(facts);
}

/**
 * Consequence of a hold that lasted its time. Decisions by earlier versions name a rule by its full
 * hash, so both hashes are compared.
 */
function lapsedOf({ hold, hash, textHash }: Rule, lapsed: ReadonlySet<string>) {
  const end = hold?.afterwards;
  if (end !== 'accept' && end !== 'release') return {};
  return lapsed.has(textHash) || lapsed.has(hash) ? { lapsed: end } : {};
}

/** Result of a rule of the set; undefined: it is off. */
function resultOf(
  rule: Rule,
  frame: Frame,
  options: EvaluateOptions,
  setMode: Mode,
): RuleResult | undefined {
  const { armed = NONE, watching = NONE, lapsed = NONE } = options;
  const isArmed = rule.action !== 'reject' || armed.has(rule.id);
  const watches = !isArmed && (rule.otherwise === 'nothing' || watching.has(rule.id));
  const mode = weakest([rule.mode, setMode, watches ? 'shadow' : 'live']);
  if (mode === 'off' || !applies(rule, frame.view.facts)) return undefined;
  return {
    ...evaluateRule(rule, frame, options),
    mode,
    ...(rule.action === 'reject' ? { armed: isArmed } : {}),
    ...lapsedOf(rule, lapsed),
  };
}

export function evaluate(
  ruleSet: RuleSet,
  facts: Facts,
  options: EvaluateOptions = {},
): Evaluation {
  const frame = contextOf(ruleSet, facts, options.seen);
  const setMode = weakest([ruleSet.settings.mode, options.mode ?? 'live']);
  const rules = ruleSet.rules.flatMap((rule) => resultOf(rule, frame, options, setMode) ?? []);
  return {
    delivery: facts.delivery.number,
    setHash: ruleSet.hash,
    rules,
    ...outcomesOf(rules, obstacleOf(facts, options), setMode),
  };
}

/** Outcomes of an evaluation if this rule had another text: only it is evaluated again. */
export function outcomesWith(
  ruleSet: RuleSet,
  facts: Facts,
  options: EvaluateOptions,
  { rules }: Evaluation,
  other: Rule,
): Pick<Evaluation, 'live' | 'shadow'> {
  const setMode = weakest([ruleSet.settings.mode, options.mode ?? 'live']);
  const result = resultOf(other, contextOf(ruleSet, facts, options.seen), options, setMode);
  const all = rules.flatMap((rule) => (rule.id === other.id ? (result ?? []) : rule));
  return outcomesOf(all, obstacleOf(facts, options), setMode);
}

function outcomesOf(
  rules: readonly RuleResult[],
  obstacle: Obstacle | undefined,
  setMode: Mode,
): Pick<Evaluation, 'live' | 'shadow'> {
  const live = rules.filter(({ mode }) => mode === 'live');
  return {
    live: combine(live, setMode === 'live' ? obstacle : undefined),
    shadow: combine(rules, obstacle, 'shadow'),
  };
}

const VALUES: readonly Truth[] = [true, false, 'unknown'];

/** Outcomes that there may be, depending on facts that were not gathered. */
export function possibleKinds(
  { settings }: RuleSet,
  facts: Facts,
  { rules, ...evaluation }: Evaluation,
  which: 'live' | 'shadow',
): ReadonlySet<Outcome['kind']> {
  // Rules that do the same when they match need not be told apart.
  const kindOf = ({ action, lapsed, mode }: RuleResult) => `${action} ${lapsed} ${mode}`;
  const open = new Set(rules.filter(({ isOpen }) => isOpen).map(kindOf));
  if (open.size === 0) return new Set([evaluation[which].kind]);
  let worlds = [rules];
  for (const kind of open) {
    const valued = (value: Truth) => (world: readonly RuleResult[]) =>
      world.map((rule) => (rule.isOpen && kindOf(rule) === kind ? { ...rule, value } : rule));
    worlds = VALUES.flatMap((value) => worlds.map(valued(value)));
  }
  const obstacle = obstacleOf(facts, {});
  return new Set(worlds.map((world) => outcomesOf(world, obstacle, settings.mode)[which].kind));
}
