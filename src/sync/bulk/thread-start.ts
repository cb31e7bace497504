/**
 * Where each of the threads begins (thread.ts starts it): loads its program, and that quickly.
 *
 * What a module imports by a relative path is where the path says, beside it. Node asks the disk
 * for it all the same, and for the package it belongs to, a thousand times for the query builder
 * alone; it took longer than everything else at the start of a thread.
 */
import { readlinkSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import type { ThreadStart } from './thread.ts';

/** Steps down from the main thread, whose listener goes first where all processors are busy. */
const NICENESS = 10;

/** Linux has a priority for each thread, by the number that stands at the end of this path. */
function stepBack(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICENESS);
  } catch {
    // Another system, or a sandbox that forbids it: it works all the same.
  }
}

stepBack();
const { program }: ThreadStart = workerData;
const hooks = registerHooks({
  resolve(specifier, context, resolveNext) {
    const isBeside = specifier.startsWith('./') || specifier.startsWith('../');
    // `require` guesses suffixes.
    if (!isBeside || !context.conditions.includes('import')) return resolveNext(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, shortCircuit: true };
  },
});
await import(program);
hooks.deregister();
