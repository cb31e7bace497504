/** The independent linter of OpenAPI documents, and what else its program can do. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from './source.ts';

const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

/** Runs its program in a folder; gives what that says, and throws when it fails. */
export async function runRedocly(folder: string, args: readonly string[]): Promise<string> {
  const program = join(repositoryRoot, 'node_modules/@redocly/cli/bin/cli.js');
  const { stderr } = await promisify(execFile)(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...process.env, ...QUIET },
  });
  return stderr;
}

/** Findings about these files; throws when one is not valid. */
export function lintOpenApi(folder: string, files: readonly string[]): Promise<string> {
  return runRedocly(folder, ['lint', '--extends=recommended', '--max-problems=20', ...files]);
}
