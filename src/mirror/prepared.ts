/**
 * Rows of the mirror before they are written: made outside of any transaction, in whichever thread,
 * and so without the database. What a row was made of need not be kept.
 */
import { invariant } from '../lib/errors.ts';
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
  /** Further ones: neighbouring rows of a list often differ in nothing else. */
  readonly ownColumns?: readonly string[];
  readonly lines?: { readonly table: keyof Tables; readonly columns: readonly string[] };
  /** Why the new row contradicts what is final, if it does: an incident, not an update. */
  readonly contradiction?: (before: SqlRow, after: SqlRow) => string | undefined;
}

/** What is counted of a list: plain data, unlike a definition, so that it may go to a thread. */
export type ListTable = Pick<EntityDefinition, 'table' | 'key'>;

/** A row as text, made outside of any transaction; what it was made of need not be kept. */
export interface PreparedRow {
  readonly key: SqlValue;
  /** The values of {@link storedColumns} as a JSON array that is still open. */
  readonly text: string;
  readonly hash: string;
  readonly lines: readonly SqlRow[];
}

/** The columns that a row brings, in the order of its text. */
export function storedColumns({ columns, ownColumns = [] }: EntityDefinition): readonly string[] {
  return [...columns, 'extra', ...ownColumns];
}

/** A JSON array that is still open. */
function opened(values: readonly unknown[]): string {
  return JSON.stringify(values).slice(0, -1);
}

function hashOf(text: string): string {
  return sha256(text).slice(0, HASH_CHARS);
}

/** What rows that repeat each other have in common is hashed once. */
function hashOfOwn(sharedHash: string, own: string): string {
  return hashOf(sharedHash + own);
}

function sharedText({ columns }: EntityDefinition, { values, extra }: MirrorRow): string {
  const all: unknown[] = columns.map((column) => values[column] ?? null);
  all.push(extra);
  return opened(all);
}

function valuesOfOwn({ ownColumns = [] }: EntityDefinition, { values }: MirrorRow): SqlValue[] {
  return ownColumns.map((column) => values[column] ?? null);
}

export function prepareRow(definition: EntityDefinition, row: MirrorRow): PreparedRow {
  const { lines = [] } = row;
  const key = row.values[definition.key] ?? null;
  const shared = sharedText(definition, row);
  if (definition.ownColumns) {
    const own = opened(valuesOfOwn(definition, row));
    return { key, text: textOf(shared, own), hash: hashOfOwn(hashOf(shared), own), lines };
  }
  const hash = hashOf(row.lines ? shared + JSON.stringify(lines) : shared);
  return { key, text: shared, hash, lines };
}

function textOf(shared: string, own: string): string {
  return `${shared},${own.slice(1)}`;
}

/** Many of them, as they go into one statement. */
export interface PreparedRows {
  readonly keys: readonly SqlValue[];
  /**
   * A JSON array of the rows, the content hash behind the columns; or its bytes in UTF-8. Grouped:
   * an array of groups, each with the values that its rows share, and behind them an array of the
   * rows' own values.
   */
  readonly json: string | Uint8Array<ArrayBuffer>;
  readonly isGrouped: boolean;
  each(): readonly PreparedRow[];
}

export function rowsInOrder(rows: readonly PreparedRow[]): PreparedRows {
  return {
    keys: rows.map(({ key }) => key),
    json: `[${rows.map(({ text, hash }) => `${text},"${hash}"]`).join(',')}]`,
    isGrouped: false,
    each: () => rows,
  };
}

/** No text of JSON.stringify holds such a character, so that groups and rows can be told apart. */
const GROUP = '\n';
const ROW = '\t';
/** A unit of UTF-16 takes at most so many bytes in UTF-8. */
const BYTES_A_CHAR = 3;

/**
 * Makes rows without lines into grouped ones, in UTF-8. `bytes` is about how many there will be.
 */
export function createRowEncoder(definition: EntityDefinition, bytes: number) {
  const { key, ownColumns = [] } = definition;
  const keyIndex = ownColumns.indexOf(key);
  invariant(keyIndex >= 0, `rows of ${definition.entity} cannot be grouped by others than the key`);
  let out = Buffer.from(new ArrayBuffer(bytes));
  let at = 0;
  let shared: string | undefined;
  let sharedHash = '';
  let group = '';
  const put = (text: string): void => {
    const needed = at + text.length * BYTES_A_CHAR;
    if (needed > out.length) out = Buffer.from(out.buffer.transfer(needed * 2));
    at += out.write(text, at);
  };
  const close = (): void => {
    if (shared !== undefined) put(`${group}]]`);
  };
  const addOwn = (values: readonly SqlValue[]): SqlValue => {
    const own = opened(values);
    const comma = group.endsWith('[') ? '' : ',';
    group += `${comma}${ROW}${own},"${hashOfOwn(sharedHash, own)}"]`;
    return values[keyIndex] ?? null;
  };
  return {
    /** Gives the row's key. */
    add(row: MirrorRow): SqlValue {
      const text = sharedText(definition, row);
      if (text !== shared) {
        close();
        group = `${shared === undefined ? '[' : ','}${GROUP}${text},[`;
        shared = text;
        sharedHash = hashOf(text);
      }
      return addOwn(valuesOfOwn(definition, row));
    },
    /** Another row that differs from the last one in the own columns only. Gives its key. */
    repeat: addOwn,
    /** Memory of its own. */
    end(): Uint8Array<ArrayBuffer> {
      close();
      put(shared === undefined ? '[]' : ']');
      return new Uint8Array(out.buffer.transfer(at));
    },
  };
}

/** `,"` before the hash. */
const BEFORE_HASH = 2;

/** What {@link createRowEncoder} has made of rows with these keys. */
export function rowsFromBytes(
  keys: readonly SqlValue[],
  json: Uint8Array<ArrayBuffer>,
): PreparedRows {
  const each = (): PreparedRow[] => {
    const [, ...groups] = new TextDecoder().decode(json).split(GROUP);
    const rows = groups.flatMap((group) => {
      const [opening = '', ...own] = group.split(ROW);
      const shared = opening.slice(0, -',['.length);
      return own.map((row) => {
        const hashEnd = row.lastIndexOf('"');
        const hashStart = hashEnd - HASH_CHARS;
        const text = textOf(shared, row.slice(0, hashStart - BEFORE_HASH));
        return { text, hash: row.slice(hashStart, hashEnd) };
      });
    });
    return rows.map((row, index) => ({ key: keys[index] ?? null, ...row, lines: [] }));
  };
  return { keys, json, isGrouped: true, each };
}
