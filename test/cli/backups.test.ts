/** The commands around backups, as an operator types them. */
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { EXIT } from '../../src/lib/errors.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

function install(store = '') {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(inject('migratedDatabase'), join(dataDir, 'mirror.db'));
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
      expect([stdout, code]).toEqual(['', EXIT.failure.code]);
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
