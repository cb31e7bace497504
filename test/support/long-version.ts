/** Runs a test file of Vitest at another size, for a campaign that is a test's long version. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Gives the file its size by the environment; the exit code becomes 1 when a test fails. */
export function runLongVersion(file: string, size: Readonly<Record<string, string>>): void {
  const packageFile = createRequire(import.meta.url).resolve('vitest/package.json');
  const vitest = join(dirname(packageFile), 'vitest.mjs');
  const config = file.endsWith('.slow.test.ts') ? ['--config', 'vitest.slow.config.ts'] : [];
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...config, file], {
    env: { ...process.env, ...size },
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
