/** The views through ODBC, by which Excel and Power BI read a copy: docs/reporting-elsewhere.md. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { publishSnapshot } from '../../src/report/snapshot.ts';
import { VIEWS } from '../../src/report/views.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryStore } from '../support/store.ts';

async function copied(): Promise<string> {
  const { path } = await temporaryStore();
  const database = new Database(path);
  database.exec(readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8'));
  database.close();
  const copy = `${path}.copy.db`;
  publishSnapshot({ path, busyTimeoutMs: 5_000 }, copy);
  return copy;
}

/** Lines of the answers to the manual's command, without the heads. */
function odbc(path: string, statements: string): string[] {
  const page = readFileSync(join(repositoryRoot, 'docs/reporting-elsewhere.md'), 'utf8');
  const [, command = ''] = /`isql (-[^`]+)`/.exec(page) ?? [];
  const asked = `isql '-d|' ${command.replace('/srv/reports/fashion.db', path)}`;
  const told = execFileSync('sh', ['-c', asked], { input: `${statements}\n`, encoding: 'utf8' });
  return told.trim().split('\n');
}

describe('a copy of the mirror', () => {
  it('gives every view to ODBC', async () => {
    const path = await copied();
    const names = VIEWS.map(({ name }) => name);
    const counts = names.map((name) => `select '${name}', count(*) from ${name};`).join('\n');
    const counted = odbc(path, counts).map((line) => line.split('|')[0]?.trim());
    expect(counted).toEqual(names);
  });

  it('tells ODBC the types of barcodes and pieces, and none of what a view computes', async () => {
    const path = await copied();
    const [barcode, quantity, price, changed] = odbc(
      path,
      "select name || ' ' || type from pragma_table_info('v_stock') " +
        "where name in ('barcode', 'quantity', 'wsp_price', 'changed_at') order by cid;",
    ).map((line) => line.trim());
    expect([barcode, quantity, price, changed]).toEqual([
      ...['barcode TEXT', 'quantity INTEGER', 'wsp_price', 'changed_at'],
    ]);
    const [row] = odbc(path, "select barcode, wsp_price from v_stock where barcode = '100';");
    expect(row?.split('|').map((cell) => cell.trim())).toEqual(['100', '80.0']);
  });
});
