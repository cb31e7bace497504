/**
 * The only way to write a mirrored table. Unchanged rows cost no write; a changed one writes its
 * row, its lines and one change feed entry in the caller's transaction. A read that *started*
 * earlier never overwrites one that started later, whatever the order in which they arrive.
 * Unmodelled members are kept in `extra` and count as content.
 */
import { sql } from 'kysely';
import {
  deleteByKeys,
  insertKeys,
  insertMissing,
  insertRows,
  raiseReadSeq,
  type SqlRow,
  type SqlValue,
  selectByKeys,
  selectMarks,
  setContentHashes,
  upsertRows,
} from '../store/bulk.ts';
import { endIncidents, openIncident } from '../store/incidents.ts';
import type { Tx } from '../store/store.ts';
import { bulkOf, bulkOfRows, type Provenance } from './rows/bulk.ts';
import { createDrasticCounter, type Drastic, NOT_DRASTIC } from './rows/drastic.ts';
import { isSameExtra, selectWithExtra } from './rows/extra.ts';
import {
  columnOf,
  type EntityDefinition,
  keysOf,
  type MirrorRow,
  type PreparedRow,
  type PreparedRows,
  prepareRow,
} from './rows/prepared.ts';
import { noteShared } from './shared-number.ts';

export interface WriteCounts {
  readonly inserted: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Rows older than the mirror's. */
  readonly stale: number;
  readonly drastic: Drastic;
}

const NO_LINES: readonly SqlRow[] = [];

/** Columns of a row by name, `extra` as JSON text. */
function valuesOf(definition: EntityDefinition, { values, own, extra }: PreparedRow): SqlRow {
  const { columns, ownColumns = [] } = definition;
  const texts = [`${values}]`, `${own ?? '['}]`];
  const all: readonly SqlValue[] = texts.flatMap((text) => JSON.parse(text));
  const named = [...columns, ...ownColumns].map((column, at) => [column, all[at] ?? null]);
  return { ...Object.fromEntries(named), extra };
}

/** Last row of each key; a later duplicate wins. */
function lastOfEach(rows: readonly PreparedRow[]): readonly PreparedRow[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return byKey.size === rows.length ? rows : [...byKey.values()];
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
  const found = definition.ownColumns
    ? await selectWithExtra(tx, definition, keys)
    : await selectByKeys(tx, definition.table, definition.key, keys);
  for (const row of found) {
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

type Diff = Readonly<Record<string, readonly [unknown, unknown]>>;

/** Changed members by name: old → new. */
function diffOf(definition: EntityDefinition, item: PreparedRow, before: Before): Diff {
  const old = before.rows.get(item.key) ?? {};
  const now = valuesOf(definition, item);
  const diff: Record<string, readonly [unknown, unknown]> = {};
  for (const column of [...definition.columns, ...(definition.ownColumns ?? [])]) {
    const values = [old[column] ?? null, now[column] ?? null] as const;
    if (values[0] !== values[1]) diff[column] = values;
  }
  const extras = [old.extra ?? null, now.extra ?? null] as const;
  if (!isSameExtra(...extras)) diff.extra = extras;
  const oldLines = before.lines.get(item.key) ?? NO_LINES;
  const hasOtherLines = JSON.stringify(oldLines) !== JSON.stringify(item.lines);
  if (definition.lines && hasOtherLines) diff.lines = [oldLines, item.lines];
  return diff;
}

/** Adds one change feed entry per row; a row without a diff is new. */
async function writeChanges(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
  before: Pick<Comparison, 'diffs' | 'rows'>,
  { at, source }: Provenance,
): Promise<void> {
  const { entity } = definition;
  const added: string[] = [];
  const entries: SqlRow[] = [];
  for (const { key } of items) {
    const diff = before.diffs.get(key);
    if (!diff) {
      added.push(String(key));
      continue;
    }
    const op = before.rows.get(key)?.deleted_at === null ? 'update' : 'restore';
    entries.push({ key: String(key), op, diff: JSON.stringify(diff) });
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

/** Removes rows whose number another order's row has, which stays (shared-number.ts). */
async function withoutShared(
  tx: Tx,
  definition: EntityDefinition,
  { changed, rows }: Comparison,
  provenance: Provenance,
): Promise<readonly PreparedRow[]> {
  if (!definition.isOfOrder) return changed;
  const orderOf = (item: PreparedRow): SqlValue => columnOf(definition, item, ORDER);
  const isShared = (item: PreparedRow): boolean => {
    const old = rows.get(item.key);
    return old?.deleted_at === null && old[ORDER] !== orderOf(item);
  };
  const shared = changed.filter(isShared);
  if (shared.length === 0) return changed;
  const told = shared.map((item) => ({ key: item.key, orderId: orderOf(item) }));
  await noteShared(tx, definition, told, provenance);
  return changed.filter((item) => !isShared(item));
}

const ORDER = 'order_id';
const CONTRADICTION = 'contradiction';

/**
 * Removes rows that contradict a final status; their incident stays open until an answer agrees.
 */
async function splitContradictions(
  tx: Tx,
  definition: EntityDefinition,
  { changed, unchanged, rows }: Comparison,
  at: number,
): Promise<readonly PreparedRow[]> {
  const { contradiction, entity } = definition;
  if (!contradiction) return changed;
  const kept: PreparedRow[] = [];
  for (const item of changed) {
    const old = rows.get(item.key);
    const answer = valuesOf(definition, item);
    const reason = old && contradiction(old, answer);
    if (!reason) {
      kept.push(item);
      continue;
    }
    const incident = { kind: CONTRADICTION, entity, key: String(item.key) };
    await openIncident(tx, { ...incident, detail: { reason, answer } }, at);
  }
  const agreed = [...unchanged, ...kept].map(({ key }) => String(key));
  await endIncidents(tx, { kind: CONTRADICTION, entity }, agreed, at);
  return kept;
}

/** Writes the rows of one answer. */
export function writeRows(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly MirrorRow[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const prepared = rows.map((row) => prepareRow(definition, row));
  return writePrepared(tx, definition, prepared, provenance);
}

interface Comparison extends Before {
  /** By key, for known rows. */
  readonly diffs: ReadonlyMap<SqlValue, Diff>;
  readonly changed: readonly PreparedRow[];
  readonly unchanged: readonly PreparedRow[];
  /** Unchanged rows whose hash an earlier release computed differently. */
  readonly rehashed: readonly PreparedRow[];
  readonly stale: number;
}

/** Compares rows with the mirror. */
async function compareRows(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
  readSeq: number,
): Promise<Comparison> {
  const { table, key } = definition;
  const keys = items.map((item) => item.key);
  const marks = new Map((await selectMarks(tx, table, key, keys)).map((mark) => [mark.key, mark]));
  const fresh = items.filter((item) => (marks.get(item.key)?.read_seq ?? 0) <= readSeq);
  const isLive = ({ key: k }: PreparedRow): boolean => marks.get(k)?.deleted_at === null;
  const isSame = (item: PreparedRow): boolean =>
    isLive(item) && marks.get(item.key)?.content_hash === item.hash;
  const known = fresh.filter((item) => marks.has(item.key) && !isSame(item));
  const before = await readBefore(
    tx,
    definition,
    known.map((item) => item.key),
  );
  const diffs = new Map(known.map((item) => [item.key, diffOf(definition, item, before)]));
  const isUnchanged = (item: PreparedRow): boolean =>
    isSame(item) || (isLive(item) && Object.keys(diffs.get(item.key) ?? {}).length === 0);
  const changed = fresh.filter((item) => !isUnchanged(item));
  const unchanged = fresh.filter(isUnchanged);
  const rehashed = unchanged.filter((item) => !isSame(item));
  return { ...before, diffs, changed, unchanged, rehashed, stale: items.length - fresh.length };
}

/** Counts drastic changes of rows that existed. */
function drasticIn(
  definition: EntityDefinition,
  written: readonly PreparedRow[],
  { rows, diffs }: Comparison,
): Drastic {
  if (!definition.guarded || written.length === 0) return NOT_DRASTIC;
  const counter = createDrasticCounter(definition.guarded);
  for (const item of written) {
    const old = rows.get(item.key);
    const diff = diffs.get(item.key);
    // Restored rows are not compared, because they may have been gone for long.
    if (!old || !diff || old.deleted_at !== null) continue;
    counter.note(old, (column) => {
      const change = diff[column];
      if (!change) return old[column] ?? null;
      const [, now] = change;
      return typeof now === 'string' || typeof now === 'number' ? now : null;
    });
  }
  return counter.take();
}

/** Writes rows that were encoded before the transaction began. */
export async function writePrepared(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly PreparedRow[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const items = lastOfEach(rows);
  const compared = await compareRows(tx, definition, items, provenance.readSeq);
  const changedRows = await withoutShared(tx, definition, compared, provenance);
  const ofOwn = { ...compared, changed: changedRows };
  const written = await splitContradictions(tx, definition, ofOwn, provenance.at);
  if (written.length > 0) {
    const bulk = await bulkOfRows(tx, definition, written, compared.rows, provenance);
    await upsertRows(tx, definition.key, ['first_seen_at'], bulk);
  }
  await writeLines(tx, definition, written);
  await writeChanges(tx, definition, written, compared, provenance);
  // Keeps the marks of documents exact. Bulk streams prove rows by their run instead, so that an
  // unchanged row costs no write.
  if (definition.lines) {
    const unchanged = compared.unchanged.map((item) => item.key);
    await raiseReadSeq(tx, definition.table, definition.key, unchanged, provenance.readSeq);
  }
  // Updates outdated hashes, so that the next pull need not compare columns again. Hashes of
  // documents stay, because decisions refer to them.
  if (definition.ownColumns) {
    await setContentHashes(tx, definition.table, definition.key, compared.rehashed);
  }
  const changed = written.filter((item) => compared.rows.has(item.key)).length;
  return {
    inserted: written.length - changed,
    changed,
    unchanged: compared.unchanged.length,
    stale: compared.stale,
    drastic: drasticIn(definition, written, compared),
  };
}

/**
 * Inserts rows without lines that are most likely all new, without looking them up first. Returns
 * undefined and writes nothing when one of them exists.
 */
export async function writeNew(
  tx: Tx,
  definition: EntityDefinition,
  prepared: PreparedRows,
  provenance: Provenance,
): Promise<WriteCounts | undefined> {
  const keys = keysOf(prepared);
  await sql`savepoint unseen`.execute(tx);
  const inserted = await insertMissing(tx, await bulkOf(tx, definition, prepared, provenance));
  if (inserted < keys.length) await sql`rollback to unseen`.execute(tx);
  await sql`release unseen`.execute(tx);
  if (inserted < keys.length) return undefined;
  const { at, source } = provenance;
  const entry = { at, entity: definition.entity, cause: source, op: 'insert', diff: '{}' };
  await insertKeys(tx, 'change', 'key', keys.map(String), entry);
  return { inserted, changed: 0, unchanged: 0, stale: 0, drastic: NOT_DRASTIC };
}
