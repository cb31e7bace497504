/**
 * Runs one SELECT against the mirror in a process of its own: SQLite cannot be interrupted from
 * the thread that it works in, but a process that only reads can be killed at any moment. So a
 * report never takes longer than it may, and never keeps the daemon's log from being cut for long.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
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
}

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
  const child = spawn(process.execPath, [entry()], {
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
  child.stdin.end(JSON.stringify(query));
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
  if (!isLate) throw new RetryLaterError('report.died', 'the report ended before its last row');
  const limit = formatDuration(timeMaxMs);
  throw new RetryLaterError('report.too_slow', `the report took longer than ${limit}`, {
    hint: 'narrow it by its parameters, or give it more: --timeout 5m',
  });
}
