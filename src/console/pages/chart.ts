/** Charts of the first screen: streams, pushes and events of a day, and decisions of a week. */
import { chartFigure } from '../../lib/chart/chart.ts';
import type { ChartData } from '../../lib/chart/data.ts';
import { type Html, html } from '../../lib/html.ts';
import { localeOfReader, plural } from '../../lib/strings.ts';
import type { OverviewCharts } from '../read/charts.ts';
import { span, whole } from './format.ts';

const HOUR_MS = 3_600_000;
const DAYS = 7;
const OUTCOMES = ['accept', 'hold', 'reject', 'release', 'no_rule'] as const;
/** Most series in a chart, because there are so many colors. */
const STREAMS_MAX = 8;
const MINUTE_MS = 60_000;

function hourName(timeZone: string, options: Intl.DateTimeFormatOptions = {}) {
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat(localeOfReader(), { timeZone, ...clock, ...options });
  return (hour: number): string => format.format(hour);
}

type Shown = Pick<ChartData, 'title' | 'kind' | 'xs' | 'series' | 'empty'> &
  Partial<Pick<ChartData, 'format'>>;

function figure(given: Shown, note: Html | false = false): Html {
  const data = {
    xName: 'hour',
    isSequence: true,
    locale: localeOfReader(),
    format: whole,
    ...given,
  };
  return html`<section><h3>${given.title}</h3>${chartFigure(data, { table: true })}${note}
</section>`;
}

function percent(value: number): string {
  return `${whole(value)} %`;
}

function agesChart({ ages }: OverviewCharts, xs: readonly string[]): Html {
  const others = ages.length - STREAMS_MAX;
  const series = ages.slice(0, STREAMS_MAX).map(({ stream, percents }) => ({
    name: stream,
    values: percents,
  }));
  const note = html`<p class="soft">The oldest that data got in each hour; more than 100 % is older
than it may be.${others > 0 && ` ${plural(others, 'stream')} that stayed younger are left out.`}
</p>`;
  const empty = 'No stream was read completely yet.';
  const title = 'Age of data, in % of what it may be';
  return figure({ title, kind: 'line', xs, series, empty, format: percent }, note);
}

/** Chart of decisions: one bar per hour of the last week, stacked by outcome. */
function decisionsChart({ decisions, hours }: OverviewCharts, timeZone: string): Html {
  const last = hours.at(-1) ?? 0;
  const count = DAYS * 24;
  const week = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * HOUR_MS);
  const found = new Map(decisions.map((one) => [`${one.hour} ${one.outcome}`, one.count]));
  const series = OUTCOMES.map((name) => ({
    name,
    values: week.map((hour) => found.get(`${hour} ${name}`) ?? 0),
    tone: `o-${name}`,
  }));
  const name = hourName(timeZone, { weekday: 'short', day: 'numeric', month: 'short' });
  return figure({
    title: 'Decisions an hour, 7 days',
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

export function chartsPart(charts: OverviewCharts, timeZone: string): Html {
  const { hours, queue, lag } = charts;
  const xs = hours.map(hourName(timeZone));
  const isIdle = queue.depths.every((depth) => depth === 0);
  const none = 'No push was under way in 24 hours.';
  return html`<div class="charts">${agesChart(charts, xs)}${decisionsChart(charts, timeZone)}
${figure({
  title: 'Pushes under way, most in each hour',
  kind: 'line',
  xs,
  empty: none,
  series: isIdle ? [] : [{ name: 'pushes', values: queue.depths }],
})}
${figure({
  title: 'Age of the oldest push, minutes',
  kind: 'line',
  xs,
  empty: none,
  format: minutesText,
  series: isIdle ? [] : [{ name: 'oldest', values: queue.oldestMs.map(minutes) }],
})}
${figure({
  title: 'Lag of events, seconds',
  kind: 'line',
  xs,
  empty: 'No event came in 24 hours.',
  format: (value) => `${whole(value)} s`,
  series: [
    { name: 'half came within', values: lag.medianMs.map(seconds) },
    { name: 'the slowest', values: lag.longestMs.map(seconds) },
  ],
})}</div>`;
}
