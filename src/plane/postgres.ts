/**
 * The connection to the plane, and statements for many rows at once: rows travel as one JSON text
 * and are unpacked by PostgreSQL. All settings are those of a transaction, because a pooler gives
 * the next one to another session, and would give this one's settings to somebody else.
 */

import { z } from 'zod';
import { SelvedgeError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { asPlaneError, permissionDenied } from './refusal.ts';
import { type SessionWay, startSession } from './session.ts';
import type { CopiedTable } from './tables.ts';

// Names the sessions that keep a lock of the plane from others, so that somebody can end them.

/** Sessions that hold tables or views of the schema, the oldest transaction first. */
const HOLDERS = `
select a.pid, coalesce(a.usename, a.backend_type) AS name, a.application_name AS program,
  a.state, floor(extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 AS ms,
  array_to_json((array_agg(distinct c.relname::text))[1:4]) AS relations
from pg_locks l
join pg_class c on c.oid = l.relation and c.relkind in ('r', 'v')
join pg_stat_activity a on a.pid = l.pid
where l.granted and l.pid <> pg_backend_pid()
  and l.database = (select oid from pg_database where datname = current_database())
  and c.relnamespace = to_regnamespace(current_setting('search_path'))
group by a.pid, a.usename, a.backend_type, a.application_name, a.state, a.xact_start
order by a.xact_start nulls last, a.pid
limit 3`;

const HOLDER = z.object({
  pid: z.number(),
  name: z.string().nullable(),
  program: z.string().nullable(),
  // PostgreSQL tells the state of other users' sessions only to those who may see all.
  state: z.string().nullable(),
  ms: z.number().nullable(),
  relations: z.array(z.string()),
});

function describe({ pid, name, program, state, ms, relations }: z.output<typeof HOLDER>): string {
  const since = ms === null ? '' : ` for ${formatDuration(Math.max(0, ms))}`;
  const parts = [name, program, state && `${state}${since}`].filter(Boolean);
  const [first, second, third, more] = relations;
  const names = [first, second, third].filter(Boolean).join(', ');
  return `session ${pid} (${parts.join(', ')}) holds ${names}${more === undefined ? '' : ', …'}`;
}

type Ask = (text: string) => Promise<{ readonly rows: readonly unknown[] }>;

/** The error itself, or where a lock was not given one that names who has it. */
async function namingHolders(thrown: unknown, ask: Ask): Promise<unknown> {
  if (!(thrown instanceof SelvedgeError) || thrown.code !== 'plane.locked') return thrown;
  try {
    const { rows } = await ask(HOLDERS);
    const found = z.array(HOLDER).parse(rows);
    if (found.length === 0) return thrown;
    return asPlaneError(thrown.cause, `a lock is not free: ${found.map(describe).join('; ')}`);
  } catch {
    // The lock is what is told; who has it may be asked again next time.
    return thrown;
  }
}

interface PlaneResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Rows that the statement wrote. */
  readonly count: number;
}

export type Query = (text: string, params?: readonly unknown[]) => Promise<PlaneResult>;

/** A session. A text without parameters may hold several statements. */
export interface PlaneClient {
  /** Runs a statement: in the open transaction, else in one of its own. */
  readonly query: Query;
  /** Runs `work` in one transaction. A failure leaves nothing of it. */
  transaction<T>(work: () => Promise<T>, begin?: string): Promise<T>;
  /** Ends the session; never throws. */
  end(): Promise<void>;
}

/** `cut` ends the session at any moment. */
export type Connect = (cut?: AbortSignal) => Promise<PlaneClient>;

export interface ConnectOptions extends Omit<SessionWay, 'cut'> {
  readonly schema: string;
}

const TIMEOUT_SLACK_MS = 10_000;
/** A suspended sink must not keep the cursor's row from the next one for longer. */
const IDLE_IN_TRANSACTION_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 600_000;
/** Rows and tables that another session holds are told of, rather than waited for in silence. */
const LOCK_TIMEOUT_MS = 5_000;

/** The name in double quotes, for a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Settings of each transaction, of whatever engine. */
function transactionSettings(schema: string): string {
  return [
    `set local search_path to ${quoted(schema)}`,
    `set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
    `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
    `set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
  ].join('; ');
}

/** A client on `query`, a function that sends statements as they are. */
export function planeClient(schema: string, query: Query, end: () => Promise<void>): PlaneClient {
  const settings = transactionSettings(schema);
  let isOpen = false;
  async function transaction<T>(work: () => Promise<T>, begin = 'begin'): Promise<T> {
    isOpen = true;
    try {
      await query(`${begin}; ${settings}`);
      const result = await work();
      await query('commit');
      return result;
    } catch (thrown) {
      await query('rollback').catch(() => undefined);
      throw await namingHolders(thrown, async (text) => {
        await query(`begin; ${settings}`);
        return query(text).finally(() => query('rollback'));
      });
    } finally {
      isOpen = false;
    }
  }
  return {
    query: (text, params) =>
      isOpen ? query(text, params) : transaction(() => query(text, params)),
    transaction,
    end,
  };
}

/** A factory of sessions on a PostgreSQL. */
export function connectPostgres({ schema, ...way }: ConnectOptions): Connect {
  return async (cut) => {
    const { client, watched, end } = await startSession(
      { ...way, cut },
      {
        application_name: 'selvedge plane',
        query_timeout: STATEMENT_TIMEOUT_MS + TIMEOUT_SLACK_MS,
      },
    );
    const query: Query = async (text, params) => {
      try {
        const isFirst = text.startsWith('begin');
        const result = await watched(() => client.query(text, params && [...params]), isFirst);
        return { rows: result.rows ?? [], count: result.rowCount ?? 0 };
      } catch (thrown) {
        throw asPlaneError(thrown);
      }
    };
    return planeClient(schema, query, end);
  };
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
