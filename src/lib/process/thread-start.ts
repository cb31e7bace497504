/**
 * Entry point of each thread (started by thread.ts); loads the program quickly. Node resolves
 * relative imports with several file system calls each, a thousand for the query builder alone,
 * which took longer than the rest of the start; the hook skips them.
 */
import { readlinkSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import type { ThreadStart } from './thread.ts';

/**
 * Priority (nice value) of such a thread, so that the listener on the main thread goes first when
 * all processors are busy.
 */
const NICENESS = 10;

/**
 * Lowers the priority of this thread alone: Linux has one per thread, and its id ends this path.
 */
function stepBack(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
  } catch {
    // Other systems and sandboxes do not allow it; the thread works without.
  }
}

const { program, stepsBack }: ThreadStart = workerData;
if (stepsBack) stepBack();
const hooks = registerHooks({
  resolve(specifier, context, resolveNext) {
    const isBeside = specifier.startsWith('./') || specifier.startsWith('../');
    // Files that are loaded by `require` keep Node's resolution, because it guesses suffixes.
    if (!isBeside || !context.conditions.includes('import')) return resolveNext(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, shortCircuit: true };
  },
});
await import(program);
hooks.deregister();
