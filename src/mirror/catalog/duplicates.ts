/**
 * Duplicate keys: an account may list a barcode once per season or brand. Places with different
 * season or brand are summed: the row has the total quantity, and all else from the first place by
 * season and brand, whatever the list's order. Places with equal season and brand are one, repeated
 * because the list moved; the last counts. Duplicates are found in the chunks' keys
 * (duplicates.ts). From the next run on, their rows are kept as places, beside their chunk and in
 * its transaction, so that an unchanged chunk keeps its places. Rows are merged only after the list
 * was read to its end, because a row that moved would count twice before. Writes `duplicate_key`,
 * `key_place` and, through entity.ts, the rows.
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

/** Keys merged per transaction. */
const SLICE = 500;

const COLUMNS = ['first_row', 'at', 'key', 'season_name', 'brand_name', 'quantity', 'prepared'];

/** A list, or a part of it. */
interface Place {
  readonly stream: string;
  readonly part: string;
}

/** Tells whether the stream's list has any known duplicate key. */
export async function hasDuplicates(db: Db | Tx, stream: string): Promise<boolean> {
  const one = db.selectFrom('duplicate_key').select('key').where('stream', '=', stream).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Filters the keys to known duplicates. */
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

/** Removes the places of chunks that begin in [from, to), by default to the list's end. */
export async function forgetPlaces(
  tx: Tx,
  { stream, part }: Place,
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

/** Removes the places of parts that no longer exist. */
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

/** A row and its place. */
export interface Placed {
  readonly firstRow: number;
  /** Index within its chunk. */
  readonly at: number;
  readonly row: PreparedRow;
}

/** Stores rows as places; those of their chunks were removed before. */
export async function keepPlaces(
  tx: Tx,
  { stream, part }: Place,
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
  /** Null: unreadable. */
  readonly quantity: number | null;
  /** Season and brand, which distinguish the places of a key. */
  readonly kind: string;
  readonly prepared: string;
}

/** Merges the places of a key, ordered by season and brand. */
function rowOf(definition: EntityDefinition, places: readonly PlaceRow[]): PreparedRow | undefined {
  const [first] = places;
  if (!first) return undefined;
  // The last of equal places wins.
  const kinds = new Map(places.map((place) => [place.kind, place]));
  const quantities = [...kinds.values()].flatMap(({ quantity }) => quantity ?? []);
  const sum = quantities.reduce((pieces, quantity) => pieces + quantity, 0);
  const pieces = quantities.length === kinds.size ? sum : null;
  const row: PreparedRow = JSON.parse(kinds.get(first.kind)?.prepared ?? first.prepared);
  return kinds.size === 1 ? row : withOwnValue(definition, row, 'quantity', pieces);
}

/** Season and brand as one string. */
const KIND = sql<string>`json_array(coalesce(season_name, ''), coalesce(brand_name, ''))`;

/** Forgets keys with at most one place left: their rows are ordinary again. */
async function forgetKeys(tx: Tx, stream: string, keys: readonly string[]): Promise<void> {
  for (const table of ['duplicate_key', 'key_place'] as const) {
    const ofStream = tx.deleteFrom(table).where('stream', '=', stream);
    await ofStream.where(inKeys('key', keys)).execute();
  }
}

interface Joined {
  readonly counts: WriteCounts;
  /** Continue after this key. */
  readonly last: string;
}

/**
 * Merges the rows of some keys after `after` whose places changed; undefined when none is left. The
 * list must have been read to its end.
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
    .where('is_due', '=', 1)
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
  // A later read was newer; the next run merges again.
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

/** Query of the distinct places, one row each; the caller may append conditions. */
export function placesOf(stream: string): RawBuilder<unknown> {
  return sql`select distinct key, ${KIND} kind from key_place where stream = ${stream}`;
}

/** Rows of the list beyond the first of their key, with another season or brand. */
export async function countPlaces(db: Db | Tx, stream: string): Promise<number> {
  const { rows } = await sql<{ readonly n: number }>`
    select count(*) - count(distinct key) n from (${placesOf(stream)})`.execute(db);
  return rows[0]?.n ?? 0;
}

// Finds keys that occur more than once in a list: because the list moved while it was read,
// because an interrupted run left new chunks beside old ones, or permanently (places.ts). The
// mirror has the last version; the digest of another place would prove nothing, so it is cleared.

/** Keys per query; a list may have each of a million rows twice. */
const SCAN_SLICE = 20_000;

/** Duplicate keys after `after`, in order. */
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
 * Clears the digests of chunks that share a row. Scans the keys of all chunks. `isSummed`: from now
 * on the rows of such keys are kept as places.
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
