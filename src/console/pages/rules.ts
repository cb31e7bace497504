/** Pages about rules: the list with figures, and one with text, tests, matches and versions. */

import { wordFor } from '../../config/words.ts';
import type { Breaker } from '../../decisions/reject/breaker.ts';
import {
  doesInstead,
  peopleText,
  queue,
  type RuleRow,
  stateText,
} from '../../decisions/reject/lists.ts';
import { disarmRule, reloadRules, resetBreaker } from '../../decisions/reject/surface.ts';
import { type Html, html } from '../../lib/html.ts';
import { valueText } from '../../lib/json.ts';
import { plural } from '../../lib/strings.ts';
import { pauseAct, resumeAct } from '../../ops/surface.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { TestReport } from '../../rules/testing.ts';
import { describePause, pauseOf } from '../../store/pauses.ts';
import { mayDo } from '../../surface/roles.ts';
import type { Figures } from '../figures.ts';
import type { Comparison, RuleVersion, RuleView } from '../read/rules.ts';
import { actForm, type Cells, tableFor } from '../surface/html.ts';
import { ruleBlock } from './evidence.ts';
import { byWhom, span, time, whole } from './format.ts';
import { figures, type PauseReader, partsNav, pauseForm, tableOf } from './parts.ts';

/** Address of a rule's page. */
export function rulePath(id: string): string {
  return `/rules/${encodeURIComponent(id)}`;
}

/** Cells of the list of rules that say more at the console. */
export const CELLS: Cells = {
  id: ({ id, title }) => html`<div class="words long"><a href="${rulePath(String(id))}">
${String(title)}</a><div class="soft"><code>${String(id)}</code></div></div>`,
};

/** Table of rules with their figures; it reloads itself until the figures are counted. */
function figuresPart(table: Html, known: Figures, context: PauseReader): Html {
  const isCounting = known.rules === undefined && known.problem === undefined;
  const again = html` data-load="/rules" data-after="2000"`;
  const counted = known.at === null ? 'never' : time(known.at, context.timeZone);
  const state = html`<p class="soft">Deliveries of 30 days on which a rule was true; People: how
they ended those; near misses: one condition of several alone stood in the way. <span
 role="status">${
   isCounting ? 'They are being counted, and come by themselves.' : html`Counted ${counted}.`
 }</span></p>`;
  return html`<div id="rules"${isCounting && again}>
${
  known.problem !== undefined &&
  html`<p class="problem" role="alert">The figures cannot be counted: ${known.problem}.</p>`
}
${table}${state}</div>`;
}

function pausePart({ role, pauses }: PauseReader): Html {
  const pause = pauseOf(pauses, 'decisions', '');
  if (!pause) {
    return pauseForm(
      pauseAct,
      { target: 'decisions', name: '' },
      {
        role,
        button: 'Pause decisions',
        what: 'Pauses decisions of rules until somebody resumes them; people may decide.',
        back: '/rules',
      },
    );
  }
  if (pause.target !== 'decisions' || pause.actor === 'file') {
    return html`<p>Decisions are ${describePause(pause)}. That is not ended here.</p>`;
  }
  return html`<p><b class="state s-held">Paused</b>: decisions are ${describePause(pause)}.</p>
${pauseForm(resumeAct, pause, {
  role,
  button: 'Resume decisions',
  what: 'The rules decide again.',
  back: '/rules',
})}`;
}

function breakerPart({ breaker }: RulesView, { role, timeZone }: PauseReader): Html | false {
  if (!breaker) return false;
  return html`<section class="card"><h2>No rule rejects</h2>
<p class="problem">The breaker tripped ${time(breaker.at, timeZone)}:
${wordFor('safeguard', breaker.safeguard)},
${breaker.detail}</p>
${actForm(resetBreaker, {
  role,
  given: {},
  what: 'Armed rules reject again, after their grace.',
})}</section>`;
}

export interface RulesView {
  readonly ruleSet: RuleSet | undefined;
  readonly unreadable: string | undefined;
  /** Table of the rules; undefined: none are in force. */
  readonly table: Html | undefined;
  readonly breaker: Breaker | undefined;
  readonly figures: Figures;
}

/** Lowest role that may try rules, which the console's thread does by itself. */
export const TRIES_RULES = 'operator';

const HASH_CHARS = 12;

export function rulesPage(view: RulesView, context: PauseReader): Html {
  const { ruleSet, table, unreadable } = view;
  if (!ruleSet || !table) {
    return html`<h1>Rules</h1><p class="empty">${
      unreadable === undefined
        ? 'No rules are in force yet: the daemon loads them when it starts.'
        : 'This version cannot read the rules in force:'
    }</p>${unreadable !== undefined && html`<pre tabindex="0">${unreadable}</pre>`}`;
  }
  const { hash, rules, settings } = ruleSet;
  const { mode } = settings;
  const { role } = context;
  return html`<h1>Rules</h1>${partsNav('/rules')}
${breakerPart(view, context)}
<p>${plural(rules.length, 'rule')} in force, set <code>${hash.slice(0, HASH_CHARS)}</code>${
    mode !== 'live' && html`, the whole set is in mode <b>${mode}</b>`
  }</p>
<p class="buttons">${
    mayDo(role, TRIES_RULES) &&
    html`<a class="button" href="/rules/trial">Try rules</a>
<a class="button" href="/rules/suggest">Proposals</a>`
  }${mayDo(role, reloadRules.role) && html`<a class="button" href="/rules/reload">Reload…</a>`}</p>
${figuresPart(table, view.figures, context)}
<h2>Decisions</h2>${pausePart(context)}`;
}

/** Text with line numbers, which are not copied with it. */
function numbered(lines: readonly string[], first: number, label: string): Html {
  return html`<div class="code" tabindex="0" role="group" aria-label="${label}">
<ol start="${first}">
${lines.map((line) => html`<li><code>${line || ' '}</code></li>`)}</ol></div>`;
}

function testsPart(rule: Rule, report: TestReport | undefined): Html {
  const tests = report?.tests.filter(({ ruleId }) => ruleId === rule.id) ?? [];
  const unproved = report?.unproved.filter(({ ruleId }) => ruleId === rule.id) ?? [];
  const table = tableOf(
    'Tests',
    tests,
    [
      {
        title: 'Result',
        cell: ({ ok }) =>
          ok
            ? html`<b class="state s-accept">passes</b>`
            : html`<b class="state s-reject">fails</b>`,
      },
      { title: 'Test', cell: ({ name }) => name },
      { title: 'Expected', cell: ({ expected }) => expected },
      { title: 'Got', cell: ({ actual }) => actual },
    ],
    'It has no tests. A reject rule needs some before it may be armed.',
  );
  return html`<h2>Tests</h2>${table}${unproved.map(
    ({ text }) => html`<p>No test shows that this matters: <code>${text}</code></p>`,
  )}`;
}

function deliveryLink(id: number, number: string | null): Html {
  return html`<a href="/deliveries/${id}">${number ?? String(id)}</a>`;
}

function matchesPart({ matches, decided }: RuleView, rule: Rule, { timeZone }: PauseReader): Html {
  const unseen = matches && [
    html`<h2>Matches to look at</h2>
<p><a href="${rulePath(rule.id)}/matches">All of them</a>:
${matches.seen} of ${matches.needed} looked at, of exactly this text.</p>`,
    matches.unseen.length === 0
      ? html`<p class="empty">There is no match of this text that nobody has looked at.</p>`
      : matches.unseen.map(
          ({ decisionId, orderDeliveryId, at, evaluation }) => html`<details>
<summary>Decision ${String(decisionId)} about delivery ${String(orderDeliveryId)},
${time(at, timeZone)}</summary><p><a href="/deliveries/${orderDeliveryId}">The delivery</a></p>
${evaluation.rules.filter(({ id }) => id === rule.id).map(ruleBlock)}</details>`,
        ),
  ];
  const table = tableOf(
    'Latest decisions by it',
    decided,
    [
      {
        title: 'Delivery',
        cell: ({ orderDeliveryId, deliveryNo }) => deliveryLink(orderDeliveryId, deliveryNo),
      },
      { title: 'Decided', cell: ({ at }) => time(at, timeZone) },
      {
        title: 'Outcome',
        cell: ({ outcome }) =>
          html`<b class="state s-${outcome}">${wordFor('outcome', outcome)}</b>`,
      },
      {
        title: 'It is now',
        cell: ({ status }) => (status === null ? 'gone' : wordFor('status', status)),
      },
    ],
    'It decided nothing in 30 days.',
  );
  return html`${unseen}<h2>Latest decisions by it</h2>${table}`;
}

interface Difference {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** List items for the differences between two versions of a rule or of settings. */
export function differenceItems(all: readonly Difference[]): readonly Html[] {
  return all.map(
    ({ path, before, after }) =>
      html`${
        before !== undefined && html`<li><del>${path}: <code>${valueText(before)}</code></del></li>`
      }${
        after !== undefined && html`<li><ins>${path}: <code>${valueText(after)}</code></ins></li>`
      }`,
  );
}

function comparisonPart({ version, differences, problem }: Comparison): Html {
  const result =
    differences.length > 0
      ? html`<ul class="differences">${differenceItems(differences)}</ul>`
      : html`<p>In effect it is the same.</p>`;
  return html`<h3>From set <code>${version.hash.slice(0, HASH_CHARS)}</code> to now</h3>
${problem === null ? result : html`<p class="problem">${problem}</p>`}
${numbered(version.lines, 1, 'Text of that version')}`;
}

function versionsPart(view: RuleView, { timeZone }: PauseReader): Html {
  const path = rulePath(view.row.id);
  const row = ({ hash, since }: RuleVersion, index: number): Html =>
    html`<li>since ${time(since, timeZone)}, set <code>${hash.slice(0, HASH_CHARS)}</code>${
      index === 0
        ? ': this one'
        : html` <a href="${path}?version=${hash}#versions">compare with now</a>`
    }</li>`;
  return html`<section id="versions"><h2>Versions</h2>
<ul>${view.versions.map(row)}</ul>${view.comparison && comparisonPart(view.comparison)}</section>`;
}

function armPart({ row, waiting }: RuleView, context: PauseReader): Html | false {
  if (row.action !== 'reject') return false;
  const { role, now, timeZone } = context;
  const path = rulePath(row.id);
  const { armed } = row;
  const does = doesInstead({ ...row, armed: null });
  const state = armed
    ? html`<p><b class="state s-reject">Armed</b> by ${byWhom(armed.actor)}: ${armed.reason}.
It ends ${time(armed.expiresAt, timeZone)}, in ${span(armed.expiresAt - now)}.
${!armed.inForce && `It has another text now, and ${does}.`}</p>
${actForm(disarmRule, {
  role,
  given: { rule: row.id },
  what: `It ${does} then; what waits for it is withdrawn, what was not sent canceled.`,
})}`
    : html`<p>It is not armed: it ${does}.</p>`;
  return html`<section><h2>Arming</h2>${state}
<p><a class="button" href="${path}/arm">${armed ? 'Arm it for longer' : 'Arm it, match by match'}…
</a></p>${tableFor(queue, waiting, context)}</section>`;
}

export function rulePage(
  view: RuleView,
  rule: Rule,
  tests: TestReport | undefined,
  context: PauseReader,
): Html {
  const { row, text } = view;
  return html`<p><a href="/rules">All rules</a></p><h1>${row.title}</h1>
${figures([
  ['Id', html`<code>${row.id}</code>`],
  ['Action', html`<b class="state s-${row.action}">${wordFor('action', row.action)}</b>`],
  ['State', stateText(row, context.now)],
  ['Owner', row.owner ?? 'nobody is named'],
  ['Place', `${row.file}:${row.line}`],
  ['Matches', row.figures && matchCounts(row.figures)],
  ['People', peopleText(row)],
  ['Near misses', row.figures && whole(row.figures.nearMisses)],
])}
<p class="buttons">${
    mayDo(context.role, TRIES_RULES) &&
    html`<a class="button" href="${`/rules/trial?rule=${encodeURIComponent(row.id)}`}">Try a change
</a>`
  }<a class="button" href="/review?rule=${row.id}">What it holds</a></p>
${armPart(view, context)}
<h2>Text</h2>${
    text
      ? numbered(text.lines, text.line, `Text of ${row.id}`)
      : html`<p class="empty">Its text is not kept.</p>`
  }
${testsPart(rule, tests)}
${matchesPart(view, rule, context)}
${versionsPart(view, context)}`;
}

function matchCounts({ day, week, month }: NonNullable<RuleRow['figures']>): string {
  return `${whole(day)} deliveries in 24 h, ${whole(week)} in 7 d, ${whole(month)} in 30 d`;
}
