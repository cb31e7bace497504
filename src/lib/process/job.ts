/** Side of a process of ours that does one job for another: the job comes on stdin as JSON. */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';

/**
 * Reads the job, at the lowest priority, so that the daemon goes first. It comes from the program
 * that started this one and has the same type, so it is not checked.
 */
export async function takeJob<T>(priority = constants.priority.PRIORITY_LOW): Promise<T> {
  setPriority(priority);
  return JSON.parse(await text(process.stdin));
}

/** Writes at the pace of the reader. */
export async function writeAll(
  stream: NodeJS.WriteStream,
  content: string | Buffer,
): Promise<void> {
  if (!stream.write(content)) await once(stream, 'drain');
}

export function tell<T>(line: T): Promise<void> {
  return writeAll(process.stdout, `${JSON.stringify(line)}\n`);
}
