/**
 * Runs one SELECT against the mirror in a process of its own: SQLite cannot be interrupted from
 * the thread that it works in, but a process that only reads can be killed at any moment. So a
 * report never takes longer than it may, and never keeps the daemon's log from being cut for long.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Clock, systemClock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { formatDuration, formatSize } from '../lib/units.ts';
import type { ParameterValues } from './parameters.ts';

export interface Query {
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly sql: string;
  /** Name of the SQL's file, for messages. */
  readonly file: string;
  readonly values: ParameterValues;
  /** Rows beyond this are not read. */
  readonly rowsMax: number;
  /** Limits of the process; a report that needs more is ended. */
  readonly limits?: QueryLimits;
}

export interface QueryLimits {
  /** Result, as JSON. */
  readonly resultBytesMax: number;
  /** Memory of the process, the database's own pages apart. */
  readonly memoryBytesMax: number;
}

const LIMITS: QueryLimits = { resultBytesMax: 67_108_864, memoryBytesMax: 536_870_912 };

/** Heap of JavaScript in that process, MiB; rows pass through it one batch after the other. */
const HEAP_MIB_MAX = 256;

/** Values that SQLite returns; integers beyond 2^53 arrive as text. */
const cellSchema = z.union([z.string(), z.number(), z.null()]);
export type Cell = z.output<typeof cellSchema>;

const lineSchema = z.union([
  z.object({ columns: z.array(z.string()) }),
  z.object({ row: z.array(cellSchema) }),
  z.object({ end: z.object({ isCut: z.boolean() }) }),
  z.object({ failed: z.string() }),
]);

export type QueryLine = z.output<typeof lineSchema>;

/** Takes rows as they come. */
export interface RowSink {
  columns(names: readonly string[]): void;
  row(cells: readonly Cell[]): void;
}

const MEMORY_LOOK_MS = 100;

/** Bytes of its own that a process holds; undefined: it has ended. */
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
 * Resolves to true once the process holds more than it may. SQLite cannot limit itself: it is
 * compiled without counting its memory.
 */
async function exceedsMemory(
  pid: number | undefined,
  bytesMax: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    if ((memoryOf(pid) ?? 0) > bytesMax) return true;
    await clock.sleep(MEMORY_LOOK_MS, signal).catch(() => undefined);
  }
  return false;
}

/** Beside this file: `.ts` in a checkout, `.js` in the package. */
function entry(): string {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./query-main.${suffix}`, import.meta.url));
}

/**
 * Runs the query and tells whether rows beyond `rowsMax` were left out. Throws RefusedError with
 * SQLite's words when the SQL is wrong or would write, RetryLaterError when it takes too long.
 */
export async function runQuery(
  query: Query,
  timeMaxMs: number,
  clock: Clock,
  sink: RowSink,
): Promise<{ readonly isCut: boolean }> {
  // No more of ours: secrets may stand in it.
  const { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MIB_MAX}`, entry()], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE },
  });
  const over = new AbortController();
  let isLate = false;
  clock.sleep(timeMaxMs, over.signal).then(
    () => {
      isLate = true;
      child.kill('SIGKILL');
    },
    () => undefined,
  );
  const { limits = LIMITS } = query;
  let isLarge = false;
  void exceedsMemory(child.pid, limits.memoryBytesMax, systemClock(), over.signal).then(
    (exceeds) => {
      if (!exceeds) return;
      isLarge = true;
      child.kill('SIGKILL');
    },
  );
  child.stdin.end(JSON.stringify({ ...query, limits }));
  let end: { readonly isCut: boolean } | undefined;
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const line = lineSchema.parse(JSON.parse(text));
      if ('columns' in line) sink.columns(line.columns);
      else if ('row' in line) sink.row(line.row);
      else if ('end' in line) end = line.end;
      else throw new RefusedError('report.bad_sql', `${query.file}: ${line.failed}`);
    }
  } finally {
    over.abort();
    child.kill('SIGKILL');
  }
  if (end) return end;
  if (isLarge) {
    const size = formatSize(limits.memoryBytesMax);
    throw new RefusedError('report.too_much_memory', `${query.file}: it needs more than ${size}`, {
      hint: 'sort, group or join fewer rows',
    });
  }
  if (!isLate) throw new RetryLaterError('report.died', 'the report ended before its last row');
  const limit = formatDuration(timeMaxMs);
  throw new RetryLaterError('report.too_slow', `the report took longer than ${limit}`, {
    hint: 'narrow it by its parameters, or give it more: --timeout 5m',
  });
}
