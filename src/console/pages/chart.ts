/**
 * Charts as SVG made on the server: attributes and classes only, which the policy of the pages
 * allows, each with a summary in words and its numbers as a table.
 */
import { scaleBand, scaleLinear } from 'd3-scale';
import { type Html, html } from '../../lib/html.ts';
import { plural } from './format.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const WIDTH = 720;
const HEIGHT = 180;
const LEFT = 40;
const BOTTOM = 24;
const TOP = 8;
const OUTCOMES = ['accept', 'hold', 'reject', 'release', 'no_rule'] as const;

interface Bar {
  readonly hour: number;
  readonly outcome: string;
  readonly count: number;
}

function hourText(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(
    at,
  );
}

/** Bars an hour, stacked by outcome. */
export function decisionsChart(bars: readonly Bar[], now: number, timeZone: string): Html {
  if (bars.length === 0) return html`<p class="empty">Nothing was decided in 24 hours.</p>`;
  const last = Math.floor(now / HOUR_MS) * HOUR_MS;
  const hours = Array.from({ length: HOURS }, (_, index) => last - (HOURS - 1 - index) * HOUR_MS);
  const of = (hour: number, outcome: string): number =>
    bars.find((bar) => bar.hour === hour && bar.outcome === outcome)?.count ?? 0;
  const totals = hours.map((hour) => OUTCOMES.reduce((sum, one) => sum + of(hour, one), 0));
  const x = scaleBand<number>().domain(hours).range([LEFT, WIDTH]).padding(0.15);
  const y = scaleLinear()
    .domain([0, Math.max(...totals)])
    .nice(4)
    .range([HEIGHT - BOTTOM, TOP]);
  const stack = (hour: number): Html[] => {
    let below = 0;
    return OUTCOMES.flatMap((outcome) => {
      const count = of(hour, outcome);
      if (count === 0) return [];
      const [from, to] = [y(below), y(below + count)];
      below += count;
      return [
        html`<rect class="o-${outcome}" x="${(x(hour) ?? 0).toFixed(1)}" y="${to.toFixed(1)}"
width="${x.bandwidth().toFixed(1)}" height="${(from - to).toFixed(1)}"></rect>`,
      ];
    });
  };
  const ticks = y.ticks(4).filter(Number.isInteger);
  const named = OUTCOMES.map(
    (one) =>
      [one, bars.reduce((sum, bar) => sum + (bar.outcome === one ? bar.count : 0), 0)] as const,
  ).filter(([, count]) => count > 0);
  const summary = named.map(([one, count]) => `${count} ${one}`).join(', ');
  return html`<figure><svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"
aria-label="Decisions an hour: ${summary}">
${ticks.map(
  (
    tick,
  ) => html`<line class="rule" x1="${LEFT}" x2="${WIDTH}" y1="${y(tick)}" y2="${y(tick)}"></line>
<text class="tick" x="${LEFT - 6}" y="${y(tick)}" dy="4" text-anchor="end">${tick}</text>`,
)}
${hours.map(stack)}
${hours.map(
  (hour, index) =>
    index % 4 === 0 &&
    html`<text class="tick" x="${(x(hour) ?? 0) + x.bandwidth() / 2}" y="${HEIGHT - 6}"
text-anchor="middle">${hourText(hour, timeZone)}</text>`,
)}</svg>
<figcaption>${named.map(([one, count]) => html`<span class="key k-${one}">${one} ${count}</span> `)}
in ${plural(HOURS, 'hour')}.</figcaption>
<details><summary>As a table</summary><table><thead><tr><th scope="col">Hour</th>${OUTCOMES.map(
    (one) => html`<th scope="col" class="number">${one}</th>`,
  )}</tr></thead><tbody>${hours.map(
    (hour) =>
      html`<tr><td>${hourText(hour, timeZone)}</td>${OUTCOMES.map(
        (one) => html`<td class="number">${of(hour, one)}</td>`,
      )}</tr>`,
  )}</tbody></table></details></figure>`;
}
