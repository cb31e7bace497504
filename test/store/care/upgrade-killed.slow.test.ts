/** A program that is killed while it copies the database, or right behind that. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { MINIMAL, writeConfig } from '../../config/support.ts';
import { LAUNCHER, launcherEnv } from '../../support/launcher.ts';
import { repositoryRoot } from '../../support/source.ts';
import { placeDatabase, temporaryFolder } from '../../support/store.ts';
import { inFile, migrateArgv, olderDatabase } from './killed-upgrade.ts';

/** Kills the process as soon as a file like this is there; gives what it has left of them. */
async function killAtCopy(argv: string[], folder: string, like: RegExp) {
  const left = () => readdirSync(folder).filter((name) => like.test(name));
  const child = spawn(process.execPath, argv, {
    cwd: repositoryRoot,
    env: launcherEnv(),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  const watcher = watch(folder, () => left().length > 0 && child.kill('SIGKILL'));
  await ended;
  watcher.close();
  return left();
}

const copiesIn = (dataDir: string): readonly string[] =>
  readdirSync(dataDir).filter((name) => name.includes('.before-'));

const openToOthers = (folder: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);

it('leaves no half copy under the name of a whole one, nor its bytes', async () => {
  const { dataDir, steps } = olderDatabase();
  const argv = migrateArgv(dataDir, steps, 0);
  const left = await killAtCopy(argv, dataDir, /\.before-/);
  expect(openToOthers(dataDir, left)).toEqual([]);
  for (const name of left.filter((name) => /before-\d+-\d+$/.test(name))) {
    expect(inFile(join(dataDir, name), 'select count(*) from thing')).toEqual([96]);
  }
  expect(spawnSync(process.execPath, argv, { cwd: repositoryRoot }).status).toBe(0);
  expect(copiesIn(dataDir)).toEqual([expect.stringMatching(/before-\d+-\d+$/)]);
});

it('lets nobody else read the half of a backup', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  const backups = join(dataDir, 'backups');
  mkdirSync(backups, { recursive: true });
  const path = join(dataDir, 'mirror.db');
  placeDatabase(path);
  const database = new Database(path);
  database.exec(`insert into rule_set (hash, first_used_at, files)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 96)
    select i, 0, hex(zeroblob(524288)) from n`);
  database.close();
  const config = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
  const command = [LAUNCHER, '--config', config, 'backup', 'create'];
  const left = await killAtCopy(command, backups, /-mirror\.db/);
  expect(left).not.toEqual([]);
  expect(openToOthers(backups, left)).toEqual([]);
});

it('leaves one copy of how it was, however often it is killed in its first step', () => {
  const { dataDir, steps } = olderDatabase(1);
  for (let kill = 0; kill < 3; kill += 1) {
    const argv = migrateArgv(dataDir, steps, 2);
    expect(spawnSync(process.execPath, argv, { cwd: repositoryRoot }).signal).toBe('SIGKILL');
  }
  const argv = migrateArgv(dataDir, steps, 0);
  expect(spawnSync(process.execPath, argv, { cwd: repositoryRoot }).status).toBe(0);
  expect(copiesIn(dataDir)).toEqual([expect.stringMatching(/before-2-\d+$/)]);
});
