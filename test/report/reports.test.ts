import { execFileSync } from 'node:child_process';
import fs, { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { reports } from '../../src/report/lists.ts';
import { bindParameters } from '../../src/report/parameters.ts';
import { runQuery } from '../../src/report/query.ts';
import { readReports } from '../../src/report/report-file.ts';
import type { Reading } from '../../src/surface/reading.ts';
import { selvedge } from '../cli/support.ts';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { readingOf } from '../support/reading.ts';
import { damage, placeDatabase, temporaryFolder, temporaryStore } from '../support/store.ts';
import { type ReportHouse, reportHouse } from './support.ts';

function house(settings: readonly string[] = []): ReportHouse {
  return reportHouse(temporaryFolder(), settings);
}

/** Runs the SQL in the mirror of the house. */
function change({ folder }: ReportHouse, sql: string): void {
  const database = new Database(join(folder, 'data', 'mirror.db'));
  database.exec(sql);
  database.close();
}

/** Reads a process's environment; empty when it has just ended, as those of the test before. */
function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

describe('selvedge report', () => {
  it('lists what there is, with parameters and titles', async () => {
    const { report, own } = house();
    writeFileSync(join(own, 'mine.sql'), '/*\ntitle: Mine\n*/\nSELECT 1 AS one');
    const { stdout, code } = await report('list');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^mine +Mine$/m);
    expect(stdout).toMatch(/^stock-as-of +Stock of a style at some time +style, at \(0s\)$/m);
    const listed: unknown = JSON.parse((await report('list', '--json')).stdout);
    expect(listed).toContainEqual(
      expect.objectContaining({ name: 'mine', title: 'Mine', params: {} }),
    );
  });

  it('has rows in every report that comes along', async () => {
    const it = house();
    const { folder, own } = it;
    const database = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
    const given: Record<string, string> = {
      style: 'S-1',
      season: 'AW26',
      since: '2026-01-01',
      until: '2030-01-01',
      what: 'accepted',
    };
    // A completed order below the price of the list, of which something came back.
    change(
      it,
      `update sales_order set completed = 1 where order_id = 1;
       update sales_order_line set price = 700000 where order_id = 1;
       update refund set created_at = 1767700000000`,
    );
    const { reports } = readReports(own);
    expect(reports).toHaveLength(32);
    for (const report of reports) {
      const wanted = Object.keys(report.params).flatMap((name) => {
        const value = given[name];
        return value === undefined ? [] : [[name, value] as const];
      });
      const values = bindParameters(report, Object.fromEntries(wanted), manualClock());
      expect(database.prepare(report.sql).all(values).length, report.name).toBeGreaterThan(0);
    }
    database.close();
  });

  it('names each incident that is open, and status and doctor say where', async () => {
    const it = house();
    change(
      it,
      `insert into incident (at, kind, entity, key, detail, resolved_at)
       values (1, 'invalid_customer_data', 'erp_customer', 'C-9', '{"invalidFields":[]}', 2)`,
    );
    const { stdout } = await it.report('run', 'incidents', '--format', 'csv');
    expect(stdout.split('\n').slice(1)).toEqual([
      ...['2026-01-05T12:00:00Z,evaluation_error,delivery,11,{}', ''],
    ]);
    for (const command of [['status'], ['doctor', '--offline']]) {
      const asked = await selvedge([...command, '--config', it.config], { KEY: 'key-4711' });
      expect(asked.stdout).toMatch(
        /incidents .*(?:1 open|kept deliveries from)[\s\S]*selvedge incidents list/,
      );
    }
  });

  it('tells what was in stock at some time', async () => {
    const { report } = house();
    const args = ['run', 'stock-as-of', '--param', 'style=S-1', '--format', 'csv'];
    const then = await report(...args, '--param', 'at=2026-01-05T12:00:00Z');
    expect(then.stdout).toContain('100,black,S,8');
    expect((await report(...args)).stdout).toContain('100,black,S,5');
  });

  it('gives no quantity of a time of which nothing is known', async () => {
    const it = house();
    const at = async (time: string) =>
      (
        await it.report(
          'run',
          'stock-as-of',
          '--param',
          'style=S-1',
          '--format',
          'csv',
          '--param',
          `at=${time}`,
        )
      ).stdout;
    change(it, 'update stock_variant_row set first_seen_at = 1');
    expect(await at('2026-01-05T12:00:00Z')).toContain('100,black,S,8');
    const unknown = '100,black,S,\n';
    expect(await at('2026-01-04')).toContain(unknown);
    expect(await at('2999-01-01')).toContain(unknown);
    change(it, 'delete from change');
    change(
      it,
      `insert into change (at, entity, key, op, diff, cause)
       values (1767700000001, 'brand', 'b', 'insert', '{}', 'r')`,
    );
    expect(await at('2026-01-05T12:00:00Z')).toContain(unknown);
    expect(await at('2026-01-07')).toContain('100,black,S,5');
    const asked = ['stock', '100', '--as-of', '2026-01-05', '--config', it.config];
    expect(await selvedge(asked, { KEY: 'key-4711' })).toMatchObject({ code: 1, stdout: '' });
  });

  it('finds a barcode under the style that it had then', async () => {
    const it = house();
    change(
      it,
      `update stock_variant_row set style_no = 'S-9' where barcode = '100';
       insert into change (at, entity, key, op, diff, cause) values
         (1767800000000, 'stock_variant', '100', 'update', '{"style_no":["S-1","S-9"]}', 'run:3')`,
    );
    const before = '2026-01-06T12:00:00Z';
    const found = async (style: string) => {
      const param = ['--param', `style=${style}`, '--param', `at=${before}`];
      const report = await it.report('run', 'stock-as-of', ...param, '--format', 'csv');
      const asked = ['stock', style, '--as-of', before, '--config', it.config];
      const stock = await selvedge(asked, { KEY: 'key-4711' });
      return [report.stdout, stock.stdout].map((text) => /^100\b/m.test(text));
    };
    expect(await found('S-1')).toEqual([true, true]);
    expect(await found('S-9')).toEqual([false, false]);
  });

  it('takes a time as UTC on every machine, and no number for a year', async () => {
    const { folder, report } = house();
    // Quantity 8 until 11:46 UTC, which is 20:46 in Tokyo.
    const asked = ['--as-of', '2026-01-06T12:00', '--config', join(folder, 'selvedge.yaml')];
    const at = (...args: string[]) =>
      execFileSync(process.execPath, [LAUNCHER, ...args], {
        env: { ...launcherEnv(), TZ: 'Asia/Tokyo' },
        encoding: 'utf8',
      });
    expect(at('stock', '100', ...asked)).toMatch(/^100 +S-1 +black +S +5 /m);
    const args = ['run', 'stock-as-of', '--param', 'style=S-1', '--format', 'csv', '--param'];
    const config = ['--config', join(folder, 'selvedge.yaml')];
    expect(at('report', ...args, 'at=2026-01-06 12:00', ...config)).toContain('100,black,S,5');
    for (const wrong of ['7', '2026', 'March 7', '2026-02-31']) {
      const { code, stderr } = await report(...args, `at=${wrong}`);
      expect({ code, stderr }, wrong).toMatchObject({ code: 2 });
      expect(stderr).toContain('at must be a time');
    }
  });

  it('refuses one that is not UTF-8, which would look for other words than it shows', async () => {
    const { report, own } = house();
    const sql = "/*\ntitle: Gr\u00f6\u00dfen\n*/\nSELECT 'Gr\u00f6\u00dfe' AS text";
    writeFileSync(join(own, 'latin.sql'), Buffer.from(sql, 'latin1'));
    const { code, stderr } = await report('run', 'latin');
    const wanted = `selvedge: ${join(own, 'latin.sql')}:2: it is not UTF-8 text\nhint: save it`;
    expect([code, stderr]).toEqual([78, expect.stringContaining(wanted)]);
    writeFileSync(join(own, 'latin.sql'), sql);
    expect((await report('run', 'latin')).stdout).toContain('Gr\u00f6\u00dfe');
  });

  it('writes CSV, JSON and a JSON line a row', async () => {
    const { report, own } = house();
    const sql = `SELECT 'a "b", c' AS text, 1.5 AS number, NULL AS missing`;
    writeFileSync(join(own, 'odd.sql'), `/* title: Odd */ ${sql}`);
    const written = async (format: string) =>
      (await report('run', 'odd', '--format', format)).stdout;
    expect(await written('csv')).toBe('text,number,missing\n"a ""b"", c",1.5,\n');
    const row = { text: 'a "b", c', number: 1.5, missing: null };
    expect(JSON.parse(await written('json'))).toEqual([row]);
    expect(await written('ndjson')).toBe(`${JSON.stringify(row)}\n`);
  });

  it('writes no text into CSV that a spreadsheet would run', async () => {
    const { report, own } = house();
    const texts = ['=HYPERLINK("http://x")', '+1+2', '-1+2', '@sum', '-5', '+45', 'a=b', '\t=1'];
    // Japanese and Chinese keyboards write these.
    texts.push('＝1+1', '＋1+1', '－1+1', '＠sum');
    const cells = texts.map((text) => `('${text}', -5)`).join(', ');
    writeFileSync(join(own, 'odd.sql'), `/* title: Odd */ VALUES ${cells}`);
    const { stdout } = await report('run', 'odd', '--format', 'csv');
    const [, ...rows] = stdout.trimEnd().split('\n');
    expect(rows).toEqual([
      `"'=HYPERLINK(""http://x"")",-5`,
      ...["'+1+2,-5", "'-1+2,-5", "'@sum,-5", '-5,-5', '+45,-5', 'a=b,-5', "'\t=1,-5"],
      ...["'＝1+1,-5", "'＋1+1,-5", "'－1+1,-5", "'＠sum,-5"],
    ]);
  });

  it('changes no number, however large, and keeps each value within its cell', async () => {
    const { report, own } = house();
    const sql = `SELECT 9007199254740993 AS large, 9007199254740991 AS number, x'00ff' AS bytes,
      'a' || char(13) || 'b' AS text`;
    writeFileSync(join(own, 'odd.sql'), `/* title: Odd */ ${sql}`);
    const json = await report('run', 'odd', '--format', 'json');
    const number = 9_007_199_254_740_991;
    expect(JSON.parse(json.stdout)).toEqual([
      { large: '9007199254740993', number, bytes: "x'00ff'", text: 'a\rb' },
    ]);
    const csv = await report('run', 'odd', '--format', 'csv');
    expect(csv.stdout.split('\n')[1]).toBe(`9007199254740993,${number},x'00ff',"a\rb"`);
  });

  it('shows what would steer a terminal, but gives programs what is there', async () => {
    const { report, own } = house();
    const hostile = `char(27) || '[2J' || char(155, 13, 10, 8238) || 'end'`;
    writeFileSync(join(own, 'odd.sql'), `/* title: Odd */ SELECT ${hostile} AS text`);
    const written = async (format: string) =>
      (await report('run', 'odd', '--format', format)).stdout;
    const text = '\u001b[2J\u009b\r\n\u202eend';
    const shown = String.raw`\u001b[2J\u009b\r\n\u202eend`;
    expect(await written('table')).toBe(`text\n${shown}\n`);
    expect(await written('csv')).toBe(`text\n"${text}"\n`);
    for (const format of ['json', 'ndjson']) {
      const json = await written(format);
      expect(json).toContain(shown);
      expect([JSON.parse(json)].flat()).toEqual([{ text }]);
    }
  });

  it('counts a delivery that tells no time of packing from when it was first seen', async () => {
    const { folder, report } = house();
    const rows = async (name: string) =>
      (await report('run', name, '--param', 'since=2026-01-01', '--format', 'ndjson')).stdout;
    const told = [await rows('agreement'), await rows('sell-through')];
    expect(told).toEqual([expect.stringContaining('accepted'), expect.stringContaining('S-1')]);
    const database = new Database(join(folder, 'data', 'mirror.db'));
    database.exec('update delivery set first_seen_at = created_at, created_at = null');
    database.close();
    expect([await rows('agreement'), await rows('sell-through')]).toEqual(told);
  });

  it('counts also what was delivered and never listed in stock', async () => {
    const it = house();
    change(
      it,
      `update season_variant_row set barcode = '500', style_no = 'S-5', style_name = 'Ahead';
       update delivery_line set barcode = '500' where order_delivery_id = 12;
       update delivery_line set barcode = '999' where order_delivery_id = 13;`,
    );
    const { stdout } = await it.report(
      ...['run', 'sell-through', '--param', 'since=2026-01-01', '--format', 'csv'],
    );
    expect(stdout.split('\n').slice(1, 3)).toEqual([
      '2026-01-05,S-5,Ahead,4,0,0,100,0',
      '2026-01-05,,,1,0,,,',
    ]);
  });

  it('begins with a whole day and a whole week, not in the middle of one', async () => {
    const { report } = house();
    const since = ['--param', 'since=2026-01-05T23:30:00Z', '--format', 'csv'];
    const days = await report('run', 'decisions-per-day', ...since);
    expect(days.stdout).toContain('2026-01-05,accept,accept-plain,1\n');
    const args = ['run', 'sell-through', '--param', 'since=2026-01-11T23:30:00Z'];
    expect((await report(...args, '--format', 'csv')).stdout).toContain('2026-01-05,S-1,Coat,5,');
    const next = await report('run', 'sell-through', '--param', 'since=2026-01-12');
    expect(next.stdout).not.toContain('S-1');
  });

  const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';

  it('stops at its rows, and says so', async () => {
    const { report, own } = house();
    writeFileSync(join(own, 'many.sql'), `/* title: Many */ ${ENDLESS} SELECT i FROM n`);
    const cut = await report('run', 'many', '--limit', '3', '--format', 'csv');
    expect(cut).toMatchObject({ code: 0, stdout: 'i\n1\n2\n3\n' });
    expect(cut.stderr).toContain('there are more than 3 rows');
  });

  it('stops at its time, and says so', async () => {
    const { report, own } = house();
    writeFileSync(join(own, 'slow.sql'), `/* title: Slow */ ${ENDLESS} SELECT count(*) FROM n`);
    const slow = await report('run', 'slow', '--timeout', '1s');
    expect(slow.code).toBe(1);
    expect(slow.stderr).toContain('the report took longer than 1s');
  });

  it('gives the process that reads none of our environment, where secrets may stand', async () => {
    const { folder } = house();
    const path = join(folder, 'data', 'mirror.db');
    const query = { path, busyTimeoutMs: 100, sql: `${ENDLESS} SELECT i FROM n`, file: 'x.sql' };
    const named = new Set<string>();
    const row = (): never => {
      const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
      for (const pid of children.trim().split(' ')) {
        for (const one of environmentOf(pid)) named.add(one.split('=')[0] ?? '');
      }
      throw new Error('seen');
    };
    const sink = { columns: () => undefined, row };
    const run = runQuery({ ...query, values: {}, rowsMax: 1_000_000 }, 60_000, systemClock(), sink);
    await expect(run).rejects.toThrow('seen');
    const needed = ['', 'TZ', 'LD_LIBRARY_PATH', 'NODE_COMPILE_CACHE'];
    expect(named).toContain('');
    expect([...named].filter((name) => !needed.includes(name))).toEqual([]);
  });

  it('refuses what is wrong, and says what would be right', async () => {
    const { report, own, folder } = house();
    writeFileSync(join(own, 'writes.sql'), '/* title: Writes */ DELETE FROM brand');
    writeFileSync(join(own, 'broken.sql'), '/* title: Broken */ SELECT it FROM nowhere');
    const refused = async (...args: string[]) => (await report('run', ...args)).stderr;
    expect(await refused('held-delivery')).toContain('did you mean held-deliveries?');
    expect(await refused('stock-grid')).toContain('--param style=… (the number of the style)');
    expect(await refused('stock-grid', '--param', 'stile=1')).toContain('did you mean style?');
    const planet = await refused('order-book', '--param', 'by=planet');
    expect(planet).toContain(
      'by must be one of window, customer, country, brand, style, not planet',
    );
    expect(await refused('agreement', '--param', 'since=soon')).toContain('since must be a time');
    const head = 'title: Odd\nparams: { n: { type: number, about: how many } }';
    writeFileSync(join(own, 'odd.sql'), `/*\n${head}\n*/ SELECT :n AS n`);
    for (const wrong of ['1.5', '1e400', '', 'ten']) {
      expect(await refused('odd', '--param', `n=${wrong}`)).toContain('n must be a whole number');
    }
    const file = (name: string): string => `selvedge: ${join(own, name)}: `;
    expect(await refused('writes')).toContain(`${file('writes.sql')}a report must be one SELECT`);
    expect(await refused('broken')).toContain(`${file('broken.sql')}no such table: nowhere`);
    expect(existsSync(join(folder, 'data', 'mirror.db'))).toBe(true);
  });

  it('names an own file that is no report, and keeps the others', async () => {
    const { report, own, folder } = house();
    const write = (name: string, text: string): string => {
      writeFileSync(join(own, name), text);
      return join(own, name);
    };
    write('mine.sql', '/* title: Mine */ SELECT 1 AS one');
    const params = 'params:\n  since: { type: date, about: from }';
    const told = [
      ['bare', `${write('bare.sql', 'SELECT 1')}:1: it does not say what it is`],
      ['kind', `${write('kind.sql', `\n/*\ntitle: Odd\n${params}\n*/`)}:5: params.since.type: `],
      ['torn', `${write('torn.sql', '/*\ntitle: "Torn\n*/')}:`],
      ['star', `${write('star.sql', '/*\ntitle: *Sales*\n*/ SELECT 1')}:2: `],
      ['My_Own', `${write('My_Own.sql', '/* title: Own */ SELECT 1')}: the name of a report has`],
      // In the place of the one that came along, which must not answer for it.
      ['stock-grid', `${write('stock-grid.sql', '/* titel: Grid */ SELECT 1')}:1: `],
    ] as const;
    const list = await report('list');
    expect(list.code).toBe(EXIT.config.code);
    expect(list.stdout).toMatch(/^mine +Mine$/m);
    expect(list.stdout).not.toMatch(/^stock-grid /m);
    const json = await report('list', '--json');
    expect(json).toMatchObject({ code: EXIT.config.code, stderr: '' });
    const listed: unknown = JSON.parse(json.stdout);
    expect(listed).toContainEqual(
      expect.objectContaining({ name: 'mine', title: 'Mine', params: {} }),
    );
    for (const [name, reason] of told) {
      expect(list.stderr, name).toContain(reason);
      const { code, stderr } = await report('run', name);
      expect({ name, code }).toEqual({ name, code: EXIT.config.code });
      expect(stderr).toContain(reason);
      const error = expect.objectContaining({ message: expect.stringContaining(reason) });
      expect(listed).toContainEqual({ name, error });
    }
    expect((await report('run', 'mine', '--format', 'csv')).stdout).toBe('one\n1\n');
    const metadata = join(folder, 'metadata.json');
    const copied = await report('snapshot', join(folder, 'copy.db'), '--metadata', metadata);
    expect(copied).toMatchObject({ code: 0, stderr: expect.stringContaining('bare.sql:1: ') });
    expect(readFileSync(metadata, 'utf8')).toContain('"mine"');
  });

  it('publishes whole copies where two are made for one file at the same moment', async () => {
    const { folder, report, config } = house();
    const copy = join(folder, 'copy.db');
    // Left by one that was killed.
    writeFileSync(`${copy}.999999999.unfinished`, '');
    const { renameSync } = fs;
    vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      const args = [LAUNCHER, 'report', 'snapshot', copy, '--config', config];
      execFileSync(process.execPath, args, { env: { ...launcherEnv(), KEY: 'key-4711' } });
      renameSync(from, to);
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    expect(await report('snapshot', copy)).toMatchObject({ code: 0, stderr: '' });
    const database = new Database(copy, { readonly: true });
    expect(database.prepare('select count(*) from v_stock').pluck().get()).toBe(3);
    database.close();
    expect(readdirSync(folder).filter((name) => name.includes('copy.db'))).toEqual(['copy.db']);
  });

  it('publishes a copy that anybody can open, and what Datasette wants', async () => {
    const { report, folder } = house();
    const [copy, metadata] = [join(folder, 'copy.db'), join(folder, 'metadata.json')];
    await report('snapshot', copy);
    const { code, stdout } = await report('snapshot', copy, '--metadata', metadata);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `written: ${copy}\nwritten: ${metadata}\n`,
    });
    const database = new Database(copy, { readonly: true });
    expect(database.pragma('journal_mode', { simple: true })).toBe('delete');
    expect(database.prepare('select count(*) from v_stock').pluck().get()).toBe(3);
    database.close();
    expect(existsSync(`${copy}-wal`)).toBe(false);
    const described: unknown = JSON.parse(readFileSync(metadata, 'utf8'));
    expect(described).toMatchObject({
      databases: { copy: { queries: { 'stock-grid': { params: ['style', 'show'] } } } },
    });
    expect(statSync(copy).mode & 0o777).toBe(0o640);
    const dotted = join(folder, '2026.01.05-copy');
    await report('snapshot', dotted, '--metadata', metadata);
    const databasesIn = () => Object.keys(JSON.parse(readFileSync(metadata, 'utf8')).databases);
    expect(databasesIn()).toEqual(['2026.01']);
    await report('snapshot', dotted, '--metadata', metadata, '--served-as', 'fashion');
    expect(databasesIn()).toEqual(['fashion']);
    expect(await report('snapshot', dotted, '--served-as', 'fashion')).toMatchObject({
      code: EXIT.usage.code,
      stderr: expect.stringContaining('--metadata metadata.json'),
    });
    const itself = await report('snapshot', join(folder, 'data', '.', 'mirror.db'));
    expect(itself).toMatchObject({ code: EXIT.failure.code });
    expect(itself.stderr).toContain('mirror.db is the mirror itself: the copy would replace it');
    expect(itself.stderr).toContain('name another file');
    const nowhere = await report('snapshot', join(folder, 'no', 'such', 'folder.db'));
    expect(nowhere).toMatchObject({ code: EXIT.failure.code });
    expect(nowhere.stderr).toContain('the folder must exist');
  });

  it('replaces an older copy only, and no file of somebody else', async () => {
    const { report, folder } = house();
    const path = join(folder, 'data', 'mirror-of-another.db');
    placeDatabase(path);
    for (const name of ['exchange.db', 'mirror.db-wal', 'letter.txt', 'mirror-of-another.db']) {
      const file = join(folder, 'data', name);
      if (!existsSync(file)) writeFileSync(file, 'of somebody else'.repeat(20));
      const before = readFileSync(file);
      const { code, stderr } = await report('snapshot', file);
      expect({ name, code }).toEqual({ name, code: EXIT.failure.code });
      expect(stderr).toContain(`${name} is there, and no copy of a mirror`);
      expect(readFileSync(file).equals(before)).toBe(true);
    }
    const { code, stderr } = await report('snapshot', folder);
    expect({ code, stderr }).toMatchObject({ code: EXIT.failure.code });
    expect(stderr).toContain('is there, and no copy of a mirror');
  });

  it('replaces no backup, whose copies look like an older copy', async () => {
    const { report, folder } = house();
    const directory = join(folder, 'backups');
    const backup = (...args: string[]) =>
      selvedge(['--config', join(folder, 'selvedge.yaml'), 'backup', ...args], { KEY: 'key-4711' });
    await backup('create', '--to', directory);
    const [slip = '', copy = ''] = readdirSync(directory).sort().reverse();
    const { code, stderr } = await report('snapshot', join(directory, copy));
    expect(code).toBe(EXIT.failure.code);
    expect(stderr).toContain(`${copy} is the copy of a backup`);
    expect(await backup('verify', join(directory, slip))).toMatchObject({ code: 0 });
  });

  it('publishes nothing of a damaged mirror, and leaves the older copy', async () => {
    const { report, folder } = house();
    const copy = join(folder, 'copy.db');
    await report('snapshot', copy);
    const before = readFileSync(copy);
    await damage(join(folder, 'data', 'mirror.db'), 'delivery');
    const { code, stderr } = await report('snapshot', copy);
    expect(code).toBe(EXIT.store.code);
    expect(stderr).toContain('mirror.db is damaged: ');
    expect(readFileSync(copy).equals(before)).toBe(true);
  });
});

describe('a file in reports/ that is no report', () => {
  it.each([
    ['a pipe', 'it is no file', (path: string) => execFileSync('mkfifo', [path])],
    [
      'a bomb of YAML aliases',
      'alias',
      (path: string) => {
        const levels = Array.from({ length: 12 }, (_, level) => {
          const inner = level === 0 ? 'x' : `*a${level - 1}`;
          return `k${level}: &a${level} [${Array(10).fill(inner).join(', ')}]`;
        });
        writeFileSync(path, `/*\ntitle: T\n${levels.join('\n')}\n*/\nselect 1`);
      },
    ],
    [
      'larger than a person writes',
      'larger than',
      (path: string) => writeFileSync(path, `/* title: T */ select '${'x'.repeat(1_100_000)}'`),
    ],
  ])('breaks only itself when it is %s', (_, words, make) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'sound.sql'), '/* title: Sound */ select 1');
    make(join(folder, 'wrong.sql'));
    const { reports, wrong } = readReports(folder);
    expect(reports.map(({ name }) => name)).toContain('sound');
    expect(wrong.map(({ name }) => name)).toEqual(['wrong']);
    expect(wrong[0]?.error.message).toContain(words);
  });
});

it('an answer about all reports reads their files once, the next one anew', async () => {
  const store = await temporaryStore();
  const directory = temporaryFolder();
  const more = { rowsMax: 10_000, reports: { directory, schedules: [] } };
  const of = () => readingOf(store, 0, more);
  const [before, after] = [of(), of()];
  const namesOf = async (from: Reading) => {
    const { rows } = await reports.read(from, {});
    return rows.flatMap(({ name }) => (name === 'mine' ? [name] : []));
  };
  expect(await namesOf(before)).toEqual([]);
  writeFileSync(join(directory, 'mine.sql'), '/* title: Mine */ select 1');
  writeFileSync(join(directory, 'wrong.sql'), 'select 1');
  expect(await reports.notes(before)).toEqual([]);
  expect(await reports.readBeside(before, {}, [])).toEqual({ wrong: [], notes: [] });
  expect(await namesOf(after)).toEqual(['mine']);
  expect(await reports.notes(after)).toMatchObject([expect.stringContaining('wrong.sql')]);
});

describe('a report that would take all memory', () => {
  const limits = { resultBytesMax: 1_000_000, memoryBytesMax: 120_000_000, cacheKib: 8_192 };
  const run = async (sql: string) => {
    const path = join(temporaryFolder(), 'mirror.db');
    placeDatabase(path);
    const query = { path, busyTimeoutMs: 1_000, sql, file: 'big.sql', values: {}, rowsMax: 1e9 };
    const sink = { columns: () => undefined, row: () => undefined };
    await runQuery({ ...query, limits }, 120_000, systemClock(), sink);
  };
  const numbers = (most: number) =>
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${most})`;

  it('ends when its result is too large, and says so', async () => {
    const sql = `${numbers(100_000)} select i, printf('%100d', i) from n`;
    await expect(run(sql)).rejects.toThrow(/big\.sql: its result is larger than/);
  });

  it('ends when SQLite needs too much memory for it, and says so', async () => {
    const sql = `${numbers(200_000)} select length(group_concat(printf('%4000d', i))) from n`;
    await expect(run(sql)).rejects.toThrow(/big\.sql: it needs more than/);
  });
});
