/** Starts threads of ours; thread-start.ts runs in each of them first. */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { programUrl } from './program-url.ts';

/** Worker data of a thread. */
export interface ThreadStart {
  /** Address of the module to run. */
  readonly program: string;
  /** Data for the program. */
  readonly data: unknown;
  /** Lets the main thread go first when all processors are busy. */
  readonly stepsBack: boolean;
}

/** Shares the process's compile cache, because a thread takes twice as long to start without it. */
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
