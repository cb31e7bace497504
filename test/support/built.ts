/** The program as `npm pack` ships it, made from this checkout. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './source.ts';
import { temporaryFolder } from './store.ts';

const SHIPPED = ['bin', 'config', 'docs', 'migrations', 'package.json'];

/** Its folder, which goes with the test. Without `src`, so that nothing of that can run. */
export function builtProgram(): string {
  const folder = temporaryFolder();
  for (const name of SHIPPED) {
    cpSync(join(repositoryRoot, name), join(folder, name), { recursive: true });
  }
  // Not the folder as a whole: what the program keeps beside its packages goes with it.
  const packages = join(folder, 'node_modules');
  mkdirSync(packages);
  for (const name of readdirSync(join(repositoryRoot, 'node_modules'))) {
    if (name.startsWith('.')) continue;
    symlinkSync(join(repositoryRoot, 'node_modules', name), join(packages, name));
  }
  // `npm run check` checks the types; what is written does not depend on it.
  const script = join(repositoryRoot, 'scripts/build.mjs');
  const args = [script, join(folder, 'dist'), '--noCheck'];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
  return folder;
}
