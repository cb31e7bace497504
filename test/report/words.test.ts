/** Headings, totals and charts of the reports that come along, against their own rows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChartData } from '../../src/lib/chart/data.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { sortSizes } from '../../src/lib/sizes.ts';
import { createStockCounter } from '../../src/mirror/stock-count.ts';
import { documentOf } from '../../src/report/make.ts';
import { pageOf } from '../../src/report/page.ts';
import { bindParameters } from '../../src/report/parameters.ts';
import type { Rows } from '../../src/report/pivot.ts';
import type { Cell } from '../../src/report/query.ts';
import { chartsOf } from '../../src/report/report-chart.ts';
import { type Report, readReports } from '../../src/report/report-file.ts';
import { COLUMNS } from '../../src/report/words/columns.ts';
import { readable } from '../../src/report/words/readable.ts';
import { openStore } from '../../src/store/store.ts';
import { placeDatabase } from '../support/store.ts';
import { insertSeasonOfTrade } from './trade/season.ts';

const { reports } = readReports('');
const GIVEN: Readonly<Record<string, string>> = { style: 'S-1', season: 'AW26', since: '300d' };
/** Without a style: reports of all of them. */
const OPEN: Readonly<Record<string, string>> = { season: 'AW26', since: '300d' };

const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'));
let database: Database.Database;

beforeAll(async () => {
  const path = join(folder, 'mirror.db');
  placeDatabase(path);
  database = new Database(path);
  insertSeasonOfTrade(database, systemClock().now());
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
  const deps = { store, clock: systemClock(), sizeOrder: [], timeZone: () => 'UTC' };
  await createStockCounter(deps)(new AbortController().signal);
  await store.close();
});

afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

function reportOf(name: string): Report {
  const found = reports.find((report) => report.name === name);
  if (!found) throw new Error(`there is no report ${name}`);
  return found;
}

function valuesOf(report: Report, given: Readonly<Record<string, string>>) {
  const wanted = Object.entries(given).filter(([name]) => name in report.params);
  return bindParameters(report, Object.fromEntries(wanted), systemClock());
}

/** The report of these rows, else of those in the mirror. */
function made(report: Report, given: Readonly<Record<string, string>>, rows?: Rows) {
  const values = valuesOf(report, given);
  const manner = { locale: 'de-DE', timeZone: 'Europe/Berlin' };
  return documentOf({ report, values, manner }, systemClock(), async (sink) => {
    const statement = database.prepare<[typeof values], Cell[]>(report.sql).raw();
    sink.columns(rows?.columns ?? statement.columns().map(({ name }) => name));
    for (const row of rows?.rows ?? statement.all(values)) sink.row(row);
    return { isCut: false };
  });
}

/** Numbers of a chart, worked out from the rows: a list for each series, in the table's order. */
function numbersOf({ chart }: Report, { columns, rows }: Rows): (number | null)[][] {
  if (!chart) throw new Error('it has no chart');
  const at = (name: string) => columns.indexOf(name);
  const isOf = (row: readonly Cell[], names: readonly string[], key: string): boolean =>
    JSON.stringify(names.map((name) => row[at(name)])) === key;
  const keys = (names: readonly string[]): string[] => [
    ...new Set(rows.map((row) => JSON.stringify(names.map((name) => row[at(name)] ?? null)))),
  ];
  const x = [chart.x].flat();
  const xs = keys(x);
  if (x[0] === 'day' || x[0] === 'week') xs.sort();
  if (x[0] === 'size') {
    const sizes = sortSizes(xs.map((key) => String(JSON.parse(key)[0])));
    xs.sort((a, b) => sizes.indexOf(JSON.parse(a)[0]) - sizes.indexOf(JSON.parse(b)[0]));
  }
  const series = chart.series === undefined ? ['[]'] : keys([chart.series]);
  const by = chart.series === undefined ? [] : [chart.series];
  return [chart.y].flat().flatMap((y) =>
    series.map((name) =>
      xs.map((one) => {
        const cells = rows
          .filter((row) => isOf(row, x, one) && isOf(row, by, name))
          .map((row) => row[at(y)])
          .filter((cell) => typeof cell === 'number');
        const isShare = /percent|p95/.test(y);
        if (isShare) expect(cells.length, `${y} of one place`).toBeLessThan(2);
        const sum = cells.reduce((all, cell) => all + cell, 0);
        return cells.length === 0 ? null : Number(sum.toFixed(4));
      }),
    ),
  );
}

function valuesIn({ series }: ChartData): (readonly (number | null)[])[] {
  return series.map(({ values }) => values);
}

describe('the words of a shipped report', () => {
  it.each(reports.map((report) => [report.name, report] as const))(
    'have a heading for each column of %s in the dictionary, and no SQL name',
    async (_name, report) => {
      const columns = database.prepare(report.sql).columns();
      expect(columns.filter(({ name }) => COLUMNS[name] === undefined)).toEqual([]);
      const document = await made(report, GIVEN);
      const shown = readable(document).columns.filter(({ isPivoted }) => !isPivoted);
      expect(shown.filter(({ heading }) => !/^[A-Z][^_{}]*$/.test(heading))).toEqual([]);
      expect(pageOf(document)).not.toMatch(/<th[^>]*>[^<]*_/);
      const chart = report.chart && pageOf(document).match(/<text class="tick" x="0"[^>]*>([^<]*)/);
      expect(chart?.[1] ?? '').not.toContain('_');
    },
  );

  it('name what a row is, and leave out columns without any value', async () => {
    const headingsOf = async (by: string): Promise<readonly string[]> => {
      const { columns } = readable(await made(reportOf('order-book'), { by }));
      return columns.map(({ heading }) => heading);
    };
    expect(await headingsOf('brand')).toContain('Brand');
    expect(await headingsOf('customer')).toContain('Customer');
    expect(await headingsOf('window')).not.toContain('Window');
    expect(pageOf(await made(reportOf('order-book'), { by: 'brand' }))).toContain('By brand ·');
  });

  it('have times of the house, percents with one decimal, and states in words', async () => {
    const rows: Rows = {
      columns: ['entity', 'op', 'changed', 'changes', 'rows', 'last_at', 'latest_key'],
      rows: [['stock_variant', 'update', 'quantity', 1_200, 3, '2026-01-05T23:30:00Z', 'b']],
    };
    const page = pageOf(await made(reportOf('changed-since'), {}, rows));
    for (const words of ['>Variant in stock<', '>Changed<', '>1.200<', '>06.01.2026, 00:30<']) {
      expect(page).toContain(words);
    }
    const columns = ['style_no', 'style_name', 'variants', 'open_preorders', 'covered', 'missing'];
    const cover: Rows = {
      columns: [...columns, 'cover_percent'],
      rows: [
        ['S-1', 'Coat', 1, 10, 2, 8, 20],
        ['S-2', 'Bag', 1, 20, 20, 0, 100],
      ],
    };
    const { totals } = readable(await made(reportOf('season-cover'), { season: 'AW26' }, cover));
    // The rate of the totals is not the mean of the rates.
    expect(totals).toEqual([['Total', null, null, 30, 22, 8, 73.3]]);
    const sheet = pageOf(await made(reportOf('season-cover'), { season: 'AW26' }, cover));
    expect(sheet).toMatch(/>20,0\s%</);
  });
});

describe('the chart of a shipped report', () => {
  it.each(reports.filter(({ chart }) => chart).map((report) => [report.name, report] as const))(
    'of %s has the numbers of its table, in their order, with its unit',
    async (_, report) => {
      const document = await made(report, OPEN);
      const { given } = document;
      expect(given.rows.length).toBeGreaterThan(0);
      const charts = chartsOf(document);
      const currency = given.columns.indexOf('currency');
      const isMoney = [report.chart?.y].flat().some((y) => COLUMNS[y ?? '']?.kind === 'amount');
      const parts = isMoney ? [...Map.groupBy(given.rows, (row) => row[currency])] : [];
      const split = parts.length > 0 ? parts.map(([, rows]) => rows) : [given.rows];
      expect(charts).toHaveLength(split.length);
      const headings = readable(document).columns.map(({ heading }) => heading);
      for (const [at, chart] of charts.entries()) {
        expect(valuesIn(chart)).toEqual(numbersOf(report, { ...given, rows: split[at] ?? [] }));
        for (const name of chart.yName?.split(', ') ?? [])
          expect(headings).toContain(name.replace(/ \((?:%|[A-Z]{3})\)$/, ''));
        if (isMoney) expect(chart.title).toMatch(/, [A-Z]{3}$/);
        if (/percent/.test(String(report.chart?.y)))
          expect(chart.format(12.34)).toMatch(/^12,3\s%$/);
        expect(chart.title).not.toBe(report.title);
      }
    },
  );

  it('of the fill rate shows the fifteen lowest of many, and says so', async () => {
    const names = ['name', 'company', 'orders', 'complete', 'ordered', 'shipped', 'missing'];
    const columns = [...names, 'fill_percent', 'complete_percent'];
    const rows = Array.from({ length: 20 }, (_, at) => {
      return [`C-${at}`, null, 1, 0, 100, at * 5, 100 - at * 5, at * 5, 0] as const;
    });
    const report = reportOf('fill-rate');
    const [chart] = chartsOf(await made(report, {}, { columns, rows: rows.toReversed() }));
    expect(chart?.title).toBe('Fill rate, the 15 lowest');
    expect(chart?.xs).toEqual(
      rows
        .toReversed()
        .slice(5)
        .map(([name]) => name),
    );
  });

  it('names styles, and tells two of one name apart', async () => {
    const names = ['style_no', 'style_name', 'brand_name', 'deliveries', 'pieces', 'amount'];
    const columns = [...names, 'currency'];
    const rows = [
      ['S-1', 'Coat', 'Fold', 1, 9, 90, 'EUR'],
      ['S-1', 'Coat', 'Fold', 1, 4, 40, 'DKK'],
      ['S-2', 'Coat', 'Fold', 1, 5, 50, 'EUR'],
      ['S-3', null, 'Fold', 1, 2, 20, 'EUR'],
      ['S-4', 'Bag', 'Fold', 1, 1, 10, 'EUR'],
    ];
    const document = await made(reportOf('best-sellers'), {}, { columns, rows });
    const [chart] = chartsOf(document);
    expect(chart?.xs).toEqual(['Coat, S-1', 'Coat, S-2', 'S-3', 'Bag']);
    expect(chart?.series[0]?.values).toEqual([13, 5, 2, 1]);
    // Each sum stands once: pieces of all, then the amounts of each currency.
    expect(readable(document).totals).toEqual([
      ['Total', null, null, null, 21, null, null],
      ['Total', null, null, null, null, 170, 'EUR'],
      ['Total', null, null, null, null, 40, 'DKK'],
    ]);
    // Its LIMIT may have left out others.
    const top = await made(reportOf('best-sellers'), { top: '5' }, { columns, rows });
    expect(readable(top).totals[0]?.[0]).toBe('Total of the rows shown');
    expect(top.table.notes).toContain('5 rows at most are shown; totals are of these.');
  });
});
