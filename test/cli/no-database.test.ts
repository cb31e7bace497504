/** A wrong dataDir, or the configuration of another user: nobody may make an empty mirror there. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/lib/errors.ts';
import { lockFolder } from '../../src/store/lock.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

const NEED_ONE = [
  ['sync', 'run', 'stock'],
  ['sync', 'pause', 'stock'],
  ['sync', 'resume', 'stock'],
  ['sync', 'release', '1'],
  ['sync', 'retry-quarantine'],
  ['events', 'replay', '--since', '1d'],
  ['portal', 'open'],
  ['api', 'GET', '/brands'],
  ['migrate'],
  ['backup', 'create'],
];

const BRAKES = [['pause', 'prices'], ['resume']];

describe('where there is no database', () => {
  it.each([...NEED_ONE, ...BRAKES])('%s %s is refused, and makes none', async (...args) => {
    const dataDir = join(temporaryFolder(), 'mispelt');
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { code, stdout, stderr } = await selvedge(['--config', file, ...args], ENV);
    expect(stderr).toContain(`there is no database in ${dataDir}`);
    expect(stderr).toMatch(/^hint: .*dataDir/m);
    expect([stdout, code > 0]).toEqual(['', true]);
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each([...NEED_ONE, ...BRAKES])(
    '%s %s writes nothing into a folder either',
    async (...args) => {
      const dataDir = temporaryFolder();
      const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
      const { stderr } = await selvedge(['--config', file, ...args], ENV);
      expect(stderr).toContain(`there is no database in ${dataDir}`);
      expect(readdirSync(dataDir)).toEqual([]);
    },
  );

  it('says that a restore was cut off, and lets the brake be pulled all the same', async () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, 'mirror.db.restoring'), 'ready');
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const run = (...args: string[]) => selvedge(['--config', file, ...args], ENV);
    expect((await run('sync', 'pause', 'stock')).stderr).toContain('a restore was cut off');
    expect(await run('pause', 'wait')).toMatchObject({ code: 0 });
    expect(await run('resume')).toMatchObject({ code: 0 });
  });
});

describe('a daemon whose database somebody has taken away', () => {
  it('sends until it notices, so that its brake can be pulled', async () => {
    const dataDir = temporaryFolder();
    const folder = lockFolder(join(dataDir, 'daemon.lock'));
    onTestFinished(() => folder.release());
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    for (const [args, isPaused] of [
      [['pause', 'prices'], true],
      [['resume'], false],
    ] as const) {
      const found = await selvedge(['--config', file, ...args], ENV);
      expect(found).toMatchObject({ code: 0, stderr: '' });
      expect(existsSync(join(dataDir, 'pushes.stop'))).toBe(isPaused);
    }
  });
});

describe('a data folder that cannot be written', () => {
  it.each(BRAKES)('is told as such to %s %s', async (...args) => {
    const dataDir = join(temporaryFolder(), 'data');
    writeFileSync(dataDir, 'a file in its place');
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { code, stderr } = await selvedge(['--config', file, ...args], ENV);
    expect(code).toBe(EXIT.config.code);
    expect(stderr).toMatch(/^selvedge: no.*ENOTDIR.*\nhint: is .* right, and /);
    expect(stderr).not.toContain('    at ');
  });
});

describe('where there is one', () => {
  it('changes what it was asked for, without a daemon', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    placeDatabase(join(dataDir, 'mirror.db'));
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    for (const args of [['sync', 'pause', 'stock'], ['migrate'], ...BRAKES]) {
      const found = await selvedge(['--config', file, ...args], ENV);
      expect(found).toMatchObject({ code: 0, stderr: '' });
    }
  });
});
