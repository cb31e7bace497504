/** Parses the rows of a chunk, and falls back to one by one when one of them is invalid. */
import { toError } from '../errors.ts';
import { createRowScanner } from '../json-rows.ts';

interface BrokenRow {
  /** Index of the row in the chunk, from 0. */
  readonly index: number;
  readonly text: string;
  readonly reason: string;
}

export interface ParsedChunk {
  readonly rows: readonly unknown[];
  /** Rows with matching brackets that are not JSON; `rows` omits them. */
  readonly broken: readonly BrokenRow[];
}

/** Parses the rows of one chunk; an invalid row does not affect its neighbours. */
export function rowsOf(
  bytes: Uint8Array,
  parse: (text: string) => unknown = JSON.parse,
): ParsedChunk {
  const text = `[${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()}]`;
  try {
    const rows: unknown = parse(text);
    if (Array.isArray(rows)) return { rows, broken: [] };
  } catch {
    // The rows are parsed one by one below.
  }
  const scanner = createRowScanner({
    path: [],
    rowsPerChunk: 1,
    rowBytesMax: text.length * 4,
    restBytesMax: text.length * 4,
  });
  const rows: unknown[] = [];
  const broken: BrokenRow[] = [];
  for (const { bytes: row, firstRow: index } of scanner.push(Buffer.from(text))) {
    try {
      rows.push(parse(row.toString()));
    } catch (error) {
      broken.push({ index, text: row.toString(), reason: toError(error).message });
    }
  }
  return { rows, broken };
}
