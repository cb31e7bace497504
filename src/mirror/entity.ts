/**
 * Writes mirrored rows; no other code does. Unchanged rows cost no write; a changed one writes its
 * row, its lines and one change feed entry in the caller's transaction. A read that *started*
 * earlier never overwrites one that started later, whatever the order in which they arrive.
 * Unmodelled members are kept in `extra` and count as content.
 */
import { sql } from 'kysely';
import { canonicalJson, tryParseJson } from '../lib/json.ts';
import {
  type BulkRows,
  deleteByKeys,
  inKeys,
  insertBulk,
  insertKeys,
  insertMissing,
  insertRows,
  lastChange,
  raiseReadSeq,
  type SqlRow,
  type SqlValue,
  selectByKeys,
  selectMarks,
  setContentHashes,
  upsertBulk,
} from '../store/bulk.ts';
import { endIncidents, openIncident } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { noteShared, withoutForgotten } from './quarantine.ts';
import { createDrasticCounter, type Drastic, NOT_DRASTIC } from './rows/drastic.ts';
import {
  columnOf,
  type EntityDefinition,
  keysOf,
  type ListTable,
  linesDiff,
  type MirrorRow,
  type PreparedRow,
  type PreparedRows,
  type Provenance,
  prepareRow,
  type RowGroups,
} from './rows/prepared.ts';

// Appends to the change feed: reads the feed's last number, and writes `change` and `change_hour`
// in the caller's transaction, so that both say the same after a stop.

const HOUR_MS = 3_600_000;

/** Members that all entries of one append to the change feed share. */
export interface FeedCause {
  /** Time of the change, epoch ms. */
  readonly at: number;
  readonly entity: string;
  readonly cause: string;
}

const hourWith = kept((db: Db, hour: Value<number>) =>
  db.selectFrom('change_hour').select('hour').where('hour', '=', hour),
);

/**
 * Notes the first feed entry of an hour, unless one is noted; `count` entries were just appended.
 */
async function noteHour(tx: Tx, at: number, count: number): Promise<void> {
  if (count === 0) return;
  const hour = Math.floor(at / HOUR_MS);
  if ((await hourWith(tx, hour)).length > 0) return;
  const first_seq = (await lastChange(tx)) - count + 1;
  await tx.insertInto('change_hour').values({ hour, first_seq }).execute();
}

/** Appends one feed entry per key, all with the same operation and without old and new values. */
export async function appendKeys(
  tx: Tx,
  op: 'insert' | 'delete',
  keys: readonly string[],
  cause: FeedCause,
): Promise<void> {
  await insertKeys(tx, 'change', 'key', keys, { ...cause, op, diff: '{}' });
  await noteHour(tx, cause.at, keys.length);
}

/** Appends feed entries of rows that changed: `diff` is the JSON text of old and new values. */
export async function appendChanges(
  tx: Tx,
  entries: readonly (SqlRow & { readonly op: 'update' | 'restore' })[],
  cause: FeedCause,
): Promise<void> {
  await insertRows(tx, 'change', ['key', 'op', 'diff'], entries, { ...cause });
  await noteHour(tx, cause.at, entries.length);
}

// The sizes of one colour have the same unmodelled members, and repeating these made up three
// quarters of a variant's size. Neighbouring rows that agree refer to one entry of `variant_extra`;
// views give every row its own. An entry counts its rows, and a trigger deletes it with the last of
// them. Older rows keep their own copy until they change.

/** Compares two JSON texts regardless of member order, which carries no meaning. */
function isSameExtra(old: SqlValue, now: SqlValue): boolean {
  const text = (value: SqlValue): string => canonicalJson(tryParseJson(String(value)));
  return old === now || text(old) === text(now);
}

/**
 * Adds entries to `variant_extra`, given as a JSON array of `[extra, number of rows]`. Returns the
 * id of the first entry; the others follow.
 */
async function addExtras(tx: Tx, extras: BulkRows['rows']): Promise<number> {
  const { last } = await tx
    .selectFrom('variant_extra')
    .select((eb) => eb.fn.max<number | null>('extra_id').as('last'))
    .executeTakeFirstOrThrow();
  const from = (last ?? 0) + 1;
  await insertBulk(tx, {
    table: 'variant_extra',
    columns: ['extra', 'uses'],
    jsonColumns: ['extra'],
    numbered: { column: 'extra_id', from },
    rows: extras,
  });
  return from;
}

/**
 * Id in `variant_extra` for each row: the row's previous one if the content is the same, else a new
 * one.
 */
async function extraIdsOf(
  tx: Tx,
  rows: readonly PreparedRow[],
  before: ReadonlyMap<SqlValue, SqlRow>,
): Promise<readonly SqlValue[]> {
  const kept = rows.map(({ key, extra }) => {
    const old = before.get(key);
    return old && isSameExtra(old.extra ?? null, extra) ? (old.extra_id ?? null) : null;
  });
  const uses = new Map<string, number>();
  for (const [at, { extra }] of rows.entries()) {
    if (kept[at] === null) uses.set(extra, (uses.get(extra) ?? 0) + 1);
  }
  if (uses.size === 0) return kept;
  const entries = [...uses].map(([extra, count]) => `[${extra},${count}]`);
  const first = await addExtras(tx, `[${entries.join(',')}]`);
  const ids = new Map([...uses.keys()].map((extra, at) => [extra, first + at]));
  return rows.map(({ extra }, at) => kept[at] ?? ids.get(extra) ?? null);
}

/** Stored rows of a variants table by key, with their shared unmodelled members filled in. */
async function selectWithExtra(
  tx: Tx,
  { table, key }: ListTable,
  keys: readonly SqlValue[],
): Promise<readonly SqlRow[]> {
  const found = await sql<SqlRow>`select r.*, e.extra as shared from ${sql.table(table)} r
    left join variant_extra e on e.extra_id = r.extra_id
    where ${inKeys(`r.${key}`, keys)}`.execute(tx);
  return found.rows.map(({ shared, ...row }) => ({ ...row, extra: shared ?? row.extra ?? null }));
}

/** Columns that are equal in all rows of one write. */
function constantsOf({ at, readSeq, source }: Provenance): SqlRow {
  const times = { first_seen_at: at, changed_at: at, deleted_at: null };
  return { ...times, read_seq: readSeq, source };
}

/** Empty `extra` of rows whose unmodelled members are in `variant_extra`. */
const NO_EXTRA = { extra: '' };

/**
 * Parameters of the statement that writes the rows; `before` has the stored versions of known rows.
 */
async function bulkOfRows(
  tx: Tx,
  { table, columns, ownColumns }: EntityDefinition,
  rows: readonly PreparedRow[],
  before: ReadonlyMap<SqlValue, SqlRow>,
  provenance: Provenance,
): Promise<BulkRows> {
  const extras = ownColumns ? await extraIdsOf(tx, rows, before) : rows.map(({ extra }) => extra);
  const texts = rows.map(({ values, own, hash }, at) => {
    const ownValues = own === undefined ? '' : `,${own.slice(1)}`;
    return `${values},${extras[at] ?? null}${ownValues},"${hash}"]`;
  });
  return {
    table,
    columns: [...columns, ownColumns ? 'extra_id' : 'extra', ...(ownColumns ?? []), 'content_hash'],
    jsonColumns: ['extra'],
    constants: { ...constantsOf(provenance), ...(ownColumns && NO_EXTRA) },
    rows: `[${texts.join(',')}]`,
  };
}

async function bulkOfGroups(
  tx: Tx,
  { table, columns, ownColumns = [] }: EntityDefinition,
  { json, extras }: RowGroups,
  provenance: Provenance,
): Promise<BulkRows> {
  return {
    table,
    columns: [...columns, ...ownColumns, 'content_hash'],
    sharedColumns: columns.length,
    numbered: { column: 'extra_id', from: await addExtras(tx, extras) },
    constants: { ...constantsOf(provenance), ...NO_EXTRA },
    rows: json,
  };
}

const NONE_BEFORE: ReadonlyMap<SqlValue, SqlRow> = new Map();

/** Parameters of the statement that writes rows of which the mirror has none yet. */
function bulkOf(
  tx: Tx,
  definition: EntityDefinition,
  prepared: PreparedRows,
  provenance: Provenance,
): Promise<BulkRows> {
  return 'groups' in prepared
    ? bulkOfGroups(tx, definition, prepared.groups, provenance)
    : bulkOfRows(tx, definition, prepared.rows, NONE_BEFORE, provenance);
}

export interface WriteCounts {
  readonly inserted: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Rows that were not written because the mirror has them from a later read. */
  readonly stale: number;
  readonly drastic: Drastic;
  /** Keys of the rows that were written, of entities below an order. */
  readonly written: readonly SqlValue[];
}

const NO_LINES: readonly SqlRow[] = [];

/** Columns of a prepared row by name, with `extra` as JSON text. */
function valuesOf(definition: EntityDefinition, { values, own, extra }: PreparedRow): SqlRow {
  const { columns, ownColumns = [] } = definition;
  const texts = [`${values}]`, `${own ?? '['}]`];
  const all: readonly SqlValue[] = texts.flatMap((text) => JSON.parse(text));
  const named = [...columns, ...ownColumns].map((column, at) => [column, all[at] ?? null]);
  return { ...Object.fromEntries(named), extra };
}

/** The last row of each key, because a later duplicate replaces an earlier one. */
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

/** Changed columns of a row by name, each with its old and new value. */
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
  const lines = definition.lines && linesDiff(before.lines.get(item.key) ?? NO_LINES, item.lines);
  if (lines) diff.lines = lines;
  return diff;
}

/** Adds one change feed entry per written row, or for all figures; a row without a diff is new. */
async function writeChanges(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
  before: Pick<Comparison, 'diffs' | 'rows'>,
  { at, source }: Provenance,
): Promise<void> {
  const { entity, figures = [] } = definition;
  const added: string[] = [];
  const figuresOf: string[] = [];
  const entries: { key: string; op: 'update' | 'restore'; diff: string }[] = [];
  for (const { key } of items) {
    const diff = before.diffs.get(key);
    if (!diff) {
      added.push(String(key));
      continue;
    }
    const op = before.rows.get(key)?.deleted_at === null ? 'update' : 'restore';
    const isFigures = Object.keys(diff).every((column) => figures.includes(column));
    if (op === 'update' && isFigures) figuresOf.push(String(key));
    else entries.push({ key: String(key), op, diff: JSON.stringify(diff) });
  }
  if (figuresOf.length > 0) {
    entries.push({ key: '', op: 'update', diff: JSON.stringify({ figures_of: figuresOf }) });
  }
  const all = { at, entity, cause: source };
  await appendKeys(tx, 'insert', added, all);
  await appendChanges(tx, entries, all);
}

async function writeLines(
  tx: Tx,
  definition: EntityDefinition,
  items: readonly PreparedRow[],
): Promise<void> {
  if (!definition.lines) return;
  const { table, columns } = definition.lines;
  const { key } = definition;
  const keys = items.map((item) => item.key);
  await deleteByKeys(tx, table, key, keys);
  const lines = items.flatMap((item) => item.lines.map((line) => ({ ...line, [key]: item.key })));
  await insertRows(tx, table, [key, ...columns], lines);
}

/**
 * Leaves out rows whose number a row of another order has already; that row stays
 * (quarantine.ts).
 */
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
  const notes = shared.map((item) => ({ key: item.key, orderId: orderOf(item) }));
  await noteShared(tx, definition, notes, provenance);
  return changed.filter((item) => !isShared(item));
}

const ORDER = 'order_id';
const CONTRADICTION = 'contradiction';

/** Ends the incidents about contradictions of these rows. */
export async function endContradictions(
  tx: Tx,
  { contradiction, entity }: EntityDefinition,
  keys: readonly string[],
  at: number,
): Promise<void> {
  if (contradiction) await endIncidents(tx, { kind: CONTRADICTION, entity }, keys, at);
}

/**
 * Leaves out rows that contradict a final status in the mirror, and opens an incident for each,
 * which stays open until an answer agrees.
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
  await endContradictions(tx, definition, agreed, at);
  return kept;
}

/** Writes the rows of one answer to the mirror. */
export async function upsertRows(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly MirrorRow[],
  provenance: Provenance,
): Promise<WriteCounts> {
  const kept = await withoutForgotten(tx, definition, rows);
  const prepared = kept.map((row) => prepareRow(definition, row));
  return upsertPrepared(tx, definition, prepared, provenance);
}

interface Comparison extends Before {
  /** Differences between new and stored version by key, for rows that the mirror knows. */
  readonly diffs: ReadonlyMap<SqlValue, Diff>;
  readonly changed: readonly PreparedRow[];
  readonly unchanged: readonly PreparedRow[];
  /** Unchanged rows whose content hash an earlier release computed differently. */
  readonly rehashed: readonly PreparedRow[];
  readonly stale: number;
}

/**
 * Compares prepared rows with the mirror: which are changed, unchanged or older than the stored
 * ones.
 */
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
  const knownKeys = known.map((item) => item.key);
  const before = await readBefore(tx, definition, knownKeys);
  const diffs = new Map(known.map((item) => [item.key, diffOf(definition, item, before)]));
  const isUnchanged = (item: PreparedRow): boolean =>
    isSame(item) || (isLive(item) && Object.keys(diffs.get(item.key) ?? {}).length === 0);
  const changed = fresh.filter((item) => !isUnchanged(item));
  const unchanged = fresh.filter(isUnchanged);
  const rehashed = unchanged.filter((item) => !isSame(item));
  return { ...before, diffs, changed, unchanged, rehashed, stale: items.length - fresh.length };
}

/** Counts the drastic changes among written rows that existed before. */
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
    // A restored row is not compared, because it may have been gone for long.
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

/** Writes prepared rows, which were encoded before the transaction began. */
export async function upsertPrepared(
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
    await upsertBulk(tx, definition.key, ['first_seen_at'], bulk);
    await writeLines(tx, definition, written);
    await writeChanges(tx, definition, written, compared, provenance);
  }
  // Unchanged documents, too, get this read's number, by which a walk over the orders tells what it
  // saw. Rows of bulk lists are proved by their run instead, so that an unchanged row costs no
  // write.
  if (definition.lines) {
    const unchanged = compared.unchanged.map((item) => item.key);
    await raiseReadSeq(tx, definition.table, definition.key, unchanged, provenance.readSeq);
  }
  // Outdated hashes of list rows are replaced, so that the next pull need not compare columns
  // again. Hashes of documents stay, because decisions refer to them.
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
    written: definition.isOfOrder ? written.map(({ key }) => key) : [],
  };
}

/**
 * Inserts rows without lines that are most likely all new, without looking them up first. Returns
 * undefined and writes nothing when one of the rows exists.
 */
export async function insertAll(
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
  const cause = { at, entity: definition.entity, cause: source };
  await appendKeys(tx, 'insert', keys.map(String), cause);
  return { inserted, changed: 0, unchanged: 0, stale: 0, drastic: NOT_DRASTIC, written: [] };
}
