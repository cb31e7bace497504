/** Shapes and formats of reports by the command line; other programs read the files. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import readWorkbook from 'read-excel-file/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { launchBrowser, watchPage } from '../support/chromium.ts';
import { repositoryRoot } from '../support/source.ts';
import { type ReportHouse, reportHouse } from './support.ts';

const SALES = `SELECT * FROM (VALUES
  ('2026-01-05', 'black', 'M', 2, 3, 1234.5, 'EUR'),
  ('2026-01-05', 'black', 'S', 1, 10, 0.1, 'EUR'),
  ('2026-01-06', 'Bordeaux', 'XL', 4, -2, 99.999, 'DKK'),
  ('2026-01-06', 'black', 'S', 1, 5, 0.2, 'EUR')
)`;
const COLUMNS = `SELECT column1 AS day, column2 AS color, column3 AS size, column4 AS size_rank,
  column5 AS pieces, column6 AS amount, column7 AS currency FROM (${SALES})`;
const GRID = `SELECT color, size, size_rank, pieces FROM (${COLUMNS})`;
const PIVOT = 'pivot: { rows: [color], column: size, value: pieces, order: size_rank }';

let house: ReportHouse;
const run = async (name: string, ...args: string[]) => house.report('run', name, ...args);
const file = (name: string): string => join(house.folder, name);

beforeAll(() => {
  house = reportHouse(mkdtempSync(join(tmpdir(), 'selvedge-test-')), [
    'console: { timeZone: Europe/Berlin }',
  ]);
  house.write('grid', `title: Pieces by size\n${PIVOT}\ntotals: [pieces]`, GRID);
  const formats = 'formats: { amount: amount, pieces: count }';
  house.write(
    'sales',
    `title: Sales\nabout: What was sold.\ntotals: [pieces, amount]\n${formats}\n` +
      'chart: { kind: stacked, x: day, y: pieces, series: color }\nempty: Nothing was sold.',
    `${COLUMNS} ORDER BY day, color`,
  );
});

afterAll(() => rmSync(house.folder, { recursive: true, force: true }));

describe('the shape of a report', () => {
  it('turns values into columns, sorted by their rank, with sums of rows and columns', async () => {
    const { stdout } = await run('grid');
    expect(stdout).toBe(
      [
        'color      S  M  XL  total',
        'black     15  3   -     18',
        'Bordeaux   -  -  -2     -2',
        'total     15  3  -2     16',
        '',
      ].join('\n'),
    );
    const json = await run('grid', '--json');
    expect(JSON.parse(json.stdout)).toEqual([
      { color: 'black', S: 15, M: 3, XL: null, total: 18 },
      { color: 'Bordeaux', S: null, M: null, XL: -2, total: -2 },
    ]);
    const csv = await run('grid', '--format', 'csv');
    expect(csv.stdout).toBe('color,S,M,XL,total\nblack,15,3,,18\nBordeaux,,,-2,-2\n');
  });

  it('adds no two currencies up, and shows amounts with two decimals at the right', async () => {
    const { stdout } = await run('sales');
    const lines = stdout.split('\n');
    expect(lines[1]).toBe('2026-01-05  black     M             2       3  1,234.50  EUR');
    expect(lines.slice(5)).toEqual([
      'total                                      16',
      'total                                          1,234.80  EUR',
      'total                                            100.00  DKK',
      '',
    ]);
  });

  it('says that a total is without what is not known', async () => {
    house.write(
      'unknown',
      'title: Unknown\ntotals: [amount]\nformats: { amount: amount }',
      'SELECT 1 AS id, 2.5 AS amount UNION ALL SELECT 2, NULL',
    );
    const { stdout, stderr } = await run('unknown');
    expect(stdout).toContain('total    2.50');
    expect(stderr).toContain('Where Value is not known, the total is without it.');
  });

  it('says in words what an empty result means', async () => {
    house.write('none', 'title: None\nempty: Nobody waits.', 'SELECT 1 AS a WHERE 0');
    expect((await run('none')).stdout).toBe('Nobody waits.\n');
    expect((await run('none', '--format', 'csv')).stdout).toBe('a\n');
    expect((await run('none', '--format', 'html')).stdout).toContain('>Nobody waits.</p>');
    expect((await run('stock-grid', '--param', 'style=S-0')).stdout).toContain('such a style');
  });

  it('shows the sizes of a style in their order', async () => {
    const { stdout } = await run('stock-grid', '--param', 'style=S-1');
    expect(stdout.split('\n')[0]).toMatch(/color_name +figure +total +S +M$/);
    expect(stdout).toMatch(/Coat +01 +black +in stock +5 +5 +0$/m);
    expect(stdout).toMatch(/Coat +01 +black +free +-1 +-1 +0$/m);
  });

  it.each([
    ['totals: [pieces, amont]', 'totals names amont', 'did you mean amount?'],
    ['chart: { kind: bar, x: day, y: piece }', 'chart names piece', 'did you mean pieces?'],
    ['formats: { zzz: amount }', 'formats names zzz', 'the SELECT gives day, color'],
    [PIVOT, 'the pivot has no place for day', 'name it in pivot.rows'],
  ])('refuses a head with %s, and says what would be right', async (line, message, hint) => {
    house.write('wrong', `title: Wrong\n${line}`, COLUMNS);
    const { code, stderr } = await run('wrong');
    expect(code).toBe(EXIT.failure.code);
    expect(stderr).toContain(`wrong.sql: ${message}`);
    expect(stderr).toContain(hint);
  });

  it.each([
    ['pivot: { rows: [color], column: size }', 3, 'pivot.value'],
    ['totals: [share]\nformats: { share: percent }', 3, 'share is a percent, which makes no sum'],
    ['chart: { kind: pie, x: a, y: b }', 3, 'chart.kind'],
    ['formats: { a: amount, b: money }', 3, 'formats.b'],
    [`${PIVOT}\ntotals: [color]`, 4, 'only the value of the pivot (pieces) makes a sum'],
    ['chart: { kind: bar, x: a, y: [b, c], series: d }', 3, 'goes with a single y only'],
    ['pivto: {}', 2, 'pivto'],
    [
      'params: { by: { type: text, about: a, choices: [a, b], default: c } }',
      3,
      'params.by.default',
    ],
    ['params: { by: { type: number, about: a, choices: [a, b] } }', 3, 'params.by.choices'],
  ])('names the line of a head that is wrong: %s', async (lines, line, message) => {
    house.write('odd', `title: Odd\n${lines}`, COLUMNS);
    const { code, stderr } = await run('odd');
    expect(code).toBe(EXIT.config.code);
    expect(stderr).toContain(`odd.sql:${line}: `);
    expect(stderr).toContain(message);
  });

  it('refuses a pivot of too many columns, and one with two texts in one place', async () => {
    const next = 'SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 201';
    const numbers = `WITH RECURSIVE n(i) AS (${next})`;
    const head = 'title: Wide\npivot: { rows: [a], column: i, value: v }';
    house.write('wide', head, `${numbers} SELECT 1 AS a, i, 1 AS v FROM n`);
    const wide = await run('wide');
    expect(wide.code).toBe(EXIT.failure.code);
    expect(wide.stderr).toContain('wide.sql: i would make 201 columns (200 at most)');
    house.write('texts', head, `SELECT 1 AS a, 1 AS i, 'x' AS v UNION ALL SELECT 1, 1, 'y'`);
    expect((await run('texts')).stderr).toContain('and v is no number');
    house.write('same', head, `SELECT 1 AS a, 'a' AS i, 1 AS v`);
    expect((await run('same')).stderr).toContain('the pivot has two columns a');
  });
});

describe('a locale', () => {
  it('has its decimal sign and semicolons in CSV, as its spreadsheets want them', async () => {
    const { stdout } = await run('sales', '--format', 'csv', '--locale', 'de-DE');
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      'day;color;size;size_rank;pieces;amount;currency',
      '2026-01-05;black;M;2;3;1234,50;EUR',
    ]);
    house.write('minus', 'title: Minus', `SELECT -1.5 AS a, '-1;5' AS b`);
    const minus = await run('minus', '--format', 'csv', '--locale', 'de-DE');
    expect(minus.stdout).toBe(`a;b\n-1,5;"'-1;5"\n`);
    expect((await run('minus', '--format', 'csv', '--locale', 'en-GB')).stdout).toBe(
      `a,b\n-1.5,'-1;5\n`,
    );
  });

  it('writes numbers and days of tables, and marks a file as UTF-8', async () => {
    const { stdout } = await run('sales', '--locale', 'de-DE');
    expect(stdout).toContain('05.01.2026  black     M             2       3  1.234,50  EUR');
    await run('sales', '--format', 'csv', '--locale', 'de-DE', '--output', file('de.csv'));
    expect(readFileSync(file('de.csv'), 'utf8')).toMatch(/^\ufeffday;color/);
    await run('sales', '--format', 'csv', '--output', file('plain.csv'));
    expect(readFileSync(file('plain.csv'), 'utf8')).toMatch(/^day,color/);
  });

  it('is refused where it is none', async () => {
    for (const wrong of ['xx-none-?', 'tlh']) {
      const { code, stderr } = await run('sales', '--locale', wrong);
      expect({ wrong, code }).toEqual({ wrong, code: EXIT.usage.code });
      expect(stderr).toContain('such as de-DE');
    }
  });
});

/** A workbook's time is a fraction of a day, which a reader may cut below the millisecond. */
function toSecond(date: Date): Date {
  return new Date(Math.round(date.getTime() / 1_000) * 1_000);
}

/** A file within a workbook, which is a ZIP; found by the list at its end. */
function partOf(path: string, wanted: string): string {
  const zip = readFileSync(path);
  let at = zip.readUInt32LE(zip.lastIndexOf('PK\u0005\u0006') + 16);
  while (zip.readUInt32LE(at) === 0x02_01_4b_50) {
    const [name, extra, comment] = [28, 30, 32].map((place) => zip.readUInt16LE(at + place));
    const end = at + 46 + (name ?? 0);
    if (zip.toString('utf8', at + 46, end) === wanted) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return inflateRawSync(packed).toString('utf8');
    }
    at = end + (extra ?? 0) + (comment ?? 0);
  }
  throw new Error(`${path} has no ${wanted}`);
}

describe('a workbook', () => {
  it('has numbers, dates and texts that another program reads as such', async () => {
    house.write(
      'kinds',
      'title: Kinds\nformats: { amount: amount, share: percent, ean: text }\ntotals: [amount]',
      `SELECT '5700180000017' AS barcode, 5700180000018 AS ean, 1234.5 AS amount, 12.5 AS share,
         '2026-01-05' AS day, '2026-01-05T23:30:00Z' AS at, '=1+1' AS formula, NULL AS absent`,
    );
    const path = file('kinds.xlsx');
    const { stdout, stderr, code } = await run('kinds', '--format', 'xlsx', '--output', path);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `written: ${path}\n`, stderr: '' });
    const [sheet] = await readWorkbook(path);
    expect(sheet?.sheet).toBe('kinds');
    const [title, about, header, row, total] = sheet?.data ?? [];
    expect(title?.[0]).toBe('Kinds');
    expect(about?.[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d Europe\/Berlin$/);
    expect(header).toEqual([
      ...['Barcode', 'Ean', 'Value', 'Share', 'Day', 'Time', 'Formula', 'Absent'],
    ]);
    // The moment is that of the clock on the wall in Berlin.
    expect(row?.map((cell) => (cell instanceof Date ? toSecond(cell) : cell))).toEqual([
      ...['5700180000017', '5700180000018', 1234.5, 0.125],
      ...[new Date('2026-01-05'), new Date('2026-01-06T00:30:00Z'), '=1+1', null],
    ]);
    expect(total?.slice(0, 3)).toEqual(['Total', null, 1234.5]);
  });

  it('keeps words apart and signs as they are, and names its printed titles once', async () => {
    house.write(
      'signs',
      'title: Signs\nformats: { share: percent, amount: amount }',
      `SELECT '_x0041_' AS code,
         'navy' || char(11) || 'blue' || char(1) || char(13, 10) || 'dark' AS soft,
         '1899-12-31' AS day, 0.35 AS share, 1.005 AS amount`,
    );
    const path = file('signs.xlsx');
    expect((await run('signs', '--format', 'xlsx', '--output', path)).stderr).toBe('');
    const [sheet] = await readWorkbook(path);
    expect(sheet?.data[3]).toEqual([
      ...['_x0041_', 'navy\nblue \ndark', '1899-12-31', 0.0035, 1.005],
    ]);
    expect(partOf(path, 'xl/workbook.xml').match(/<definedNames/g)).toHaveLength(1);
    const page = file('signs.html');
    await run('signs', '--format', 'html', '--output', page);
    expect(readFileSync(page, 'utf8')).toMatch(/0\.4%[\s\S]*1\.01/);
    expect((await run('signs', '--format', 'csv')).stdout).toMatch(/,0\.35,1\.01$/m);
  });

  it('keeps title and header in view, and shows amounts with two decimals', async () => {
    const path = file('sales.xlsx');
    await run('sales', '--format', 'xlsx', '--output', path);
    expect(partOf(path, 'xl/worksheets/sheet1.xml')).toMatch(
      /<pane [^>]*ySplit="3"[^>]*state="frozen"/,
    );
    expect(partOf(path, 'xl/styles.xml')).toContain('formatCode="#,##0.00"');
  });
});

describe('a page', () => {
  it('shows title, chart and totals without running or loading anything', async () => {
    const path = file('sales.html');
    await run('sales', '--format', 'html', '--locale', 'de-DE', '--output', path);
    const browser = await launchBrowser();
    const page = await browser.newPage();
    const complaints = watchPage(page, 'null');
    await page.setContent(readFileSync(path, 'utf8'));
    expect(await page.locator('h1').allTextContents()).toEqual(['Sales']);
    expect(await page.locator('script, link').count()).toBe(0);
    const label = await page.getByRole('img').getAttribute('aria-label');
    expect(label).toBe(
      'Sales: stacked bars of Day 05.01.2026 to 06.01.2026; black 18, Bordeaux -2',
    );
    expect(await page.locator('tbody tr').first().locator('td').allTextContents()).toEqual([
      ...['05.01.2026', 'black', 'M', '2', '3', '1.234,50', 'EUR'],
    ]);
    expect(await page.locator('tfoot tr').count()).toBe(3);
    const align = `getComputedStyle(document.querySelectorAll('tbody td')[5]).textAlign`;
    expect(await page.evaluate<string>(align)).toBe('right');
    const key = await page.locator('.key svg').first().boundingBox();
    expect(key?.height).toBeLessThan(16);
    // A print repeats the headings on each sheet, and the sums stand once, at the end.
    await page.emulateMedia({ media: 'print' });
    const shown = `['thead', 'tfoot'].map((part) =>
      getComputedStyle(document.querySelector('table > ' + part)).display)`;
    const once = ['table-header-group', 'table-row-group'];
    expect(await page.evaluate<string[]>(shown)).toEqual(once);
    const css = readFileSync(join(repositoryRoot, 'src/console/assets/console.css'), 'utf8');
    await page.evaluate(`document.querySelector('style').textContent = ${JSON.stringify(css)}`);
    expect(await page.evaluate<string[]>(shown)).toEqual(once);
    await browser.close();
    expect(complaints).toEqual([]);
  });

  it('shades heat, and runs nothing that a name holds', async () => {
    house.write(
      'hot',
      `title: "<b>Hot</b>"\n${PIVOT}\nformats: { pieces: heat }`,
      `${GRID} UNION ALL SELECT '<script>alert(1)</script>', 'M', 2, 20`,
    );
    const { stdout } = await run('hot', '--format', 'html');
    expect(stdout).not.toContain('<script');
    expect(stdout).toContain('<h1>&lt;b&gt;Hot&lt;/b&gt;</h1>');
    expect(stdout).toContain('<td class="number h4">20</td>');
    expect(stdout).toContain('<td class="number n1">-2</td>');
  });

  it('has everything but a chart that would be too large', async () => {
    house.write(
      'many',
      'title: Many\nchart: { kind: bar, x: i, y: i }',
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
       SELECT i FROM n`,
    );
    const { stdout } = await run('many', '--format', 'html');
    expect(stdout).toContain('i of its chart has 1500 values (1000 at most)');
    expect(stdout.match(/<tr>/g)).toHaveLength(1501);
    expect((await run('many', '--format', 'svg')).stderr).toContain('(1000 at most)');
  });
});

describe('a picture', () => {
  it('stands alone, with its words inside', async () => {
    const { stdout } = await run('sales', '--format', 'svg');
    expect(stdout).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(stdout).toContain('<title>Sales</title><desc>Sales: stacked bars of Day 2026-01-05 to');
    const none = await run('grid', '--format', 'svg');
    expect(none.code).toBe(EXIT.failure.code);
    expect(none.stderr).toContain('grid.sql: it declares no chart');
  });
});

describe('a file', () => {
  it('is for owner and group, and takes the place of an older file only', async () => {
    const write = (path: string) => run('grid', '--output', path);
    const path = file('grid.txt');
    writeFileSync(path, 'older', { mode: 0o600 });
    expect((await write(path)).code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readFileSync(path, 'utf8')).toMatch(/^color +S +M +XL +total\n/);
    symlinkSync(path, file('link.txt'));
    writeFileSync(path, 'older');
    await write(file('link.txt'));
    expect(readFileSync(path, 'utf8')).toContain('Bordeaux');
    mkdirSync(file('folder'));
    execFileSync('mkfifo', [file('pipe')]);
    for (const [name, is] of [
      ['folder', 'is a folder'],
      ['pipe', 'is no file'],
      ['data/mirror.db', 'is a database'],
      ['nowhere/grid.txt', 'the folder must exist'],
    ] as const) {
      const { code, stderr } = await write(file(name));
      expect({ name, code }).toEqual({ name, code: EXIT.failure.code });
      expect(stderr).toContain(is);
    }
  });

  it.each(['xlsx', 'html', 'svg'])('is wanted for %s at a terminal', async (format) => {
    let stderr = '';
    const out = { write: () => undefined, isTTY: true };
    const err = {
      write(text: string | Uint8Array) {
        stderr += String(text);
      },
    };
    const args = ['report', 'run', 'sales', '--format', format, '--config', house.config];
    const code = await runCli(args, { stdout: out, stderr: err, env: { KEY: 'key-4711' } });
    expect(code).toBe(EXIT.usage.code);
    expect(stderr).toContain(`--output report.${format}`);
  });
});
