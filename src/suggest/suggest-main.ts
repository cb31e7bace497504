/**
 * Main program of the process that proposes rules (beside.ts starts it): reads a request from stdin
 * and writes one line of JSON to stdout.
 */

import { SelvedgeError, toError } from '../lib/errors.ts';
import { takeJob, tell } from '../lib/process/job.ts';
import { openReadOnlyStore } from '../store/store.ts';
import type { SuggestLine, SuggestTask } from './beside.ts';
import { suggest } from './suggest.ts';

async function run({ store: options, ...wish }: SuggestTask): Promise<SuggestLine> {
  const store = await openReadOnlyStore(options);
  try {
    return { suggestion: await suggest(store.db, wish) };
  } finally {
    await store.close();
  }
}

const task = await takeJob<SuggestTask>();
try {
  await tell(await run(task));
} catch (thrown) {
  const code = thrown instanceof SelvedgeError ? thrown.code : 'rules.suggest_failed';
  await tell<SuggestLine>({ failed: { code, message: toError(thrown).message } });
}
