/** The first screen: health, freshness, and what needs the person, in this order. */
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { describeIdle } from '../../ops/rules-acting.ts';
import type { StreamStatus } from '../../ops/status.ts';
import { labelOf } from '../../store/pauses.ts';
import type { OverviewCharts } from '../read/charts.ts';
import type { OverviewData } from '../read/overview.ts';
import type { RulesShown } from '../rules.ts';
import { chartsPart } from './chart.ts';
import { span, time, whole } from './format.ts';

export interface OverviewView {
  readonly data: OverviewData;
  readonly charts: OverviewCharts;
  readonly rules: RulesShown;
  readonly now: number;
  readonly timeZone: string;
}

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
  readonly state: 'good' | 'look' | 'bad';
  readonly href: string;
}

function lookIf(needed: boolean): Tile['state'] {
  return needed ? 'look' : 'good';
}

function stateOfStock(stock: StreamStatus | undefined): Pick<Tile, 'detail' | 'state'> {
  if (stock?.notAtLevel) return { detail: 'not at the level of the account', state: 'look' };
  if (stock?.off) return { detail: 'switched off', state: 'look' };
  if (stock?.paused) return { detail: 'paused', state: stock.stale ? 'bad' : 'look' };
  if (stock?.stale) return { detail: 'older than it may be', state: 'bad' };
  if (stock === undefined || stock.ageMs === null) {
    return { detail: 'its first pull is not complete', state: 'bad' };
  }
  return { detail: 'fresh enough', state: 'good' };
}

/** Says what is wrong with the events, the gravest first. */
function stateOfEvents({ status }: OverviewView['data']): Pick<Tile, 'detail' | 'state'> {
  const { relay, incidents } = status;
  const late = relay?.missed ?? 0;
  if (incidents.events_refused) return { detail: 'events are refused', state: 'bad' };
  if (relay?.state === 'silent') return { detail: 'none comes while orders change', state: 'bad' };
  if (incidents.secret_ends) return { detail: 'the signing secret ends', state: 'look' };
  if (late > 0) return { detail: `${late} missed`, state: 'look' };
  return { detail: 'none missed', state: 'good' };
}

function stockTile({ data }: OverviewView): Tile {
  const stock = data.status.streams.find(({ stream }) => stream === 'stock');
  const age = stock?.ageMs ?? null;
  return {
    name: 'Stock',
    value: age === null ? 'never read' : `${span(age)} old`,
    ...stateOfStock(stock),
    href: '/pulls',
  };
}

/** Why pushes wait longer than they should, in few words each. */
function whyPushesWait({ status }: OverviewView['data']): string[] {
  const { incidents, outbox, paused, accountHold } = status;
  const count = (number: number, words: string): string[] =>
    number > 0 ? [`${whole(number)} ${words}`] : [];
  return [
    ...paused
      .filter(({ target }) => target === 'pushes' || target === 'all')
      .map((one) => `paused (${labelOf(one)})`),
    ...(accountHold === null ? [] : ['the account is not known']),
    ...count(incidents.push_late ?? 0, 'late'),
    ...count(incidents.push_in_doubt ?? 0, 'for a person'),
    ...count(outbox.dead ?? 0, 'given up'),
  ];
}

function tilesOf(view: OverviewView): Tile[] {
  const { data, now, rules } = view;
  const { held, underWay, unknownOutcomes, status } = data;
  const lag = status.events.lastAgeMs;
  const idle = describeIdle(status.rules, status.pending);
  const pushesWait = whyPushesWait(data);
  const since = (at: number | null): string => (at === null ? '' : `, oldest ${span(now - at)}`);
  return [
    {
      name: 'Held',
      value: whole(held.count),
      detail: held.count === 0 ? 'nothing waits for you' : `wait for you${since(held.oldestAt)}`,
      state: status.holdsOverdue > 0 ? 'bad' : lookIf(held.count > 0),
      href: '/review',
    },
    stockTile(view),
    {
      name: 'Pushes',
      value: whole(underWay.count),
      detail: [`under way${since(underWay.oldestAt)}`, ...pushesWait].join('; '),
      state: lookIf(pushesWait.length > 0),
      href: '/outbox?open=1',
    },
    {
      name: 'Unknown outcomes',
      value: whole(unknownOutcomes),
      detail: 'nobody knows yet whether they took effect',
      state: unknownOutcomes > 0 ? 'look' : 'good',
      href: '/outbox?state=in_doubt',
    },
    {
      name: 'Events',
      value: lag === null ? 'none yet' : `${span(lag)} ago`,
      ...stateOfEvents(data),
      href: '/events',
    },
    {
      name: 'Incidents',
      value: whole(status.openIncidents),
      detail: Object.keys(status.incidents).join(', ') || 'nothing is wrong',
      state: status.openIncidents > 0 ? 'look' : 'good',
      href: '#incidents',
    },
    {
      name: 'Rules',
      value: rules.hash?.slice(0, 8) ?? 'none',
      detail: idle ?? `live, ${plural(rules.titles.size, 'rule')} in force`,
      state: rules.titles.size > 0 ? lookIf(idle !== undefined) : 'bad',
      href: '#rules',
    },
  ];
}

function needsPart({ data, rules, timeZone }: OverviewView): Html {
  if (data.needs.length === 0) return html`<p class="empty">Nothing needs you now.</p>`;
  return html`<div class="table" tabindex="0" role="group" aria-label="Needs you"><table><thead><tr>
<th scope="col" class="number">How many</th><th scope="col">What</th><th scope="col">Newest</th>
</tr></thead><tbody>${data.needs.map(
    ({ what, count, newestAt, href }) => html`<tr><td class="number">${whole(count)}</td>
<td><a href="${href}">${rules.titles.get(what) ?? what}</a></td>
<td>${time(newestAt, timeZone)}</td></tr>`,
  )}</tbody></table></div>`;
}

function stateOf({ stale, running, lastError }: StreamStatus): Html | string {
  if (stale) return html`<b class="state s-overdue">too old</b> ${lastError}`;
  return running ? 'is read now' : 'fresh';
}

function streamsPart({ data }: OverviewView): Html {
  return html`<div class="table" tabindex="0" role="group" aria-label="Streams"><table><thead><tr>
<th scope="col">Stream</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">Age</th>
<th scope="col">State</th></tr></thead><tbody>${data.status.streams
    .filter(({ off }) => !off)
    .map(
      (one) => html`<tr><td>${one.stream}</td><td class="number">${whole(one.rows)}</td>
<td class="number">${one.ageMs === null ? '-' : span(one.ageMs)}</td><td>${stateOf(one)}</td></tr>`,
    )}</tbody></table></div>`;
}

function eventsPart({ data }: OverviewView): Html {
  const { events, relay, foreignEvents } = data.status;
  const foreign = Object.values(foreignEvents).reduce((sum, count) => sum + count, 0);
  const last = events.lastAgeMs === null ? 'none yet' : `the last ${span(events.lastAgeMs)} ago`;
  return html`<p>${plural(events.count, 'event')} received, ${last}. ${
    relay !== null &&
    html`Of the newest ${plural(relay.deliveries, 'delivery', 'deliveries')}, ${whole(relay.missed)}
came without an event in time.`
  } ${foreign > 0 && `${plural(foreign, 'event')} of other accounts came too.`}</p>`;
}

function incidentsPart({ data, timeZone }: OverviewView): Html {
  const { causes, failingWorkers } = data.status;
  if (causes.length === 0) return html`<p class="empty">Nothing is wrong.</p>`;
  return html`<ul>${causes.map(
    ({ kind, says, advice }) =>
      html`<li>${says} <code>${kind}</code> <span class="soft">${advice}</span></li>`,
  )}</ul>
${failingWorkers.map(
  ({ worker, since, error }) =>
    html`<p><b>${worker}</b> fails since ${time(since, timeZone)}: ${error}</p>`,
)}`;
}

function rulesPart({ rules }: OverviewView): Html {
  if (rules.titles.size === 0) return html`<p class="empty">No rule is in force.</p>`;
  return html`<ul>${[...rules.titles].map(
    ([id, title]) =>
      html`<li><a href="/review?${String(new URLSearchParams({ rule: id }))}">${title}</a>
<code>${id}</code></li>`,
  )}</ul>`;
}

export function overviewPage(view: OverviewView): Html {
  const tile = ({ name, value, detail, state, href }: Tile): Html =>
    html`<a class="tile t-${state}" href="${href}"><span>${name}</span><b>${value}</b>
<span class="soft">${detail}</span></a>`;
  return html`<h1>Overview</h1>
<div class="tiles">${tilesOf(view).map(tile)}</div>
<h2>Needs you</h2>${needsPart(view)}
<h2>The last hours</h2>${chartsPart(view.charts, view.timeZone)}
<h2 id="streams">Streams</h2>${streamsPart(view)}
<h2 id="events">Events</h2>${eventsPart(view)}
<h2 id="incidents">Incidents</h2>${incidentsPart(view)}
<h2 id="rules">Rules</h2>${rulesPart(view)}`;
}
