/**
 * The first screen for three readers: who decides sees what waits, who sells what became of the
 * deliveries, who runs it whether all of it is there and fresh.
 */
import { pausedWords, wordFor } from '../../config/words.ts';
import { chartFigure } from '../../lib/chart/chart.ts';
import type { ChartData } from '../../lib/chart/data.ts';
import { type Html, html } from '../../lib/html.ts';
import { localClockOf } from '../../lib/local-time.ts';
import { localeOfReader, plural } from '../../lib/strings.ts';
import type { Tile as CheckedTile } from '../../ops/health-grade.ts';
import { describeIdle } from '../../ops/rules-acting.ts';
import type { StreamStatus } from '../../ops/status.ts';
import { type Trouble, troubles, troublesText } from '../../ops/troubles.ts';
import {
  describeWaiting,
  WAITING_KINDS,
  type Waiting,
  type WaitingKind,
  waitingOfKind,
} from '../../ops/waiting.ts';
import { absent, gravestAnswer, type ServiceAnswer } from '../../store/answering.ts';
import { describePause } from '../../store/pauses.ts';
import type { OverviewCharts } from '../read/charts.ts';
import { type Amount, type Need, type OverviewData, WORTH_ROWS } from '../read/overview.ts';
import { knowledgeOf, percentSince, SALES, type Sales, SPANS } from '../read/sales.ts';
import type { RulesShown } from '../rules.ts';
import { addressOf } from '../surface/addresses.ts';
import { money, span, time, whole } from './format.ts';
import { wrongPart } from './incident.ts';
import { PARAMETER } from './reports.ts';

export interface OverviewView {
  readonly data: OverviewData;
  readonly charts: OverviewCharts;
  readonly sales: Sales;
  readonly rules: RulesShown;
  /** Troubles since a time, the latest first. */
  readonly night: { readonly since: number; readonly rows: readonly Trouble[] };
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
  const old = pulled.filter(({ stale }) => stale).map(({ stream }) => wordFor('stream', stream));
  const away = old.length > 0 ? awayIn(service) : undefined;
  const paused = pulled.filter((one) => one.paused).map(({ stream }) => wordFor('stream', stream));
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
    value: gravest === undefined ? 'not asked yet' : wordFor('service', gravest.state),
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
      .map((one) => `paused (${pausedWords(one)})`),
    ...(accountHold === null ? [] : ['the account is not known']),
    ...(dryRun ? ['nothing is sent (outbox.dryRun)'] : []),
    ...(away === undefined ? [] : [away]),
    ...count(incidents.push_late ?? 0, 'late'),
    ...count(incidents.push_in_doubt ?? 0, 'for a person'),
    ...count(outbox.dead ?? 0, 'given up'),
  ];
}

const KINDS_SHOWN = 3;

/** Kinds of incidents in words, the first few and a number. */
function incidentKinds(incidents: Readonly<Record<string, number>>): string {
  const words = Object.keys(incidents).map((kind) => wordFor('incident', kind));
  const more = words.length - KINDS_SHOWN;
  const shown = words.slice(0, KINDS_SHOWN).join('; ');
  return more > 0 ? `${shown}; ${plural(more, 'other')}` : shown;
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
      detail: incidentKinds(status.incidents) || 'none is open',
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

/** Amounts of money by currency; none where nothing is worth anything. */
function amounts(all: readonly Amount[]): Html | false {
  const shown = all.filter(({ value }) => value !== 0);
  return (
    shown.length > 0 &&
    html`${shown.map(
      ({ value, currency }) => html`<div>${money(value, currency ?? 'of no currency')}</div>`,
    )}`
  );
}

function needRow(need: Need, view: OverviewView): Html {
  const { what, isWithin, count, oldestAt, worth, href } = need;
  const named = view.rules.titles.get(what) ?? what;
  return html`<tr${isWithin && html` class="soft"`}>
<td class="number" data-head="How many">${whole(count)}</td>
<td data-head="What">${isWithin && 'of these, held by: '}<a href="${href}">${named}</a></td>
<td class="number" data-head="Worth">${amounts(worth)}</td>
<td class="number" data-head="Oldest">${oldestAt !== null && span(view.now - oldestAt)}</td></tr>`;
}

/** Rows of each kind below their number, which is that of the tile and of the badge. */
function needsPart(view: OverviewView): Html {
  const { needs, status } = view.data;
  const kinds = WAITING_KINDS.filter((kind) => status.waiting[kind].count > 0);
  const rowsOf = (kind: WaitingKind): Html[] =>
    needs.filter(({ of }) => of === kind).map((need) => needRow(need, view));
  if (kinds.length === 0) return html`<p class="empty">Nothing needs you now.</p>`;
  const isPart = status.waiting.deliveries.count > WORTH_ROWS;
  return html`<div class="table" tabindex="0" role="group" aria-label="Needs you">
<table class="stack"><thead><tr>
<th scope="col" class="number">How many</th><th scope="col">What</th>
<th scope="col" class="number">Worth</th><th scope="col" class="number">Oldest</th>
</tr></thead>${kinds.map(
    (kind) =>
      html`<tbody><tr><th scope="rowgroup" colspan="4">${waitingOfKind(
        kind,
        status.waiting[kind].count,
      )}</th></tr>${rowsOf(kind)}</tbody>`,
  )}</table></div>${
    needs.filter(({ isWithin }) => isWithin).length > 1 &&
    html`<p class="soft">A delivery that several rules hold stands in the row of each.</p>`
  }${
    isPart && html`<p class="soft">Worth: of the ${whole(WORTH_ROWS)} that wait for longest.</p>`
  }`;
}

/** Address of the report that lists the deliveries of a span. */
function salesPage(sales: Sales, what: (typeof SALES)[number], name: (typeof SPANS)[number]) {
  const { fromAt, untilAt } = sales.spans[name];
  const of = {
    what,
    since: new Date(fromAt).toISOString(),
    until: new Date(untilAt).toISOString(),
  };
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(of)) query.set(`${PARAMETER}${key}`, value);
  return `/reports/sales?${query}`;
}

function percentPart(percent: number | null): Html | false {
  return (
    percent !== null && html` <small class="soft">${percent > 0 && '+'}${whole(percent)} %</small>`
  );
}

/** Deliveries of a span by what became of them: number, pieces, and money by currency. */
function salesCell(
  sales: Sales,
  timeZone: string,
  what: (typeof SALES)[number],
  name: (typeof SPANS)[number],
  heading: string,
): Html {
  const own = sales.rows.filter((row) => row.what === what && row.span === name);
  const sum = (of: 'deliveries' | 'pieces') => own.reduce((all, row) => all + row[of], 0);
  const { is, since } = knowledgeOf(sales, what, name);
  const from = time(since, timeZone);
  const kept = since === null ? 'nothing is kept yet' : html`kept only since ${from}`;
  const head = html` data-head="${heading}"`;
  if (is === 'none') {
    return html`<td class="number soft"${head}>not known:<div>${kept}</div></td>`;
  }
  const part = is === 'part' && html`<div class="soft">${kept}</div>`;
  if (own.length === 0) return html`<td class="number soft"${head}>none${part}</td>`;
  return html`<td class="number"${head}><b><a href="${salesPage(sales, what, name)}">${whole(
    sum('deliveries'),
  )}</a></b>
${percentPart(percentSince(sales, what, name))}
<div class="soft">${plural(sum('pieces'), 'piece')}</div>${amounts(own)}${part}</td>`;
}

/** Words for what became of deliveries; those held count even if somebody let them go since. */
const SALES_WORDS = {
  accepted: 'accepted',
  shipped: 'shipped',
  held: 'held at some time',
  rejected: 'rejected',
} as const;

function salesPart({ sales, timeZone }: OverviewView): Html {
  const { untilAt } = sales.spans.dayBefore;
  const day = { timeZone, weekday: 'long' } as const;
  const longDay = new Intl.DateTimeFormat('en', day);
  const weekday = longDay.format(untilAt);
  const clock = localClockOf(timeZone)(untilAt).time;
  const heads = {
    today: 'Today',
    dayBefore: `${weekday} a week ago until ${clock}`,
    week: `This week, since ${longDay.format(sales.spans.week.fromAt)}`,
    weekBefore: `Last week until ${weekday} ${clock}`,
  };
  return html`<div class="table" tabindex="0" role="group" aria-label="Sales">
<table class="stack"><thead><tr>
<th scope="col">Deliveries</th>${SPANS.map(
    (name) => html`<th scope="col" class="number">${heads[name]}</th>`,
  )}</tr></thead><tbody>${SALES.map(
    (what) =>
      html`<tr><th scope="row"><a href="${salesPage(sales, what, 'week')}">${
        SALES_WORDS[what]
      }</a></th>
${SPANS.map((name) => salesCell(sales, timeZone, what, name, heads[name]))}</tr>`,
  )}</tbody></table></div>
<p class="soft">A delivery counts once in each span; it has shipped when its first tracking number
came. Percent: deliveries, against the same time of the last week. How many are held now stands
above.</p>`;
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
      (one) => html`<tr><td>${wordFor('stream', one.stream)}</td>
<td class="number">${whole(one.rows)}</td>
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

const NIGHT_SHOWN = 3;
/** Time of which somebody looks at all where nothing went wrong in the night. */
const FURTHER_BACK = '7d';

/** Things that went wrong since the last evening, the first few with their pages. */
function nightPart({ night, now, timeZone }: OverviewView): Html {
  const all = troubles.path;
  const day = new Intl.DateTimeFormat('en', { timeZone, weekday: 'long' });
  const since = `${day.format(night.since)} ${localClockOf(timeZone)(night.since).time}`;
  const shown = night.rows
    .slice(0, NIGHT_SHOWN)
    .map(
      ({ thing, key, what, endedAt }) =>
        html`<a href="${addressOf(thing, key)}">${what}</a>${
          endedAt === null ? ' (still so)' : ` (over ${span(now - endedAt)} ago)`
        }, `,
    );
  return html`<p id="night">In the last night, since ${since}: <b>${troublesText(
    night.rows.length,
  )}</b>${shown.length > 0 && html`: ${shown}`} ${
    shown.length > 0
      ? html`<a href="${all}">all of it</a>`
      : html`<a href="${all}?since=${FURTHER_BACK}">look at the last 7 days</a>`
  }</p>`;
}

function incidentsPart({ data, timeZone }: OverviewView): Html {
  return html`${wrongPart(data)}
<p><a href="/incidents">Open incidents, and who looks after them</a> ·
<a href="${troubles.path}">What went wrong before</a></p>
${data.status.failingWorkers.map(
  ({ worker, since, error }) =>
    html`<p><b>${worker}</b> fails since ${time(since, timeZone)}: ${error}</p>`,
)}`;
}

/** Whether all is well, in a line at the top, with links to the parts that are not. */
function stateLine(view: OverviewView, tiles: readonly Tile[]): Html {
  const odd = tiles.filter((of) => colourOf(of, view.data) !== 'good');
  if (odd.length === 0 && view.data.checks.length === 0) {
    return html`<p><b class="state s-accepted">Everything runs.</b></p>`;
  }
  const links = odd.map((of, index) => html`${index > 0 && ', '}<a href="#running">${of.name}</a>`);
  return html`<p><b class="state s-overdue">Not everything is fine</b>: ${links}</p>`;
}

const HOUR_MS = 3_600_000;
const DAYS = 7;
const OUTCOMES = ['accept', 'hold', 'reject', 'release', 'no_rule'] as const;
const MINUTE_MS = 60_000;

function hourName(timeZone: string, options: Intl.DateTimeFormatOptions = {}) {
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat(localeOfReader(), { timeZone, ...clock, ...options });
  return (hour: number): string => format.format(hour);
}

type Shown = Pick<ChartData, 'title' | 'kind' | 'xs' | 'series' | 'empty'> &
  Partial<Pick<ChartData, 'format'>>;

function figure(given: Shown): Html {
  const data = {
    xName: 'hour',
    isSequence: true,
    locale: localeOfReader(),
    format: whole,
    ...given,
  };
  return html`<section><h3>${given.title}</h3>${chartFigure(data, { table: true })}</section>`;
}

/** Chart of decisions: one bar per hour of the last week, stacked by outcome. */
function decisionsChart({ decisions, hours }: OverviewCharts, timeZone: string): Html {
  const last = hours.at(-1) ?? 0;
  const count = DAYS * 24;
  const week = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * HOUR_MS);
  const found = new Map(decisions.map((one) => [`${one.hour} ${one.outcome}`, one.count]));
  const series = OUTCOMES.map((name) => ({
    name: wordFor('outcome', name),
    values: week.map((hour) => found.get(`${hour} ${name}`) ?? 0),
    tone: `o-${name}`,
  }));
  const name = hourName(timeZone, { weekday: 'short', day: 'numeric', month: 'short' });
  return figure({
    title: 'How many decisions were made in each hour of the last 7 days?',
    kind: 'stacked',
    xs: week.map(name),
    series: series.filter(({ values }) => values.some((value) => value > 0)),
    empty: `Nothing was decided in ${plural(DAYS, 'day')}.`,
  });
}

function minutes(ms: number | null): number | null {
  return ms === null ? null : Math.round((10 * ms) / MINUTE_MS) / 10;
}

function minutesText(value: number): string {
  return value === 0 ? '0' : span(value * MINUTE_MS);
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms / 100) / 10;
}

/** Fewest points that a plot is drawn of; fewer are read in a sentence. */
const POINTS_MIN = 6;

/** Whether a plot would have more than a few points. */
function isPlot(...series: readonly (readonly (number | null)[])[]): boolean {
  const points = series.map((of) => of.filter((one) => one !== null && one > 0).length);
  return Math.max(...points) >= POINTS_MIN;
}

/** Charts of which there is something to see, each under the question that it answers. */
function chartsPart(charts: OverviewCharts, timeZone: string): Html | false {
  const { hours, queue, lag, decisions } = charts;
  const xs = hours.map(hourName(timeZone));
  const oldest = queue.oldestMs.map(minutes);
  const [median, longest] = [lag.medianMs.map(seconds), lag.longestMs.map(seconds)];
  const shown = [
    isPlot(decisions.map(({ count }) => count)) && decisionsChart(charts, timeZone),
    isPlot(oldest) &&
      figure({
        title: 'For how long did the oldest push wait in each hour?',
        kind: 'line',
        xs,
        empty: '',
        format: minutesText,
        series: [{ name: 'oldest push', values: oldest }],
      }),
    isPlot(longest) &&
      figure({
        title: 'How late did events come in each hour?',
        kind: 'line',
        xs,
        empty: '',
        format: (value) => `${whole(value)} s`,
        series: [
          { name: 'half came within', values: median },
          { name: 'the slowest', values: longest },
        ],
      }),
  ].filter((one) => one !== false);
  return shown.length > 0 && html`<div class="charts">${shown}</div>`;
}

export function overviewPage(view: OverviewView): Html {
  const tile = (of: Tile): Html =>
    html`<a class="tile t-${colourOf(of, view.data)}" href="${of.href}"><span>${of.name}</span>
<b>${of.value}</b> <span class="soft">${of.detail}</span></a>`;
  const tiles = tilesOf(view);
  const charts = chartsPart(view.charts, view.timeZone);
  return html`<h1>Overview</h1>
${stateLine(view, tiles)}
${nightPart(view)}
<h2 id="needs">What waits for a person</h2>${needsPart(view)}
<h2 id="sales">What we accepted and shipped</h2>${salesPart(view)}
<h2 id="running">Does everything run?</h2><div class="tiles">${tiles.map(tile)}</div>
${charts}
<h2 id="incidents">What is wrong now</h2>${incidentsPart(view)}
<details><summary id="streams">How fresh is the data?</summary>${streamsPart(view)}
${eventsPart(view)}</details>`;
}
