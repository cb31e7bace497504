/**
 * SQLite and the plane side by side: what a view or a shipped report says on either. Numbers are
 * equal as numbers (SQLite has doubles where PostgreSQL has decimals), texts as texts, null is
 * null; ages go by each side's clock, and are compared as known or not. The rows of a view have no
 * order, those of a report have.
 */

import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { withoutQuotes } from '../../src/lib/reading/quoted.ts';
import {
  connectPostgres,
  type PlaneClient,
  planeClient,
  quoted,
  writeRows,
} from '../../src/plane/postgres.ts';
import { openPlaneSession, type PlaneSession } from '../../src/plane/reader.ts';
import { analyze } from '../../src/plane/rebuild.ts';
import { ensureSchema } from '../../src/plane/schema.ts';
import { MirrorReader } from '../../src/plane/source.ts';
import { PLANE_TABLES, type PlaneContent } from '../../src/plane/tables.ts';
import { bindParameters } from '../../src/report/parameters.ts';
import type { Rows } from '../../src/report/pivot.ts';
import { runOnPlane } from '../../src/report/plane.ts';
import { planeSqlOf, type Report, readReports } from '../../src/report/report-file.ts';
import { createCollector } from '../../src/report/table.ts';
import { VIEWS } from '../../src/report/views.ts';
import { startPglite } from '../support/pglite.ts';

const ROWS_MAX = 1_000_000;
const TIME_MAX_MS = 240_000;
const COPIED_AT_ONCE = 4_000;
const FETCHED_AT_ONCE = 10_000;

export interface PlaneSide {
  readonly schema: string;
  readonly client: PlaneClient;
  /** Opens a session of reports, which sees one moment. */
  readonly read: () => Promise<PlaneSession>;
}

/** `atEnd` hears how to end its sessions. */
export async function onPostgres(
  url: string,
  schema: string,
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<PlaneSide> {
  const client = await connectPostgres({ url, schema })();
  atEnd(() => client.end());
  let session: PlaneSession | undefined;
  atEnd(async () => session?.end());
  const read = async (): Promise<PlaneSession> => {
    session ??= await openPlaneSession({ url, schema, timeMaxMs: TIME_MAX_MS });
    // One session for all, which knows its tables by then; each time it sees the present.
    const query = session.query;
    await query('rollback');
    await query('begin isolation level repeatable read read only');
    for (const setting of [`search_path to ${quoted(schema)}`, 'jit = off', "work_mem = '64MB'"]) {
      await query(`set local ${setting}`);
    }
    return { query, end: async () => undefined };
  };
  return { schema, client, read };
}

const NUMBERS = [20, 701, 1700].map((type) => [type, Number] as const);

export async function onPglite(schema: string): Promise<PlaneSide> {
  const database = await startPglite();
  onTestFinished(() => database.close());
  await database.exec(`set search_path to ${quoted(schema)}`);
  const options = { rowMode: 'array', parsers: Object.fromEntries(NUMBERS) } as const;
  return {
    schema,
    client: planeClient(
      schema,
      async (text, params) => {
        const results =
          params === undefined
            ? await database.exec(text)
            : [await database.query<Record<string, unknown>>(text, [...params])];
        const last = results.at(-1);
        return { rows: last?.rows ?? [], count: last?.affectedRows ?? 0 };
      },
      async () => undefined,
    ),
    read: async () => ({
      async query(text, params = []) {
        const asked = [...params];
        const { fields, rows } = await database.query<(string | number | null)[]>(
          text,
          asked,
          options,
        );
        return { columns: fields.map(({ name }) => name), rows };
      },
      end: async () => undefined,
    }),
  };
}

/** Puts all rows of a mirror that nobody writes any more onto the plane. */
export async function copyMirror(
  { client, schema }: PlaneSide,
  database: Database.Database,
  account: string,
  content: readonly PlaneContent[],
): Promise<void> {
  database.function('without_quotes', { deterministic: true }, withoutQuotes);
  const mirror = new MirrorReader(database, content);
  await ensureSchema(client, schema, mirror.tables);
  for (const table of mirror.tables) {
    if (!table.isCopied) continue;
    let after: string | undefined;
    for (;;) {
      const rows = mirror.rowsBehind(table, after, COPIED_AT_ONCE);
      await writeRows(
        client,
        table,
        account,
        rows.map(({ row }) => row),
      );
      after = rows.at(-1)?.key;
      if (after === undefined) break;
    }
  }
  await client.query(
    `insert into plane_cursor (account, database, epoch, shape, seq, ledger_seq, seen, first_seq,
      written_at) values ($1, '', '', '', 0, 0, '{}', 0, 0)`,
    [account],
  );
  await analyze(client, mirror.tables);
}

/** A mirror with nothing in the columns that a plane without addresses leaves empty. */
export function withoutAddresses(path: string): Database.Database {
  const database = new Database(':memory:');
  database.function('without_quotes', { deterministic: true }, withoutQuotes);
  database.prepare('attach ? as full').run(path);
  const found = database.prepare<[], { name: string; sql: string; type: string }>(
    `select name, sql, type from full.sqlite_master where sql is not null
     and type in ('table', 'view', 'index') and name not like 'sqlite_%'
     order by type = 'table' desc`,
  );
  for (const { name, sql, type } of found.all()) {
    if (type !== 'table') {
      database.exec(sql);
      continue;
    }
    const { addresses = {}, bodies = {} } =
      PLANE_TABLES.find((table) => table.name === name)?.hidden ?? {};
    const hidden = new Map(Object.entries({ ...addresses, ...bodies }));
    const columns = database
      .prepare<[string], string>("select name from pragma_table_info(?, 'full')")
      .pluck()
      .all(name)
      .map((column) => `${hidden.get(column) ?? `row."${column}"`} AS "${column}"`);
    // Without its constraints: what is left out is null where the mirror has none.
    database.exec(`create table "${name}" as select ${columns.join(', ')} from full."${name}" row`);
  }
  return database;
}

/** Go by the clock of either side. */
const AGES = ['age_hours', 'age_seconds', 'longest_hours'];

function linesOf({ columns, rows }: Rows): string[] {
  const ages = columns.map((name) => AGES.includes(name));
  const plain = (row: readonly unknown[]) =>
    row.map((cell, at) => (ages[at] === true && cell !== null ? 'an age' : cell));
  return rows.map((row) => JSON.stringify(plain(row)));
}

export interface Difference {
  readonly name: string;
  readonly sqlite: readonly string[];
  readonly plane: readonly string[];
}

export interface Compared {
  readonly rows: number;
  readonly differences: readonly Difference[];
}

const SHOWN = 3;

function compare(name: string, sqlite: Rows, plane: Rows): Difference[] {
  const sides = [sqlite, plane].map((side) => [side.columns.join(', '), ...linesOf(side)]);
  const [one = [], other = []] = sides;
  const only = (these: readonly string[], those: readonly string[]) =>
    these.filter((line, at) => line !== those[at]).slice(0, SHOWN);
  const [left, right] = [only(one, other), only(other, one)];
  return left.length + right.length === 0 ? [] : [{ name, sqlite: left, plane: right }];
}

function askSqlite(database: Database.Database, sql: string, values: object = {}): Rows {
  const statement = database.prepare<[object], (string | number | null)[]>(sql).raw();
  return { columns: statement.columns().map(({ name }) => name), rows: statement.all(values) };
}

/** A few rows at a time: a view of a million does not fit into memory. */
async function* fetched({ read }: PlaneSide, from: string, account: string) {
  const quotedAccount = `'${account.replaceAll("'", "''")}'`;
  const reader = await read();
  await reader.query('begin read only');
  await reader.query(
    `declare rows no scroll cursor for select * from ${from} and account = ${quotedAccount}`,
  );
  for (;;) {
    const some = await reader.query(`fetch ${FETCHED_AT_ONCE} from rows`);
    yield some;
    if (some.rows.length < FETCHED_AT_ONCE) break;
  }
  await reader.query('rollback');
  await reader.end();
}

function* inPieces<T>(rows: Iterable<T>): Generator<readonly T[]> {
  let piece: T[] = [];
  for (const row of rows) {
    piece.push(row);
    if (piece.length < FETCHED_AT_ONCE) continue;
    yield piece;
    piece = [];
  }
  yield piece;
}

/** How often each line is on SQLite's side, less how often on the plane's; equal ones are gone. */
function createBalance() {
  const left = new Map<string, number>();
  return {
    add(lines: readonly string[], by: 1 | -1): void {
      for (const line of lines) {
        const sum = (left.get(line) ?? 0) + by;
        if (sum === 0) left.delete(line);
        else left.set(line, sum);
      }
    },
    linesOf(side: 1 | -1): string[] {
      const found = left.entries().filter(([, sum]) => Math.sign(sum) === side);
      return [...found.map(([line]) => line).take(SHOWN)];
    },
  };
}

async function compareView(
  plane: PlaneSide,
  database: Database.Database,
  account: string,
  name: string,
  where: string,
): Promise<Compared> {
  const from = `${name} where ${where}`;
  const sql = `select * from ${from}`;
  const statement = database.prepare<[], (string | number | null)[]>(sql).raw();
  const columns = statement.columns().map((column) => column.name);
  const balance = createBalance();
  const sqlite = inPieces(statement.iterate());
  const expected = ['account', ...columns].join(', ');
  const differences: Difference[] = [];
  let rows = 0;
  const addOwn = (own: readonly (string | number | null)[][] = []): void => {
    rows += own.length;
    balance.add(linesOf({ columns, rows: own }), 1);
  };
  // Both sides in turns, so that rows in the same order are soon forgotten.
  for await (const { columns: told, rows: there } of fetched(plane, from, account)) {
    if (differences.length === 0 && told.join(', ') !== expected) {
      differences.push({ name, sqlite: [expected], plane: [told.join(', ')] });
    }
    addOwn(sqlite.next().value);
    balance.add(linesOf({ columns, rows: there.map((row) => row.slice(1)) }), -1);
  }
  for (const own of sqlite) addOwn(own);
  const [left, right] = [balance.linesOf(1), balance.linesOf(-1)];
  if (left.length + right.length > 0) differences.push({ name, sqlite: left, plane: right });
  return { rows, differences };
}

/**
 * All public views, and two that others stand on; in `parts`, conditions on a view that is too
 * large as a whole.
 */
export async function compareViews(
  plane: PlaneSide,
  database: Database.Database,
  account: string,
  parts: Readonly<Record<string, readonly string[]>> = {},
): Promise<ReadonlyMap<string, Compared>> {
  const found = new Map<string, Compared>();
  for (const name of [...VIEWS.map((view) => view.name), 'order_currency', 'event_coverage']) {
    let rows = 0;
    const differences: Difference[] = [];
    for (const where of parts[name] ?? ['true']) {
      const compared = await compareView(plane, database, account, name, where);
      rows += compared.rows;
      differences.push(...compared.differences);
    }
    found.set(name, { rows, differences });
  }
  return found;
}

/** Values for parameters that have no default, and further ones for some that have. */
export type Given = Readonly<Record<string, readonly string[]>>;

/** All choices, and the given values, in all combinations. */
function manners({ params }: Report, given: Given): Record<string, string>[] {
  return Object.entries(params).reduce<Record<string, string>[]>(
    (all, [name, { choices, default: preset }]) => {
      const own = preset === undefined ? [] : [preset];
      const values = choices ?? [...new Set([...own, ...(given[name] ?? [])])];
      return all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
    },
    [{}],
  );
}

export async function compareReports(
  { read }: PlaneSide,
  database: Database.Database,
  account: string,
  given: Given,
): Promise<ReadonlyMap<string, Compared>> {
  const found = new Map<string, Compared>();
  for (const report of readReports('').reports) {
    let rows = 0;
    const differences: Difference[] = [];
    for (const manner of manners(report, given)) {
      const values = bindParameters(report, manner, systemClock());
      const sqlite = askSqlite(database, report.sql, values);
      const collector = createCollector();
      const query = { params: report.params, sql: planeSqlOf(report), values, account };
      const reader = await read();
      await runOnPlane(reader, { ...query, rowsMax: ROWS_MAX }, collector);
      await reader.end();
      rows += sqlite.rows.length;
      const name = `${report.name} ${JSON.stringify(manner)}`;
      differences.push(...compare(name, sqlite, collector.collected()));
    }
    found.set(report.name, { rows, differences });
  }
  return found;
}

export function differencesIn(found: ReadonlyMap<string, Compared>): readonly Difference[] {
  return [...found.values()].flatMap(({ differences }) => differences);
}
