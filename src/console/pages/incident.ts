/**
 * Page of an incident: what happened, what it means, what to do, and who looks after it; and the
 * list of all that is wrong now, which is the same on every page.
 */
import { thingWords, wordFor } from '../../config/words.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Check } from '../../ops/health-grade.ts';
import { INCIDENTS } from '../../ops/incident-kinds.ts';
import { type IncidentRow, isEndedByPerson } from '../../ops/incidents.ts';
import type { Installation } from '../../ops/installation.ts';
import { incidents } from '../../ops/lists.ts';
import { acknowledgeIncident, resolveIncident } from '../../ops/surface.ts';
import type { Thing } from '../../surface/members.ts';
import { addressOf } from '../surface/addresses.ts';
import { actForm, sentence, tableFor } from '../surface/html.ts';
import { span, time } from './format.ts';
import { figures, type Reader, terminalFold } from './parts.ts';

/** Things that have a page, by what incidents call them. */
const PAGES: Readonly<Partial<Record<string, Thing>>> = {
  delivery: 'delivery',
  outbox: 'push',
  report: 'report',
  rule: 'rule',
  sales_order: 'order',
  stream: 'stream',
  sync_run: 'run',
};

const NUMBERED: ReadonlySet<Thing> = new Set(['delivery', 'order', 'push', 'run']);

/** Kinds of things whose keys are words of programs, and tell a person nothing. */
const UNNAMED = new Set(['account', 'configuration', 'exchange', 'relay', 'rules', 'service']);

/** Link to the thing; undefined: it has no page. */
function thingLink({ entity, key }: IncidentRow): string | undefined {
  const thing = PAGES[entity];
  // A cause of many rows has no single thing behind it.
  const isOne = thing !== undefined && (!NUMBERED.has(thing) || /^\d+$/.test(key));
  return isOne ? addressOf(thing, key) : undefined;
}

function aboutOf(one: IncidentRow): Html | string | null {
  const href = thingLink(one);
  if (one.kind === 'rules_list') return `list ${one.key}`;
  const words = thingWords(one.entity, one.key);
  if (href !== undefined) return html`<a href="${href}">${words}</a>`;
  if (UNNAMED.has(one.entity)) return null;
  // A key such as `overdue_days` is a name for programs.
  return one.key.includes('_') ? wordFor('thing', one.entity) : words;
}

function todoPart(one: IncidentRow): Html {
  const { act = 'Look at what is said above.', page, ends } = INCIDENTS[one.kind] ?? {};
  const href = page ?? thingLink(one);
  return html`<section><h2>What to do</h2><p>${act}</p>
${href !== undefined && html`<p class="buttons"><a class="button" href="${href}">Go there</a></p>`}
${ends !== undefined && html`<p class="soft">It ends: ${ends.replaceAll('`', '')}.</p>`}
${terminalFold(one.advice)}</section>`;
}

function peoplePart(one: IncidentRow, { role, timeZone }: Reader): Html {
  const { incidentId, kind, acknowledgedBy, acknowledgedAt, note, resolvedAt } = one;
  const given = { incident: incidentId };
  const by =
    acknowledgedBy === null
      ? html`<p>Nobody has taken it up yet.</p>`
      : html`<p><b>${acknowledgedBy}</b> took it up ${time(acknowledgedAt, timeZone)}${
          note !== null && `: ${note}`
        }.</p>`;
  if (resolvedAt !== null) return html`<section><h2>Who looks after it</h2>${by}</section>`;
  return html`<section><h2>Who looks after it</h2>${by}
${actForm(acknowledgeIncident, { role, given, button: 'I take it up' })}
${isEndedByPerson(kind) && actForm(resolveIncident, { role, given })}</section>`;
}

/** Pages on which checks are looked after, by the first tile that they colour. */
const PLACES: Readonly<Record<Check['tiles'][number], string>> = {
  service: '/incidents',
  waiting: '/review',
  stock: '/pulls',
  pulls: '/pulls',
  pushes: '/outbox',
  events: '/events',
  incidents: '/incidents',
  rules: '/rules',
  system: '/system',
};

export interface WrongNow {
  readonly status: Pick<Installation, 'causes'>;
  /** Everything that is not fine. */
  readonly checks: readonly Check[];
}

/** Everything that is wrong now: the checks, of which those of incidents lead to these. */
export function wrongPart({ status, checks }: WrongNow): Html {
  const one = ({ text, tiles: [tile = 'system'] }: Check): Html => {
    const cause = status.causes.find(({ says }) => says === text);
    if (cause === undefined) return html`<li><a href="${PLACES[tile]}">${sentence(text)}</a></li>`;
    const href = `${incidents.path}?${new URLSearchParams({ kind: cause.kind })}`;
    return html`<li><a href="${href}"><b>${wordFor('incident', cause.kind)}</b></a>: ${text}</li>`;
  };
  if (checks.length === 0) return html`<p class="empty">Nothing is wrong.</p>`;
  return html`<ul>${checks.map(one)}</ul>`;
}

export interface IncidentView {
  readonly one: IncidentRow;
  /** Earlier ones of the same kind about the same thing. */
  readonly before: readonly IncidentRow[];
}

export function incidentPage({ one, before }: IncidentView, reader: Reader): Html {
  const { now, timeZone } = reader;
  const { kind, entity, key, at, resolvedAt, says, detail } = one;
  const { when = says, means } = INCIDENTS[kind] ?? {};
  const state =
    resolvedAt === null
      ? html`<b class="state s-overdue">open</b> for ${span(now - at)}`
      : html`<b class="state s-accepted">ended</b> ${time(resolvedAt, timeZone)}`;
  const rows = before.map(({ detail: _, ...row }) => row);
  return html`<p><a href="${incidents.path}">All incidents</a></p>
<h1>${wordFor('incident', kind)}</h1>
${figures([
  ['State', state],
  ['Since', time(at, timeZone)],
  ['About', aboutOf(one)],
])}
<section><h2>What happened</h2><p>${sentence(says)}</p>
${when !== says && !says.startsWith(when) && html`<p class="soft">${sentence(when)}</p>`}</section>
${means !== undefined && html`<section><h2>What it means</h2><p>${means}</p></section>`}
${todoPart(one)}
${peoplePart(one, reader)}
<section><h2>Before</h2>${
    rows.length === 0
      ? html`<p class="empty">It is the first of its kind about this, as far as is known.</p>`
      : tableFor(incidents, rows, reader)
  }</section>
<details><summary>JSON</summary>
<pre tabindex="0">${JSON.stringify({ entity, key, detail }, null, 2)}</pre></details>`;
}
