/**
 * Duplicate keys: an account may list a barcode once per season or brand. Each occurrence in the
 * list is a place. Places with different season or brand are summed: the mirror's row has the total
 * quantity, and all else from the first place by season and brand, whatever the list's order.
 * Places with equal season and brand are one row that was sent twice because the list moved; the
 * last counts. Duplicates are found in the keys that are stored with the chunks. From the next run
 * on, their rows are kept as places, beside their chunk and in its transaction, so that an
 * unchanged chunk keeps its places. Rows are merged only after the list was read to its end,
 * because a row that moved would count twice before. Writes `duplicate_key`, `key_place` and,
 * through entity.ts, the rows.
 */

import { type RawBuilder, sql } from 'kysely';
import { inKeys, insertRows, type SqlRow, type SqlValue } from '../../store/bulk.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { upsertPrepared, type WriteCounts } from '../entity.ts';
import type { Provenance } from '../rows/prepared.ts';
import {
  columnOf,
  type EntityDefinition,
  type PreparedRow,
  withOwnValue,
} from '../rows/prepared.ts';

/** Number of duplicate keys whose rows one transaction merges. */
const SLICE = 500;

const COLUMNS = ['first_row', 'at', 'key', 'season_name', 'brand_name', 'quantity', 'prepared'];

/** A list of the service, or a part of that list. */
export interface ListPlace {
  readonly stream: string;
  /** Name of the part of the list; '' for an undivided list. */
  readonly part: string;
}

/** Tells whether the stream's list has any known duplicate key. */
export async function hasDuplicates(db: Db | Tx, stream: string): Promise<boolean> {
  const one = db.selectFrom('duplicate_key').select('key').where('stream', '=', stream).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Gives those of the keys that are known duplicates. */
export async function duplicatesAmong(
  tx: Tx,
  stream: string,
  keys: readonly SqlValue[],
): Promise<ReadonlySet<SqlValue>> {
  const rows = await tx
    .selectFrom('duplicate_key')
    .select('key')
    .where('stream', '=', stream)
    .where(inKeys('key', keys))
    .execute();
  return new Set(rows.map(({ key }) => key));
}

async function makeDue(tx: Tx, stream: string, keys: readonly SqlValue[]): Promise<void> {
  await tx
    .updateTable('duplicate_key')
    .set({ is_due: 1 })
    .where('stream', '=', stream)
    .where(inKeys('key', keys))
    .execute();
}

/**
 * Removes the places in chunks that begin with a row in [from, to), by default up to the list's
 * end.
 */
export async function forgetPlaces(
  tx: Tx,
  { stream, part }: ListPlace,
  from: number,
  to: number = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const { rows } = await sql<{ readonly key: string }>`delete from key_place
    where stream = ${stream} and part = ${part} and first_row >= ${from} and first_row < ${to}
    returning key`.execute(tx);
  if (rows.length > 0)
    await makeDue(
      tx,
      stream,
      rows.map(({ key }) => key),
    );
}

/** Removes the places in parts of the list that no longer exist. */
export async function forgetPlacesBeside(
  tx: Tx,
  stream: string,
  parts: readonly string[],
): Promise<void> {
  const { rows } = await sql<{ readonly key: string }>`delete from key_place
    where stream = ${stream} and not ${inKeys('part', parts)} returning key`.execute(tx);
  if (rows.length > 0)
    await makeDue(
      tx,
      stream,
      rows.map(({ key }) => key),
    );
}

/** A row with a duplicate key, and its place in the list. */
export interface Placed {
  readonly firstRow: number;
  /** Index of the row within its chunk. */
  readonly at: number;
  readonly row: PreparedRow;
}

/**
 * Stores rows with duplicate keys as places; the caller removed the former places of their chunks.
 */
export async function keepPlaces(
  tx: Tx,
  { stream, part }: ListPlace,
  definition: EntityDefinition,
  placed: readonly Placed[],
): Promise<void> {
  if (placed.length === 0) return;
  const rows = placed.map(({ firstRow, at, row }): SqlRow => {
    const value = (column: string): SqlValue => columnOf(definition, row, column);
    return {
      first_row: firstRow,
      at,
      key: row.key,
      quantity: value('quantity'),
      season_name: value('season_name'),
      brand_name: value('brand_name'),
      prepared: JSON.stringify(row),
    };
  });
  await insertRows(tx, 'key_place', COLUMNS, rows, { stream, part });
  await makeDue(
    tx,
    stream,
    placed.map(({ row }) => row.key),
  );
}

interface PlaceRow {
  readonly key: string;
  /** Quantity of this place; null: it could not be read. */
  readonly quantity: number | null;
  /** Season and brand as one string, which tells the places of a key apart. */
  readonly kind: string;
  readonly prepared: string;
}

/** Merges the places of one key, which are ordered by season and brand, into the mirror's row. */
function rowOf(definition: EntityDefinition, places: readonly PlaceRow[]): PreparedRow | undefined {
  const [first] = places;
  if (!first) return undefined;
  // The last one of the places with equal season and brand counts.
  const kinds = new Map(places.map((place) => [place.kind, place]));
  const quantities = [...kinds.values()].flatMap(({ quantity }) => quantity ?? []);
  const sum = quantities.reduce((pieces, quantity) => pieces + quantity, 0);
  const pieces = quantities.length === kinds.size ? sum : null;
  const row: PreparedRow = JSON.parse(kinds.get(first.kind)?.prepared ?? first.prepared);
  return kinds.size === 1 ? row : withOwnValue(definition, row, 'quantity', pieces);
}

/** SQL: season and brand as one string, which tells the places of a key apart. */
const KIND = sql<string>`json_array(coalesce(season_name, ''), coalesce(brand_name, ''))`;

/** Forgets duplicate keys with at most one place left: their rows are ordinary again. */
async function forgetKeys(tx: Tx, stream: string, keys: readonly string[]): Promise<void> {
  for (const table of ['duplicate_key', 'key_place'] as const) {
    const ofStream = tx.deleteFrom(table).where('stream', '=', stream);
    await ofStream.where(inKeys('key', keys)).execute();
  }
}

interface Joined {
  readonly counts: WriteCounts;
  /** Last key that was merged; the next slice continues after it. */
  readonly last: string;
}

/**
 * Merges one slice of duplicate keys after `after` whose places changed; undefined when none is
 * left. The list must have been read to its end.
 */
export async function joinPlaces(
  tx: Tx,
  definition: EntityDefinition,
  { stream, after }: { readonly stream: string; readonly after: string },
  provenance: Provenance,
): Promise<Joined | undefined> {
  const due = await tx
    .selectFrom('duplicate_key')
    .select('key')
    .where('stream', '=', stream)
    .where('is_due', '=', sql.lit(1))
    .where('key', '>', after)
    .orderBy('key')
    .limit(SLICE)
    .execute();
  const keys = due.map(({ key }) => key);
  const last = keys.at(-1);
  if (last === undefined) return undefined;
  const places = await sql<PlaceRow>`select key, quantity, ${KIND} kind, prepared from key_place
    where stream = ${stream} and ${inKeys('key', keys)}
    order by key, kind, part, first_row, at`.execute(tx);
  const byKey = Map.groupBy(places.rows, ({ key }) => key);
  const rows = [...byKey.values()].flatMap((of) => rowOf(definition, of) ?? []);
  const counts = await upsertPrepared(tx, definition, rows, provenance);
  // A stale row means that a newer read wrote it meanwhile, so these keys stay due for the next
  // run.
  if (counts.stale > 0) return { counts, last };
  await tx
    .updateTable('duplicate_key')
    .set({ is_due: 0 })
    .where('stream', '=', stream)
    .where(inKeys('key', keys))
    .execute();
  const single = keys.filter((key) => (byKey.get(key)?.length ?? 0) < 2);
  await forgetKeys(tx, stream, single);
  return { counts, last };
}

/** SQL query of the distinct places, one row each; the caller may append conditions. */
export function placesOf(stream: string): RawBuilder<unknown> {
  return sql`select distinct key, ${KIND} kind from key_place where stream = ${stream}`;
}

/** Counts the list's rows beyond the first of their key that have another season or brand. */
export async function countPlaces(db: Db | Tx, stream: string): Promise<number> {
  const { rows } = await sql<{ readonly n: number }>`
    select count(*) - count(distinct key) n from (${placesOf(stream)})`.execute(db);
  return rows[0]?.n ?? 0;
}

// A key occurs more than once in a list because the list moved while it was read, because an
// interrupted run left new chunks beside old ones, or permanently. The mirror has the row's last
// version; an equal digest of a chunk with another version would prove nothing, so these digests
// are cleared.

/**
 * Number of duplicate keys that one query returns; a list may have each of a million rows twice.
 */
const SCAN_SLICE = 20_000;

/** Duplicate keys of the list after `after`, in order. */
async function duplicatesAfter(store: Store, stream: string, after: string): Promise<string[]> {
  const { rows } = await sql<{ readonly key: string }>`select k.value key
    from chunk, json_each(chunk.keys) k where stream = ${stream} and k.value > ${after}
    group by 1 having count(*) > 1 order by 1 limit ${SCAN_SLICE}`.execute(store.db);
  return rows.map(({ key }) => key);
}

async function invalidateChunksOf(
  store: Store,
  stream: string,
  keys: readonly string[],
  isSummed: boolean,
): Promise<void> {
  const { rows } = await sql<{ readonly part: string; readonly first_row: number }>`
    select distinct part, first_row from chunk, json_each(chunk.keys) k
    where stream = ${stream} and ${inKeys('k.value', keys)}`.execute(store.db);
  const places = JSON.stringify(rows.map(({ part, first_row }) => [part, first_row]));
  await store.transaction(async (tx) => {
    await sql`update chunk set digest = null where stream = ${stream} and (part, first_row)
      in (select value->>0, value->>1 from json_each(${places}))`.execute(tx);
    if (!isSummed) return;
    await sql`insert into duplicate_key (stream, key, is_due)
      select ${stream}, value, 1 from json_each(${JSON.stringify(keys)}) where true
      on conflict do nothing`.execute(tx);
  });
}

/**
 * Clears the digests of chunks that share a duplicate key, for which it scans the keys of all
 * chunks. With `isSummed`, rows of such keys are kept as places from now on.
 */
export async function invalidateDuplicates(
  store: Store,
  stream: string,
  isSummed: boolean,
): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const keys: readonly string[] = await duplicatesAfter(store, stream, after);
    if (keys.length > 0) await invalidateChunksOf(store, stream, keys, isSummed);
    after = keys.length < SCAN_SLICE ? undefined : keys.at(-1);
  }
}
