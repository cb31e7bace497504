/**
 * Makes a scheduled report in a process of its own, which can be killed with its query at any
 * moment: the daemon's event loop neither reads the rows nor writes the workbook.
 */
import { spawn } from 'node:child_process';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { systemClock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { plainEnvironment, programUrl } from '../../lib/process/program-url.ts';
import { startProcess } from '../../lib/process/start.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Format } from '../formats.ts';
import type { Order } from '../make.ts';

export interface Job {
  readonly order: Order;
  readonly format: Format;
  /** File to write the report to; null: its content goes to the standard output. */
  readonly target: string | null;
}

const madeSchema = z.object({ rows: z.number(), about: z.string(), notes: z.array(z.string()) });
const failedSchema = z.object({ failed: z.string() });

export type Outcome = z.output<typeof madeSchema> | z.output<typeof failedSchema>;

export interface Made extends z.output<typeof madeSchema> {
  /** Content of the report; empty where a file was written. */
  readonly content: Buffer;
}

/** JavaScript heap of the report's process, in MiB; its query has a process of its own. */
const HEAP_MIB_MAX = 512;
/** Milliseconds for everything after the query: shaping the rows and writing the file. */
const MAKE_MS_MAX = 60_000;

/** Kills a report's process together with its query's, which are one process group. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process group has ended by itself.
  }
}

/**
 * Makes the report in another process. Throws RefusedError with the report's error,
 * RetryLaterError if no process can be started, or the signal's reason. `program`: file with
 * another main program for such a job.
 */
export async function makeInProcess(
  job: Omit<Job, 'format'> & { readonly format: string },
  signal: AbortSignal,
  program = programUrl(import.meta.url, 'make-main'),
): Promise<Made> {
  signal.throwIfAborted();
  const file = fileURLToPath(program);
  const child = await startProcess(() =>
    spawn(process.execPath, [`--max-old-space-size=${HEAP_MIB_MAX}`, file], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: plainEnvironment(),
      detached: true,
    }),
  );
  const kill = (): void => killGroup(child.pid);
  const timeMaxMs = job.order.timeMaxMs + MAKE_MS_MAX;
  let isLate = false;
  const late = systemClock().after(timeMaxMs, () => {
    isLate = true;
    kill();
  });
  signal.addEventListener('abort', kill, { once: true });
  // The signal may have come while the process started.
  if (signal.aborted) kill();
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(job));
  try {
    const [content, says] = await Promise.all([buffer(child.stdout), text(child.stderr)]);
    signal.throwIfAborted();
    const told = tryParseJson(says.trim().split('\n').at(-1) ?? '');
    const made = madeSchema.safeParse(told);
    if (made.success) return { ...made.data, content };
    const failed = failedSchema.safeParse(told);
    if (failed.success) throw new RefusedError('report.failed', failed.data.failed);
    const limit = formatDuration(timeMaxMs);
    const why = isLate ? `took longer than ${limit}` : 'ended before its last row, out of memory';
    throw new RefusedError('report.died', `${job.order.report.file}: the report ${why}`, {
      hint: 'narrow it by its parameters, or make it csv',
    });
  } finally {
    late.cancel();
    signal.removeEventListener('abort', kill);
    kill();
  }
}
