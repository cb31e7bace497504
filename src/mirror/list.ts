/**
 * Lists of the service in the mirror. A list arrives in chunks of a few neighbouring rows. A chunk
 * whose digest equals the stored one is unchanged: none of its rows is parsed, compared or written.
 * The other chunks are compared row by row, and their keys are stored, so that a run that saw the
 * whole list knows what is gone (full-diff.ts). Only the stream writes the tables of its lists,
 * else an equal digest would prove nothing; an out-of-band writer must call {@link forgetList}.
 */
import { sql } from 'kysely';
import { isJsonObject } from '../lib/json.ts';
import type { KnownSegment } from '../lib/json-rows/known.ts';
import { inKeys, insertKeys, type SqlValue } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import {
  forgetPlaces,
  forgetPlacesBeside,
  hasTwice,
  keepPlaces,
  type Placed,
  twiceAmong,
} from './catalog/duplicates.ts';
import { writeNew, writePrepared } from './entity.ts';
import { quarantineRows, type RejectedRow } from './quarantine.ts';
import { type Drastic, NOT_DRASTIC } from './rows/drastic.ts';
import type { Provenance } from './rows/prepared.ts';
import {
  type EntityDefinition,
  keysOf,
  type MirrorRow,
  type PreparedRow,
  type PreparedRows,
  prepareRow,
  rowsOf,
} from './rows/prepared.ts';

export interface ListEntity extends EntityDefinition {
  /** Key member of a record. */
  readonly wireKey: string;
  /** Maps the member's value to the table's key, when they differ. */
  readonly keyOf?: (value: SqlValue) => SqlValue;
  readonly toRow: (record: unknown) => MirrorRow;
  /** Merges records of one key within a single answer; absent: the first counts. */
  readonly unite?: (records: readonly unknown[]) => unknown;
}

/** Merges records by key. A single answer cannot have moved, so repeated keys belong together. */
export function unitedByKey(
  { wireKey, unite = ([first]) => first }: ListEntity,
  records: readonly unknown[],
): readonly unknown[] {
  const keyOf = (record: unknown) => (isJsonObject(record) ? record[wireKey] : undefined);
  const byKey = Map.groupBy(records, keyOf);
  return [...byKey.values()].map((of) => (of.length === 1 ? of[0] : unite(of)));
}

export interface ListPlace {
  readonly stream: string;
  /** '' for an undivided list, else the part's name. */
  readonly part: string;
}

interface ListRows {
  readonly rows: readonly unknown[];
  readonly rejects: readonly RejectedRow[];
}

/** A few neighbouring rows of a list. */
export interface Segment {
  /** Index in the whole list, from 0; the same in every run. */
  readonly firstRow: number;
  readonly rowCount: number;
  /** Digest of its bytes (see `digestOf`). */
  readonly digest: string;
  /** Size in bytes; absent: it does not arrive as bytes. */
  readonly size?: number;
}

export interface ListSegment extends Segment {
  /** Called only when the digest changed. */
  readonly read: () => ListRows;
}

/** A chunk that must be read. */
interface OpenSegment extends Segment {
  /** Stored keys as JSON text; undefined: the chunk is new. */
  readonly keysBefore: string | undefined;
}

/** A page reduced to its changed chunks. */
export interface OpenPage<T extends Segment = Segment> {
  readonly rows: number;
  readonly sameRows: number;
  readonly open: readonly (T & OpenSegment)[];
}

interface ReadSegment extends OpenSegment {
  /** Keys of the valid rows. */
  readonly keys: readonly SqlValue[];
  readonly rejects: readonly RejectedRow[];
}

export interface ReadPage extends Omit<OpenPage, 'open'> {
  readonly segments: readonly ReadSegment[];
  /** Valid rows of all chunks. */
  readonly prepared: PreparedRows;
}

export interface ListCounts {
  readonly rows: number;
  readonly changed: number;
  /** Changed rows that did not exist before. */
  readonly inserted: number;
  readonly unchanged: number;
  readonly drastic: Drastic;
  readonly quarantined: number;
  /** Rows whose key cannot be read; with any of them, nothing counts as gone. */
  readonly keyless: number;
  /** Rows of chunks whose keys changed since the last run. */
  readonly rekeyed: number;
}

/** Stored chunks of a list of bytes that begin with a row in [from, to). */
export async function knownSegments(
  db: Db,
  { stream, part }: ListPlace,
  from: number,
  to: number,
): Promise<readonly KnownSegment[]> {
  const known = await sql<KnownSegment>`
    select first_row as "firstRow", row_count as "rowCount", bytes as size,
      lower(hex(digest)) as digest
    from segment where stream = ${stream} and part = ${part}
      and first_row >= ${from} and first_row < ${to}
      and digest is not null and bytes is not null`.execute(db);
  return known.rows;
}

async function knownDigests(
  db: Db,
  { stream, part }: ListPlace,
  segments: readonly Segment[],
): Promise<ReadonlyMap<number, string>> {
  const [first, last] = [segments[0], segments.at(-1)];
  if (!first || !last) return new Map();
  const known = await sql<{ readonly first_row: number; readonly digest: string }>`
    select first_row, lower(hex(digest)) as digest from segment
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
    select first_row, keys from segment where stream = ${stream} and part = ${part}
      and ${inKeys('first_row', firstRows)}`.execute(db);
  return new Map(known.rows.map(({ first_row, keys }) => [first_row, keys]));
}

/** Removes the chunks whose digest is unchanged. */
export async function proveSegments<T extends Segment>(
  db: Db,
  place: ListPlace,
  segments: readonly T[],
): Promise<OpenPage<T>> {
  const digests = await knownDigests(db, place, segments);
  const others = segments.filter(({ firstRow, digest }) => digests.get(firstRow) !== digest);
  const again = others.map(({ firstRow }) => firstRow).filter((row) => digests.has(row));
  const keys = await knownKeys(db, place, again);
  const open = others.map((one) => ({ ...one, keysBefore: keys.get(one.firstRow) }));
  const rows = segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const openRows = open.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return { rows, sameRows: rows - openRows, open };
}

/** Finds the chunks that must be read, and reads them; outside of any transaction. */
export async function compareSegments(
  db: Db,
  entity: ListEntity,
  place: ListPlace,
  segments: readonly ListSegment[],
): Promise<ReadPage> {
  const { open, ...page } = await proveSegments(db, place, segments);
  const prepared: PreparedRow[] = [];
  const read = open.map((segment) => {
    const { rows, rejects } = segment.read();
    const own = rows.map((row) => prepareRow(entity, entity.toRow(row)));
    prepared.push(...own);
    return { ...segment, rejects, keys: own.map(({ key }) => key) };
  });
  return { ...page, segments: read, prepared: { rows: prepared } };
}

function keyOfReject(entity: ListEntity, { raw }: RejectedRow): SqlValue {
  const value = isJsonObject(raw) ? raw[entity.wireKey] : undefined;
  if (typeof value !== 'string' || value === '') return null;
  return entity.keyOf ? entity.keyOf(value) : value;
}

interface SegmentRow {
  readonly firstRow: number;
  readonly rowCount: number;
  readonly digest: string | null;
  readonly size: number | null;
  readonly keys: readonly SqlValue[];
}

async function replaceSegments(
  tx: Tx,
  { stream, part }: ListPlace,
  segments: readonly SegmentRow[],
  hasPlaces: boolean,
): Promise<void> {
  // Deletes by range, because a list that is split differently must leave no old chunk behind.
  let from = -1;
  let to = -1;
  const clear = async (): Promise<void> => {
    if (from < 0) return;
    await sql`delete from segment where stream = ${stream} and part = ${part}
      and first_row >= ${from} and first_row < ${to}`.execute(tx);
    if (hasPlaces) await forgetPlaces(tx, { stream, part }, from, to);
  };
  for (const { firstRow, rowCount } of segments) {
    if (firstRow !== to) {
      await clear();
      from = firstRow;
    }
    to = firstRow + rowCount;
  }
  await clear();
  const data = segments.map(({ firstRow, rowCount, digest, size, keys }) => [
    firstRow,
    rowCount,
    digest,
    size,
    keys,
  ]);
  await sql`insert into segment (stream, part, first_row, row_count, digest, bytes, keys)
    select ${stream}, ${part}, value->>0, value->>1, unhex(value->>2), value->>3, value->4
    from jsonb_each(${JSON.stringify(data)})`.execute(tx);
}

/** Counts of a page without changes. */
export function unchangedCounts({ rows }: Pick<OpenPage, 'rows'>): ListCounts {
  const none = { changed: 0, inserted: 0, quarantined: 0, keyless: 0, rekeyed: 0 };
  return { rows, unchanged: rows, drastic: NOT_DRASTIC, ...none };
}

/** Rows of a page, with duplicates split off. */
interface Parted {
  readonly prepared: PreparedRows;
  readonly placed: readonly Placed[];
}

async function partPlaces(tx: Tx, { stream }: ListPlace, page: ReadPage): Promise<Parted> {
  const { prepared, segments } = page;
  const twice = await twiceAmong(tx, stream, keysOf(prepared));
  if (twice.size === 0) return { prepared, placed: [] };
  const rows = rowsOf(prepared).values();
  const [placed, others]: [Placed[], PreparedRow[]] = [[], []];
  for (const { firstRow, keys } of segments) {
    for (const [at, row] of rows.take(keys.length).toArray().entries()) {
      if (twice.has(row.key)) placed.push({ firstRow, at, row });
      else others.push(row);
    }
  }
  return { prepared: { rows: others }, placed };
}

/** Writes a page that was read. */
export async function writePage(
  tx: Tx,
  entity: ListEntity,
  place: ListPlace,
  page: ReadPage,
  provenance: Provenance,
): Promise<ListCounts> {
  // Rows of an unknown chunk are most likely new.
  const isNew = !entity.lines && page.segments.every(({ keysBefore }) => keysBefore === undefined);
  const hasPlaces = entity.isSummed === true && (await hasTwice(tx, place.stream));
  const { prepared, placed } = hasPlaces
    ? await partPlaces(tx, place, page)
    : { prepared: page.prepared, placed: [] };
  const counts =
    (isNew ? await writeNew(tx, entity, prepared, provenance) : undefined) ??
    (await writePrepared(tx, entity, rowsOf(prepared), provenance));
  const rejects = page.segments.flatMap((segment) => segment.rejects);
  await quarantineRows(tx, entity.entity, rejects, provenance);
  const badKeys = rejects.map((reject) => keyOfReject(entity, reject));
  const segments = page.segments.map((segment) => ({
    firstRow: segment.firstRow,
    rowCount: segment.rowCount,
    // Chunks with rejected or stale rows get no digest, so that the next run reads them again.
    digest: segment.rejects.length > 0 || counts.stale > 0 ? null : segment.digest,
    size: segment.size ?? null,
    keysBefore: segment.keysBefore,
    keys: [
      ...segment.keys,
      ...segment.rejects.map((one) => keyOfReject(entity, one)).filter((key) => key !== null),
    ],
  }));
  const rekeyed = segments.filter(({ keys, keysBefore }) => JSON.stringify(keys) !== keysBefore);
  if (segments.length > 0) await replaceSegments(tx, place, segments, hasPlaces);
  await keepPlaces(tx, place, entity, placed);
  return {
    rows: page.rows,
    changed: counts.inserted + counts.changed,
    inserted: counts.inserted,
    unchanged: page.sameRows + counts.unchanged + placed.length,
    drastic: counts.drastic,
    quarantined: rejects.length,
    keyless: badKeys.filter((key) => key === null).length,
    rekeyed: rekeyed.reduce((sum, { rowCount }) => sum + rowCount, 0),
  };
}

/** Removes chunks beyond the end of each part, and parts that no longer exist. */
export async function endList(
  tx: Tx,
  stream: string,
  rowsOfParts: ReadonlyMap<string, number>,
): Promise<void> {
  const hasPlaces = await hasTwice(tx, stream);
  if (hasPlaces) await forgetPlacesBeside(tx, stream, [...rowsOfParts.keys()]);
  const ofStream = sql`segment where stream = ${stream}`;
  for (const [part, rows] of rowsOfParts) {
    await sql`delete from ${ofStream} and part = ${part} and first_row >= ${rows}`.execute(tx);
    if (hasPlaces) await forgetPlaces(tx, { stream, part }, rows);
  }
  // Walks from part to part; otherwise SQLite would read all keys of the list.
  await sql`delete from ${ofStream} and part in (
    with recursive p(part) as (
      select min(part) from ${ofStream} union all
      select (select min(part) from ${ofStream} and part > p.part) from p where part is not null
    ) select part from p
    except select value from json_each(${JSON.stringify([...rowsOfParts.keys()])}))`.execute(tx);
}

/**
 * Adds a space to the stored JSON so that the next run sees a difference and runs the full diff.
 */
export const RESPELLED_KEYS = sql`'[ ' || ltrim(substr(keys, 2))`;

/**
 * Invalidates the digests after an out-of-band write. The next run compares every row, and diffs
 * all keys with the mirror.
 */
export async function forgetList(tx: Tx, stream: string): Promise<void> {
  await sql`update segment set digest = null, keys = ${RESPELLED_KEYS}
    where stream = ${stream}`.execute(tx);
}

/** Marks rows as deleted (softly; a row that returns is restored). Returns how many it marked. */
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
  const entry = { at, entity: entity.entity, cause: source, op: 'delete', diff: '{}' };
  const gone = marked.rows.map(({ key }) => String(key));
  await insertKeys(tx, 'change', 'key', gone, entry);
  return gone.length;
}

/** Makes the next run compare every row of the stream. */
export async function forgetDigests(tx: Tx, stream?: string): Promise<void> {
  const query = tx.updateTable('segment').set({ digest: null });
  await (stream === undefined ? query : query.where('stream', '=', stream)).execute();
}
