import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartDocument, chartFigure, chartSummary } from '../../src/lib/chart/chart.ts';
import type { ChartData, ChartKind } from '../../src/lib/chart/data.ts';
import { renderHtml } from '../../src/lib/html.ts';
import { launchBrowser } from '../support/chromium.ts';

function chart(xs: readonly string[], values: readonly (number | null)[], more = {}): ChartData {
  return {
    title: 'Pieces',
    kind: 'bar',
    xName: 'style',
    xs,
    isSequence: false,
    series: [{ name: 'pieces', values }],
    locale: 'de-DE',
    format: (value) => new Intl.NumberFormat('de-DE').format(value),
    empty: 'Nothing was sold.',
    ...more,
  };
}

const many = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`);
const waves = (count: number, by = 1) =>
  Array.from({ length: count }, (_, index) => Math.round(100 * Math.abs(Math.sin(index + by))));
const days = (count: number) =>
  Array.from({ length: count }, (_, day) =>
    new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
  );

const LONG = 'Doppelreihiger Wollmantel WWW mit Kapuze, dunkelblau';
const CASES: readonly (readonly [string, ChartData])[] = [
  ['long labels', chart(many(9, LONG), waves(9))],
  ['one bar', chart([LONG], [1_234_567], { title: `${LONG} `.repeat(5) })],
  ['60 bars', chart(many(60, 'S-1000'), waves(60))],
  ['200 bars in groups', chart(many(200, 'S'), waves(200), { series: groups(200, 4) })],
  ['negatives', chart(many(6, 'S'), [5, -3, 0, -8.5, 2.25, null])],
  ['stacks of both signs', chart(many(6, 'S'), [], { kind: 'stacked', series: groups(6, 3, -40) })],
  ['lines of a year', chart(days(365), [], { kind: 'line', isSequence: true, ...lines(365) })],
  ['tiny values', chart(many(3, 'S'), [0.001, 0.0042, 0])],
  ['only zeros', chart(many(3, 'S'), [0, 0, 0])],
];

function groups(count: number, series: number, less = 0) {
  return Array.from({ length: series }, (_, at) => ({
    name: `group ${at}`,
    values: waves(count, at + 1).map((value) => value + less),
  }));
}

function lines(count: number) {
  return { series: groups(count, 12).map((one) => ({ ...one, name: `${LONG} ${one.name}` })) };
}

/** Runs in the browser: names texts that overlap, and elements beyond the picture. */
const FIND_FAULTS = `(() => {
  const svg = document.querySelector('svg');
  const frame = svg.getBoundingClientRect();
  const faults = [];
  const texts = [...svg.querySelectorAll('text')].map((element) => ({
    box: element.getBoundingClientRect(),
    says: element.firstChild.textContent,
    leans: element.hasAttribute('transform'),
  }));
  for (const element of svg.querySelectorAll('text, rect, path, circle')) {
    const box = element.getBoundingClientRect();
    const inside = box.left >= frame.left - 0.5 && box.right <= frame.right + 0.5 &&
      box.top >= frame.top - 0.5 && box.bottom <= frame.bottom + 0.5;
    if (!inside) faults.push('beyond the picture: ' + (element.textContent || element.tagName));
  }
  for (const [at, one] of texts.entries()) {
    for (const other of texts.slice(at + 1)) {
      const crosses = one.box.left < other.box.right && other.box.left < one.box.right &&
        one.box.top < other.box.bottom && other.box.top < one.box.bottom;
      if (!crosses) continue;
      // The boxes of leaning texts are mostly empty: their lines are looked at instead.
      const apart = Math.abs(one.box.right - other.box.right) / Math.SQRT2;
      if (one.leans && other.leans && apart >= 12.5) continue;
      if (!one.leans && other.leans) {
        const { right, top } = other.box;
        const above = ((right - one.box.right) - (one.box.bottom - top)) / Math.SQRT2;
        if (above > 8) continue;
      }
      faults.push(one.says + ' over ' + other.says);
    }
  }
  return faults;
})()`;

const FIND_COLOURS = `['.paper', '.tick', '.bar'].map(
  (one) => getComputedStyle(document.querySelector(one)).fill)`;

describe('a chart', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  it('has no text over another one and nothing beyond its picture', async () => {
    const page = await browser.newPage({ viewport: { width: 900, height: 600 } });
    const found: Record<string, string[]> = {};
    for (const [name, data] of CASES) {
      await page.setContent(`<body style="margin:0">${renderHtml(chartDocument(data))}</body>`);
      const faults = await page.evaluate<string[]>(FIND_FAULTS);
      if (faults.length > 0) found[name] = faults;
    }
    expect(found).toEqual({});
    await page.close();
  });

  it('has other colours in the dark, and can be read in both', async () => {
    const data = chart(many(3, 'S'), [1, 2, 3]);
    const colours = async (colorScheme: 'light' | 'dark') => {
      const page = await browser.newPage({ colorScheme });
      await page.setContent(renderHtml(chartDocument(data)));
      const found = await page.evaluate<string[]>(FIND_COLOURS);
      await page.close();
      return found;
    };
    expect(await colours('light')).toEqual([
      'rgb(255, 255, 255)',
      'rgb(86, 95, 109)',
      'rgb(37, 99, 168)',
    ]);
    expect(await colours('dark')).toEqual([
      'rgb(26, 32, 41)',
      'rgb(163, 172, 185)',
      'rgb(127, 176, 238)',
    ]);
  });

  it('draws each value once, in its place', () => {
    const heights = (kind: ChartKind) => {
      const series = [
        { name: 'a', values: [100, -50] },
        { name: 'b', values: [100, 0] },
      ];
      const markup = renderHtml(chartFigure(chart(['x', 'y'], [], { kind, series }), NO_TABLE));
      return [
        ...markup.matchAll(
          /<rect class="bar (tone-\d)"[^>]* y="([\d.]+)"[^>]*\n?height="([\d.]+)"/g,
        ),
      ].map(([, tone, y, height]) => [tone, Number(y), Number(height)]);
    };
    // The axis goes from -100 to 100, and that of the stack from -50 to 200, in 200 pixels.
    expect(heights('bar')).toEqual([
      ['tone-0', 10, 100],
      ['tone-1', 10, 100],
      ['tone-0', 110, 50],
    ]);
    expect(heights('stacked')).toEqual([
      ['tone-0', 90, 80],
      ['tone-1', 10, 80],
      ['tone-0', 170, 40],
    ]);
  });

  it('says in words what it shows, and nothing where it shows nothing', () => {
    const one = chart(['a', 'b', 'c'], [3, 10.5, null]);
    expect(chartSummary(one)).toBe(
      'Pieces: bars of style a to c; pieces: highest 10,5 at b, lowest 3 at a',
    );
    const two = { ...one, kind: 'stacked' as const, series: groups(3, 2) };
    expect(chartSummary(two)).toMatch(
      /^Pieces: stacked bars of style a to c; group 0 \d+, group 1/,
    );
    const none = chart([], []);
    expect(chartSummary(none)).toBe('Pieces: Nothing was sold.');
    expect(renderHtml(chartFigure(none, NO_TABLE))).toBe('<p class="empty">Nothing was sold.</p>');
    expect(renderHtml(chartDocument(none))).toContain('>Nothing was sold.</text>');
  });

  it('adds the smallest series up where there are more than colours', () => {
    const series = Array.from({ length: 12 }, (_, at) => ({ name: `s${at}`, values: [at + 1] }));
    const markup = renderHtml(chartFigure(chart(['x'], [], { series }), NO_TABLE));
    const keys = [...markup.matchAll(/<svg class="drawn .*?<\/svg>\n([^<]+)</gs)].map(
      ([, key]) => key,
    );
    expect(keys).toEqual([
      ...['s5 6', 's6 7', 's7 8', 's8 9', 's9 10', 's10 11', 's11 12', 'others (5) 15'],
    ]);
  });

  it('has its numbers as a table beside it, and runs nothing that is in a name', () => {
    const hostile = '<script>alert(1)</script>';
    const markup = renderHtml(chartFigure(chart([hostile], [1234.5]), { table: true }));
    expect(markup).not.toContain('<script>');
    expect(markup).not.toContain('style=');
    expect(markup).toContain('<td class="number">1.234,5</td>');
  });
});

const NO_TABLE = { table: false } as const;
