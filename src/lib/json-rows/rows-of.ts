/** Parses the rows of one segment of a scanned list. */
import { toError } from '../errors.ts';
import { createRowScanner } from '../json-rows.ts';

interface BrokenRow {
  /** Position in the segment, from 0. */
  readonly index: number;
  readonly text: string;
  readonly reason: string;
}

export interface ParsedSegment {
  readonly rows: readonly unknown[];
  /** Rows with the right brackets that are no JSON all the same; `rows` goes on without them. */
  readonly broken: readonly BrokenRow[];
}

/** Parses the rows of one segment; a row that is no JSON does not take its neighbours along. */
export function rowsOf(
  bytes: Uint8Array,
  parse: (text: string) => unknown = JSON.parse,
): ParsedSegment {
  const text = `[${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()}]`;
  try {
    const rows: unknown = parse(text);
    if (Array.isArray(rows)) return { rows, broken: [] };
  } catch {
    // One by one, below.
  }
  const scanner = createRowScanner({
    path: [],
    rowsPerSegment: 1,
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
