/**
 * Prepared rows of the mirror: encoded before they are written, outside of any transaction, in any
 * thread, without the database.
 */
import type { StatusOf } from '../../config/statuses.ts';
import { invariant } from '../../lib/errors.ts';
import { isJsonObject, sha256, tryParseJson } from '../../lib/json.ts';
import { unreadIn } from '../../lib/reading/as-it-came.ts';
import type { MirroredTable, SqlRow, SqlValue } from '../../store/bulk.ts';
import type { Tables } from '../../store/tables.ts';
import type { GuardedColumns } from './drastic.ts';

// Differences between two lists of lines, as the change feed keeps them. Only lines that differ are
// named: one that is gone or new with all of its columns, a changed one by its number in each list,
// its barcode and its changed columns. Lines that are not named are the same, in the same order.

export type LinesDiff = readonly [before: readonly SqlRow[], after: readonly SqlRow[]];

/** Columns of a line but its number, which moves with the lines above it. */
function contentOf({ line_no: _, ...content }: SqlRow): string {
  return JSON.stringify(content);
}

const NAMED_BY: readonly string[] = ['line_no', 'barcode'];

/** Columns of the line that differ from the other one, with those that name it. */
function changedOf(line: SqlRow, other: SqlRow): SqlRow {
  const columns = Object.entries(line).filter(
    ([column, value]) => NAMED_BY.includes(column) || value !== other[column],
  );
  return Object.fromEntries(columns);
}

/** Compares lines that are numbered from 1 in their order; undefined: there is no difference. */
export function linesDiff(
  before: readonly SqlRow[],
  after: readonly SqlRow[],
): LinesDiff | undefined {
  // Indexes of old lines by their barcode, in order; each is taken once.
  const places = Map.groupBy(before.keys(), (at) => before[at]?.barcode ?? null);
  const old: (SqlRow | undefined)[] = [...before];
  const fresh: SqlRow[] = [];
  // Old lines above this one stay where they are, or are named.
  let kept = -1;
  for (const line of after) {
    const at = places.get(line.barcode ?? null)?.shift();
    const former = at === undefined ? undefined : before[at];
    if (at === undefined || former === undefined) {
      fresh.push(line);
      continue;
    }
    if (at > kept && contentOf(former) === contentOf(line)) {
      kept = at;
      old[at] = undefined;
      continue;
    }
    old[at] = changedOf(former, line);
    fresh.push(changedOf(line, former));
  }
  const gone = old.filter((line) => line !== undefined);
  return gone.length === 0 && fresh.length === 0 ? undefined : [gone, fresh];
}

// Column `unread`: decisive members of a row that could not be read.

/** Status of a row whose status could not be read. */
export const NOT_READ = '';

/** Paths of a record's unreadable members as JSON text, such as `["status"]`; null: none. */
export function unreadOf(record: unknown): string | null {
  const paths = isJsonObject(record) ? unreadIn(record) : [];
  return paths.length > 0 ? JSON.stringify(paths) : null;
}

/** Parses column `unread` into the paths of the unreadable members. */
export function unreadPaths(unread: string | null): readonly string[] {
  const paths = unread === null ? [] : tryParseJson(unread);
  return Array.isArray(paths) ? paths.map(String) : [];
}

const HASH_CHARS = 32;

/** A row as its table has it: columns, unmodelled members, and lines if the entity has any. */
export interface MirrorRow {
  readonly values: SqlRow;
  /** Unmodelled members of the row, which are stored as JSON text. */
  readonly extra: object;
  readonly lines?: readonly SqlRow[];
}

/** Origin of rows: the sequence number of the read that brought them, and its cause. */
export interface Provenance {
  readonly source: string;
  readonly readSeq: number;
  /** Time at which the rows are written, epoch ms. */
  readonly at: number;
}

export interface EntityDefinition {
  /** Name of the entity in the change feed. */
  readonly entity: string;
  readonly table: MirroredTable;
  readonly key: string;
  readonly columns: readonly string[];
  /**
   * Columns that are often the only difference between neighbouring rows of a list. For an entity
   * with such columns, unmodelled members are stored once for all rows that share them
   * (`variant_extra`).
   */
  readonly ownColumns?: readonly string[];
  readonly lines?: {
    readonly table: keyof Tables;
    readonly columns: readonly string[];
    /** Member of the record that has them as objects. */
    readonly member?: string;
  };
  /**
   * Whether a key may occur in several places of the list, whose rows are summed
   * (catalog/duplicates.ts).
   */
  readonly isSummed?: boolean;
  /**
   * Columns of which nobody asks what they were. Rows that changed in these alone share one entry
   * of the change feed for a write: nearly all rows do so every night.
   */
  readonly figures?: readonly string[];
  /** Columns that are watched for drastic changes. */
  readonly guarded?: GuardedColumns;
  /** Words and path by which people find rows that the program cannot use. */
  readonly shown?: {
    readonly plural: string;
    /** Path at the service that shows one row. */
    readonly path: string;
    /** Name of the entity in `service.dialect.v1.statuses`; left out: it has no status. */
    readonly of?: StatusOf;
  };
  /** Whether rows belong to an order (`order_id`) though their number alone is their key. */
  readonly isOfOrder?: true;
  /**
   * Explains why the new row contradicts a final state of the stored one, if so. Such a row opens
   * an incident and is not written.
   */
  readonly contradiction?: (before: SqlRow, after: SqlRow) => string | undefined;
}

/**
 * Table whose rows are compared with a list. Plain data, unlike a definition, so that it can be
 * sent to a thread.
 */
export type ListTable = Pick<EntityDefinition, 'table' | 'key'>;

/** A row encoded as text, outside of any transaction. */
export interface PreparedRow {
  readonly key: SqlValue;
  /** Values of the columns, as a JSON array without its closing bracket. */
  readonly values: string;
  /** Unmodelled members as JSON text. */
  readonly extra: string;
  /** Values of {@link EntityDefinition.ownColumns}, as a JSON array without its closing bracket. */
  readonly own: string | undefined;
  readonly hash: string;
  readonly lines: readonly SqlRow[];
}

/** Encodes values as a JSON array without its closing bracket, so that more can be appended. */
function opened(values: readonly unknown[]): string {
  return JSON.stringify(values).slice(0, -1);
}

function hashOf(text: string): string {
  return sha256(text).slice(0, HASH_CHARS);
}

/**
 * Hash of a row from the hash of its shared content and its own values, so that content shared by
 * neighbouring rows is hashed once.
 */
function hashOfOwn(sharedHash: string, own: string): string {
  return hashOf(sharedHash + own);
}

/** Encoded content that several neighbouring rows may share. */
type SharedText = Pick<PreparedRow, 'values' | 'extra'>;

function sharedText({ columns }: EntityDefinition, { values, extra }: MirrorRow): SharedText {
  return {
    values: opened(columns.map((column) => values[column] ?? null)),
    extra: JSON.stringify(extra),
  };
}

const UNREAD = 'unread';
const NOTHING_UNREAD = ',null';

/**
 * Hash of a row's shared content. An empty `unread` is left out, so that hashes from before that
 * column stay valid.
 */
function hashOfShared(
  { columns }: EntityDefinition,
  { values, extra }: SharedText,
  behind = '',
): string {
  const hasNone = columns.at(-1) === UNREAD && values.endsWith(NOTHING_UNREAD);
  const content = hasNone ? values.slice(0, -NOTHING_UNREAD.length) : values;
  return hashOf(`${content},${extra}${behind}`);
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
    return { key, ...shared, own, hash: hashOfOwn(hashOfShared(definition, shared), own), lines };
  }
  const hash = hashOfShared(definition, shared, row.lines ? JSON.stringify(lines) : '');
  return { key, ...shared, own: undefined, hash, lines };
}

/** Value of one column of an encoded row. */
export function columnOf(
  { columns, ownColumns = [] }: EntityDefinition,
  { values, own }: PreparedRow,
  column: string,
): SqlValue {
  const isOwn = ownColumns.includes(column);
  const at = (isOwn ? ownColumns : columns).indexOf(column);
  const all: readonly SqlValue[] = JSON.parse(`${isOwn ? own : values}]`);
  return all[at] ?? null;
}

/** Copy of an encoded row with another value in one of its own columns. */
export function withOwnValue(
  definition: EntityDefinition,
  row: PreparedRow,
  column: string,
  value: SqlValue,
): PreparedRow {
  const { ownColumns = [] } = definition;
  const all: readonly SqlValue[] = JSON.parse(`${row.own}]`);
  const own = opened(all.with(ownColumns.indexOf(column), value));
  return { ...row, own, hash: hashOfOwn(hashOfShared(definition, row), own) };
}

/**
 * Encoded rows in groups: rows of a group share columns and `extra`, and each adds its own columns.
 */
export interface RowGroups {
  readonly keys: readonly SqlValue[];
  /**
   * Groups as a JSON array in UTF-8. Each group is an array of the shared columns' values followed
   * by an array of rows, each with the own columns and the content hash.
   */
  readonly json: Uint8Array<ArrayBuffer>;
  /**
   * Unmodelled members as a JSON array in UTF-8, with a pair per group: its `extra`, and its number
   * of rows.
   */
  readonly extras: Uint8Array<ArrayBuffer>;
}

export type PreparedRows =
  | { readonly rows: readonly PreparedRow[] }
  | { readonly groups: RowGroups };

export function keysOf(prepared: PreparedRows): readonly SqlValue[] {
  return 'groups' in prepared ? prepared.groups.keys : prepared.rows.map(({ key }) => key);
}

/**
 * Separators of groups and rows, which JSON.stringify never outputs, so that the text can be split
 * there.
 */
const GROUP = '\n';
const ROW = '\t';
/** Maximum number of UTF-8 bytes per UTF-16 unit. */
const BYTES_A_CHAR = 3;

/** A growing buffer of UTF-8 text; `bytes` is the expected size. */
function createTextBytes(bytes: number) {
  let out = Buffer.from(new ArrayBuffer(bytes));
  let at = 0;
  return {
    put(text: string): void {
      const needed = at + text.length * BYTES_A_CHAR;
      if (needed > out.length) out = Buffer.from(out.buffer.transfer(needed * 2));
      at += out.write(text, at);
    },
    end: (): Uint8Array<ArrayBuffer> => new Uint8Array(out.buffer.transfer(at)),
  };
}

/** Encodes rows without lines into groups. `bytes` is the expected size of each buffer. */
export function createRowEncoder(definition: EntityDefinition, bytes: number) {
  const { key, ownColumns = [] } = definition;
  const keyIndex = ownColumns.indexOf(key);
  invariant(keyIndex >= 0, `rows of ${definition.entity} cannot be grouped by others than the key`);
  const json = createTextBytes(bytes);
  const extras = createTextBytes(bytes);
  let shared: SharedText | undefined;
  let sharedHash = '';
  let group = '';
  let rows = 0;
  const close = (): void => {
    if (!shared) return;
    json.put(`${group}]]`);
    extras.put(`${group.startsWith('[') ? '[' : ','}${GROUP}[${shared.extra},${rows}]`);
  };
  const addOwn = (values: readonly SqlValue[]): SqlValue => {
    const own = opened(values);
    group += `${rows === 0 ? '' : ','}${ROW}${own},"${hashOfOwn(sharedHash, own)}"]`;
    rows += 1;
    return values[keyIndex] ?? null;
  };
  return {
    /** Adds a row, and returns its key. */
    add(row: MirrorRow): SqlValue {
      const text = sharedText(definition, row);
      if (text.extra !== shared?.extra || text.values !== shared.values) {
        close();
        group = `${shared ? ',' : '['}${GROUP}${text.values},[`;
        rows = 0;
        shared = text;
        sharedHash = hashOfShared(definition, text);
      }
      return addOwn(valuesOfOwn(definition, row));
    },
    /** Adds a row that differs from the one before only in its own columns, and returns its key. */
    repeat: addOwn,
    end(): Omit<RowGroups, 'keys'> {
      close();
      const end = shared ? ']' : '[]';
      json.put(end);
      extras.put(end);
      return { json: json.end(), extras: extras.end() };
    },
  };
}

/** Length of the characters `,"` before a row's hash. */
const BEFORE_HASH = 2;

function groupsIn(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes).split(GROUP).slice(1);
}

/** Extracts the `extra` from a group's pair `[extra,rows]`, which a separator follows. */
function extraOf(entry: string): string {
  return entry.slice(1, entry.lastIndexOf(',', entry.lastIndexOf(']')));
}

/** Decodes the rows of encoded groups. */
function rowsOfGroups({ keys, json, extras }: RowGroups): readonly PreparedRow[] {
  const extraTexts = groupsIn(extras).map(extraOf);
  const rows = groupsIn(json).flatMap((group, at) => {
    const [opening = '', ...rest] = group.split(ROW);
    const values = opening.slice(0, -',['.length);
    return rest.map((row) => {
      const hashEnd = row.lastIndexOf('"');
      const hashStart = hashEnd - HASH_CHARS;
      const own = row.slice(0, hashStart - BEFORE_HASH);
      return { values, extra: extraTexts[at] ?? '{}', own, hash: row.slice(hashStart, hashEnd) };
    });
  });
  return rows.map((row, index) => ({ key: keys[index] ?? null, ...row, lines: [] }));
}

export function rowsOf(prepared: PreparedRows): readonly PreparedRow[] {
  return 'groups' in prepared ? rowsOfGroups(prepared.groups) : prepared.rows;
}
