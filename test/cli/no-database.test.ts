/** A wrong dataDir, or the configuration of another user: nobody may make an empty mirror there. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TOKEN_PREFIX } from '../../src/console/access/sessions.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { writeStandbyStatus } from '../../src/standby/status-file.ts';
import { lockFolder } from '../../src/store/lock.ts';
import { ENV, MINIMAL, writeConfig, writeSecret } from '../config/support.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

const NEED_ONE = [
  ['sync', 'run', 'stock'],
  ['pause', 'stream', 'stock', '--reason', 'looking'],
  ['pause', 'pushes', '--reason', 'prices'],
  ['resume', 'pushes', '--reason', 'right'],
  ['sync', 'release', '1'],
  ['events', 'replay', '--since', '1d'],
  ['portal', 'open'],
  ['api', 'GET', '/brands'],
  ['backup', 'create'],
];

describe('where there is no database', () => {
  it.each(NEED_ONE)('%s %s is refused, and makes none', async (...args) => {
    const dataDir = join(temporaryFolder(), 'mispelt');
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { code, stdout, stderr } = await selvedge(['--config', file, ...args], ENV);
    expect(stderr).toContain(`there is no database in ${dataDir}`);
    expect(stderr).toMatch(/^hint: .*dataDir/m);
    expect([stdout, code > 0]).toEqual(['', true]);
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each(NEED_ONE)('%s %s writes nothing into a folder either', async (...args) => {
    const dataDir = temporaryFolder();
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { stderr } = await selvedge(['--config', file, ...args], ENV);
    expect(stderr).toContain(`there is no database in ${dataDir}`);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('says that a restore was cut off', async () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, 'mirror.db.restoring'), 'ready');
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const args = ['--config', file, 'pause', 'pushes', '--reason', 'wait'];
    expect((await selvedge(args, ENV)).stderr).toContain('a restore was cut off');
  });
});

describe('a daemon that does not answer', () => {
  it('is paused by a file, as is said to who wanted to pause it', async () => {
    const dataDir = temporaryFolder();
    placeDatabase(join(dataDir, 'mirror.db'));
    const folder = lockFolder(join(dataDir, 'daemon.lock'));
    onTestFinished(() => folder.release());
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const pause = ['--config', file, 'pause', 'pushes', '--reason', 'prices'];
    const { code, stderr } = await selvedge(pause, ENV);
    expect(code).toBe(EXIT.temporary.code);
    expect(stderr).toContain('nothing is paused: the daemon cannot be asked');
    expect(stderr).toContain(`hint: a file pauses pushes as well: touch ${dataDir}/pushes.paused`);
  });
});

describe('a daemon that does not run', () => {
  const ASKED = [
    ['deliveries', 'hold', '1', '--reason', 'colour'],
    ['outbox', 'retry', '1', '--reason', 'again'],
    ['rules', 'reload'],
    ['--url', 'http://127.0.0.1:1', 'status'],
    ['--url', 'http://127.0.0.1:1', 'deliveries', 'hold', '1', '--reason', 'colour'],
  ];

  it.each(ASKED)('gives %s %s … one exit code, after which it is tried later', async (...args) => {
    const dataDir = temporaryFolder();
    placeDatabase(join(dataDir, 'mirror.db'));
    const token = writeSecret(`${TOKEN_PREFIX}${'canary'.repeat(5)}`);
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const words = args.includes('--url')
      ? [...args, '--token-file', token]
      : ['--config', file, ...args];
    const { code, stderr } = await selvedge(words, ENV);
    expect(stderr).toContain('\nhint: does ');
    expect(code).toBe(EXIT.temporary.code);
  });
});

describe('a machine that waits as a standby', () => {
  const waiting = () => {
    const dataDir = temporaryFolder();
    const server = writeSecret('postgresql://selvedge@127.0.0.1/selvedge');
    const standby = `standby: { servers: [{ file: ${server} }] }\noutbox: { quietTime: 20m }`;
    const file = writeConfig(`dataDir: ${dataDir}\n${standby}\n${MINIMAL}`);
    const now = Date.now();
    writeStandbyStatus(dataDir, {
      at: now,
      role: 'standby',
      state: 'waiting',
      account: 'main',
      machine: 'here',
      holder: 'there:/data',
      waiting: 0,
      place: 7,
      backupAt: now - 60_000,
      acknowledge: 'postgresql',
    });
    return (...args: string[]) => selvedge(['--config', file, ...args], ENV);
  };
  const WAITS = 'waits as a standby; there:/data holds the lease; would go on from a backup 1m';

  it('says so in its status, to people, programs and monitoring', async () => {
    const run = waiting();
    expect(await run('status')).toMatchObject({ code: 0, stderr: '' });
    expect((await run('status')).stdout).toContain(`standby     ${WAITS}`);
    expect(await run('status', '--check')).toMatchObject({ code: 0 });
    expect((await run('status', '--check')).stdout).toContain(`OK: ${WAITS}`);
    const { standby } = JSON.parse((await run('status', '--json')).stdout);
    expect(standby).toMatchObject({ role: 'standby', state: 'waiting', holder: 'there:/data' });
  });

  it('is fine for the doctor, who asks for no database there', async () => {
    const { stdout } = await waiting()('doctor');
    expect(stdout).toContain(`ok   standby        ${WAITS}`);
    expect(stdout).toMatch(/^- +service +not asked: this machine waits as a standby$/m);
    expect(stdout).not.toMatch(/database|exchange/);
  });

  it('has nothing to copy, as its timer is told', async () => {
    const { code, stdout } = await waiting()('backup', 'create');
    expect([code, stdout]).toEqual([0, 'nothing to copy: this machine waits as a standby\n']);
  });

  it.each([
    ['deliveries', 'list'],
    ['sync', 'run', 'stock'],
  ])('refuses %s %s, and says where to ask', async (...args) => {
    const { code, stderr } = await waiting()(...args);
    expect(stderr).toContain(`no database is here: it ${WAITS}`);
    expect(stderr).toContain('hint: ask on the machine that holds the lease');
    expect(code).toBe(EXIT.failure.code);
  });
});

describe('a database that a newer program made', () => {
  const READING = [
    ['status'],
    ['deliveries', 'list'],
    ['stock', '5702675000006'],
    ['report', 'run', 'held-deliveries'],
    ['report', 'run', 'held-deliveries', '--json'],
    ['report', 'snapshot', 'copy.db'],
    ['report', 'list'],
    ['rules', 'check', '--mirror'],
    ['pause', 'pushes', '--reason', 'prices'],
  ];

  it.each(READING)('is refused by %s %s %s', async (...args) => {
    const dataDir = temporaryFolder();
    const path = join(dataDir, 'mirror.db');
    placeDatabase(path);
    const database = new Database(path);
    database.exec("insert into schema_migration values (99, 'later', 'x', 1)");
    database.close();
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { code, stdout, stderr } = await selvedge(['--config', file, ...args], ENV);
    expect(stderr).toMatch(/has schema 99 \(later\); this program knows \d\nhint: run the newer/);
    if (!args.includes('--json')) expect(stdout).toBe('');
    expect(code).toBe(EXIT.store.code);
  });
});

describe('where there is one', () => {
  it('changes what it was asked for, without a daemon', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    placeDatabase(join(dataDir, 'mirror.db'));
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    for (const args of NEED_ONE.slice(1, 4)) {
      const found = await selvedge(['--config', file, ...args], ENV);
      expect(found).toMatchObject({ code: 0, stderr: '' });
    }
  });
});
