/**
 * Lists of the service in the mirror. A list arrives in chunks of a few neighbouring rows. A chunk
 * whose digest equals the stored one is unchanged: none of its rows is parsed, compared or written.
 * The other chunks are compared row by row, and their keys are stored, so that a run that saw the
 * whole list knows what is gone (full-diff.ts). Only the stream writes the tables of its lists,
 * else an equal digest would prove nothing; an out-of-band writer must call {@link invalidateList}.
 *
 * A new list is a new stream: the head of `config/lists.ts` names all its places.
 */
import { sql } from 'kysely';
import { isJsonObject } from '../lib/json.ts';
import type { KnownChunk } from '../lib/json-rows/known.ts';
import { inKeys, type SqlValue } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import {
  duplicatesAmong,
  forgetPlaces,
  forgetPlacesBeside,
  hasDuplicates,
  keepPlaces,
  type ListPlace,
  type Placed,
} from './catalog/duplicates.ts';
import { appendKeys, endContradictions, insertAll, upsertPrepared } from './entity.ts';
import { quarantineRows, type RejectedRow } from './quarantine.ts';
import { type Drastic, NOT_DRASTIC } from './rows/drastic.ts';
import {
  type EntityDefinition,
  keysOf,
  type ListTable,
  type MirrorRow,
  type PreparedRow,
  type PreparedRows,
  type Provenance,
  prepareRow,
  rowsOf,
} from './rows/prepared.ts';

export interface ListEntity extends EntityDefinition {
  /** Name of the member that identifies a record in the service's answer. */
  readonly wireKey: string;
  /** Turns the identifying member's value into the table's key, where they differ. */
  readonly keyOf?: (value: SqlValue) => SqlValue;
  readonly toRow: (record: unknown) => MirrorRow;
  /** Merges records that have one key within a single answer; absent: the first record counts. */
  readonly unite?: (records: readonly unknown[]) => unknown;
}

/**
 * Merges records of a list by key. A list cannot move within a single answer, so repeated keys
 * belong together.
 */
export function unitedByKey(
  { wireKey, unite = ([first]) => first }: ListEntity,
  records: readonly unknown[],
): readonly unknown[] {
  const keyOf = (record: unknown) => (isJsonObject(record) ? record[wireKey] : undefined);
  const byKey = Map.groupBy(records, keyOf);
  return [...byKey.values()].map((of) => (of.length === 1 ? of[0] : unite(of)));
}

interface ListRows {
  readonly rows: readonly unknown[];
  readonly rejects: readonly RejectedRow[];
}

/** A chunk: a few neighbouring rows of a list. */
export interface Chunk {
  /** Index of the chunk's first row in the whole list, from 0; the same in every run. */
  readonly firstRow: number;
  readonly rowCount: number;
  /** Digest of the chunk's bytes (see `digestOf`). */
  readonly digest: string;
  /** Size of the chunk in bytes; absent: the list does not arrive as bytes. */
  readonly size?: number;
}

export interface ListChunk extends Chunk {
  /** Parses the rows of the chunk; called only when its digest changed. */
  readonly read: () => ListRows;
}

/** A chunk whose digest changed, so that its rows must be read. */
interface ChangedChunk extends Chunk {
  /** Keys that were stored with the chunk, as JSON text; undefined: the chunk is new. */
  readonly keysBefore: string | undefined;
}

/** A page of a list reduced to its changed chunks. */
export interface ChangedPage<T extends Chunk = Chunk> {
  readonly rows: number;
  readonly unchangedRows: number;
  readonly changedChunks: readonly (T & ChangedChunk)[];
}

interface ReadChunk extends ChangedChunk {
  /** Keys of the chunk's valid rows. */
  readonly keys: readonly SqlValue[];
  readonly rejects: readonly RejectedRow[];
}

export interface ReadPage extends Omit<ChangedPage, 'changedChunks'> {
  readonly chunks: readonly ReadChunk[];
  /** Valid rows of all chunks of the page, ready to be written. */
  readonly prepared: PreparedRows;
}

export interface ListCounts {
  readonly rows: number;
  readonly changed: number;
  /** Rows among the changed ones that did not exist before. */
  readonly inserted: number;
  readonly unchanged: number;
  readonly drastic: Drastic;
  readonly quarantined: number;
  /** Rows whose key cannot be read; if there are any, no other row counts as gone. */
  readonly unreadableKeys: number;
  /** Rows of chunks whose keys changed since the last run. */
  readonly changedKeys: number;
}

/**
 * Stored chunks, with digest and size in bytes, that begin with a row in [from, to) of the list.
 */
export async function knownChunks(
  db: Db,
  { stream, part }: ListPlace,
  from: number,
  to: number,
): Promise<readonly KnownChunk[]> {
  const known = await sql<KnownChunk>`
    select first_row as "firstRow", row_count as "rowCount", bytes as size,
      lower(hex(digest)) as digest
    from chunk where stream = ${stream} and part = ${part}
      and first_row >= ${from} and first_row < ${to}
      and digest is not null and bytes is not null`.execute(db);
  return known.rows;
}

async function knownDigests(
  db: Db,
  { stream, part }: ListPlace,
  chunks: readonly Chunk[],
): Promise<ReadonlyMap<number, string>> {
  const [first, last] = [chunks[0], chunks.at(-1)];
  if (!first || !last) return new Map();
  const known = await sql<{ readonly first_row: number; readonly digest: string }>`
    select first_row, lower(hex(digest)) as digest from chunk
    where stream = ${stream} and part = ${part}
      and first_row between ${first.firstRow} and ${last.firstRow}`.execute(db);
  return new Map(known.rows.map(({ first_row, digest }) => [first_row, digest]));
}

async function knownKeys(
  db: Db,
  { stream, part }: ListPlace,
  firstRows: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (firstRows.length === 0) return new Map();
  const known = await sql<{ readonly first_row: number; readonly keys: string }>`
    select first_row, keys from chunk where stream = ${stream} and part = ${part}
      and ${inKeys('first_row', firstRows)}`.execute(db);
  return new Map(known.rows.map(({ first_row, keys }) => [first_row, keys]));
}

/** Gives the chunks of a page whose digest is new or changed. */
export async function findChangedChunks<T extends Chunk>(
  db: Db,
  place: ListPlace,
  chunks: readonly T[],
): Promise<ChangedPage<T>> {
  const digests = await knownDigests(db, place, chunks);
  const others = chunks.filter(({ firstRow, digest }) => digests.get(firstRow) !== digest);
  const again = others.map(({ firstRow }) => firstRow).filter((row) => digests.has(row));
  const keys = await knownKeys(db, place, again);
  const changedChunks = others.map((one) => ({ ...one, keysBefore: keys.get(one.firstRow) }));
  const rows = chunks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const openRows = changedChunks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return { rows, unchangedRows: rows - openRows, changedChunks };
}

/** Finds the chunks of a page that must be read, and reads them; outside of any transaction. */
export async function compareChunks(
  db: Db,
  entity: ListEntity,
  place: ListPlace,
  chunks: readonly ListChunk[],
): Promise<ReadPage> {
  const { changedChunks, ...page } = await findChangedChunks(db, place, chunks);
  const prepared: PreparedRow[] = [];
  const read = changedChunks.map((chunk) => {
    const { rows, rejects } = chunk.read();
    const own = rows.map((row) => prepareRow(entity, entity.toRow(row)));
    prepared.push(...own);
    return { ...chunk, rejects, keys: own.map(({ key }) => key) };
  });
  return { ...page, chunks: read, prepared: { rows: prepared } };
}

function keyOfReject(entity: ListEntity, { raw }: RejectedRow): SqlValue {
  const value = isJsonObject(raw) ? raw[entity.wireKey] : undefined;
  if (typeof value !== 'string' || value === '') return null;
  return entity.keyOf ? entity.keyOf(value) : value;
}

interface ChunkRow {
  readonly firstRow: number;
  readonly rowCount: number;
  readonly digest: string | null;
  readonly size: number | null;
  readonly keys: readonly SqlValue[];
}

async function replaceChunks(
  tx: Tx,
  { stream, part }: ListPlace,
  chunks: readonly ChunkRow[],
  hasPlaces: boolean,
): Promise<void> {
  // Old chunks are deleted by range, because a list that is split differently must leave none
  // behind.
  let from = -1;
  let to = -1;
  const clear = async (): Promise<void> => {
    if (from < 0) return;
    await sql`delete from chunk where stream = ${stream} and part = ${part}
      and first_row >= ${from} and first_row < ${to}`.execute(tx);
    if (hasPlaces) await forgetPlaces(tx, { stream, part }, from, to);
  };
  for (const { firstRow, rowCount } of chunks) {
    if (firstRow !== to) {
      await clear();
      from = firstRow;
    }
    to = firstRow + rowCount;
  }
  await clear();
  const data = chunks.map(({ firstRow, rowCount, digest, size, keys }) => [
    firstRow,
    rowCount,
    digest,
    size,
    keys,
  ]);
  await sql`insert into chunk (stream, part, first_row, row_count, digest, bytes, keys)
    select ${stream}, ${part}, value->>0, value->>1, unhex(value->>2), value->>3, value->4
    from jsonb_each(${JSON.stringify(data)})`.execute(tx);
}

/** Counts of a page none of whose rows changed. */
export function unchangedCounts({ rows }: Pick<ChangedPage, 'rows'>): ListCounts {
  const none = { changed: 0, inserted: 0, quarantined: 0, unreadableKeys: 0, changedKeys: 0 };
  return { rows, unchanged: rows, drastic: NOT_DRASTIC, ...none };
}

/** Rows of a page, with the rows of duplicate keys split off. */
interface Parted {
  readonly prepared: PreparedRows;
  readonly placed: readonly Placed[];
}

async function partPlaces(tx: Tx, { stream }: ListPlace, page: ReadPage): Promise<Parted> {
  const { prepared, chunks } = page;
  const duplicates = await duplicatesAmong(tx, stream, keysOf(prepared));
  if (duplicates.size === 0) return { prepared, placed: [] };
  const rows = rowsOf(prepared).values();
  const [placed, others]: [Placed[], PreparedRow[]] = [[], []];
  for (const { firstRow, keys } of chunks) {
    for (const [at, row] of rows.take(keys.length).toArray().entries()) {
      if (duplicates.has(row.key)) placed.push({ firstRow, at, row });
      else others.push(row);
    }
  }
  return { prepared: { rows: others }, placed };
}

/** Writes the changed rows and chunks of a page that was read. */
export async function writePage(
  tx: Tx,
  entity: ListEntity,
  place: ListPlace,
  page: ReadPage,
  provenance: Provenance,
): Promise<ListCounts> {
  // Rows of chunks that the mirror does not know are most likely new.
  const isNew = !entity.lines && page.chunks.every(({ keysBefore }) => keysBefore === undefined);
  const hasPlaces = entity.isSummed === true && (await hasDuplicates(tx, place.stream));
  const { prepared, placed } = hasPlaces
    ? await partPlaces(tx, place, page)
    : { prepared: page.prepared, placed: [] };
  const counts =
    (isNew ? await insertAll(tx, entity, prepared, provenance) : undefined) ??
    (await upsertPrepared(tx, entity, rowsOf(prepared), provenance));
  const rejects = page.chunks.flatMap((chunk) => chunk.rejects);
  await quarantineRows(tx, entity.entity, rejects, provenance);
  const badKeys = rejects.map((reject) => keyOfReject(entity, reject));
  const chunks = page.chunks.map((chunk) => ({
    firstRow: chunk.firstRow,
    rowCount: chunk.rowCount,
    // A chunk with rejected or stale rows gets no digest, so that the next run reads its rows
    // again.
    digest: chunk.rejects.length > 0 || counts.stale > 0 ? null : chunk.digest,
    size: chunk.size ?? null,
    keysBefore: chunk.keysBefore,
    keys: [
      ...chunk.keys,
      ...chunk.rejects.map((one) => keyOfReject(entity, one)).filter((key) => key !== null),
    ],
  }));
  const changedKeys = chunks.filter(({ keys, keysBefore }) => JSON.stringify(keys) !== keysBefore);
  if (chunks.length > 0) await replaceChunks(tx, place, chunks, hasPlaces);
  await keepPlaces(tx, place, entity, placed);
  return {
    rows: page.rows,
    changed: counts.inserted + counts.changed,
    inserted: counts.inserted,
    unchanged: page.unchangedRows + counts.unchanged + placed.length,
    drastic: counts.drastic,
    quarantined: rejects.length,
    unreadableKeys: badKeys.filter((key) => key === null).length,
    changedKeys: changedKeys.reduce((sum, { rowCount }) => sum + rowCount, 0),
  };
}

/**
 * Removes stored chunks beyond the end of each part of a list, and those of parts that no longer
 * exist.
 */
export async function endList(
  tx: Tx,
  stream: string,
  rowsOfParts: ReadonlyMap<string, number>,
): Promise<void> {
  const hasPlaces = await hasDuplicates(tx, stream);
  if (hasPlaces) await forgetPlacesBeside(tx, stream, [...rowsOfParts.keys()]);
  const ofStream = sql`chunk where stream = ${stream}`;
  for (const [part, rows] of rowsOfParts) {
    await sql`delete from ${ofStream} and part = ${part} and first_row >= ${rows}`.execute(tx);
    if (hasPlaces) await forgetPlaces(tx, { stream, part }, rows);
  }
  // The query walks from part to part; otherwise SQLite would read all keys of the list.
  await sql`delete from ${ofStream} and part in (
    with recursive p(part) as (
      select min(part) from ${ofStream} union all
      select (select min(part) from ${ofStream} and part > p.part) from p where part is not null
    ) select part from p
    except select value from json_each(${JSON.stringify([...rowsOfParts.keys()])}))`.execute(tx);
}

/**
 * SQL: a chunk's stored keys with a space added. The next run finds them changed, and therefore
 * compares all keys of the list with the mirror.
 */
export const KEYS_MARKED_CHANGED = sql`'[ ' || ltrim(substr(keys, 2))`;

/**
 * Clears the digests of a list after an out-of-band write. The next run compares every row, and all
 * keys with the mirror.
 */
export async function invalidateList(tx: Tx, stream: string): Promise<void> {
  await sql`update chunk set digest = null, keys = ${KEYS_MARKED_CHANGED}
    where stream = ${stream}`.execute(tx);
}

/** Number of keys for each of which the stored keys of a list are walked over up to its place. */
const WALKS_MAX = 12;

/**
 * Live rows, of these, that the last run of their list did not find, and no read of their own
 * since: the list may have them under another key, and not only after they are marked as deleted.
 */
export async function unlistedAmong(
  tx: Tx,
  { table, key }: ListTable,
  stream: string,
  keys: readonly SqlValue[],
): Promise<ReadonlySet<SqlValue>> {
  const own = sql.ref(`r.${key}`);
  const listed = sql`select k.value from chunk, json_each(chunk.keys) k
    where chunk.stream = ${stream}`;
  const isListed =
    keys.length > WALKS_MAX
      ? sql`${own} in (${listed})`
      : sql`exists (${listed} and k.value = ${own})`;
  const { rows } = await sql<{ readonly key: SqlValue }>`
    select ${own} key from ${sql.table(table)} r where ${inKeys(`r.${key}`, keys)}
      and r.read_seq <= (select s.read_seq from stream_state t
        join sync_run s on s.run_id = t.last_run_id where t.stream = ${stream})
      and not ${isListed}`.execute(tx);
  return new Set(rows.map((row) => row.key));
}

/** Marks rows as deleted, and returns how many it marked. A row that returns is restored. */
export async function markDeleted(
  tx: Tx,
  entity: EntityDefinition,
  keys: readonly SqlValue[],
  provenance: Provenance,
): Promise<number> {
  const { at, readSeq, source } = provenance;
  const marked = await sql<{ readonly key: SqlValue }>`
    update ${sql.table(entity.table)}
    set deleted_at = ${at}, changed_at = ${at}, read_seq = ${readSeq}, source = ${source}
    where ${inKeys(entity.key, keys)} and deleted_at is null and read_seq <= ${readSeq}
    returning ${sql.ref(entity.key)} key`.execute(tx);
  const gone = marked.rows.map(({ key }) => String(key));
  await appendKeys(tx, 'delete', gone, { at, entity: entity.entity, cause: source });
  // Nothing will agree with a row that is gone.
  if (gone.length > 0) await endContradictions(tx, entity, gone, at);
  return gone.length;
}

/** Clears the digests of one list or of all, so that the next run compares every row. */
export async function invalidateDigests(tx: Tx, stream?: string): Promise<void> {
  const query = tx.updateTable('chunk').set({ digest: null });
  await (stream === undefined ? query : query.where('stream', '=', stream)).execute();
}
