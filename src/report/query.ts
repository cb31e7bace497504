/**
 * Runs one SELECT against the mirror in a process of its own: SQLite cannot be interrupted from the
 * thread that it works in, but a process that only reads can be killed at any moment. So a report
 * never takes longer than allowed, and never keeps the write-ahead log from being emptied for long.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { runBeside } from '../lib/process/beside.ts';
import { programUrl } from '../lib/process/program-url.ts';
import { formatDuration, formatSize } from '../lib/units.ts';
import type { ParameterValues } from './parameters.ts';

export interface Query {
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly sql: string;
  /** Name of the file with the SQL, for messages. */
  readonly file: string;
  readonly values: ParameterValues;
  /** Most rows to read; further ones are left out. */
  readonly rowsMax: number;
  /** Limits of the process that runs the query; it is ended when it needs more. */
  readonly limits?: QueryLimits;
}

export interface QueryLimits {
  /** Largest result of a query in bytes, as JSON. */
  readonly resultBytesMax: number;
  /** Most memory of the process in bytes, without the database's page cache. */
  readonly memoryBytesMax: number;
  /** Page cache of SQLite in KiB, large because a report reads many pages again and again. */
  readonly cacheKib: number;
}

export const QUERY_LIMITS: QueryLimits = {
  resultBytesMax: 67_108_864,
  memoryBytesMax: 536_870_912,
  cacheKib: 131_072,
};

/** JavaScript heap of the query's process, in MiB; rows pass through it batch by batch. */
const HEAP_MIB_MAX = 256;

/** Values of a cell as SQLite returns them; integers beyond 2^53 arrive as text. */
const cellSchema = z.union([z.string(), z.number(), z.null()]);
export type Cell = z.output<typeof cellSchema>;

const lineSchema = z.union([
  z.object({ columns: z.array(z.string()) }),
  z.object({ row: z.array(cellSchema) }),
  z.object({ end: z.object({ isCut: z.boolean() }) }),
  z.object({ failed: z.string() }),
]);

export type QueryLine = z.output<typeof lineSchema>;

/** Receiver of the column names and, one by one, the rows of a query. */
export interface RowSink {
  columns(names: readonly string[]): void;
  row(cells: readonly Cell[]): void;
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
  const { limits = QUERY_LIMITS } = query;
  let end: { readonly isCut: boolean } | undefined;
  const beside = {
    program: programUrl(import.meta.url, 'query-main'),
    request: { ...query, limits },
    timeMaxMs,
    memoryBytesMax: limits.memoryBytesMax,
    heapMibMax: HEAP_MIB_MAX,
  };
  const ending = await runBeside(beside, clock, (text) => {
    const line = lineSchema.parse(JSON.parse(text));
    if ('columns' in line) sink.columns(line.columns);
    else if ('row' in line) sink.row(line.row);
    else if ('end' in line) end = line.end;
    else throw new RefusedError('report.bad_sql', `${query.file}: ${line.failed}`);
  });
  if (end) return end;
  if (ending === 'large') {
    const size = formatSize(limits.memoryBytesMax);
    throw new RefusedError('report.too_much_memory', `${query.file}: it needs more than ${size}`, {
      hint: 'sort, group or join fewer rows',
    });
  }
  if (ending !== 'late')
    throw new RetryLaterError('report.died', `${query.file}: ended before its last row`, {
      hint: 'try again; narrow it by its parameters if that does not help',
    });
  const limit = formatDuration(timeMaxMs);
  throw new RetryLaterError('report.too_slow', `the report took longer than ${limit}`, {
    hint: 'narrow it by its parameters, or give it more: --timeout 5m',
  });
}
