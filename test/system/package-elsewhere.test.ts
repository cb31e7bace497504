/** Lists in programs that take too much room for the system tests, as the manual shows it. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/store.ts';
import { areThere } from './programs.ts';
import { blockOf, makeFiles } from './workbooks/elsewhere.ts';

/** Answers a list of statements with rows of texts. */
const DUCKDB = `
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const connection = await (await DuckDBInstance.create()).connect();
  const found = [];
  for (const asked of JSON.parse(process.argv[1])) {
    const told = await connection.runAndReadAll(asked);
    found.push(told.getRows().map((row) => row.map((one) => (one === null ? null : String(one)))));
  }
  console.log(JSON.stringify(found));
})();`;

it('DuckDB keeps barcodes, and takes columns for what the manual says', async () => {
  const cwd = temporaryFolder();
  await makeFiles(cwd);
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const duckdb = '@duckdb/node-api@1.5.5-r.1';
  execFileSync('npm', ['install', ...quiet, duckdb], { cwd, stdio: 'pipe' });
  const shown = blockOf('SELECT style_no').map((line) => line.replace(/;$/, ''));
  const types = (table: string) =>
    `select column_name || ' ' || column_type from (describe select * from ${table})`;
  const asked = [...shown, types("read_json('ats.ndjson')"), types("read_csv('ats.csv')")];
  const told = execFileSync(process.execPath, ['-e', DUCKDB, '--', JSON.stringify(asked)], {
    cwd,
    encoding: 'utf8',
  });
  const [sums, rows, ofJson, ofCsv] = JSON.parse(told);
  expect(sums.toSorted()).toEqual([
    ['0007', '3'],
    ['0012', '-7'],
  ]);
  expect(rows.map((row: readonly string[]) => row[7])).toEqual(['0570018000002', '5700180000017']);
  const json = ['barcode VARCHAR', 'ats HUGEINT', 'season_name JSON', 'amount DOUBLE'];
  expect(ofJson.flat()).toEqual(expect.arrayContaining(json));
  expect(ofCsv.flat()).toEqual(expect.arrayContaining(['delivery_name VARCHAR']));
});

it.skipIf(!areThere('soffice', '/usr/bin/python3'))(
  'LibreOffice keeps the zeros of barcodes in a list that is imported as the manual says',
  async () => {
    const cwd = temporaryFolder();
    await makeFiles(cwd);
    const [command = ''] = blockOf('soffice');
    const env = { ...process.env, HOME: cwd };
    execFileSync('sh', ['-c', command], { cwd, env, stdio: 'pipe' });
    const script = `import json, openpyxl
sheet = openpyxl.load_workbook('ats.xlsx').active
print(json.dumps([[cell.value for cell in row] for row in sheet]))`;
    const read = execFileSync('/usr/bin/python3', ['-c', script], { cwd, encoding: 'utf8' });
    expect(JSON.parse(read)[1]).toEqual([
      '0012',
      'August',
      null,
      'a',
      'b',
      'c',
      1,
      '0570018000002',
      -7,
      12.5,
    ]);
  },
);
