/** The process that runs a report (query.ts starts it): the query on stdin, a JSON line a row. */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { toError } from '../lib/errors.ts';
import { openReader } from '../store/connection.ts';
import type { Query, QueryLine } from './query.ts';

const BATCH = 200;

function cellOf(value: unknown): string | number | null {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : null;
}

async function write(lines: readonly QueryLine[]): Promise<void> {
  const bytes = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}

async function run(request: Query): Promise<void> {
  const database = openReader(request.path, request);
  const statement = database.prepare<[Record<string, string | number>]>(request.sql);
  if (!statement.reader || !statement.readonly) {
    throw new Error('a report must be one SELECT');
  }
  statement.raw().safeIntegers();
  const names = statement.columns().map(({ name }) => name);
  let batch: QueryLine[] = [{ columns: names }];
  let rows = 0;
  let isCut = false;
  for (const row of statement.iterate(request.values)) {
    if (rows === request.rowsMax) {
      isCut = true;
      break;
    }
    rows += 1;
    batch.push({ row: Array.isArray(row) ? row.map(cellOf) : [] });
    if (batch.length < BATCH) continue;
    await write(batch);
    batch = [];
  }
  await write([...batch, { end: { isCut } }]);
  database.close();
}

// The daemon goes first.
setPriority(constants.priority.PRIORITY_LOW);
try {
  // From query.ts beside it, which has the same type: to load a parser takes half of the start.
  const query: Query = JSON.parse(await text(process.stdin));
  await run(query);
} catch (thrown) {
  await write([{ failed: toError(thrown).message }]);
}
