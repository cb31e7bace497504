/**
 * Starts processes. The system may have none to give: no memory, no descriptor, or the program's
 * file is being replaced. Node reports that by an event, which ends the daemon if nobody listens,
 * and may give a process without pipes.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { RetryLaterError, toError } from '../errors.ts';

/** Starts a process with `spawn`, and waits until it runs. Throws RetryLaterError if it cannot. */
export async function startProcess<T extends ChildProcess>(spawn: () => T): Promise<T> {
  try {
    const child = spawn();
    await once(child, 'spawn');
    // A later error is only that a signal could not be sent; the end is told by other events.
    child.on('error', () => undefined);
    return child;
  } catch (thrown) {
    const message = `no process could be started: ${toError(thrown).message}`;
    throw new RetryLaterError('process.not_started', message, {
      hint: 'the machine may be out of memory, processes or open files; try again later',
    });
  }
}
