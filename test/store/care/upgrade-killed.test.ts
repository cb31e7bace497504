/** A program that is killed while it copies the database, or right behind that. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { openWriter } from '../../../src/store/connection.ts';
import { migrate, readMigrations } from '../../../src/store/migrate.ts';
import { MINIMAL, writeConfig } from '../../config/support.ts';
import { runCommand } from '../../support/daemon-process.ts';
import { LAUNCHER, launcherEnv } from '../../support/launcher.ts';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder } from '../../support/store.ts';

/** As an older program left it; copying 96 MiB takes a while. */
function olderDatabase(path: string, mebibytes: number): void {
  const database = openWriter(path, { busyTimeoutMs: 1_000, checkpoint: 'own' });
  migrate(database, manualClock(), readMigrations().slice(0, -1));
  database
    .prepare(
      `insert into rule_set (hash, first_used_at, files)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       select i, 0, hex(zeroblob(1048576)) from n`,
    )
    .run(mebibytes);
  database.close();
}

/** Kills the command as soon as a file like this is there; gives what it has left of them. */
async function killAtCopy(config: string, command: string[], folder: string, like: RegExp) {
  const left = () => readdirSync(folder).filter((name) => like.test(name));
  const child = spawn(process.execPath, [LAUNCHER, '--config', config, ...command], {
    env: launcherEnv(),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  const watcher = watch(folder, () => left().length > 0 && child.kill('SIGKILL'));
  await ended;
  watcher.close();
  return left();
}

function dataFolder(mebibytes = 96): { readonly dataDir: string; readonly config: string } {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(join(dataDir, 'backups'), { recursive: true });
  olderDatabase(join(dataDir, 'mirror.db'), mebibytes);
  return { dataDir, config: writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`) };
}

const openToOthers = (folder: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);

it('leaves no half copy under the name of a whole one, nor its bytes', async () => {
  const { dataDir, config } = dataFolder();
  const left = await killAtCopy(config, ['migrate'], dataDir, /\.before-/);
  expect(openToOthers(dataDir, left)).toEqual([]);
  for (const name of left.filter((name) => /before-\d+-\d+$/.test(name))) {
    const copy = new Database(join(dataDir, name), { readonly: true });
    expect(copy.prepare('select count(*) from rule_set').pluck().get()).toBe(96);
    copy.close();
  }
  expect((await runCommand(['--config', config, 'migrate'])).code).toBe(0);
  const copies = readdirSync(dataDir).filter((name) => name.includes('.before-'));
  expect(copies).toEqual([expect.stringMatching(/before-\d+-\d+$/)]);
});

it('lets nobody else read the half of a backup', async () => {
  const { dataDir, config } = dataFolder();
  const backups = join(dataDir, 'backups');
  const left = await killAtCopy(config, ['backup', 'create'], backups, /-mirror\.db/);
  expect(left).not.toEqual([]);
  expect(openToOthers(backups, left)).toEqual([]);
});

/** It asks for the time once for the name of the copy, and then in its first step. */
const KILLED_IN_FIRST_STEP = `
  import { openWriter } from './src/store/connection.ts';
  import { migrate } from './src/store/migrate.ts';
  let asked = 0;
  const now = () => ((asked += 1) === 2 ? process.kill(process.pid, 'SIGKILL') : Date.now());
  migrate(openWriter(process.argv[1], { busyTimeoutMs: 1_000 }), { now });
`;

it('leaves one copy of how it was, however often it is killed in its first step', async () => {
  const { dataDir, config } = dataFolder(1);
  const argv = ['--input-type=module', '--eval', KILLED_IN_FIRST_STEP, join(dataDir, 'mirror.db')];
  for (let kill = 0; kill < 3; kill += 1) {
    const { signal } = spawnSync(process.execPath, argv, { cwd: repositoryRoot });
    expect(signal).toBe('SIGKILL');
  }
  expect((await runCommand(['--config', config, 'migrate'])).code).toBe(0);
  const copies = readdirSync(dataDir).filter((name) => name.includes('.before-'));
  expect(copies).toEqual([expect.stringMatching(/before-\d+-\d+$/)]);
});
