/** The first screen: health, freshness, and what needs the person, in this order. */
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import type { Tile as CheckedTile } from '../../ops/health-grade.ts';
import { describeIdle } from '../../ops/rules-acting.ts';
import type { StreamStatus } from '../../ops/status.ts';
import {
  describeWaiting,
  WAITING_KINDS,
  type Waiting,
  type WaitingKind,
  waitingOfKind,
} from '../../ops/waiting.ts';
import { absent, gravestAnswer, type ServiceAnswer } from '../../store/answering.ts';
import { describePause, labelOf } from '../../store/pauses.ts';
import type { OverviewCharts } from '../read/charts.ts';
import type { Need, OverviewData } from '../read/overview.ts';
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
  /** Checks that colour the tile. */
  readonly of: CheckedTile;
  readonly href: string;
}

const COLOURS = { critical: 'bad', warning: 'look' } as const;

/** Colour of a tile: that of its gravest check. */
function colourOf({ of }: Tile, { checks }: OverviewView['data']): 'good' | 'look' | 'bad' {
  const [gravest] = checks
    .filter(({ tiles }) => tiles.includes(of))
    .toSorted((a, b) => a.grade.localeCompare(b.grade));
  return gravest ? COLOURS[gravest.grade] : 'good';
}

function awayIn(service: readonly ServiceAnswer[], api?: ServiceAnswer['api']) {
  return absent(service, api) && 'the service does not answer';
}

function detailOfStock(stock: StreamStatus | undefined, away: string | undefined): string {
  if (stock?.notAtLevel) return 'not at the level of the account';
  if (stock?.off) return 'switched off';
  if (stock?.paused) return 'paused';
  if (stock?.stale) return ['older than it may be', away].filter(Boolean).join(': ');
  if (stock === undefined || stock.ageMs === null) return 'its first pull is not complete';
  return 'fresh enough';
}

/** Says what is wrong with the events, the gravest first. */
function detailOfEvents({ status }: OverviewView['data']): string {
  const { relay, incidents } = status;
  const late = relay?.missed ?? 0;
  if (incidents.events_refused) return 'events are refused';
  if (relay?.state === 'silent') return 'none comes while orders change';
  if (incidents.secret_ends) return 'the signing secret ends';
  return late > 0 ? `${late} missed` : 'none missed';
}

function stockTile({ data }: OverviewView): Tile {
  const { streams, service } = data.status;
  const stock = streams.find(({ stream }) => stream === 'stock');
  const age = stock?.ageMs ?? null;
  return {
    name: 'Stock',
    value: age === null ? 'never read' : `${span(age)} old`,
    detail: detailOfStock(stock, awayIn(service, 'V1')),
    of: 'stock',
    href: '/pulls',
  };
}

/** The streams that are pulled, and those of them that are too old. */
function pullsTile({ data }: OverviewView): Tile {
  const { streams, service } = data.status;
  const pulled = streams.filter(({ off }) => !off);
  const old = pulled.filter(({ stale }) => stale).map(({ stream }) => stream);
  const away = old.length > 0 ? awayIn(service) : undefined;
  const paused = pulled.filter((one) => one.paused).map(({ stream }) => stream);
  const details = [
    old.length === 0 ? 'none is too old' : `too old: ${old.join(', ')}`,
    ...(paused.length === 0 ? [] : [`paused: ${paused.join(', ')}`]),
    ...(away === undefined ? [] : [away]),
  ];
  return {
    name: 'Pulls',
    value: `${whole(pulled.length - old.length)} of ${whole(pulled.length)} fresh`,
    detail: details.join('; '),
    of: 'pulls',
    href: '/pulls',
  };
}

const WORDS = {
  answers: 'answers',
  silent: 'no answer',
  login_refused: 'log-in refused',
  waits: 'asks to wait',
} as const;

/** Since when an API is in its state, and why, in few words; the banner has all. */
function sinceText({ state, since, answeredAt, why }: ServiceAnswer, now: number): string {
  if (state === 'answers') return `the last time ${span(now - (answeredAt ?? now))} ago`;
  return `for ${span(now - since)}${why === null ? '' : `: ${why}`}`;
}

function serviceTile({ data, now }: OverviewView): Tile {
  const { service } = data.status;
  const gravest = gravestAnswer(service);
  return {
    name: 'Service',
    value: gravest === undefined ? 'not asked yet' : WORDS[gravest.state],
    detail: gravest === undefined ? 'no request was sent' : sinceText(gravest, now),
    of: 'service',
    href: '#incidents',
  };
}

function systemTile({ data }: OverviewView): Tile {
  const odd = data.checks.filter(({ tiles }) => tiles.includes('system'));
  return {
    name: 'System',
    value: odd.length === 0 ? 'fine' : whole(odd.length),
    detail: odd.map(({ text }) => text).join('; ') || 'daemon, disk, backup',
    of: 'system',
    href: '/system',
  };
}

/** Why pushes wait longer than they should, in few words each. */
function whyPushesWait({ status }: OverviewView['data']): string[] {
  const { incidents, outbox, paused, accountHold, dryRun, service } = status;
  const open = ['queued', 'sending', 'sent', 'in_doubt'].some((state) => (outbox[state] ?? 0) > 0);
  const away = open ? awayIn(service, 'V1') : undefined;
  const count = (number: number, words: string): string[] =>
    number > 0 ? [`${whole(number)} ${words}`] : [];
  return [
    ...paused
      .filter(({ target }) => target === 'pushes' || target === 'all')
      .map((one) => `paused (${labelOf(one)})`),
    ...(accountHold === null ? [] : ['the account is not known']),
    ...(dryRun ? ['nothing is sent (outbox.dryRun)'] : []),
    ...(away === undefined ? [] : [away]),
    ...count(incidents.push_late ?? 0, 'late'),
    ...count(incidents.push_in_doubt ?? 0, 'for a person'),
    ...count(outbox.dead ?? 0, 'given up'),
  ];
}

function tilesOf(view: OverviewView): Tile[] {
  const { data, now, rules } = view;
  const { underWay, status } = data;
  const { waiting } = status;
  const lag = status.events.lastAgeMs;
  const idle = describeIdle(status.rules, status.pending);
  const paused = status.paused.find(({ target }) => target === 'decisions' || target === 'all');
  const pause = paused && describePause(paused);
  const pushesWait = whyPushesWait(data);
  const since = (at: number | null): string => (at === null ? '' : `, oldest ${span(now - at)}`);
  return [
    serviceTile(view),
    {
      name: 'Waiting',
      value: whole(waiting.total),
      detail: waiting.total === 0 ? 'nothing waits for you' : waitingText(waiting, now),
      of: 'waiting',
      href: '#needs',
    },
    stockTile(view),
    pullsTile(view),
    {
      name: 'Pushes',
      value: whole(underWay.count),
      detail: [`under way${since(underWay.oldestAt)}`, ...pushesWait].join('; '),
      of: 'pushes',
      href: '/outbox?open=1',
    },
    {
      name: 'Events',
      value: lag === null ? 'none yet' : `${span(lag)} ago`,
      detail: detailOfEvents(data),
      of: 'events',
      href: '/events',
    },
    {
      name: 'Incidents',
      value: whole(status.openIncidents),
      detail: Object.keys(status.incidents).join(', ') || 'nothing is wrong',
      of: 'incidents',
      href: '#incidents',
    },
    {
      name: 'Rules',
      value: rules.titles.size === 0 ? 'none' : whole(rules.titles.size),
      detail: idle ?? pause ?? 'in force, and decide',
      of: 'rules',
      href: '/rules',
    },
    systemTile(view),
  ];
}

/** Numbers of what waits by kind, those overdue, and the time of the oldest delivery. */
function waitingText(waiting: Waiting, now: number): string {
  const { overdue, deliveries } = waiting;
  const oldest = deliveries.oldestAt;
  return [
    describeWaiting(waiting),
    ...(overdue > 0 ? [`${whole(overdue)} overdue`] : []),
    ...(oldest === null ? [] : [`oldest delivery ${span(now - oldest)}`]),
  ].join('; ');
}

function needRow({ what, isWithin, count, newestAt, href }: Need, view: OverviewView): Html {
  const named = view.rules.titles.get(what) ?? what;
  return html`<tr${isWithin && html` class="soft"`}><td class="number">${whole(count)}</td>
<td>${isWithin && 'of these, held by: '}<a href="${href}">${named}</a></td>
<td>${time(newestAt, view.timeZone)}</td></tr>`;
}

/** Rows of each kind below their number, which is that of the tile and of the badge. */
function needsPart(view: OverviewView): Html {
  const { needs, status } = view.data;
  const kinds = WAITING_KINDS.filter((kind) => status.waiting[kind].count > 0);
  const rowsOf = (kind: WaitingKind): Html[] =>
    needs.filter(({ of }) => of === kind).map((need) => needRow(need, view));
  if (kinds.length === 0) return html`<p class="empty">Nothing needs you now.</p>`;
  return html`<div class="table" tabindex="0" role="group" aria-label="Needs you"><table><thead><tr>
<th scope="col" class="number">How many</th><th scope="col">What</th><th scope="col">Newest</th>
</tr></thead>${kinds.map(
    (kind) =>
      html`<tbody><tr><th scope="rowgroup" colspan="3">${waitingOfKind(
        kind,
        status.waiting[kind].count,
      )}</th></tr>${rowsOf(kind)}</tbody>`,
  )}</table></div>`;
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

export function overviewPage(view: OverviewView): Html {
  const tile = (of: Tile): Html =>
    html`<a class="tile t-${colourOf(of, view.data)}" href="${of.href}"><span>${of.name}</span>
<b>${of.value}</b> <span class="soft">${of.detail}</span></a>`;
  return html`<h1>Overview</h1>
<div class="tiles">${tilesOf(view).map(tile)}</div>
<h2 id="needs">Needs you</h2>${needsPart(view)}
<h2>The last hours</h2>${chartsPart(view.charts, view.timeZone)}
<h2 id="streams">Streams</h2>${streamsPart(view)}
<h2 id="events">Events</h2>${eventsPart(view)}
<h2 id="incidents">Incidents</h2>${incidentsPart(view)}`;
}
