/** An installation whose optional packages were left out (`npm ci --omit=optional`). */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ENV, MINIMAL, writeConfig } from '../../config/support.ts';
import { launcherEnv } from '../../support/launcher.ts';
import { repositoryRoot } from '../../support/source.ts';
import { placeDatabase, temporaryFolder } from '../../support/store.ts';

/** The program with all packages but the driver of PostgreSQL. */
function installWithoutDriver(): string {
  const folder = temporaryFolder();
  for (const part of ['bin', 'config', 'migrations', 'src', 'package.json']) {
    cpSync(join(repositoryRoot, part), join(folder, part), { recursive: true });
  }
  const packages = join(folder, 'node_modules');
  mkdirSync(packages);
  for (const name of readdirSync(join(repositoryRoot, 'node_modules'))) {
    if (name.startsWith('.') || name.startsWith('pg')) continue;
    symlinkSync(join(repositoryRoot, 'node_modules', name), join(packages, name));
  }
  return join(folder, 'bin', 'selvedge.mjs');
}

it('says without the driver of PostgreSQL what brings it, and does all the rest', async () => {
  const launcher = installWithoutDriver();
  const dataDir = temporaryFolder();
  placeDatabase(join(dataDir, 'mirror.db'));
  const url = { PLANE_URL: 'postgresql://plane:canary-8d2@127.0.0.1:9/plane' };
  const file = writeConfig(`dataDir: ${dataDir}\nplane: { url: { env: PLANE_URL } }\n${MINIMAL}`);
  const env = { ...launcherEnv(), ...ENV, ...url };
  const call = async (...args: readonly string[]) => {
    const asked = promisify(execFile)(process.execPath, [launcher, '-c', file, ...args], { env });
    const { code = 0, stderr } = await asked.catch((error) => error);
    return { args, code, stderr };
  };
  const hint = 'hint: it is an optional dependency: "npm ci" without --omit=optional brings it\n';
  const stderr = `selvedge: the package "pg" is not installed\n${hint}`;
  expect(await Promise.all([call('plane', 'init'), call('status')])).toEqual([
    { args: ['plane', 'init'], code: 1, stderr },
    { args: ['status'], code: 0, stderr: '' },
  ]);
});
