/** Starts threads of this program; thread-start.ts runs in each of them first. */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { programUrl } from './program-url.ts';

/** Data that a thread gets when it starts. */
export interface ThreadStart {
  /** URL of the module that the thread runs. */
  readonly program: string;
  /** Data for that module. */
  readonly data: unknown;
  /** Whether the thread lets the main thread go first when all processors are busy. */
  readonly stepsBack: boolean;
}

/**
 * Environment of a thread with the process's compile cache; without it a start takes twice as long.
 */
function environment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir();
  // Node appends a folder for its version to the configured one, so the parent is passed on.
  return folder ? { ...process.env, NODE_COMPILE_CACHE: dirname(folder) } : process.env;
}

export function startThread(
  program: URL,
  { limits, ...start }: Omit<ThreadStart, 'program'> & { readonly limits: ResourceLimits },
): Worker {
  const workerData: ThreadStart = { program: program.href, ...start };
  const options = { workerData, resourceLimits: limits, env: environment() };
  return new Worker(programUrl(import.meta.url, 'thread-start'), options);
}
