/** Charts of the console. */
import { chartFigure } from '../../lib/chart/chart.ts';
import type { Html } from '../../lib/html.ts';
import { plural, whole } from './format.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const OUTCOMES = ['accept', 'hold', 'reject', 'release', 'no_rule'] as const;

interface Bar {
  readonly hour: number;
  readonly outcome: string;
  readonly count: number;
}

/** Bars an hour, stacked by outcome. */
export function decisionsChart(bars: readonly Bar[], now: number, timeZone: string): Html {
  const last = Math.floor(now / HOUR_MS) * HOUR_MS;
  const hours = Array.from({ length: HOURS }, (_, index) => last - (HOURS - 1 - index) * HOUR_MS);
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
  const series = OUTCOMES.map((name) => {
    const values = hours.map(
      (hour) => bars.find((bar) => bar.hour === hour && bar.outcome === name)?.count ?? 0,
    );
    return { name, values, tone: `o-${name}` };
  });
  return chartFigure(
    {
      title: 'Decisions an hour',
      kind: 'stacked',
      xName: 'Hour',
      xs: hours.map((hour) => time.format(hour)),
      isSequence: true,
      series: series.filter(({ values }) => values.some((count) => count > 0)),
      locale: 'en-GB',
      format: whole,
      empty: `Nothing was decided in ${plural(HOURS, 'hour')}.`,
    },
    { table: true },
  );
}
