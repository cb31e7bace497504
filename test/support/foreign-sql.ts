/** SQL from another program than the daemon, and from another build of SQLite. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import initSqlJs, { type Database as OldDatabase } from 'sql.js';
import { repositoryRoot } from './source.ts';

const CLIENT = join(repositoryRoot, 'test/support/foreign-client.mjs');
const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning', CLIENT];

export interface ForeignSqlOptions {
  readonly readOnly?: boolean;
  /** Values of named parameters; those that a statement does not have are left out. */
  readonly parameters?: Readonly<Record<string, string | number>>;
}

function ask(path: string, sql: string, options: ForeignSqlOptions, more: string[]): string {
  const { readOnly = false, parameters = {} } = options;
  const flags = [...(readOnly ? ['--read-only'] : []), ...more];
  const values = ['--parameters', JSON.stringify(parameters)];
  return execFileSync(process.execPath, [...NODE_OPTIONS, '--whole', ...flags, ...values, path], {
    encoding: 'utf8',
    stdio: 'pipe',
    input: sql,
  });
}

/** Runs `sql` in a process of its own; one line per row, `a|b`. Throws what SQLite says. */
export function foreignSql(path: string, sql: string, options: ForeignSqlOptions = {}): string {
  return ask(path, sql, options, []);
}

/** The same for one query, its rows as objects. */
export function foreignRows(path: string, sql: string): Record<string, unknown>[] {
  const rows: unknown = JSON.parse(ask(path, sql, {}, ['--json']));
  return Array.isArray(rows) ? rows : [];
}

/** A client that takes one statement in each line of its standard input, each a transaction. */
export function startForeignClient(path: string): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [...NODE_OPTIONS, '--timeout', '20000', path]);
}

/**
 * A copy of a database in memory under SQLite 3.39, the oldest that the views promise to run with.
 * The bytes say that the file is kept in WAL mode, which a database in memory cannot be.
 */
export async function openInOldSqlite(path: string): Promise<OldDatabase> {
  const database = new Database(path, { readonly: true });
  const bytes = database.serialize();
  database.close();
  bytes[18] = 1;
  bytes[19] = 1;
  const wasm = join(repositoryRoot, 'node_modules/sql.js/dist/sql-wasm.wasm');
  const { Database: Old } = await initSqlJs({
    wasmBinary: new Uint8Array(readFileSync(wasm)).buffer,
  });
  return new Old(bytes);
}
