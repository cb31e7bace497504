/**
 * The connection to the plane, and statements for many rows at once: rows travel as one JSON text
 * and are unpacked by PostgreSQL. `pg` is an optional package and is loaded only here.
 */
import type { Client, ClientConfig } from 'pg';
import { RefusedError, RetryLaterError, type SelvedgeError, toError } from '../lib/errors.ts';
import type { CopiedTable } from './tables.ts';

interface PlaneResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Rows that the statement wrote. */
  readonly count: number;
}

/** A session. A text without parameters may hold several statements. */
export interface PlaneClient {
  query(text: string, params?: readonly unknown[]): Promise<PlaneResult>;
  /** Ends the session; never throws. */
  end(): Promise<void>;
}

export type Connect = () => Promise<PlaneClient>;

export interface ConnectOptions {
  /** `postgres://…`; holds the password. */
  readonly url: string;
  readonly schema: string;
  readonly connectTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A suspended sink must not keep the cursor's row from the next one for longer. */
const IDLE_IN_TRANSACTION_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 600_000;

/** The name in double quotes, for a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Settings of each session, of whatever engine. */
export function sessionSettings(schema: string): string {
  return [
    `set search_path to ${quoted(schema)}`,
    `set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
    `set statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  ].join('; ');
}

async function loadDriver() {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    throw new RefusedError('plane.no_driver', 'the package "pg" is not installed', {
      hint: 'it is an optional dependency: "npm ci" without --omit=optional brings it',
      cause,
    });
  }
}

/** A session with its settings; nothing of it is left where it fails. */
export async function startSession(
  { url, connectTimeoutMs = CONNECT_TIMEOUT_MS }: Omit<ConnectOptions, 'schema'>,
  config: ClientConfig,
  settings: string,
): Promise<Client> {
  const driver = await loadDriver();
  let client: Client | undefined;
  try {
    const way = { connectionString: url, connectionTimeoutMillis: connectTimeoutMs };
    client = new driver.Client({ ...way, ...config });
    // The next statement fails with the same; without a listener the process would end.
    client.on('error', () => undefined);
    await client.connect();
    await client.query(settings);
    return client;
  } catch (thrown) {
    await client?.end().catch(() => undefined);
    throw asPlaneError(thrown);
  }
}

/** A factory of sessions on a PostgreSQL. */
export function connectPostgres(options: ConnectOptions): Connect {
  return async () => {
    const client = await startSession(
      options,
      {
        application_name: 'selvedge plane',
        // A peer that is gone without a word must not hold a statement for hours.
        query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
        keepAlive: true,
      },
      sessionSettings(options.schema),
    );
    return {
      async query(text, params) {
        try {
          const result = await client.query(text, params && [...params]);
          return { rows: result.rows ?? [], count: result.rowCount ?? 0 };
        } catch (thrown) {
          throw asPlaneError(thrown);
        }
      },
      end: () => client.end().catch(() => undefined),
    };
  };
}

const HINTS: readonly (readonly [RegExp, string, string])[] = [
  [/^(28|3D)/, 'plane.refused', 'check plane.url: user, password, name of the database'],
  [
    /^42501/,
    'plane.no_permission',
    'to read, the user of plane.url needs "selvedge plane grant-reader <role>"; to copy, ' +
      'or to let others read, it must own the schema of the plane',
  ],
  [/^(42P01|3F000|42703)/, 'plane.no_schema', 'run "selvedge plane init"'],
  // Else it would be called unreachable, and somebody would look at the network.
  [/^(0A|22|42)/, 'plane.bad_sql', 'this is a mistake in the program; please report it'],
];

/** A failure of PostgreSQL, or on the way there, with a code and a hint; `pg` tells no secrets. */
export function asPlaneError(thrown: unknown): SelvedgeError {
  const error = toError(thrown);
  const state = 'code' in error ? String(error.code) : '';
  const [, code, hint] = HINTS.find(([pattern]) => pattern.test(state)) ?? [];
  const message = `PostgreSQL: ${error.message || state}`;
  if (code !== undefined) return new RefusedError(code, message, { hint, cause: thrown });
  return new RetryLaterError('plane.unreachable', message, {
    hint: 'the copy waits and catches up by itself; check that PostgreSQL runs and answers',
    cause: thrown,
  });
}

/** The error that PostgreSQL itself would have given. */
export function permissionDenied(what: string): SelvedgeError {
  const error = new Error(`permission denied for ${what}`);
  return asPlaneError(Object.assign(error, { code: '42501' }));
}

/**
 * Throws where the schema is there, and this user may not look into it: PostgreSQL says of its
 * tables only that they do not exist.
 */
export async function requireUsage(
  ask: (text: string) => Promise<{ readonly rows: readonly unknown[] }>,
): Promise<void> {
  const { rows } = await ask(
    `select 1 from pg_namespace where oid = to_regnamespace(current_setting('search_path'))
     and not has_schema_privilege(oid, 'usage')`,
  );
  if (rows.length === 0) return;
  throw permissionDenied('the schema of the plane');
}

/** Runs `work` in one transaction. A failure leaves nothing of it. */
export async function inTransaction<T>(
  client: PlaneClient,
  work: () => Promise<T>,
  begin = 'begin',
): Promise<T> {
  await client.query(begin);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (thrown) {
    await client.query('rollback').catch(() => undefined);
    throw thrown;
  }
}

const names = (columns: readonly string[]): string => columns.map(quoted).join(', ');

/** Writes rows (JSON objects) of one account over those that are there. */
export async function writeRows(
  client: PlaneClient,
  { name, keys, columns }: CopiedTable,
  account: string,
  rows: readonly string[],
): Promise<void> {
  if (rows.length === 0) return;
  const all = columns.map((column) => column.name);
  const typed = columns.map((column) => `${quoted(column.name)} ${column.type}`);
  const rest = all.filter((column) => !keys.includes(column)).map(quoted);
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ');
  await client.query(
    `insert into ${quoted(name)} (account, ${names(all)})
     select $1, ${names(all)} from json_to_recordset($2::json) AS r(${typed.join(', ')})
     on conflict (account, ${names(keys)}) do ${set === '' ? 'nothing' : `update set ${set}`}`,
    [account, `[${rows.join(',')}]`],
  );
}

/**
 * PostgreSQL's text cannot hold U+0000, which SQLite's can; U+0001 leaves keys in their order.
 */
export function withoutNul(json: string): string {
  if (!json.includes('\\u0000')) return json;
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\u0001');
}

/** A key column's value in a JSON array, as its type. */
function keyValue({ columns }: CopiedTable, json: string, key: string, at: number): string {
  const type = columns.find((column) => column.name === key)?.type ?? 'text';
  // A collation is no part of a cast.
  return `(${json}->>${at})::${type.split(' ')[0]}`;
}

/** Deletes rows by keys, each a JSON array of the values of `by`. */
export async function deleteRows(
  client: PlaneClient,
  table: CopiedTable,
  account: string,
  by: readonly string[],
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  const values = by.map((key, at) => keyValue(table, 'v', key, at));
  await client.query(
    `delete from ${quoted(table.name)} where account = $1 and (${names(by)}) in (
       select ${values.join(', ')} from json_array_elements($2::json) AS v)`,
    [account, withoutNul(`[${keys.join(',')}]`)],
  );
}

/** The rows of an account between two keys, the first excluded, as SQLite gives them. */
export async function readRows(
  client: PlaneClient,
  table: CopiedTable,
  account: string,
  after: string | undefined,
  last: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const { name, keys, columns } = table;
  const place = (param: string) =>
    keys.map((key, at) => keyValue(table, `${param}::json`, key, at)).join(', ');
  const key = names(keys);
  const { rows } = await client.query(
    `select json_build_array(${key})::text AS key, row_to_json(r)::text AS row
     from (select ${names(columns.map((column) => column.name))} from ${quoted(name)}
       where account = $1 and ($2::text is null or (${key}) > (${place('$2')}))
         and ($3::text is null or (${key}) <= (${place('$3')}))) AS r`,
    [account, after ?? null, last ?? null].map((one) => one && withoutNul(one)),
  );
  // PostgreSQL sets a space behind each comma of an array; texts come as they are.
  return new Map(rows.map((row) => [JSON.stringify(JSON.parse(String(row.key))), String(row.row)]));
}
