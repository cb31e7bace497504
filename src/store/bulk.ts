/**
 * Many rows in one statement, for SQLite: rows travel as one JSON text and are unpacked by
 * `json_each`. Measured: crossing into native code once per row with 24 parameters costs more
 * than the insert itself, and a wide VALUES list costs more than both.
 */
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from './store.ts';
import type { MirroredColumns, Tables } from './tables.ts';

export type SqlValue = string | number | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** Tables that hold mirrored rows: they have all the common columns. */
export type MirroredTable = {
  [Name in keyof Tables]: Tables[Name] extends MirroredColumns ? Name : never;
}[keyof Tables];

const quoted = (name: string): string => `"${name}"`;

/** `insert into t (a, b) select value->>0, value->>1 from jsonb_each(?)` and its parameter. */
function insertFromJson(
  table: string,
  columns: readonly string[],
  data: string,
  onConflict: string,
): CompiledQuery {
  const names = columns.map(quoted).join(', ');
  // JSONB: out of a text, each of the columns would be found by parsing the row anew.
  const values = columns.map((_, index) => `value->>${index}`).join(', ');
  return CompiledQuery.raw(
    `insert into ${quoted(table)} (${names}) select ${values} from jsonb_each(?) ` +
      `where true ${onConflict}`,
    [data],
  );
}

/** Inserts rows that must not exist yet. */
export async function insertRows(
  tx: Tx,
  table: keyof Tables,
  columns: readonly string[],
  rows: readonly SqlRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const data = JSON.stringify(rows.map((row) => columns.map((column) => row[column] ?? null)));
  await tx.executeQuery(insertFromJson(table, columns, data, ''));
}

/**
 * Inserts rows or replaces all their columns but those named in `kept`. Rows come as JSON arrays
 * of their values, as text, because their writer has made it already.
 */
export async function upsertRows(
  tx: Tx,
  table: keyof Tables,
  key: string,
  columns: readonly string[],
  kept: readonly string[],
  rows: readonly string[],
): Promise<void> {
  if (rows.length === 0) return;
  const set = columns
    .filter((column) => column !== key && !kept.includes(column))
    .map((column) => `${quoted(column)} = excluded.${quoted(column)}`)
    .join(', ');
  const conflict = `on conflict (${quoted(key)}) do update set ${set}`;
  await tx.executeQuery(insertFromJson(table, columns, `[${rows.join(',')}]`, conflict));
}

/** `column in (…)` for any number of keys, as one parameter. */
export function inKeys(column: string, keys: readonly SqlValue[]): RawBuilder<boolean> {
  const list = JSON.stringify(keys);
  return sql<boolean>`${sql.ref(column)} in (select value from json_each(${list}))`;
}

/** What decides whether a row must be written. */
export interface RowMark {
  readonly key: SqlValue;
  readonly content_hash: string;
  readonly read_seq: number;
  readonly deleted_at: number | null;
}

export async function selectMarks(
  tx: Tx,
  table: MirroredTable,
  key: string,
  keys: readonly SqlValue[],
): Promise<readonly RowMark[]> {
  const query = sql<RowMark>`
    select ${sql.ref(key)} as key, content_hash, read_seq, deleted_at
    from ${sql.table(table)} where ${inKeys(key, keys)}`;
  return (await query.execute(tx)).rows;
}

/** Whole rows of any table by a column's values, in the order of `orderBy`. */
export async function selectByKeys(
  tx: Db | Tx,
  table: keyof Tables,
  column: string,
  keys: readonly SqlValue[],
  orderBy: string = column,
): Promise<readonly SqlRow[]> {
  const query = sql<SqlRow>`
    select * from ${sql.table(table)} where ${inKeys(column, keys)} order by ${sql.ref(orderBy)}`;
  return (await query.execute(tx)).rows;
}

/** Notes that a later read found these rows as they are. */
export async function raiseReadSeq(
  tx: Tx,
  table: MirroredTable,
  key: string,
  keys: readonly SqlValue[],
  readSeq: number,
): Promise<void> {
  if (keys.length === 0) return;
  await sql`update ${sql.table(table)} set read_seq = ${readSeq}
    where ${inKeys(key, keys)} and read_seq < ${readSeq}`.execute(tx);
}

export async function deleteByKeys(
  tx: Tx,
  table: keyof Tables,
  column: string,
  keys: readonly SqlValue[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql`delete from ${sql.table(table)} where ${inKeys(column, keys)}`.execute(tx);
}
