/**
 * The long versions of the tests, as a command:
 *
 *   npm run campaign                          all, at their full size, which takes hours
 *   npm run campaign -- pull [options]        test/sync/campaign/run.ts
 *   npm run campaign -- sweep [options]       test/sync/sweep/run.ts
 *   npm run campaign -- rules [options]       test/rules/independent/run.ts
 *   npm run campaign -- decisions [options]   test/decisions/campaign/run.ts
 *   npm run campaign -- absence [options]     test/decisions/absence/run.ts
 *   npm run campaign -- outbox [options]      test/outbox/campaign/run.ts
 *   npm run campaign -- spelling [options]    test/outbox/spelling/run.ts
 *   npm run campaign -- dialects [options]    test/dialects/run.ts
 *   npm run campaign -- plane [options]       test/plane/campaign/run.ts; needs PostgreSQL
 *   npm run campaign -- standby [options]     test/standby/campaign/run.ts; needs PostgreSQL
 *   npm run campaign -- soak [options]        test/soak/run.ts
 *   npm run campaign -- storm [options]       test/soak/run-storm.ts
 *   npm run campaign -- struck [options]      bench/storm.ts: a storm over real processes
 *   npm run campaign -- year [options]        test/soak/run-year.ts
 */
import { EXIT } from '../src/lib/errors.ts';

const CAMPAIGNS = new Map([
  ['pull', () => import('./sync/campaign/run.ts')],
  ['sweep', () => import('./sync/sweep/run.ts')],
  ['rules', () => import('./rules/independent/run.ts')],
  ['decisions', () => import('./decisions/campaign/run.ts')],
  ['absence', () => import('./decisions/absence/run.ts')],
  ['outbox', () => import('./outbox/campaign/run.ts')],
  ['spelling', () => import('./outbox/spelling/run.ts')],
  ['dialects', () => import('./dialects/run.ts')],
  ['plane', () => import('./plane/campaign/run.ts')],
  ['standby', () => import('./standby/campaign/run.ts')],
  ['soak', () => import('./soak/run.ts')],
  ['storm', () => import('./soak/run-storm.ts')],
  ['struck', () => import('../bench/storm.ts')],
  ['year', () => import('./soak/run-year.ts')],
]);
const { argv } = process;
const name = argv[2] ?? '';
const names = name === '' ? [...CAMPAIGNS.keys()] : [name];

// Each reads its own options.
argv.splice(2, 1);
let failed = false;
for (const one of names) {
  const run = CAMPAIGNS.get(one);
  if (run) await run();
  else {
    process.stderr.write(`there is no campaign ${one}: ${[...CAMPAIGNS.keys()].join(', ')}\n`);
    process.exitCode = EXIT.usage.code;
  }
  failed ||= process.exitCode === 1;
}
if (failed) process.exitCode = 1;
