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
 * Lowers the thread's priority, so that the listener on the main thread goes first when all
 * processors are busy.
 */
const NICENESS = 10;

/** Linux has a priority per thread; the thread's id ends this path. */
function stepBack(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
  } catch {
    // Not possible on other systems or in a sandbox; the thread works without it.
  }
}

const { program, stepsBack }: ThreadStart = workerData;
if (stepsBack) stepBack();
const hooks = registerHooks({
  resolve(specifier, context, resolveNext) {
    const isBeside = specifier.startsWith('./') || specifier.startsWith('../');
    // `require` guesses suffixes, so it keeps Node's resolution.
    if (!isBeside || !context.conditions.includes('import')) return resolveNext(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, shortCircuit: true };
  },
});
await import(program);
hooks.deregister();
