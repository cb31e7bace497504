/**
 * Runs a program of ours in a process of its own. A program that only reads can be killed at any
 * moment, so it never takes longer or more memory than it may, and never blocks the event loop. The
 * request goes to its stdin as JSON; the answer comes line by line as JSON.
 */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Clock, systemClock } from '../clock.ts';
import { RefusedError, RetryLaterError } from '../errors.ts';
import { formatDuration, formatSize } from '../units.ts';
import { plainEnvironment } from './program-url.ts';
import { startProcess } from './start.ts';

export interface BesideLimits {
  readonly timeMaxMs: number;
  /** Maximum bytes of the process's own memory, without the database's pages. */
  readonly memoryBytesMax: number;
}

export interface Beside extends BesideLimits {
  readonly program: URL;
  readonly request: unknown;
  /** Maximum MiB of the JavaScript heap. */
  readonly heapMibMax: number;
  /** Ends the process early when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** How the process ended: by itself, or killed because of a limit or a signal. */
export type Ending = 'ended' | 'late' | 'large' | 'stopped';

const MEMORY_LOOK_MS = 100;
/**
 * Maximum MiB of a half of the young generation. V8 would let it grow to many times what a program
 * that reads row after row keeps, and take half of the dead rows over into the old one.
 */
const YOUNG_HALF_MIB_MAX = 8;

/** Bytes of its own memory that a process holds; undefined: it has ended. */
function memoryOf(pid: number | undefined): number | undefined {
  try {
    const [, kib] =
      /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kib === undefined ? undefined : Number(kib) * 1_024;
  } catch {
    return undefined;
  }
}

/**
 * Resolves to true once the process holds more memory than it may. SQLite cannot limit itself: it
 * is compiled without counting its memory.
 */
async function exceedsMemory(
  pid: number | undefined,
  bytesMax: number,
  signal: AbortSignal,
): Promise<boolean> {
  const clock = systemClock();
  while (!signal.aborted) {
    if ((memoryOf(pid) ?? 0) > bytesMax) return true;
    await clock.sleep(MEMORY_LOOK_MS, signal).catch(() => undefined);
  }
  return false;
}

function heapFlags(heapMibMax: number): readonly string[] {
  return [`--max-old-space-size=${heapMibMax}`, `--max-semi-space-size=${YOUNG_HALF_MIB_MAX}`];
}

/**
 * Runs the program and passes on its lines as they come; an error of `onLine` ends the process and
 * is rethrown. Throws RetryLaterError if no process can be started.
 */
export async function runBeside(
  { program, request, timeMaxMs, memoryBytesMax, heapMibMax, signal }: Beside,
  clock: Clock,
  onLine: (line: string) => void,
): Promise<Ending> {
  const file = fileURLToPath(program);
  const child = await startProcess(() =>
    spawn(process.execPath, [...heapFlags(heapMibMax), file], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: plainEnvironment(),
    }),
  );
  const over = new AbortController();
  let ending: Ending = 'ended';
  const kill = (because: Ending): void => {
    ending = because;
    child.kill('SIGKILL');
  };
  const stop = (): void => kill('stopped');
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  clock.sleep(timeMaxMs, over.signal).then(
    () => kill('late'),
    () => undefined,
  );
  void exceedsMemory(child.pid, memoryBytesMax, over.signal).then((exceeds) => {
    if (exceeds) kill('large');
  });
  // A process that is killed before it has read the whole request closes its end.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(request));
  try {
    for await (const line of createInterface({ input: child.stdout })) onLine(line);
    return ending;
  } finally {
    over.abort();
    signal?.removeEventListener('abort', stop);
    child.kill('SIGKILL');
  }
}

/** Limits of a process that reads the decisions of months for a person who waits. */
export const WAITED_FOR: BesideLimits = { timeMaxMs: 120_000, memoryBytesMax: 536_870_912 };
export const WAITED_FOR_HEAP_MIB_MAX = 384;

/** Error for a process that ended before it gave a result; `late`: what follows from its delay. */
export function noResult(
  ending: Ending,
  { timeMaxMs, memoryBytesMax }: BesideLimits,
  {
    code,
    hint,
    late = '',
  }: { readonly code: string; readonly hint: string; readonly late?: string },
): RetryLaterError | RefusedError {
  if (ending === 'late') {
    const message = `it took longer than ${formatDuration(timeMaxMs)}${late}`;
    return new RetryLaterError(`${code}_slow`, message, { hint });
  }
  if (ending === 'large') {
    const message = `it needs more memory than ${formatSize(memoryBytesMax)}`;
    return new RefusedError(`${code}_large`, message, { hint });
  }
  return new RetryLaterError(`${code}_died`, 'it ended before its end', { hint: 'try again' });
}
