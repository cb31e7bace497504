/**
 * Keys that stand in several places of a list for good: an account may list a barcode once for each
 * season or brand. Places that differ in season or brand are summed: the row has the pieces of all,
 * and all else from the first of them by season and brand, whatever the order of the list. Places
 * that agree in both are one, told twice (the list moved); the last word counts.
 *
 * Keys are found when a list has them twice (twice.ts). From the next run on their rows are kept as
 * places, beside the segment that has them and in its transaction, so that a segment that is proved
 * unchanged still has its places. The rows are made of them when the list has been read to its end:
 * before that a row that moved would count in its old place and in its new one.
 *
 * Writes `key_twice`, `key_place`, and the rows through the one way into the mirror.
 */
import { type RawBuilder, sql } from 'kysely';
import { inKeys, insertRows, type SqlRow, type SqlValue } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';
import { type WriteCounts, writePrepared } from '../entity.ts';
import type { Provenance } from '../rows/bulk.ts';
import {
  columnOf,
  type EntityDefinition,
  type PreparedRow,
  withOwnValue,
} from '../rows/prepared.ts';

/** Keys whose rows are made in one transaction. */
const SLICE = 500;

const COLUMNS = ['first_row', 'at', 'key', 'season_name', 'brand_name', 'quantity', 'prepared'];

/** Where a list, or a part of it, is kept. */
interface Place {
  readonly stream: string;
  readonly part: string;
}

/** Whether any key of the stream's list stands in several places. */
export async function hasTwice(db: Db | Tx, stream: string): Promise<boolean> {
  const one = db.selectFrom('key_twice').select('key').where('stream', '=', stream).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Of the keys, those that stand in several places. */
export async function twiceAmong(
  tx: Tx,
  stream: string,
  keys: readonly SqlValue[],
): Promise<ReadonlySet<SqlValue>> {
  const rows = await tx
    .selectFrom('key_twice')
    .select('key')
    .where('stream', '=', stream)
    .where(inKeys('key', keys))
    .execute();
  return new Set(rows.map(({ key }) => key));
}

async function makeDue(tx: Tx, stream: string, keys: readonly SqlValue[]): Promise<void> {
  await tx
    .updateTable('key_twice')
    .set({ is_due: 1 })
    .where('stream', '=', stream)
    .where(inKeys('key', keys))
    .execute();
}

/** Takes off the places of segments that begin in [from, to), or from there to the end. */
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

/** Takes off the places of parts that are no more. */
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

/** A row in its place. */
export interface Placed {
  readonly firstRow: number;
  /** Among the rows of its segment. */
  readonly at: number;
  readonly row: PreparedRow;
}

/** Keeps rows as places; those of their segments were taken off before. */
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
      ...{ first_row: firstRow, at, key: row.key, quantity: value('quantity') },
      ...{ season_name: value('season_name'), brand_name: value('brand_name') },
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
  /** Null: it could not be read. */
  readonly quantity: number | null;
  /** By which places of a key are told apart. */
  readonly kind: string;
  readonly prepared: string;
}

/** The row of a key, of its places in the order of their season and brand. */
function rowOf(definition: EntityDefinition, places: readonly PlaceRow[]): PreparedRow | undefined {
  const [first] = places;
  if (!first) return undefined;
  // Of places that agree, the last in the list.
  const kinds = new Map(places.map((place) => [place.kind, place]));
  const quantities = [...kinds.values()].flatMap(({ quantity }) => quantity ?? []);
  const sum = quantities.reduce((pieces, quantity) => pieces + quantity, 0);
  const pieces = quantities.length === kinds.size ? sum : null;
  const row: PreparedRow = JSON.parse(kinds.get(first.kind)?.prepared ?? first.prepared);
  return kinds.size === 1 ? row : withOwnValue(definition, row, 'quantity', pieces);
}

/** Season and brand, as one text. */
const KIND = sql<string>`json_array(coalesce(season_name, ''), coalesce(brand_name, ''))`;

/** Lets go of keys that stand in one place by now, or in none: their rows are as any others. */
async function forgetKeys(tx: Tx, stream: string, keys: readonly string[]): Promise<void> {
  for (const table of ['key_twice', 'key_place'] as const) {
    const ofStream = tx.deleteFrom(table).where('stream', '=', stream);
    await ofStream.where(inKeys('key', keys)).execute();
  }
}

interface Joined {
  readonly counts: WriteCounts;
  /** Go on behind this key. */
  readonly last: string;
}

/**
 * Makes the rows of some keys behind `after` whose places have changed; undefined when there are
 * none. The list must have been read to its end.
 */
export async function joinPlaces(
  tx: Tx,
  definition: EntityDefinition,
  { stream, after }: { readonly stream: string; readonly after: string },
  provenance: Provenance,
): Promise<Joined | undefined> {
  const due = await tx
    .selectFrom('key_twice')
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
  const counts = await writePrepared(tx, definition, rows, provenance);
  // What a later read has found meanwhile is made of its places by the next run.
  if (counts.stale > 0) return { counts, last };
  await tx
    .updateTable('key_twice')
    .set({ is_due: 0 })
    .where('stream', '=', stream)
    .where(inKeys('key', keys))
    .execute();
  const single = keys.filter((key) => (byKey.get(key)?.length ?? 0) < 2);
  await forgetKeys(tx, stream, single);
  return { counts, last };
}

/** A query of the places that differ, one row each, that may go on with further conditions. */
export function placesOf(stream: string): RawBuilder<unknown> {
  return sql`select distinct key, ${KIND} kind from key_place where stream = ${stream}`;
}

/** Rows of the list beyond the first of their key that differ from it in season or brand. */
export async function countPlaces(db: Db | Tx, stream: string): Promise<number> {
  const { rows } = await sql<{ readonly n: number }>`
    select count(*) - count(distinct key) n from (${placesOf(stream)})`.execute(db);
  return rows[0]?.n ?? 0;
}
