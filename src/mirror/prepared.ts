/**
 * Rows of the mirror before they are written: made outside of any transaction, in whichever thread,
 * and so without the database. What a row was made of need not be kept.
 */
import { sha256 } from '../lib/json.ts';
import type { MirroredTable, SqlRow, SqlValue } from '../store/bulk.ts';
import type { Tables } from '../store/tables.ts';

const HASH_CHARS = 32;

/** A row ready for its table: own columns, unmodelled members, and lines if the entity has any. */
export interface MirrorRow {
  readonly values: SqlRow;
  /** Stored as JSON text. */
  readonly extra: object;
  readonly lines?: readonly SqlRow[];
}

export interface EntityDefinition {
  /** The name in the change feed. */
  readonly entity: string;
  readonly table: MirroredTable;
  readonly key: string;
  readonly columns: readonly string[];
  readonly lines?: { readonly table: keyof Tables; readonly columns: readonly string[] };
  /** Why the new row contradicts what is final, if it does: an incident, not an update. */
  readonly contradiction?: (before: SqlRow, after: SqlRow) => string | undefined;
}

/** A row as text, made outside of any transaction; what it was made of need not be kept. */
export interface PreparedRow {
  readonly key: SqlValue;
  /** The own columns and `extra` as a JSON array that is still open. */
  readonly text: string;
  readonly hash: string;
  readonly lines: readonly SqlRow[];
}

function closedText({ columns }: EntityDefinition, { values, extra }: MirrorRow): string {
  const all: unknown[] = columns.map((column) => values[column] ?? null);
  all.push(extra);
  return JSON.stringify(all);
}

export function prepareRow(definition: EntityDefinition, row: MirrorRow): PreparedRow {
  const text = closedText(definition, row).slice(0, -1);
  const { lines } = row;
  const hash = sha256(lines ? text + JSON.stringify(lines) : text).slice(0, HASH_CHARS);
  return { key: row.values[definition.key] ?? null, text, hash, lines: lines ?? [] };
}

/** Many of them, as they go into one statement. */
export interface PreparedRows {
  readonly keys: readonly SqlValue[];
  /** A JSON array of the rows, the content hash behind the columns; or its bytes in UTF-8. */
  readonly json: string | Uint8Array<ArrayBuffer>;
  each(): readonly PreparedRow[];
}

/** No text of JSON.stringify holds a line break, so that the rows can be told apart again. */
const BETWEEN = ',\n';
/** `,"` before the hash and `"]` behind it. */
const BEFORE_HASH = 2;
const BEHIND_HASH = 2;

export function rowsInOrder(rows: readonly PreparedRow[]): PreparedRows {
  return {
    keys: rows.map(({ key }) => key),
    json: `[${rows.map(({ text, hash }) => `${text},"${hash}"]`).join(BETWEEN)}]`,
    each: () => rows,
  };
}

/** A unit of UTF-16 takes at most so many bytes in UTF-8. */
const BYTES_A_CHAR = 3;
/** What stands around the text of a row and its hash. */
const MARGIN = 64;

/**
 * Rows without lines as the bytes of {@link rowsInOrder}, each encoded once: to write texts, join
 * and encode them took a third longer. `bytes` is about how many there will be.
 */
export function createRowEncoder(definition: EntityDefinition, bytes: number) {
  let out = Buffer.from(new ArrayBuffer(bytes + MARGIN));
  let at = out.write('[');
  const put = (text: string): void => {
    at += out.write(text, at, 'latin1');
  };
  return {
    /** Gives the row's key. */
    add(row: MirrorRow): SqlValue {
      const text = closedText(definition, row);
      const needed = at + text.length * BYTES_A_CHAR + MARGIN;
      if (needed > out.length) out = Buffer.from(out.buffer.transfer(needed * 2));
      if (at > 1) put(BETWEEN);
      const start = at;
      at += out.write(text, at) - 1;
      put(`,"${sha256(out.subarray(start, at)).slice(0, HASH_CHARS)}"]`);
      return row.values[definition.key] ?? null;
    },
    /** Memory of its own. */
    end(): Uint8Array<ArrayBuffer> {
      put(']');
      return new Uint8Array(out.buffer.transfer(at));
    },
  };
}

/** What {@link createRowEncoder} has made of rows with these keys. */
export function rowsFromBytes(
  keys: readonly SqlValue[],
  json: Uint8Array<ArrayBuffer>,
): PreparedRows {
  const each = (): PreparedRow[] => {
    const texts = keys.length > 0 ? new TextDecoder().decode(json).slice(1, -1).split(BETWEEN) : [];
    return texts.map((row, index) => {
      const hashEnd = row.length - BEHIND_HASH;
      const hashStart = hashEnd - HASH_CHARS;
      const text = row.slice(0, hashStart - BEFORE_HASH);
      return { key: keys[index] ?? null, text, hash: row.slice(hashStart, hashEnd), lines: [] };
    });
  };
  return { keys, json, each };
}
