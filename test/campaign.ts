/**
 * The long versions of the tests, as a command:
 *
 *   npm run campaign                       both, at their full size, which takes hours
 *   npm run campaign -- pull [options]     test/sync/campaign/run.ts
 *   npm run campaign -- outbox [options]   test/outbox/campaign/run.ts
 */
import { EXIT } from '../src/lib/errors.ts';

const { argv } = process;
const name = argv[2] ?? '';
const campaigns = new Set(name === '' ? ['pull', 'outbox'] : [name]);

// Each reads its own options.
argv.splice(2, 1);
if (campaigns.has('pull')) await import('./sync/campaign/run.ts');
else if (!campaigns.has('outbox')) {
  process.stderr.write(`there is no campaign ${name}: pull or outbox\n`);
  process.exitCode = EXIT.usage.code;
}
if (campaigns.has('outbox')) {
  const failed = process.exitCode === 1;
  await import('./outbox/campaign/run.ts');
  if (failed) process.exitCode = 1;
}
