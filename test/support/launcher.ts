/** The program as a process of its own, as an operator starts it. */
import { join } from 'node:path';
import { repositoryRoot } from './source.ts';

export const LAUNCHER = join(repositoryRoot, 'bin', 'selvedge.mjs');

/** Our environment without the tests' cache of compiled scripts: the launcher has its own. */
export function launcherEnv(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  return env;
}
