/** SQL from another program than the daemon, and from another build of SQLite. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import initSqlJs, { type Database as OldDatabase } from 'sql.js';
import { z } from 'zod';
import { repositoryRoot } from './source.ts';

const CLIENT = join(repositoryRoot, 'test/support/foreign-client.mjs');
const BRIDGE = join(repositoryRoot, 'test/support/foreign-bridge.mjs');
const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning', CLIENT];

/** Longest wait for an answer: the client itself waits for a lock for 5 s at most. */
const ANSWER_MS_MAX = 60_000;

export interface ForeignSqlOptions {
  readonly readOnly?: boolean;
  /** Values of named parameters; those that a statement does not have are left out. */
  readonly parameters?: Readonly<Record<string, string | number>>;
}

const answerSchema = z.union([z.object({ printed: z.string() }), z.object({ failed: z.string() })]);

/** Starts the client once for all questions of a test process; each has its own connection. */
function startBridge(): (question: object) => string {
  const { port1, port2 } = new MessageChannel();
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const args = [...NODE_OPTIONS, '--serve'];
  const workerData = { args, port: port2, answered };
  const worker = new Worker(BRIDGE, { workerData, transferList: [port2] });
  worker.unref();
  port1.unref();
  return (question) => {
    const before = Atomics.load(answered, 0);
    port1.postMessage(JSON.stringify(question));
    if (Atomics.wait(answered, 0, before, ANSWER_MS_MAX) === 'timed-out') {
      throw new Error('the foreign client does not answer');
    }
    const answer = answerSchema.parse(JSON.parse(String(receiveMessageOnPort(port1)?.message)));
    if ('failed' in answer) throw new Error(answer.failed);
    return answer.printed;
  };
}

let bridge: ReturnType<typeof startBridge> | undefined;

function ask(path: string, sql: string, options: ForeignSqlOptions, asJson: boolean): string {
  bridge ??= startBridge();
  return bridge({ path, sql, asJson, ...options });
}

/** Runs `sql` in another process; one line per row, `a|b`. Throws what SQLite says. */
export function foreignSql(path: string, sql: string, options: ForeignSqlOptions = {}): string {
  return ask(path, sql, options, false);
}

/** The same for one query, its rows as objects. */
export function foreignRows(path: string, sql: string): Record<string, unknown>[] {
  const rows: unknown = JSON.parse(ask(path, sql, {}, true));
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
