/**
 * Where each of the threads begins (thread.ts starts it): loads its program, and that quickly.
 *
 * What a module imports by a relative path is where the path says, beside it. Node asks the disk
 * for it all the same, and for the package it belongs to, a thousand times for the query builder
 * alone; it took longer than everything else at the start of a thread.
 */
import { registerHooks } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { ThreadStart } from './thread.ts';

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
