/**
 * The one way into a mirrored table. Rows that did not change cost no write; a changed one writes
 * its row, its lines and one entry of the change feed in the caller's transaction. An answer of a
 * read that *started* earlier never overwrites one that started later, whatever the order in
 * which they arrive. Members that we do not model are kept in `extra` and count as content.
 */
import { type JsonObject, sha256 } from '../lib/json.ts';
import {
  deleteByKeys,
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
  /** JSON text. */
  readonly extra: string;
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

const COMMON_COLUMNS = [
  'extra',
  'content_hash',
  'first_seen_at',
  'changed_at',
  'deleted_at',
  'read_seq',
  'source',
];

interface Prepared {
  readonly key: SqlValue;
  readonly row: MirrorRow;
  /** The own columns and `extra` as a JSON array that is still open, for the hash and the table. */
  readonly text: string;
  readonly hash: string;
}

function prepareRow(definition: EntityDefinition, key: SqlValue, row: MirrorRow): Prepared {
  const values: SqlValue[] = definition.columns.map((column) => row.values[column] ?? null);
  values.push(row.extra);
  const text = JSON.stringify(values).slice(0, -1);
  const lines = row.lines === undefined ? '' : JSON.stringify(row.lines);
  return { key, row, text, hash: sha256(text + lines).slice(0, 32) };
}

/** The last row of each key: a list that holds a key twice tells us twice, the last word counts. */
function prepare(definition: EntityDefinition, rows: readonly MirrorRow[]): Prepared[] {
  const byKey = new Map<SqlValue, Prepared>();
  for (const row of rows) {
    const key = row.values[definition.key] ?? null;
    byKey.set(key, prepareRow(definition, key, row));
  }
  return [...byKey.values()];
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
  item: Prepared,
  before: Before,
  provenance: Provenance,
): SqlRow {
  const old = before.rows.get(item.key);
  const diff: Record<string, unknown> = old
    ? {
        ...diffOf(old, { ...item.row.values, extra: item.row.extra }, [
          ...definition.columns,
          'extra',
        ]),
      }
    : {};
  if (old && definition.lines) {
    const [oldLines, newLines] = [before.lines.get(item.key) ?? [], item.row.lines ?? []];
    if (JSON.stringify(oldLines) !== JSON.stringify(newLines)) diff.lines = [oldLines, newLines];
  }
  return {
    at: provenance.at,
    entity: definition.entity,
    key: String(item.key),
    op: old ? (old.deleted_at === null ? 'update' : 'restore') : 'insert',
    diff: JSON.stringify(diff),
    cause: provenance.source,
  };
}

async function writeLines(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly Prepared[],
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
    (item.row.lines ?? []).map((line) => ({ ...line, [definition.key]: item.key })),
  );
  await insertRows(tx, table, [definition.key, ...columns], lines);
}

async function splitContradictions(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly Prepared[],
  before: Before,
  at: number,
): Promise<Prepared[]> {
  const { contradiction } = definition;
  if (!contradiction) return [...items];
  const kept: Prepared[] = [];
  for (const item of items) {
    const old = before.rows.get(item.key);
    const reason = old && contradiction(old, item.row.values);
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
        detail: JSON.stringify({ reason, answer: item.row.values }),
        resolved_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  return kept;
}

/** Writes what one answer said about some rows of an entity. */
export async function writeRows(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly MirrorRow[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const { table, key, columns } = definition;
  const items = prepare(definition, rows);
  const keys = items.map((item) => item.key);
  const marks = new Map((await selectMarks(tx, table, key, keys)).map((mark) => [mark.key, mark]));
  const isStale = ({ key: k }: Prepared): boolean =>
    (marks.get(k)?.read_seq ?? 0) > provenance.readSeq;
  const isSame = ({ key: k, hash }: Prepared): boolean =>
    marks.get(k)?.content_hash === hash && marks.get(k)?.deleted_at === null;

  const stale = items.filter(isStale);
  const fresh = items.filter((item) => !isStale(item));
  const same = fresh.filter(isSame);
  const different = fresh.filter((item) => !isSame(item));
  const known = different.filter((item) => marks.has(item.key)).map((item) => item.key);
  const before = await readBefore(tx, definition, known);
  const written = await splitContradictions(tx, definition, different, before, provenance.at);

  const { at, readSeq, source } = provenance;
  const common = JSON.stringify([at, at, null, readSeq, source]).slice(1, -1);
  await upsertRows(
    tx,
    table,
    key,
    [...columns, ...COMMON_COLUMNS],
    ['first_seen_at'],
    written.map((item) => `${item.text},"${item.hash}",${common}]`),
  );
  await writeLines(tx, definition, written);
  await insertRows(
    tx,
    'change',
    ['at', 'entity', 'key', 'op', 'diff', 'cause'],
    written.map((item) => changeEntry(definition, item, before, provenance)),
  );
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
