/** The independent linter of OpenAPI documents. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from './source.ts';

const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

/** What it says of these files; throws when one is not valid. */
export async function lintOpenApi(folder: string, files: readonly string[]): Promise<string> {
  const linter = join(repositoryRoot, 'node_modules/@redocly/cli/bin/cli.js');
  const { stderr } = await promisify(execFile)(
    process.execPath,
    [linter, 'lint', '--extends=recommended', '--max-problems=20', ...files],
    { cwd: folder, env: { ...process.env, ...QUIET } },
  );
  return stderr;
}
