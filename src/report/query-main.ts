/**
 * Main program of the process that runs a report's query, started by query.ts: reads the query from
 * stdin and writes one JSON line per row.
 */

import { toError } from '../lib/errors.ts';
import { takeJob, writeAll } from '../lib/process/job.ts';
import { formatSize } from '../lib/units.ts';
import { openReader } from '../store/connection.ts';
import type { Query, QueryLimits, QueryLine } from './query.ts';

type LimitedQuery = Query & { readonly limits: QueryLimits };

const BATCH = 200;

function cellOf(value: unknown): string | number | null {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : null;
}

function write(lines: readonly string[]): Promise<void> {
  return writeAll(process.stdout, lines.join(''));
}

function lineOf(line: QueryLine): string {
  return `${JSON.stringify(line)}\n`;
}

async function run(request: LimitedQuery): Promise<void> {
  const { resultBytesMax, cacheKib } = request.limits;
  const database = openReader(request.path, { ...request, cacheKib });
  const statement = database.prepare<[Record<string, string | number>]>(request.sql);
  if (!statement.reader || !statement.readonly) {
    throw new Error('a report must be one SELECT');
  }
  statement.raw().safeIntegers();
  const names = statement.columns().map(({ name }) => name);
  let batch = [lineOf({ columns: names })];
  let bytes = 0;
  let rows = 0;
  let isCut = false;
  for (const row of statement.iterate(request.values)) {
    if (rows === request.rowsMax) {
      isCut = true;
      break;
    }
    rows += 1;
    const line = lineOf({ row: Array.isArray(row) ? row.map(cellOf) : [] });
    bytes += line.length;
    if (bytes > resultBytesMax) {
      const size = formatSize(resultBytesMax);
      throw new Error(`its result is larger than ${size}: ask for fewer rows or columns`);
    }
    batch.push(line);
    if (batch.length < BATCH) continue;
    await write(batch);
    batch = [];
  }
  await write([...batch, lineOf({ end: { isCut } })]);
  database.close();
}

// Loading a parser for the input would take half of the start.
const query = await takeJob<LimitedQuery>();
try {
  await run(query);
} catch (thrown) {
  await write([lineOf({ failed: toError(thrown).message })]);
}
