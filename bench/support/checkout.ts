/** Another commit of this repository in a folder of its own, to measure beside this one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../../src/lib/errors.ts';

const ARCHIVE_BYTES_MAX = 512 * 1_024 * 1_024;

function git(root: string, ...args: readonly string[]) {
  return spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
}

/** The whole name of a commit. */
export function commitOf(root: string, named: string): string {
  const found = git(root, 'rev-parse', '--verify', '--end-of-options', `${named}^{commit}`);
  if (found.status === 0) return found.stdout.trim();
  const isCheckout = git(root, 'rev-parse', '--git-dir').status === 0;
  throw isCheckout
    ? new UsageError('bench.no_commit', `there is no commit ${named} in this repository`, {
        hint: 'name one that `git log` shows, or fetch it first',
      })
    : new UsageError('bench.no_repository', `${root} is not in a git repository`, {
        hint: 'run it in a clone, with git installed: --beside takes the other commit from there',
      });
}

/** Name of what is here, which may differ from its commit. */
export function nameHere(root: string): string {
  const commit = git(root, 'rev-parse', '--short=8', 'HEAD').stdout.trim();
  const isEdited = git(root, 'status', '--porcelain').stdout !== '';
  return isEdited ? `${commit}, edited` : commit;
}

/** Packages: those that are here if both commits want the same, else those of the other. */
function providePackages(root: string, folder: string): void {
  const lock = (place: string): string => readFileSync(join(place, 'package-lock.json'), 'utf8');
  if (lock(root) === lock(folder)) {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  } else {
    console.log('its packages differ from those here: npm ci');
    execFileSync('npm', ['ci'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  }
}

/** Writes the commit to a new folder, with the benchmarks of this checkout; gives the folder. */
export function checkedOut(root: string, commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), `selvedge-${commit.slice(0, 8)}-`));
  try {
    const input = execFileSync('git', ['-C', root, 'archive', '--format=tar', commit], {
      maxBuffer: ARCHIVE_BYTES_MAX,
    });
    execFileSync('tar', ['-x', '-C', folder], { input });
    providePackages(root, folder);
    rmSync(join(folder, 'bench'), { recursive: true, force: true });
    cpSync(join(root, 'bench'), join(folder, 'bench'), { recursive: true });
    return folder;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
