/** Shows why a delivery was decided as it was: the deciding rules with their clauses and values. */

import { wordFor } from '../../config/words.ts';
import type { DecisionRecord } from '../../decisions/review/deliveries.ts';
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { ClauseResult, Evaluation, RuleResult } from '../../rules/evaluate.ts';
import { operandText } from '../../rules/explain.ts';
import { byWhom, message, time } from './format.ts';

/** Result of a clause as a sign and a word, because colour alone must not carry the meaning. */
function verdict({ value, negated }: ClauseResult): readonly [sign: string, word: string] {
  if (value === 'unknown') return ['?', 'not known'];
  return value === negated ? ['✗', 'no'] : ['✓', 'yes'];
}

function clauseRow(clause: ClauseResult): Html {
  const [sign, word] = verdict(clause);
  return html`<li class="clause"><span class="sign v-${word.replace(' ', '-')}">${sign}
<span class="hidden">${word}</span></span>
<div><code>${clause.negated && 'unless '}${clause.text}</code>
${clause.operands.map((operand) => html`<div class="values">${operandText(operand)}</div>`)}
</div></li>`;
}

/** A rule's result in words; its conditions, and the values that they compared, are folded away. */
export function ruleBlock(rule: RuleResult): Html {
  const owner = rule.owner === undefined ? '' : html`<p class="soft">ask ${rule.owner}</p>`;
  return html`<section class="rule"><h3>${rule.title}</h3>
${rule.message !== undefined && html`<p>${message(rule.message)}</p>`}${owner}
<details><summary>show the rule</summary>
<p class="soft"><code>${rule.id}</code> · ${rule.action}</p>
<ul class="clauses">${rule.clauses.map(clauseRow)}</ul></details></section>`;
}

/** Results of all rules: those that decided come first, the others are folded away. */
export function evidenceOf({ live, rules }: Evaluation): Html {
  const decided = rules.filter(({ id }) => live.rules.includes(id));
  const others = rules.filter(({ id }) => !live.rules.includes(id));
  return html`${decided.map(ruleBlock)}
${
  others.length > 0 &&
  html`<details><summary>${plural(others.length, 'rule')} that did not decide</summary>
${others.map(ruleBlock)}</details>`
}`;
}

export function evidence(decision: DecisionRecord, timeZone: string): Html {
  const word = wordFor('outcome', decision.outcome);
  return html`<p><b class="state s-${decision.outcome}">${word}</b> by
${byWhom(decision.actor)}, ${time(decision.at, timeZone)}: ${message(decision.reason)}</p>
${evidenceOf(decision.evaluation)}`;
}
