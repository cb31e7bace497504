/**
 * Main program of the process that proposes rules (beside.ts starts it): reads a request from stdin
 * and writes one line of JSON to stdout.
 */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { SelvedgeError, toError } from '../lib/errors.ts';
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

async function tell(line: SuggestLine): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain');
}

// The lowest priority, so that the daemon goes first.
setPriority(constants.priority.PRIORITY_LOW);
// The request comes from beside.ts, which has the same type, so it is not checked.
const task: SuggestTask = JSON.parse(await text(process.stdin));
try {
  await tell(await run(task));
} catch (thrown) {
  const code = thrown instanceof SelvedgeError ? thrown.code : 'rules.suggest_failed';
  await tell({ failed: { code, message: toError(thrown).message } });
}
