/**
 * Reads lists whose answer is larger than a body may be (`service.limits.bodyMax`), row by row: the
 * text is never held as a whole, only its rows. A list with a cursor is left where enough came, and
 * goes on behind its last row; the others are read to their end, up to a limit of their own.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { rowsOf } from '../../lib/json-rows/rows-of.ts';
import { createRowScanner } from '../../lib/json-rows.ts';
import { parseOddJson } from '../../lib/reading/odd-json.ts';
import type { HttpRequest } from '../http/request.ts';
import { type CheckedRows, type Reject, readRows, rowReader } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { countIn, dataOf, oddData } from './envelope.ts';
import { readEnd, understood } from './variants.ts';

/** Bytes of rows after which a list with a cursor is left. */
const CUT_BYTES = 8_388_608;
/** Maximum bytes of a list without a cursor, and of one row. */
const LIST_BYTES_MAX = 67_108_864;
const REST_BYTES_MAX = 1_048_576;

export function isTooLarge(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'transport.too_large';
}

interface LongListing<T> extends CheckedRows<T> {
  readonly count: number | undefined;
  readonly startedAt: number;
  /** The plain values of all received rows in order. */
  readonly raws: readonly unknown[];
  /** Whether the list goes on behind its last row here. */
  readonly isCut?: boolean;
}

/** The row's own values, by which it is found: what is below them is large. */
function plainIn(raw: unknown): unknown {
  if (!isJsonObject(raw)) return undefined;
  return Object.fromEntries(Object.entries(raw).filter(([, value]) => !(value instanceof Object)));
}

function tooLong(request: HttpRequest): RefusedError {
  const { pathname } = new URL(request.url);
  return new RefusedError('transport.too_large', `GET ${pathname}: the list is too long`, {
    hint: `it has more than ${LIST_BYTES_MAX} bytes, and no cursor by which to read it in parts`,
  });
}

/** Reads the list under `member`; `mayCut`: the caller goes on by a cursor behind the last row. */
export async function longList<T>(
  sender: Sender,
  request: HttpRequest,
  member: string,
  schema: z.ZodType<T>,
  mayCut: boolean,
): Promise<LongListing<T>> {
  const answer = await sender.stream(request);
  const read = rowReader(schema, sender.decimals);
  const scanner = createRowScanner({
    path: ['data', member],
    others: [[member], ['data'], []],
    rowsPerChunk: 1,
    rowBytesMax: LIST_BYTES_MAX,
    restBytesMax: REST_BYTES_MAX,
  });
  const { startedAt } = answer;
  const rows: T[] = [];
  const rejects: Reject[] = [];
  const raws: unknown[] = [];
  let bytes = 0;
  const take = (row: Buffer): void => {
    bytes += row.length;
    const { rows: came, broken } = rowsOf(row, parseOddJson);
    const checked = readRows(read, came);
    rows.push(...checked.rows);
    rejects.push(...checked.rejects);
    for (const { text: raw, reason } of broken) rejects.push({ raw, path: '', reason });
    raws.push(...came.map(plainIn), ...broken.map(() => undefined));
  };
  const found = { rows, rejects, raws, startedAt };
  for await (const input of answer.body) {
    for (const chunk of understood(request, () => scanner.push(input))) {
      take(chunk.bytes);
      // Rows are long here, and other work goes between two of them.
      await nextTurn();
      if (mayCut && bytes >= CUT_BYTES) return { ...found, count: undefined, isCut: true };
    }
    if (bytes > LIST_BYTES_MAX) throw tooLong(request);
  }
  const end = understood(request, () => scanner.end());
  for (const chunk of end.chunks) take(chunk.bytes);
  const data = readEnd(answer, () => dataOf(sender, request, end.rest, answer.headers));
  if (!end.found) throw oddData(request, { path: member, reason: 'there is no list' });
  return { ...found, count: countIn(data) };
}
