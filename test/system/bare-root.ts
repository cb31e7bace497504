/** Packages of this program, and a root folder that dpkg installs them into. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianPackage } from '../../scripts/package/debian.ts';
import { type Described, debianTree } from '../../scripts/package/tree.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

export interface BareRoot {
  readonly root: string;
  /** Folder of the installed program. */
  readonly home: string;
  dpkg(...args: readonly string[]): void;
}

/** A package database and nothing else. */
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

const SECONDS = 1_700_000_000;

/** Paths of packages of the same tree, by their versions. */
export function packagesOf(...versions: readonly string[]): Readonly<Record<string, string>> {
  const script = join(repositoryRoot, 'scripts', 'build.mjs');
  execFileSync(process.execPath, [script], { stdio: 'ignore' });
  const text = readFileSync(join(repositoryRoot, 'package.json'), 'utf8');
  const described: Described = JSON.parse(text);
  const tree = debianTree(repositoryRoot, described, SECONDS);
  const folder = temporaryFolder();
  const files = versions.map((version) => {
    const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(text), version }));
    const entries = tree.map((entry) =>
      entry.path === 'opt/selvedge/package.json'
        ? { ...entry, content: { bytes, isProgram: false } }
        : entry,
    );
    const path = join(folder, `${version}.deb`);
    writeFileSync(path, debianPackage({ ...described, version }, entries, SECONDS));
    return [version, path] as const;
  });
  return Object.fromEntries(files);
}
