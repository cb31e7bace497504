/**
 * Full-list diff: compares the keys stored with a list's chunks with the mirror, and finds
 * duplicate keys and rows that the list no longer has.
 */
import { sql } from 'kysely';
import type { SqlValue } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';
import { countPlaces, placesOf } from '../catalog/duplicates.ts';
import type { ListTable } from './prepared.ts';

export interface ListDiff {
  /** Number of the mirror's rows that are not deleted. */
  readonly live: number;
  /**
   * Rows beyond the first of their key in the same part of the list, except known places
   * (catalog/duplicates.ts): a variant may be in the lists of two brands.
   */
  readonly duplicates: number;
  /** Example of a key that occurs twice. */
  readonly duplicate?: SqlValue;
  /** Whether keys occur in several parts of the list and are not kept as places yet. */
  readonly hasNewPlaces?: boolean;
  /** Keys of rows that are live in the mirror and that the list does not have. */
  readonly missing: readonly SqlValue[];
}

async function countLive(db: Db | Tx, { table }: ListTable): Promise<number> {
  const live = await sql<{ readonly n: number }>`select
    (select count(*) from ${sql.table(table)})
    - (select count(*) from ${sql.table(table)} where deleted_at is not null) n`.execute(db);
  return live.rows[0]?.n ?? 0;
}

/** Counts live rows of the mirror with this value in a column. */
export async function countGroup(
  db: Db | Tx,
  { table }: ListTable,
  column: string,
  value: string,
): Promise<number> {
  const live = await sql<{ readonly n: number }>`select count(*) n from ${sql.table(table)}
    where ${sql.ref(column)} = ${value} and deleted_at is null`.execute(db);
  return live.rows[0]?.n ?? 0;
}

/**
 * Number of keys in the list, if the run that read it wrote every live row: counts alone then
 * answer {@link diffAgainstList}. That is so after a first pull, the longest one.
 */
async function countOfOwnList(
  db: Db | Tx,
  { table }: ListTable,
  stream: string,
  source: string,
): Promise<number | undefined> {
  const list = await sql<{ readonly n: number | null; readonly withoutDigest: number }>`
    select sum(json_array_length(keys)) n, count(*) - count(digest) withoutDigest
    from chunk where stream = ${stream}`.execute(db);
  const [count] = list.rows;
  if (count?.withoutDigest !== 0) return undefined;
  const others = await sql`select 1 from ${sql.table(table)}
    where source <> ${source} and deleted_at is null limit 1`.execute(db);
  return others.rows.length === 0 ? (count.n ?? 0) : undefined;
}

async function firstDuplicate(db: Db | Tx, stream: string): Promise<SqlValue> {
  const { rows } = await sql<{ readonly key: SqlValue }>`select k.value key
    from chunk, json_each(chunk.keys) k where stream = ${stream}
    group by part, 1 having count(*) > 1
      and count(*) > (select count(*) from (${placesOf(stream)} and key = k.value))
    limit 1`.execute(db);
  return rows[0]?.key ?? null;
}

/** Counts rows beyond the first of their key in the same part of the list. */
async function countInParts(db: Db | Tx, stream: string): Promise<number> {
  const { rows } = await sql<{ readonly n: number | null }>`select sum(times - 1) n from (
    select count(*) times from chunk, json_each(chunk.keys) k
    where stream = ${stream} group by part, k.value having count(*) > 1)`.execute(db);
  return rows[0]?.n ?? 0;
}

/** Tells whether the list has any duplicate key that is not known yet. */
async function hasNewPlaces(db: Db | Tx, stream: string): Promise<boolean> {
  const { rows } = await sql`select k.value key
    from chunk, json_each(chunk.keys) k where stream = ${stream}
      and not exists (select 1 from duplicate_key t where t.stream = ${stream} and t.key = k.value)
    group by 1 having count(*) > 1 limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Compares the keys of a list with the mirror, after every part was read. `source` names the run
 * that read the list.
 */
export async function diffAgainstList(
  db: Db | Tx,
  of: ListTable,
  stream: string,
  source: string,
): Promise<ListDiff> {
  const { table, key } = of;
  const live = await countLive(db, of);
  const own = await countOfOwnList(db, of, stream, source);
  // With more live rows than keys, the run wrote rows that its list no longer has: it was
  // restarted, or a part vanished before it resumed. Then the keys themselves are compared.
  const withDuplicates = async (
    duplicates: number,
    missing: readonly SqlValue[],
  ): Promise<ListDiff> => {
    if (duplicates === 0) return { live, duplicates, missing };
    const beyond = Math.max(0, duplicates - (await countPlaces(db, stream)));
    const rest = beyond > 0 ? Math.min(beyond, await countInParts(db, stream)) : 0;
    if (rest > 0)
      return { live, duplicates: rest, duplicate: await firstDuplicate(db, stream), missing };
    return { live, duplicates: 0, hasNewPlaces: await hasNewPlaces(db, stream), missing };
  };
  if (own !== undefined && own >= live) return withDuplicates(own - live, []);
  const distinct = await sql<{ readonly n: number }>`
    select count(*) - count(distinct k.value) n
    from chunk, json_each(chunk.keys) k where stream = ${stream}`.execute(db);
  const missing = await sql<{ readonly key: SqlValue }>`
    select ${sql.ref(key)} key from ${sql.table(table)}
    where deleted_at is null and ${sql.ref(key)} not in (
      select k.value from chunk, json_each(chunk.keys) k where stream = ${stream}
    )`.execute(db);
  const keys = missing.rows.map((row) => row.key);
  return withDuplicates(distinct.rows[0]?.n ?? 0, keys);
}
