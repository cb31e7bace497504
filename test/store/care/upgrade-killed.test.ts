/** A program that is killed while it copies the database, before it migrates. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { openWriter } from '../../../src/store/connection.ts';
import { migrate, readMigrations } from '../../../src/store/migrate.ts';
import { MINIMAL, writeConfig } from '../../config/support.ts';
import { runCommand } from '../../support/daemon-process.ts';
import { LAUNCHER, launcherEnv } from '../../support/launcher.ts';
import { temporaryFolder } from '../../support/store.ts';

/** As an older program left it; copying it takes a while. */
function olderDatabase(path: string): void {
  const database = openWriter(path, { busyTimeoutMs: 1_000, checkpoint: 'own' });
  migrate(database, manualClock(), readMigrations().slice(0, -1));
  database
    .prepare(
      `insert into rule_set (hash, first_used_at, files)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 96)
       select i, 0, hex(zeroblob(1048576)) from n`,
    )
    .run();
  database.close();
}

it('leaves no half copy under the name of a whole one, nor its bytes', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir);
  olderDatabase(join(dataDir, 'mirror.db'));
  const config = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
  const copies = () => readdirSync(dataDir).filter((name) => name.includes('.before-'));
  const child = spawn(process.execPath, [LAUNCHER, '--config', config, 'migrate'], {
    env: launcherEnv(),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  const watcher = watch(dataDir, () => copies().length > 0 && child.kill('SIGKILL'));
  await ended;
  watcher.close();
  for (const name of copies().filter((name) => /before-\d+-\d+$/.test(name))) {
    const copy = new Database(join(dataDir, name), { readonly: true });
    expect(copy.prepare('select count(*) from rule_set').pluck().get()).toBe(96);
    copy.close();
  }
  expect((await runCommand(['--config', config, 'migrate'])).code).toBe(0);
  expect(copies()).toEqual([expect.stringMatching(/before-\d+-\d+$/)]);
});
