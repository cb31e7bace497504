/** Pages about rules on trial: form, wait, and what the rules would do and would have done. */

import { wordFor } from '../../config/words.ts';
import { keepReport } from '../../decisions/reject/surface.ts';
import { momentsText, notKnownHint, notKnownText } from '../../decisions/simulation/not-known.ts';
import { isSilent } from '../../decisions/simulation/rule-use.ts';
import type { Trial } from '../../decisions/simulation/trial.ts';
import { type Html, html } from '../../lib/html.ts';
import { amountUnits, decimalOf, sumOfUnits } from '../../lib/money.ts';
import { plural } from '../../lib/strings.ts';
import type { Problem } from '../../rules/text/problem.ts';
import { actForm } from '../surface/html.ts';
import type { TrialRun } from '../trials.ts';
import { ruleBlock } from './evidence.ts';
import { money, time, whole } from './format.ts';
import { type PauseReader, tableOf } from './parts.ts';
import { withQuery } from './review.ts';
import { differencesPart } from './rule-acts.ts';

export interface TrialForm {
  readonly text: string;
  /** Meaning of the text: `rules`, `all`, `in-force`, or `file:` and the file it replaces. */
  readonly what: string;
  readonly days: number;
  readonly shadowAsLive: boolean;
  /** Names of the rule files in force. */
  readonly files: readonly string[];
  /** Proposal that the text is. */
  readonly proposal?: { readonly title: string; readonly address: string };
}

/** Most characters of all texts of a trial together. */
export const TRIAL_CHARS_MAX = 262_144;

function formPart({ text, what, days, shadowAsLive, files }: TrialForm): Html {
  const option = (value: string, name: string): Html =>
    html`<option value="${value}"${value === what && html` selected`}>${name}</option>`;
  return html`<form class="trial" method="post" action="/rules/trial"
enctype="multipart/form-data">
<label for="text">Rules</label>
<textarea id="text" name="text" rows="16" spellcheck="false" autocomplete="off"
maxlength="${TRIAL_CHARS_MAX}">${text}</textarea>
<label for="upload">Or files, .yaml and .csv</label>
<input id="upload" name="upload" type="file" multiple accept=".yaml,.csv">
<label for="what">What it is</label><select id="what" name="what">
${option('rules', 'rules: each takes the place of the one with its id')}
${files.map((name) => option(`file:${name}`, `the file ${name}, in the place of the one in force`))}
${option('all', 'all rules: nothing else is in force')}
${option('in-force', 'nothing: try the rules in force')}</select>
<label for="days">Days of the past</label>
<input id="days" name="days" type="number" min="1" max="366" value="${days}">
<label><input type="checkbox" name="shadowAsLive" value="1"${shadowAsLive && html` checked`}>
rules that only watch are live here</label>
<button class="primary">Try</button></form>`;
}

export function trialPage(form: TrialForm): Html {
  const { proposal } = form;
  return html`<p><a href="/rules">All rules</a></p><h1>Try rules</h1>
<p>Shows what rules would do with the deliveries that are pending now, and what they would have
done with those of the past, by the facts that were stored with each decision. Nothing is kept,
put in force or sent.</p>${
    proposal &&
    html`<p>The text is that of the proposal <a href="${proposal.address}">${proposal.title}</a>;
what is to be kept in a file stands there.</p>`
  }${formPart(form)}`;
}

function waitPart({ id, progress }: TrialRun): Html {
  const { deliveries = 0, of = 0 } = progress ?? {};
  const done =
    progress === undefined
      ? 'It is being started.'
      : `${whole(deliveries)} of ${plural(of, 'delivery', 'deliveries')} so far.`;
  return html`<div id="trial" role="status" data-load="/rules/trial/${id}"
data-after="1000"><p>The rules are on trial. ${done}</p>
<p><progress aria-label="Trial" max="${Math.max(1, of)}" value="${deliveries}"></progress>
<a href="/rules/trial/${id}">Show again</a></p></div>`;
}

function problemItem({ file, line, column, ruleId, message, hint, ...problem }: Problem): Html {
  const { source, length, severity } = problem;
  const marked = Math.max(1, Math.min(length, source.length - column + 1));
  const mark = `${source}\n${' '.repeat(Math.max(0, column - 1))}${'^'.repeat(marked)}`;
  return html`<li><p><b class="${severity === 'error' && 'problem'}">${severity}</b>
<code>${file}</code>, line ${String(line)}${
    ruleId !== undefined &&
    html`, rule
<code>${ruleId}</code>`
  }: ${message}</p>${hint !== undefined && html`<p>→ ${hint}</p>`}
${source.trim() !== '' && html`<pre tabindex="0">${mark}</pre>`}</li>`;
}

function problemsPart(problems: readonly Problem[]): Html {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return html`<p class="problem" role="alert">These rules cannot be used:
${plural(errors, 'mistake')}. Nothing was tried.</p>
<ul class="problems">${problems.map(problemItem)}</ul>`;
}

/** Sums by currency as text; a sum that is not known is shown as `?`. */
export function amountsOf(amounts: Readonly<Record<string, number | null>>): string[] {
  const all = Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1));
  return all.map(([currency, sum]) => money(sum, currency === '?' ? null : currency));
}

export function amountsText(amounts: Readonly<Record<string, number | null>>): string {
  return amountsOf(amounts).join(' + ');
}

const OUTCOMES = ['accept', 'hold', 'reject', 'no_rule', 'release'] as const;

export function outcomeWord(outcome: string | null): Html {
  const word = outcome === null ? 'not decided' : wordFor('outcome', outcome);
  return html`<b class="state s-${outcome ?? ''}">${word}</b>`;
}

function matrixPart({ backtest: { changes, unchanged } }: Trial): Html {
  const cells = [...changes, ...unchanged];
  const seen = OUTCOMES.filter((one) => cells.some(({ from, to }) => from === one || to === one));
  if (cells.length === 0) {
    return html`<p class="empty">No delivery was decided in this time: try more days.</p>`;
  }
  const cell = (from: string, to: string): Html => {
    const found = cells.find((one) => one.from === from && one.to === to);
    const kind = from === to ? 'same' : 'other';
    if (!found) return html`<td class="${kind}">–</td>`;
    return html`<td class="${kind}"><b>${whole(found.deliveries)}</b>
<div>${amountsText(found.amounts)}</div></td>`;
  };
  return html`<div class="table" tabindex="0" role="group" aria-label="Was and would be">
<table class="matrix"><caption>Deliveries and their value: as it was (rows), as it would be
(columns)</caption>
<thead><tr><th scope="col">was ↓ would be →</th>${seen.map(
    (to) => html`<th scope="col">${outcomeWord(to)}</th>`,
  )}</tr></thead><tbody>${seen.map(
    (from) =>
      html`<tr><th scope="row">${outcomeWord(from)}</th>${seen.map((to) => cell(from, to))}</tr>`,
  )}</tbody></table></div>`;
}

const ROWS_MAX = 100;

function shownOf(all: number): Html | false {
  return all > ROWS_MAX && html`<p>The first ${ROWS_MAX} of ${whole(all)}.</p>`;
}

function deliveryLink(id: number, number: string): Html {
  return html`<a href="/deliveries/${id}">${number || String(id)}</a>`;
}

function changedPart({ backtest: { changed, changes } }: Trial): Html {
  const all = changes.reduce((sum, { deliveries }) => sum + deliveries, 0);
  return html`${shownOf(all)}${tableOf(
    'Deliveries that would have been decided otherwise',
    changed.slice(0, ROWS_MAX),
    [
      {
        title: 'Delivery',
        cell: ({ orderDeliveryId, deliveryNo }) => deliveryLink(orderDeliveryId, deliveryNo),
      },
      { title: 'Was', cell: ({ from }) => outcomeWord(from) },
      { title: 'Would be', cell: ({ to }) => outcomeWord(to) },
      {
        title: 'Value',
        isNumber: true,
        cell: ({ amount, currency }) => money(amount, currency),
      },
    ],
    'None: each would have been decided as it was.',
  )}`;
}

/** Value of deliveries by currency; null where the value of one is not known. */
function worthOf(prospects: Trial['queue']['prospects']): Readonly<Record<string, number | null>> {
  const all = Map.groupBy(prospects, ({ currency }) => currency ?? '?');
  return Object.fromEntries(
    [...all].map(([currency, of]) => {
      const sum = sumOfUnits(of.map(({ amount }) => amountUnits(amount)));
      return [currency, sum === null ? null : decimalOf(sum)];
    }),
  );
}

function pendingPart({ queue: { prospects, remarks } }: Trial): Html {
  const changed = prospects.filter(({ before, after }) => before !== after);
  return html`<p>${plural(prospects.length, 'delivery is', 'deliveries are')} pending,
${whole(changed.length)} of them would be decided otherwise${
    changed.length > 0 && html`, worth ${amountsText(worthOf(changed))}`
  }.</p>
${remarks.map((remark) => html`<p class="problem">${remark}.</p>`)}${shownOf(changed.length)}
${tableOf(
  'Pending deliveries that would be decided otherwise',
  changed.slice(0, ROWS_MAX),
  [
    {
      title: 'Delivery',
      cell: ({ orderDeliveryId, deliveryNo }) => deliveryLink(orderDeliveryId, deliveryNo),
    },
    { title: 'Decided', cell: ({ before }) => outcomeWord(before) },
    { title: 'Would be', cell: ({ after }) => outcomeWord(after) },
    { title: 'Value', isNumber: true, cell: ({ amount, currency }) => money(amount, currency) },
    { title: 'Rules', cell: ({ rules }) => rules.join(' ') || '–' },
    { title: 'Reason', cell: ({ reason }) => reason },
  ],
  'Nothing that is pending would be decided otherwise.',
)}`;
}

function agreementPart({ backtest: { agreement } }: Trial): Html {
  return tableOf(
    'What these rules say, and what became of it',
    agreement,
    [
      { title: 'These rules say', cell: ({ outcome }) => outcomeWord(outcome) },
      { title: 'It was', cell: ({ actual }) => actual },
      { title: 'Deliveries', isNumber: true, cell: ({ deliveries }) => whole(deliveries) },
    ],
    'There is nothing to compare.',
  );
}

function rejectsPart({ backtest }: Trial): Html | false {
  const { rejects, rejectCount, newRejects, rejectAmounts } = backtest;
  if (rejectCount === 0) return false;
  return html`<h3>Would have been rejected</h3><p>${plural(rejectCount, 'delivery', 'deliveries')},
${whole(newRejects)} of them new; at stake: ${amountsText(rejectAmounts) || 'not known'}. Reject
rules are armed here.</p>${rejects.map(
    ({ orderDeliveryId, decisionId, isNew, outcome, evaluation }) => html`<details>
<summary>Delivery ${String(orderDeliveryId)}${isNew && ', new'}: ${outcome.reason}</summary>
<p><a href="/deliveries/${orderDeliveryId}">The delivery</a>, by the facts of decision
${String(decisionId)}</p>
${evaluation.rules.filter(({ id }) => outcome.rules.includes(id)).map(ruleBlock)}</details>`,
  )}`;
}

function usesPart({ backtest: { uses, moves } }: Trial): Html {
  const silent = uses.filter(isSilent).map(({ id }) => id);
  const table = tableOf(
    'Rules that matched',
    uses.filter((use) => !isSilent(use)),
    [
      { title: 'Rule', cell: ({ id }) => html`<code>${id}</code>` },
      { title: 'Action', cell: ({ action }) => outcomeWord(action) },
      { title: 'Mode', cell: ({ mode }) => wordFor('mode', mode) },
      { title: 'Deliveries', isNumber: true, cell: ({ fired }) => whole(fired) },
      { title: 'Could not be evaluated', isNumber: true, cell: ({ unknown }) => whole(unknown) },
      { title: 'Not known', isNumber: true, cell: ({ notGathered }) => whole(notGathered) },
    ],
    'No rule was true on any delivery.',
  );
  const steps = moves.flatMap(({ id, line, clause, steps: all }) =>
    all.map((step) => ({ id, line, clause, ...step })),
  );
  return html`${table}
${silent.length > 0 && html`<p>Never true: ${silent.join(', ')}.</p>`}
${
  steps.length > 0 &&
  html`<h3>Another limit would let pass</h3>${tableOf(
    'Limits that alone prevented an accept',
    steps.slice(0, ROWS_MAX),
    [
      { title: 'Rule', cell: ({ id, line }) => html`<code>${id}</code>, line ${String(line)}` },
      { title: 'Condition', cell: ({ clause }) => html`<code>${clause}</code>` },
      { title: 'Another', cell: ({ text }) => text },
      { title: 'Deliveries', isNumber: true, cell: ({ pass }) => whole(pass.deliveries) },
      {
        title: 'Value',
        isNumber: true,
        cell: ({ pass }) => amountsOf(pass.amounts).map((sum) => html`<div>${sum}</div>`),
      },
    ],
    '',
  )}`
}`;
}

function testsPart({ tests: { passed, failed } }: Trial): Html {
  if (failed.length === 0) {
    return html`<p>${plural(passed, 'test')} of these rules pass${passed === 1 && 'es'}.</p>`;
  }
  return html`<p class="problem">${plural(failed.length, 'test')} of these rules
fail${failed.length === 1 && 's'}:</p><ul>${failed.map(
    ({ ruleId, name, expected, actual }) =>
      html`<li><code>${ruleId}</code>: ${name}: expected ${expected}, got ${actual}</li>`,
  )}</ul>`;
}

/** Says which deliveries are in none of the tables, what to do about it, and what nobody saw. */
function notKnownPart({ backtest: { notKnown, deliveries, found } }: Trial): Html {
  const [text, moments] = [notKnownText(notKnown, deliveries), momentsText(found)];
  return html`${
    text !== undefined &&
    html`<p class="problem">${text}. They are counted nowhere below, and no reject rule is armed by
such a backtest. ${notKnownHint(notKnown)}</p>`
  }${moments !== undefined && html`<p>${moments}.</p>`}`;
}

function keepPart({ id, wish }: TrialRun, { backtest }: Trial, { role }: PauseReader) {
  if (wish.files !== null || backtest.deliveries === 0) return false;
  return html`<h2>For arming</h2>${actForm(keepReport, {
    role,
    given: { trial: id, report: undefined },
    what: 'Arming a reject rule asks for a kept backtest of exactly its text.',
  })}`;
}

function resultPart(run: TrialRun, trial: Trial, context: PauseReader): Html {
  const { timeZone, locale } = context;
  const { since, until, deliveries, decisions } = trial.backtest;
  const csv = withQuery(`/rules/trial/${run.id}.csv`, new URLSearchParams(), { locale });
  return html`<p><a href="${csv}">CSV</a> · <a href="/rules/trial/${run.id}.json">JSON</a></p>
<h2>The rules</h2>${
    run.wish.files === null
      ? html`<p>The rules in force, as they are.</p>`
      : html`<p>Against those in force:</p>${differencesPart(trial)}`
  }${testsPart(trial)}${
    trial.warnings.length > 0 &&
    html`<details><summary>${plural(trial.warnings.length, 'warning')}</summary>
<ul class="problems">${trial.warnings.map(problemItem)}</ul></details>`
  }
<h2>Pending now</h2>${pendingPart(trial)}
<h2>The past</h2><p>${plural(deliveries, 'delivery', 'deliveries')} with
${plural(decisions, 'decision')}, from ${time(since, timeZone)} to ${time(until, timeZone)}.</p>
${notKnownPart(trial)}${matrixPart(trial)}${rejectsPart(trial)}
<h3>Would have been decided otherwise</h3>${changedPart(trial)}
<h3>Agreement</h3>${agreementPart(trial)}
<h3>Rules that matched</h3>${usesPart(trial)}
${keepPart(run, trial, context)}`;
}

export function trialResultPage(run: TrialRun, form: TrialForm, context: PauseReader): Html {
  const { end, problem, state } = run;
  const again = html`<details${end && 'problems' in end && html` open`}>
<summary>Change them and try again</summary>${formPart(form)}</details>`;
  const body = (): Html => {
    if (state === 'running') return waitPart(run);
    if (!end) {
      return html`<p class="problem" role="alert">The trial has no result: ${problem}.</p>`;
    }
    return 'problems' in end ? problemsPart(end.problems) : resultPart(run, end.trial, context);
  };
  return html`<p><a href="/rules">All rules</a> · <a href="/rules/trial">Another trial</a></p>
<h1>Rules on trial</h1>${
    state === 'running' ? body() : html`<div id="trial">${body()}${again}</div>`
  }`;
}
