/** Pages for acts on rules that need more than a button: arming, match by match, and a reload. */
import {
  armRule,
  lookAtMatch,
  notArmedText,
  type Reload,
  reloadRules,
} from '../../decisions/reject/surface.ts';
import { type Html, html } from '../../lib/html.ts';
import type { MatchesView } from '../read/rules.ts';
import { actForm } from '../surface/html.ts';
import { ruleBlock } from './evidence.ts';
import { time } from './format.ts';
import type { PauseReader } from './parts.ts';
import { differenceItems, rulePath } from './rules.ts';

export interface ArmView {
  readonly id: string;
  readonly title: string;
  /** Conditions for arming the rule that are not met yet. */
  readonly missing: readonly string[];
  readonly matches: MatchesView;
  /** Match to look at next; undefined: there is none. */
  readonly match: MatchesView['unseen'][number] | undefined;
}

function matchPart({ id, match, matches }: ArmView, { role, timeZone }: PauseReader): Html {
  const path = rulePath(id);
  const done = html`<p>${matches.seen} of ${matches.needed} matches of exactly this text were
looked at.</p>`;
  if (!match) {
    return html`${done}<p class="empty">There is no other match to look at: the rule must match
deliveries while it watches, or <a href="${path}/arm">begin with the newest again</a>.</p>`;
  }
  const { decisionId, orderDeliveryId, at, evaluation } = match;
  return html`${done}<article class="card"><h3>Delivery
<a href="/deliveries/${orderDeliveryId}">${String(orderDeliveryId)}</a>, ${time(at, timeZone)}</h3>
${evaluation.rules.filter((one) => one.id === id).map(ruleBlock)}
${actForm(lookAtMatch, {
  role,
  given: { rule: id, decisionId },
  what: 'Is it right to reject this one?',
  back: `${path}/arm`,
})}
<p><a href="${path}/arm?before=${String(decisionId)}">No, or not sure: show another one</a></p>
</article>`;
}

/** Days that the page proposes: a person should look again soon. */
const PROPOSED_DAYS = 30;

export function armPage(view: ArmView, context: PauseReader): Html {
  const { id, title, missing, matches } = view;
  const path = rulePath(id);
  const wants = matches.seen < matches.needed;
  const ready = actForm(armRule, {
    role: context.role,
    given: { rule: id, expires: undefined },
    proposed: { days: PROPOSED_DAYS },
    what: 'It rejects, after its grace and if every safeguard agrees. A reject is final.',
  });
  return html`<p><a href="${path}">The rule</a></p><h1>Arm ${title}</h1>
${
  missing.length === 0
    ? html`<p>Nothing is missing any more.</p>${ready}`
    : html`<h2>Still missing</h2><ul>${missing.map((one) => html`<li>${one}</li>`)}</ul>
<p>A backtest is kept from <a href="/rules/trial?what=in-force">a trial of the rules in force</a>.
</p>`
}
${wants && html`<h2>Matches</h2>${matchPart(view, context)}`}`;
}

/** List of the differences in effect that a reload would make. */
export function differencesPart({ diff }: Pick<Reload, 'diff'>): Html {
  const { added, removed, changed, settings } = diff;
  const all = [
    ...removed.map((id) => html`<li><del>rule <code>${id}</code></del> goes</li>`),
    ...added.map((id) => html`<li><ins>rule <code>${id}</code></ins> comes</li>`),
    ...changed.map(
      ({ id, differences }) => html`<li>rule <code>${id}</code> changes<ul>
${differenceItems(differences)}</ul></li>`,
    ),
    ...settings.map(({ path }) => html`<li>setting <code>${path}</code> changes</li>`),
  ];
  if (all.length === 0) return html`<p class="empty">Nothing changes in effect.</p>`;
  return html`<ul class="differences">${all}</ul>`;
}

/**
 * Page for a reload of the rules. @param problem mistakes in rules or configuration, because of
 * which they cannot be loaded
 */
export function reloadPage(
  found: Reload | undefined,
  problem: string | undefined,
  { role }: PauseReader,
): Html {
  const head = html`<p><a href="/rules">All rules</a></p><h1>Reload the rules</h1>`;
  if (!found) {
    return html`${head}<p class="problem" role="alert">They cannot be loaded; what is in force
stays:</p><pre tabindex="0">${problem}</pre>`;
  }
  const { mode, directory, disarmed, restart, unread } = found;
  const held = notArmedText(found.notArmed);
  return html`${head}
<p>The files of <code>${directory.to}</code> and the configuration, as they are now:</p>
${differencesPart(found)}
<ul>${mode.from !== mode.to && html`<li>mode ${mode.from} → ${mode.to}</li>`}
${
  directory.from !== directory.to &&
  html`<li>folder <code>${directory.from}</code> → <code>${directory.to}</code></li>`
}
${disarmed.map((id) => html`<li>disarms <code>${id}</code>, which has another text now</li>`)}
${unread.map(
  (path) => html`<li><code>${path}</code> is not read: rules are what ends in .yaml in
the folder itself</li>`,
)}
${restart.length > 0 && html`<li>acts from the next start on: ${restart.join(', ')}</li>`}</ul>
${held !== undefined && html`<p class="problem">${held}.</p>`}
${actForm(reloadRules, {
  role,
  given: { rules: found.diff.to, mode: mode.to },
  what: 'Puts exactly this in force; if the files change meanwhile, nothing is done.',
})}`;
}
