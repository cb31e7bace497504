/**
 * The long version of `test/outbox/spelling.test.ts`:
 *
 *   npm run campaign -- spelling [--orders 500] [--seeds 1-3]
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '500' },
    seeds: { type: 'string', default: '1' },
  },
});

const packageFile = createRequire(import.meta.url).resolve('vitest/package.json');
const vitest = join(dirname(packageFile), 'vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/outbox/spelling.test.ts'], {
  env: {
    ...process.env,
    SELVEDGE_SPELLING_ORDERS: values.orders,
    SELVEDGE_SPELLING_SEEDS: values.seeds,
  },
  stdio: 'inherit',
});
if (status !== 0) process.exitCode = 1;
