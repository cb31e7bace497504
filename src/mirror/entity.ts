/**
 * The one way into a mirrored table. Rows that did not change cost no write; a changed one writes
 * its row, its lines and one entry of the change feed in the caller's transaction. An answer of a
 * read that *started* earlier never overwrites one that started later, whatever the order in
 * which they arrive. Members that we do not model are kept in `extra` and count as content.
 */
import { type JsonObject, sha256 } from '../lib/json.ts';
import {
  deleteByKeys,
  insertKeys,
  insertRows,
  type MirroredTable,
  raiseReadSeq,
  type SqlRow,
  type SqlValue,
  selectByKeys,
  selectMarks,
  upsertRows,
} from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';

/** Where rows come from: the read's start (sequence), and what caused it. */
export interface Provenance {
  readonly source: string;
  readonly readSeq: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

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

export interface WriteCounts {
  readonly inserted: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Answers that were older than what the mirror has. */
  readonly stale: number;
  /** Keys whose rows were written. */
  readonly writtenKeys: readonly SqlValue[];
}

/** A row as text, made outside of any transaction; what it was made of need not be kept. */
export interface PreparedRow {
  readonly key: SqlValue;
  /** The own columns and `extra` as a JSON array that is still open. */
  readonly text: string;
  readonly hash: string;
  readonly lines: readonly SqlRow[];
}

const NO_LINES: readonly SqlRow[] = [];

export function prepareRow(definition: EntityDefinition, row: MirrorRow): PreparedRow {
  const values: unknown[] = definition.columns.map((column) => row.values[column] ?? null);
  values.push(row.extra);
  const text = JSON.stringify(values).slice(0, -1);
  const { lines } = row;
  const hash = sha256(lines ? text + JSON.stringify(lines) : text).slice(0, 32);
  return { key: row.values[definition.key] ?? null, text, hash, lines: lines ?? NO_LINES };
}

function sqlValue(value: unknown): SqlValue {
  const isPlain = value === null || typeof value === 'string' || typeof value === 'number';
  return isPlain ? value : JSON.stringify(value);
}

/** The columns of a row by their names, `extra` as text. */
function valuesOf(definition: EntityDefinition, { text }: PreparedRow): SqlRow {
  const values: readonly unknown[] = JSON.parse(`${text}]`);
  const columns = [...definition.columns, 'extra'];
  return Object.fromEntries(columns.map((column, index) => [column, sqlValue(values[index])]));
}

/** The last row of each key: a list that holds a key twice tells us twice, the last word counts. */
function lastOfEach(rows: readonly PreparedRow[]): readonly PreparedRow[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return byKey.size === rows.length ? rows : [...byKey.values()];
}

function diffOf(before: SqlRow, after: SqlRow, columns: readonly string[]): JsonObject {
  const diff: Record<string, [SqlValue, SqlValue]> = {};
  for (const column of columns) {
    const [old, now] = [before[column] ?? null, after[column] ?? null];
    if (old !== now) diff[column] = [old, now];
  }
  return diff;
}

interface Before {
  readonly rows: ReadonlyMap<SqlValue, SqlRow>;
  readonly lines: ReadonlyMap<SqlValue, readonly SqlRow[]>;
}

async function readBefore(
  tx: Tx,
  definition: EntityDefinition,
  keys: readonly SqlValue[],
): Promise<Before> {
  const rows = new Map<SqlValue, SqlRow>();
  const lines = new Map<SqlValue, SqlRow[]>();
  if (keys.length === 0) return { rows, lines };
  for (const row of await selectByKeys(tx, definition.table, definition.key, keys)) {
    rows.set(row[definition.key] ?? null, row);
  }
  if (definition.lines) {
    const { table, columns } = definition.lines;
    for (const stored of await selectByKeys(tx, table, definition.key, keys, 'line_no')) {
      const key = stored[definition.key] ?? null;
      const line = Object.fromEntries(columns.map((column) => [column, stored[column] ?? null]));
      lines.set(key, [...(lines.get(key) ?? []), line]);
    }
  }
  return { rows, lines };
}

function changeEntry(
  definition: EntityDefinition,
  item: PreparedRow,
  old: SqlRow,
  oldLines: readonly SqlRow[],
): SqlRow {
  const columns = [...definition.columns, 'extra'];
  const diff: Record<string, unknown> = { ...diffOf(old, valuesOf(definition, item), columns) };
  const hasOtherLines = JSON.stringify(oldLines) !== JSON.stringify(item.lines);
  if (definition.lines && hasOtherLines) diff.lines = [oldLines, item.lines];
  return {
    key: String(item.key),
    op: old.deleted_at === null ? 'update' : 'restore',
    diff: JSON.stringify(diff),
  };
}

/** One entry in the change feed for each row. */
async function writeChanges(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
  before: Before,
  { at, source }: Provenance,
): Promise<void> {
  const { entity } = definition;
  const added: string[] = [];
  const entries: SqlRow[] = [];
  for (const item of items) {
    const old = before.rows.get(item.key);
    if (!old) added.push(String(item.key));
    else entries.push(changeEntry(definition, item, old, before.lines.get(item.key) ?? NO_LINES));
  }
  const all = { at, entity, cause: source };
  await insertKeys(tx, 'change', 'key', added, { ...all, op: 'insert', diff: '{}' });
  await insertRows(tx, 'change', ['key', 'op', 'diff'], entries, all);
}

async function writeLines(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
): Promise<void> {
  if (!definition.lines) return;
  const { table, columns } = definition.lines;
  await deleteByKeys(
    tx,
    table,
    definition.key,
    items.map((item) => item.key),
  );
  const lines = items.flatMap((item) =>
    item.lines.map((line) => ({ ...line, [definition.key]: item.key })),
  );
  await insertRows(tx, table, [definition.key, ...columns], lines);
}

async function splitContradictions(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
  before: Before,
  at: number,
): Promise<readonly PreparedRow[]> {
  const { contradiction } = definition;
  if (!contradiction) return items;
  const kept: PreparedRow[] = [];
  for (const item of items) {
    const old = before.rows.get(item.key);
    const answer = valuesOf(definition, item);
    const reason = old && contradiction(old, answer);
    if (!reason) {
      kept.push(item);
      continue;
    }
    await tx
      .insertInto('incident')
      .values({
        at,
        kind: 'contradiction',
        entity: definition.entity,
        key: String(item.key),
        detail: JSON.stringify({ reason, answer }),
        resolved_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  return kept;
}

/** Writes what one answer said about some rows of an entity. */
export function writeRows(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly MirrorRow[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const prepared = rows.map((row) => prepareRow(definition, row));
  return writePrepared(tx, definition, prepared, provenance);
}

async function upsertPrepared(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
  { at, readSeq, source }: Provenance,
): Promise<void> {
  const { table, key, columns } = definition;
  const times = { first_seen_at: at, changed_at: at, deleted_at: null };
  await upsertRows(tx, key, ['first_seen_at'], {
    table,
    columns: [...columns, 'extra', 'content_hash'],
    jsonColumns: ['extra'],
    constants: { ...times, read_seq: readSeq, source },
    rows: items.map(({ text, hash }) => `${text},"${hash}"]`),
  });
}

/** The same for rows that were prepared before the transaction began. */
export async function writePrepared(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly PreparedRow[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const { table, key } = definition;
  const items = lastOfEach(rows);
  const keys = items.map((item) => item.key);
  const marks = new Map((await selectMarks(tx, table, key, keys)).map((mark) => [mark.key, mark]));
  const isStale = ({ key: k }: PreparedRow): boolean =>
    (marks.get(k)?.read_seq ?? 0) > provenance.readSeq;
  const isSame = ({ key: k, hash }: PreparedRow): boolean =>
    marks.get(k)?.content_hash === hash && marks.get(k)?.deleted_at === null;

  const stale = items.filter(isStale);
  const fresh = items.filter((item) => !isStale(item));
  const same = fresh.filter(isSame);
  const different = fresh.filter((item) => !isSame(item));
  const known = different.filter((item) => marks.has(item.key)).map((item) => item.key);
  const before = await readBefore(tx, definition, known);
  const written = await splitContradictions(tx, definition, different, before, provenance.at);

  await upsertPrepared(tx, definition, written, provenance);
  await writeLines(tx, definition, written);
  await writeChanges(tx, definition, written, before, provenance);
  // Lists of single documents are short: their marks are kept exact. A bulk stream proves its
  // rows by its run instead, so that an unchanged row costs no write.
  if (definition.lines) {
    const unchanged = same.map((item) => item.key);
    await raiseReadSeq(tx, table, key, unchanged, provenance.readSeq);
  }
  const inserted = written.filter((item) => !marks.has(item.key)).length;
  return {
    inserted,
    changed: written.length - inserted,
    unchanged: same.length,
    stale: stale.length,
    writtenKeys: written.map((item) => item.key),
  };
}
