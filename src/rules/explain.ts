/**
 * An evaluation as text for people: the outcome, the rules behind it, and the values behind each
 * clause.
 */

import { type Json, valueText } from '../lib/json.ts';
import type { Operand } from './cel/operands.ts';
import type { ClauseResult, Evaluation, Outcome, RuleResult } from './evaluate.ts';

const CODES: Readonly<Record<Outcome['code'], string>> = {
  hold_rule: 'hold rule',
  safeguard: 'safeguard',
  empty_delivery: 'no lines',
  below_zero: 'worth less than nothing',
  unread: 'cannot be read',
  not_armed: 'reject rule not armed',
  could_not_evaluate: 'could not evaluate',
  rules_disagree: 'rules disagree',
  reject_rule: 'reject rule',
  accept_rule: 'accept rule',
  no_rule: 'no rule applies',
};

function outcomeText({ kind, code, rules }: Outcome): string {
  return `${kind.toUpperCase()} (${CODES[code]})  ${rules.join(' ')}`.trimEnd();
}

function itemText(item: Json): string {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return valueText(item);
  return Object.entries(item)
    .map(([name, value]) => `${name} ${valueText(value ?? null)}`)
    .join(', ');
}

/** Formats a value behind a condition, such as `order.country = DK`. */
export function operandText(operand: Operand): string {
  if ('missing' in operand) return `${operand.text} = ? (${operand.missing} is not known)`;
  if ('value' in operand) return `${operand.text} = ${valueText(operand.value)}`;
  const { text, which, count, of, unknown, items } = operand;
  const shown = items.map((item) => `[${itemText(item)}]`).join(' ');
  const more = count > items.length ? ' …' : '';
  const unclear = unknown > 0 ? `, ${unknown} not known` : '';
  const detail = count > 0 ? ` ${shown}${more}` : '';
  return `${text} that ${which} = ${count} of ${of}${unclear}${detail}`;
}

function clauseMark({ value, negated }: ClauseResult): string {
  if (value === 'unknown') return '?? ';
  return value === negated ? 'no ' : 'ok ';
}

function clauseLines(clause: ClauseResult): readonly string[] {
  const unless = clause.negated ? 'unless ' : '';
  const head = `  ${clauseMark(clause)} line ${clause.line} ${unless}${clause.text}`;
  const values = clause.operands.map(operandText).join('; ');
  return values === '' ? [head] : [head, `         ${values}`];
}

function ruleValue({ value }: RuleResult): string {
  if (value === 'unknown') return value;
  return value ? 'matches' : 'does not match';
}

function ruleHead(rule: RuleResult): readonly string[] {
  const missing = rule.missing.length > 0 ? ` (${rule.missing.join(', ')})` : '';
  const holds = rule.mode === 'live' ? ': holds' : '';
  const unarmed = rule.armed === false ? `, not armed${holds}` : '';
  const lapsed = rule.lapsed === undefined ? '' : `, its time is up: now ${rule.lapsed}`;
  const kind = `${rule.action}, ${rule.mode}${unarmed}${lapsed}`;
  const ask = rule.owner === undefined || rule.value === false ? '' : `, ask ${rule.owner}`;
  const head = `${rule.id} (${kind}): ${ruleValue(rule)}${missing}${ask}`;
  return rule.message === undefined ? [head] : [head, `     ${rule.message}`];
}

function ruleLines(rule: RuleResult): readonly string[] {
  return [...ruleHead(rule), ...rule.clauses.flatMap(clauseLines)];
}

function headLines({ delivery, live, shadow }: Evaluation): readonly string[] {
  const same = live.kind === shadow.kind && live.rules.join() === shadow.rules.join();
  return [
    `${delivery} => ${outcomeText(live)}`,
    ...(live.code === 'no_rule' ? [] : [`  ${live.reason}`]),
    ...(same ? [] : [`  with shadow rules: ${outcomeText(shadow)}`]),
  ];
}

/** Splits the rules into those that decided, in the order of the files, and the others. */
function byPart({ live, shadow, rules }: Evaluation) {
  const decided = new Set([...live.rules, ...shadow.rules]);
  return {
    deciding: rules.filter(({ id }) => decided.has(id)),
    others: rules.filter(({ id }) => !decided.has(id)),
  };
}

/**
 * The whole evaluation as text: deciding rules first, then the others in the order of the files.
 */
export function explain(evaluation: Evaluation): string {
  const { deciding, others } = byPart(evaluation);
  return [...headLines(evaluation), ...[...deciding, ...others].flatMap(ruleLines)].join('\n');
}

/**
 * The condition that alone keeps a rule from matching. For an accept rule it also counts when the
 * rule has no other condition, because it tells why the rule does not accept.
 */
function missedClauses({ action, value, clauses }: RuleResult): readonly ClauseResult[] {
  if (value === 'unknown') return clauses.filter((clause) => clause.value === 'unknown');
  const stopping = clauses.filter((clause) => clause.value === clause.negated);
  const unclear = clauses.some((clause) => clause.value === 'unknown');
  const isNear = clauses.length > 1 || action === 'accept';
  return stopping.length === 1 && isNear && !unclear ? stopping : [];
}

/**
 * The evaluation as shorter text: deciding rules with all their conditions; of the other rules only
 * those that match, that are unknown, or that a single condition keeps from matching.
 */
export function explainFolded(evaluation: Evaluation): string {
  const { deciding, others } = byPart(evaluation);
  const shown = others.filter((rule) => rule.value !== false || missedClauses(rule).length > 0);
  const folded = others.length - shown.length;
  const rules = folded === 1 ? 'rule does' : 'rules do';
  return [
    ...headLines(evaluation),
    ...deciding.flatMap(ruleLines),
    ...shown.flatMap((rule) => [
      ...ruleHead(rule),
      ...(rule.value === true ? [] : missedClauses(rule).flatMap(clauseLines)),
    ]),
    ...(folded === 0 ? [] : [`${folded} other ${rules} not match (--all shows them)`]),
  ].join('\n');
}
