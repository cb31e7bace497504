/**
 * Statements for many rows in SQLite: the rows are passed as one JSON text and unpacked by
 * `json_each`. Measured: crossing into native code once per row with 24 parameters costs more than
 * the insert itself, and a wide VALUES list costs more than both.
 */
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import { readable } from '../lib/json.ts';
import type { Db, Tx } from './store.ts';
import type { MirroredColumns, Tables } from './tables.ts';

export type SqlValue = string | number | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** Names of the tables that hold mirrored rows, which have all the common columns. */
export type MirroredTable = {
  [Name in keyof Tables]: Tables[Name] extends MirroredColumns ? Name : never;
}[keyof Tables];

const quoted = (name: string): string => `"${name}"`;

/**
 * Rows of one table as a JSON text that their writer has made already, each an array of its values.
 */
export interface BulkRows {
  readonly table: keyof Tables;
  /** Names of the columns, in the order of a row's values. */
  readonly columns: readonly string[];
  /** Names from `columns` whose values are any JSON and are stored as JSON text. */
  readonly jsonColumns?: readonly string[];
  /** Further columns, with values that are the same for all rows. */
  readonly constants?: SqlRow;
  /**
   * Number of leading columns that groups of rows share. `rows` is then an array of groups, each an
   * array of the shared values, followed by the array of the group's rows. Left out: there are no
   * groups.
   */
  readonly sharedColumns?: number;
  /**
   * A further column that numbers the rows, or the groups if there are any, beginning with `from`.
   */
  readonly numbered?: { readonly column: string; readonly from: number };
  /** JSON array of the rows: as text, or as its bytes in UTF-8. */
  readonly rows: string | Uint8Array;
}

/** SQL expressions that take the values of the columns out of the JSON array `value`. */
function unpacked(columns: readonly string[], jsonColumns: readonly string[]): string[] {
  return columns.map((name, at) => `value${jsonColumns.includes(name) ? '->' : '->>'}'$[${at}]'`);
}

/**
 * SQL expressions of the columns, and the source that they select from. The source is JSONB,
 * because each column of a JSON text would be found by parsing the row again.
 */
function unpackedRows({ columns, jsonColumns = [], sharedColumns = 0, rows }: BulkRows) {
  const all = `jsonb_each(${typeof rows === 'string' ? '?' : 'cast(? as text)'})`;
  if (sharedColumns === 0) {
    return { values: unpacked(columns, jsonColumns), number: 'key', from: all };
  }
  const shared = unpacked(columns.slice(0, sharedColumns), jsonColumns);
  const own = unpacked(columns.slice(sharedColumns), jsonColumns);
  const named = shared.map((value, at) => `${value} as c${at}`);
  const rowsOfGroup = `key, jsonb_extract(value, '$[${sharedColumns}]') as own`;
  // The limit, which excludes nothing, keeps SQLite from unpacking the shared values once for each
  // row.
  const groups = `select ${[...named, rowsOfGroup].join(', ')} from ${all} limit -1`;
  return {
    values: [...shared.map((_, at) => `c${at}`), ...own.map((value) => `r.${value}`)],
    number: 'g.key',
    from: `(${groups}) as g cross join jsonb_each(g.own) as r`,
  };
}

/** Rows as bytes with whole characters only; few pages have half of one. */
function readableBytes(rows: Uint8Array): Uint8Array {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  const isWhole = !bytes.includes('\\ud') && !bytes.includes('\\uD');
  return isWhole ? rows : Buffer.from(readable(bytes.toString()));
}

/**
 * Statement `insert into t (a, b) select value->>'$[0]', ? from jsonb_each(?)` with its parameters.
 */
function insertFromJson(bulk: BulkRows, onConflict: string): CompiledQuery {
  const { table, columns, constants = {}, numbered, rows } = bulk;
  const { values, number, from } = unpackedRows(bulk);
  const further = Object.entries(constants).map(([name, value]) => ({ name, sql: '?', value }));
  if (numbered) {
    further.push({ name: numbered.column, sql: `${number} + ?`, value: numbered.from });
  }
  const names = [...columns, ...further.map(({ name }) => name)].map(quoted).join(', ');
  const all = [...values, ...further.map((one) => one.sql)].join(', ');
  return CompiledQuery.raw(
    `insert into ${quoted(table)} (${names}) select ${all} from ${from} where true ${onConflict}`,
    [...further.map(({ value }) => value), typeof rows === 'string' ? rows : readableBytes(rows)],
  );
}

/** Inserts rows that must not exist yet. */
export async function insertBulk(tx: Tx, bulk: BulkRows): Promise<void> {
  await tx.executeQuery(insertFromJson(bulk, ''));
}

/**
 * Inserts rows that must not exist yet; `constants` are further columns with the same value in all
 * rows.
 */
export async function insertRows(
  tx: Tx,
  table: keyof Tables,
  columns: readonly string[],
  rows: readonly SqlRow[],
  constants: SqlRow = {},
): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => columns.map((column) => row[column] ?? null));
  await insertBulk(tx, { table, columns, constants, rows: JSON.stringify(values) });
}

/**
 * Inserts one row for each key, which must not exist yet; all other columns are the same in all
 * rows.
 */
export async function insertKeys(
  tx: Tx,
  table: keyof Tables,
  column: string,
  keys: readonly SqlValue[],
  constants: SqlRow,
): Promise<void> {
  if (keys.length === 0) return;
  const names = [column, ...Object.keys(constants)].map(quoted).join(', ');
  const marks = Object.keys(constants).map(() => '?');
  await tx.executeQuery(
    CompiledQuery.raw(
      `insert into ${quoted(table)} (${names}) select value, ${marks.join(', ')} from json_each(?)`,
      [...Object.values(constants), JSON.stringify(keys)],
    ),
  );
}

/** Inserts rows, or replaces all columns of existing rows but those named in `kept`. */
export async function upsertBulk(
  tx: Tx,
  key: string,
  kept: readonly string[],
  bulk: BulkRows,
): Promise<void> {
  const set = [...bulk.columns, ...Object.keys(bulk.constants ?? {})]
    .filter((column) => column !== key && !kept.includes(column))
    .map((column) => `${quoted(column)} = excluded.${quoted(column)}`)
    .join(', ');
  await tx.executeQuery(insertFromJson(bulk, `on conflict (${quoted(key)}) do update set ${set}`));
}

/** Inserts those rows whose keys do not exist yet, and returns how many. */
export async function insertMissing(tx: Tx, bulk: BulkRows): Promise<number> {
  const result = await tx.executeQuery(insertFromJson(bulk, 'on conflict do nothing'));
  return Number(result.numAffectedRows ?? 0);
}

/** SQL condition `column in (…)` for any number of keys, passed as one parameter. */
export function inKeys(column: string, keys: readonly SqlValue[]): RawBuilder<boolean> {
  const list = JSON.stringify(keys);
  return sql<boolean>`${sql.ref(column)} in (select value from json_each(${list}))`;
}

/** Columns of a mirrored row that tell whether it must be written. */
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

/** Number of the change feed's last entry; 0 before there is one. */
export async function lastChange(db: Db | Tx): Promise<number> {
  const last = await db
    .selectFrom('change')
    .select((eb) => eb.fn.max<number | null>('seq').as('seq'))
    .executeTakeFirst();
  return last?.seq ?? 0;
}

/** Whole rows of any table that have one of the values in a column, in the order of `orderBy`. */
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

/** Notes that a later read found these rows unchanged. */
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

/** Writes the content hashes that unchanged rows have by this release. */
export async function setContentHashes(
  tx: Tx,
  table: MirroredTable,
  key: string,
  rows: readonly { readonly key: SqlValue; readonly hash: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  const hashes = JSON.stringify(rows.map((row) => [row.key, row.hash]));
  await sql`update ${sql.table(table)} set content_hash = j.value->>1 from json_each(${hashes}) j
    where ${sql.ref(key)} = j.value->>0`.execute(tx);
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

/** Runs a query with long intermediate results, which go to files instead of into memory. */
export async function withTempFiles<T>(db: Db, query: () => Promise<T>): Promise<T> {
  await sql`pragma temp_store = file`.execute(db);
  try {
    return await query();
  } finally {
    await sql`pragma temp_store = memory`.execute(db);
  }
}
