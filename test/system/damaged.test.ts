/** A damaged database, by the command of docs/operating/backup.md and the shell of SQLite. */
import { execFileSync } from 'node:child_process';
import { openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../support/source.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const PAGE = 4_096;
const ROWS = 5_000;

it('a damaged database gives its rows but a few by the command of the manual', () => {
  const path = join(temporaryFolder(), 'mirror.db');
  placeDatabase(path);
  const mirror = new Database(path);
  mirror.pragma('journal_mode = delete');
  mirror.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})
    insert into audit (at, actor, action, subject, reason, detail)
    select i, 'daemon', 'test', 'row ' || i, 'because', '{"n":"${'x'.repeat(200)}"}' from n`);
  mirror.close();
  // A page among those that were written last.
  const pages = Math.floor(statSync(path).size / PAGE);
  writeSync(openSync(path, 'r+'), Buffer.alloc(PAGE, 0xff), 0, PAGE, (pages - 120) * PAGE);
  const manual = readFileSync(join(repositoryRoot, 'docs/operating/backup.md'), 'utf8');
  const [, command = ''] =
    /```sh\n(sqlite3 -readonly mirror\.db '\.dump [^\n]+)/.exec(manual) ?? [];
  const cwd = dirname(path);
  execFileSync('sh', ['-c', command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const rescued = new Database(join(cwd, 'rescued.db'), { readonly: true });
  const rows = Number(rescued.prepare('select count(*) from audit').pluck().get());
  const [first, last] = ['min', 'max'].map((end) =>
    rescued
      .prepare(`select subject from audit order by ${end === 'min' ? 'at' : '-at'}`)
      .pluck()
      .get(),
  );
  rescued.close();
  expect([first, last]).toEqual(['row 1', `row ${ROWS}`]);
  expect(rows).toBeGreaterThan(ROWS - 100);
  expect(rows).toBeLessThan(ROWS);
});
