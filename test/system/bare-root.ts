/** A root folder with a package database and nothing else, as dpkg installs into. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/store.ts';

export interface BareRoot {
  readonly root: string;
  /** Folder of the installed program. */
  readonly home: string;
  dpkg(...args: readonly string[]): void;
}

export function makeBareRoot(): BareRoot {
  const root = join(temporaryFolder(), 'root');
  for (const one of ['info', 'updates', 'triggers']) {
    mkdirSync(join(root, 'var', 'lib', 'dpkg', one), { recursive: true });
  }
  writeFileSync(join(root, 'var', 'lib', 'dpkg', 'status'), '');
  mkdirSync(join(root, 'etc'));
  return {
    root,
    home: join(root, 'opt', 'selvedge'),
    dpkg(...args) {
      const forced = ['not-root', 'depends', 'script-chrootless'].map((one) => `--force-${one}`);
      const all = [`--root=${root}`, ...forced, '--log=/dev/null', ...args];
      execFileSync('dpkg', all, { stdio: 'ignore' });
    },
  };
}
