/** The commands around backups, as an operator types them. */
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

function install(store = '') {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  placeDatabase(join(dataDir, 'mirror.db'));
  const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}${store}`);
  return { dataDir, run: (...args: string[]) => selvedge(['--config', file, ...args], ENV) };
}

describe('a folder of backups that is not there', () => {
  it('is told by all that would read it', async () => {
    const { dataDir, run } = install();
    const absent = join(dataDir, 'backups');
    for (const args of [['list'], ['list', '--json'], ['verify'], ['restore']]) {
      const { code, stdout, stderr } = await run('backup', ...args);
      expect(stderr).toContain(`there is no folder ${absent}`);
      expect(stderr).toMatch(/^hint: .*selvedge backup create.*store\.backup\.directory/m);
      const told = args.includes('--json') ? expect.stringContaining('backup.no_folder') : '';
      expect([stdout, code]).toEqual([told, EXIT.failure.code]);
    }
    const elsewhere = await run('backup', 'list', '--from', '/nonexistent');
    expect(elsewhere.stderr).toContain('there is no folder /nonexistent');
    expect(elsewhere.code).toBe(EXIT.failure.code);
    expect(await run('backup', 'create')).toMatchObject({ code: 0 });
    expect((await run('backup', 'list')).stdout).toContain(absent);
  });

  it('is told as one that this user cannot read where nobody can', async () => {
    const { dataDir, run } = install();
    symlinkSync('closed', join(dataDir, 'closed'));
    const { code, stderr } = await run('backup', 'list', '--from', join(dataDir, 'closed'));
    expect(stderr).toMatch(/^selvedge: the backups in .*closed cannot be read: ELOOP.*\nhint: /);
    expect(stderr).not.toContain('    at ');
    expect(code).toBe(EXIT.failure.code);
  });
});

/** A brand with backups; the time at which its database was made tells it apart. */
function brand(directory: string, madeAt: number) {
  const keep = 2;
  const store = `store: { backup: { directory: ${directory}, keep: ${keep} } }\n`;
  const { dataDir, run } = install(store);
  const database = new Database(join(dataDir, 'mirror.db'));
  database.prepare('update schema_migration set applied_at = ?').run(madeAt);
  database.close();
  const exchangeFile = join(dataDir, 'exchange.db');
  const plan = { dataDir, exchangeFile, directory, keep, busyTimeoutMs: 100, program: 'test' };
  const backup = async (at: string): Promise<string> =>
    (await createBackup(plan, manualClock(Date.parse(at)))).backup.path;
  const listed = async (): Promise<string[]> =>
    JSON.parse((await run('backup', 'list', '--json')).stdout).map(
      ({ path }: { path: string }) => path,
    );
  return { dataDir, run, backup, listed };
}

describe('one folder for the backups of two databases', () => {
  it('keeps as many of each as asked for', async () => {
    const directory = join(temporaryFolder(), 'backups');
    const [one, two] = [brand(directory, 1_000), brand(directory, 2_000)];
    const first = await one.backup('2026-01-01T03:00:00Z');
    const second = await one.backup('2026-01-01T09:00:00Z');
    await two.backup('2026-01-01T10:00:00Z');
    await two.backup('2026-01-01T16:00:00Z');
    const last = await two.backup('2026-01-01T22:00:00Z');
    expect(await one.listed()).toEqual([second, first]);
    expect((await two.listed())[0]).toBe(last);
    expect((await one.run('backup', 'verify')).stdout).toContain(second);
    const third = await one.backup('2026-01-02T03:00:00Z');
    expect(await one.listed()).toEqual([third, second]);
  });

  it('says how many it does not show, and takes none of them for its own', async () => {
    const directory = join(temporaryFolder(), 'backups');
    const [one, two] = [brand(directory, 1_000), brand(directory, 2_000)];
    const other = await one.backup('2026-01-01T03:00:00Z');
    const { stdout, stderr } = await two.run('backup', 'list');
    expect(stdout).not.toContain(other);
    expect(stderr).toMatch(/^1 of another database is not shown/);
    expect((await two.run('status', '--check')).stdout).toContain('there is no backup');
    expect((await two.run('doctor', '--offline')).stdout).toMatch(/WARN backup +there is none/);
    for (const named of [[], [other]]) {
      const refused = await two.run('backup', 'restore', ...named);
      expect(refused.stderr).toMatch(/another database.*\nhint: .*mirror\.db/s);
      expect(refused.code).toBe(EXIT.failure.code);
    }
    // Moving the database away counts as intended.
    renameSync(join(two.dataDir, 'mirror.db'), join(two.dataDir, 'aside.db'));
    expect((await two.run('backup', 'restore')).stdout).toContain(`restored ${other}`);
    expect((await two.run('backup', 'list')).stdout).toContain(other);
  });

  it('has no newest one for a new machine, which names what it wants', async () => {
    const directory = join(temporaryFolder(), 'backups');
    const [one, two] = [brand(directory, 1_000), brand(directory, 2_000)];
    const wanted = await one.backup('2026-01-01T03:00:00Z');
    const other = await two.backup('2026-01-01T09:00:00Z');
    renameSync(join(one.dataDir, 'mirror.db'), join(one.dataDir, 'aside.db'));
    const { code, stderr } = await one.run('backup', 'restore');
    expect(stderr).toMatch(/holds backups of 2 databases.*\nhint: name/s);
    for (const path of [wanted, other]) expect(stderr).toContain(path);
    expect(code).toBe(EXIT.failure.code);
    expect((await one.run('backup', 'restore', wanted)).code).toBe(0);
  });
});

describe('backups made while the clock was ahead', () => {
  const HOUR = 3_600_000;
  const fromNow = (hours: number) => new Date(systemClock().now() + hours * HOUR).toISOString();

  function house() {
    const { backup, ...rest } = brand(join(temporaryFolder(), 'backups'), 1_000);
    return { ...rest, made: (hours: number) => backup(fromNow(hours)) };
  }

  it('stand behind the others, are named for what they are, and go first', async () => {
    const { run, made, listed } = house();
    const ahead = await made(8_000);
    const right = await made(-60);
    expect(await listed()).toEqual([right, ahead]);
    const { stdout } = await run('backup', 'list');
    expect(stdout).toMatch(/^2.*\(clock was ahead\) .*$/m);
    expect(stdout.match(/clock was ahead/g)).toHaveLength(1);
    expect((await run('backup', 'verify')).stdout).toContain(right);
    expect((await run('status', '--check')).stdout).toContain('backup is older than a day');
    const told = (await run('doctor', '--offline')).stdout;
    expect(told).toMatch(/WARN backup +the newest is 2d 12h old; 1 made while the clock was ahead/);
    const last = await made(-1);
    expect(await listed()).toEqual([last, right]);
  });

  it('stay until another one is made, and count as none that is fresh', async () => {
    const { run, made, listed } = house();
    const first = await made(8_000);
    const second = await made(8_001);
    expect(await listed()).toEqual([second, first]);
    expect((await run('backup', 'verify')).stdout).toContain(second);
    expect((await run('status', '--check')).stdout).toContain('there is no backup');
    expect((await run('doctor', '--offline')).stdout).toMatch(
      /WARN backup +there are only 2 made while the clock was ahead/,
    );
    expect((await run('backup', 'restore')).stdout).toContain(`restored ${second}`);
  });

  it('are restored by name where others may be newer', async () => {
    const { run, made } = house();
    const ahead = await made(8_000);
    const right = await made(-1);
    const { code, stderr } = await run('backup', 'restore');
    expect(stderr).toMatch(/cannot be told which .* newest.*\nhint: name/s);
    for (const path of [ahead, right]) expect(stderr).toContain(path);
    expect(code).toBe(EXIT.failure.code);
    expect((await run('backup', 'restore', right)).stdout).toContain(`restored ${right}`);
  });

  it('are none where the clocks of two machines differ by some seconds', async () => {
    const { run, made, listed } = house();
    const right = await made(-6);
    const newest = await made(1 / 15);
    expect(await listed()).toEqual([newest, right]);
    expect((await run('backup', 'list')).stdout).not.toContain('clock was ahead');
    expect((await run('doctor', '--offline')).stdout).toMatch(/backup +the newest is 0ms old$/m);
    expect((await run('backup', 'restore')).stdout).toContain(`restored ${newest}`);
  });
});
