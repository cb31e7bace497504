/** Backups on another host: what the units run, with the program of docs/operating/backup.md. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, inject, it } from 'vitest';
import { LAUNCHER } from '../support/launcher.ts';
import { repositoryRoot } from '../support/source.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const read = (...path: readonly string[]) => readFileSync(join(repositoryRoot, ...path), 'utf8');

function lineOf(unit: string, name: string): string {
  const found = new RegExp(`^${name}=(.*)$`, 'm').exec(read('systemd', unit))?.[1];
  if (found === undefined) throw new Error(`${unit} has no ${name}=`);
  return found;
}

function writeProgram(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

/** A host that ssh reaches: its home folder is a folder here. */
function otherHost(folder: string): { readonly home: string; readonly path: string } {
  const home = join(folder, 'other-host');
  const bin = join(folder, 'bin');
  for (const one of [home, bin]) mkdirSync(one);
  const ssh = `#!/bin/sh
while [ "$1" != rsync ]; do shift; done
cd '${home}' && exec "$@"
`;
  writeProgram(join(bin, 'ssh'), ssh);
  return { home, path: `${bin}${delimiter}${process.env.PATH}` };
}

function installation() {
  const folder = temporaryFolder();
  const [data, backups] = [join(folder, 'data'), join(folder, 'backups')];
  mkdirSync(data);
  placeDatabase(join(data, 'mirror.db'));
  placeDatabase(join(data, 'exchange.db'), inject('migratedExchange'));
  const config = join(folder, 'selvedge.yaml');
  writeFileSync(
    config,
    `dataDir: ${data}
service: { v1: { baseUrl: "http://127.0.0.1:9/api/v1", apiKey: { env: API_KEY } } }
listener: { secrets: [{ secret: { env: HOOK } }] }
store: { backup: { directory: ${backups}, keep: 2 } }
`,
  );
  const [, script] = /```sh\n(#!\/bin\/sh\n# \/etc\/selvedge\/backup-copy\n.*?)```/s.exec(
    read('docs', 'operating', 'backup.md'),
  ) ?? ['', ''];
  writeProgram(join(folder, 'backup-copy'), script);
  const { home, path } = otherHost(folder);
  const env = { PATH: path, CREDENTIALS_DIRECTORY: folder, STATE_DIRECTORY: folder };
  /** Runs what the unit runs, each path of an installation replaced by one of the test. */
  const runUnit = (unit: string): void => {
    const command = lineOf(unit, 'ExecStart')
      .replace('/opt/selvedge/node_modules/.bin/node', process.execPath)
      .replace('/opt/selvedge/bin/selvedge.mjs', LAUNCHER)
      .replace('/etc/selvedge/selvedge.yaml', config)
      .replace('/etc/selvedge/backup-copy', join(folder, 'backup-copy'))
      .replace('/var/backups/selvedge', backups);
    const [program = '', ...args] = command.split(' ');
    execFileSync(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  return { folder, data, config, copies: join(home, 'selvedge'), runUnit };
}

function selvedge(...args: readonly string[]): string {
  const env = {
    PATH: process.env.PATH,
    API_KEY: 'x',
    HOOK: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  };
  return execFileSync(process.execPath, [LAUNCHER, ...args], { env, encoding: 'utf8' });
}

function inDatabase<T>(path: string, statement: string): T[] {
  const database = new Database(path);
  try {
    const prepared = database.prepare<[], T>(statement);
    if (prepared.reader) return prepared.all();
    prepared.run();
    return [];
  } finally {
    database.close();
  }
}

it('every backup unit starts its copy, which a machine without the program leaves out', () => {
  for (const [unit, copy] of [
    ['selvedge-backup.service', 'selvedge-backup-copy.service'],
    ['selvedge-backup@.service', 'selvedge-backup-copy@%i.service'],
  ] as const) {
    expect(lineOf(unit, 'OnSuccess')).toBe(copy);
    const file = copy.replace('%i', '');
    const [program] = lineOf(file, 'ExecStart').split(' ');
    expect(lineOf(file, 'ConditionFileIsExecutable')).toBe(program);
  }
});

it('copies both databases to another host, where they are checked and restored', () => {
  const { folder, data, config, copies, runUnit } = installation();
  inDatabase(
    join(data, 'exchange.db'),
    `insert into intake (kind, reference, payload) values ('order', 'SO-1', '{}')`,
  );
  inDatabase(
    join(data, 'mirror.db'),
    `insert into audit (at, actor, action, subject, reason, detail)
     values (1, 'somebody', 'test', 'x', '', '{}')`,
  );
  const once = (): void => {
    runUnit('selvedge-backup.service');
    runUnit('selvedge-backup-copy.service');
  };
  once();
  const [first = ''] = readdirSync(copies).filter((name) => name.endsWith('.json'));
  expect(readdirSync(copies)).toHaveLength(3);
  expect(selvedge('--config', config, 'backup', 'verify', join(copies, first))).toContain('whole');

  // The machine is gone: another one has the configuration and the copies.
  const there = join(folder, 'new-machine');
  mkdirSync(there);
  const other = join(there, 'selvedge.yaml');
  writeFileSync(other, readFileSync(config, 'utf8').replace(data, join(there, 'data')));
  mkdirSync(join(there, 'data'), { mode: 0o700 });
  const restored = selvedge(
    ...['--config', other, 'backup', 'restore', join(copies, first), '--with-exchange'],
  );
  expect(restored).toContain('restored');
  const [document] = inDatabase<{ reference: string }>(
    join(there, 'data', 'exchange.db'),
    'select reference from intake',
  );
  expect(document).toEqual({ reference: 'SO-1' });
  const actors = inDatabase<{ actor: string }>(
    join(there, 'data', 'mirror.db'),
    "select actor from audit where action = 'test'",
  );
  expect(actors).toEqual([{ actor: 'somebody' }]);
});

it('keeps as many on the other host as here', async () => {
  const { copies, runUnit } = installation();
  mkdirSync(copies);
  const old = join(copies, 'backup-20200101T000000Z.json');
  writeFileSync(old, '{}');
  runUnit('selvedge-backup.service');
  runUnit('selvedge-backup-copy.service');
  expect(existsSync(old)).toBe(false);
  expect(readdirSync(copies)).toHaveLength(3);
});
