/**
 * Statements for many rows in SQLite: the rows are passed as one JSON text and unpacked by
 * `json_each`. Measured: crossing into native code once per row with 24 parameters costs more than
 * the insert itself, and a wide VALUES list costs more than both.
 */
import {
  CompiledQuery,
  type Insertable,
  type RawBuilder,
  type Selectable,
  sql,
  type Updateable,
} from 'kysely';
import { readable } from '../lib/json.ts';
import type { Db, Tx } from './store.ts';
import type { MirroredColumns, Tables } from './tables.ts';
import type { Value } from './transaction/kept.ts';

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

/**
 * Statement that inserts whole rows, of a table that gets one for each delivery: Kysely would take
 * longer to write it than SQLite to run it. `then` is SQL behind the values.
 */
function insertOf(table: keyof Tables, rows: readonly object[], then: string): CompiledQuery {
  const names = Object.keys(rows[0] ?? {});
  const marks = `(${names.map(() => '?').join(', ')})`;
  return CompiledQuery.raw(
    `insert into ${quoted(table)} (${names.map(quoted).join(', ')})
      values ${rows.map(() => marks).join(', ')} ${then}`,
    rows.flatMap((row) => Object.values(row)),
  );
}

/** Inserts one row, and gives its number. */
export async function insertRow<Name extends keyof Tables>(
  db: Db | Tx,
  table: Name,
  row: Insertable<Tables[Name]>,
  then = '',
): Promise<number> {
  const { insertId } = await db.executeQuery(insertOf(table, [row], then));
  return Number(insertId);
}

/** Inserts a few rows, which name their columns alike, and gives these columns of each. */
export async function insertFew<
  Name extends keyof Tables,
  Column extends keyof Selectable<Tables[Name]>,
>(
  db: Db | Tx,
  table: Name,
  rows: readonly Insertable<Tables[Name]>[],
  then: string,
  returned: readonly Column[] = [],
): Promise<readonly Pick<Selectable<Tables[Name]>, Column>[]> {
  const returning = returned.length === 0 ? '' : `returning ${returned.join(', ')}`;
  return (await db.executeQuery<never>(insertOf(table, rows, `${then} ${returning}`))).rows;
}

/** Inserts one row, or gives the columns of the one that has its `key` these values. */
export async function upsertRow<Name extends keyof Tables>(
  db: Db | Tx,
  table: Name,
  key: string,
  row: Insertable<Tables[Name]>,
): Promise<void> {
  const others = Object.keys(row).filter((name) => name !== key);
  const set = others.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ');
  await insertRow(db, table, row, `on conflict (${quoted(key)}) do update set ${set}`);
}

/** Sets columns of the rows that have all of these values; gives their number. */
export async function updateRows<Name extends keyof Tables>(
  db: Db | Tx,
  table: Name,
  set: Updateable<Tables[Name]>,
  where: Updateable<Tables[Name]>,
): Promise<number> {
  const columns = Object.keys(set).map((name) => `${quoted(name)} = ?`);
  const conditions = Object.keys(where).map((name) => `${quoted(name)} = +?`);
  const text = `update ${quoted(table)} set ${columns.join(', ')}
    where ${conditions.join(' and ')}`;
  const values = [...Object.values(set), ...Object.values(where)];
  const { numAffectedRows } = await db.executeQuery(CompiledQuery.raw(text, values));
  return Number(numAffectedRows ?? 0);
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

/** SQL: among the values of a JSON array, which is one parameter. */
const AMONG = 'in (select value from json_each(+?))';

/**
 * SQL condition `column in (…)` for any number of keys, passed as one parameter: the keys, or the
 * JSON text of them that a kept query is given.
 */
export function inKeys(
  column: string,
  keys: readonly SqlValue[] | Value<string>,
): RawBuilder<boolean> {
  const list = 'isRawBuilder' in keys ? keys : JSON.stringify(keys);
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
  const text = `select ${quoted(key)} as key, content_hash, read_seq, deleted_at
    from ${quoted(table)} where ${quoted(key)} ${AMONG}`;
  return (await tx.executeQuery<RowMark>(CompiledQuery.raw(text, [JSON.stringify(keys)]))).rows;
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
  const text = `select * from ${quoted(table)} where ${quoted(column)} ${AMONG}
    order by ${quoted(orderBy)}`;
  return (await tx.executeQuery<SqlRow>(CompiledQuery.raw(text, [JSON.stringify(keys)]))).rows;
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
  const text = `update ${quoted(table)} set read_seq = ?
    where ${quoted(key)} ${AMONG} and read_seq < +?`;
  await tx.executeQuery(CompiledQuery.raw(text, [readSeq, JSON.stringify(keys), readSeq]));
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
  const text = `delete from ${quoted(table)} where ${quoted(column)} ${AMONG}`;
  await tx.executeQuery(CompiledQuery.raw(text, [JSON.stringify(keys)]));
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
