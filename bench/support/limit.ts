/** The limit of the machine (limit.cpp), compiled for it, as one of the shell's tools. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DETAILS, MEMBERS } from './columns.ts';
import type { ShellTool } from './shell-tools.ts';

export const LIMIT = 'the limit: simdjson and SQLite in C++';

/** Undefined where there is no compiler, or one of the two libraries is missing. */
export function compiledLimit(folder: string): ShellTool | undefined {
  const program = join(folder, 'limit');
  const source = join(import.meta.dirname, 'limit.cpp');
  const options = ['-O3', '-march=native', '-std=c++20', '-o', program];
  const { status } = spawnSync('c++', [...options, source, '-lsimdjson', '-lsqlite3']);
  if (status !== 0) return undefined;
  return {
    name: LIMIT,
    needs: ['curl'],
    command: (target, url) =>
      `curl -sf '${url}' | ${program} ${join(target, 'limit.db')} ${MEMBERS} ${DETAILS}`,
  };
}
