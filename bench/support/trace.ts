/**
 * Counts what this process does between two moments: functions of `src/` that run, statements and
 * transactions of a database, and looks at files. What other threads do is left out.
 */

import { Session } from 'node:inspector/promises';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';

type Call = (this: unknown, ...parameters: unknown[]) => unknown;

const LOOKS = [
  ...['statSync', 'lstatSync', 'existsSync', 'accessSync', 'openSync', 'readFileSync'],
  'readdirSync',
];
const ASYNC_LOOKS = ['stat', 'lstat', 'access', 'open', 'readFile', 'readdir'];
const WAYS = ['all', 'get', 'iterate', 'run'];
const BEGIN = /^begin\b/i;
const BEGIN_TO_WRITE = /^begin immediate\b/i;
const OF_A_TRANSACTION = /^(?:begin|commit|rollback|savepoint|release)\b/i;

export interface Counted {
  /** Statements of the database by their text. */
  readonly statements: ReadonlyMap<string, number>;
  /** Transactions that write, statements that write outside of one among them. */
  readonly writes: number;
  readonly snapshots: number;
  /** Looks at files by their path. */
  readonly looks: ReadonlyMap<string, number>;
}

function wrap(methods: Record<string, Call>, names: readonly string[], before: Call): void {
  for (const name of names) {
    const own = methods[name];
    if (!own) throw new TypeError(`there is no ${name} to count`);
    methods[name] = function call(...parameters) {
      before.apply(this, parameters);
      return own.apply(this, parameters);
    };
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/**
 * Counts looks at files, and statements of connections that may write to the database `of`, from
 * now on; the function gives what was counted.
 */
export function countCalls(of: string): () => Counted {
  const statements = new Map<string, number>();
  const looks = new Map<string, number>();
  let writes = 0;
  let snapshots = 0;
  const database = new Database(':memory:');
  const common: Record<string, Call> = Object.getPrototypeOf(database.prepare('select 1'));
  database.close();
  function noteStatement(this: unknown): void {
    const { source, readonly, database: asked } = this as Database.Statement;
    if (asked.readonly || asked.name !== of) return;
    add(statements, source);
    if (BEGIN_TO_WRITE.test(source)) writes += 1;
    else if (BEGIN.test(source)) snapshots += 1;
    else if (!readonly && !asked.inTransaction && !OF_A_TRANSACTION.test(source)) writes += 1;
  }
  wrap(common, WAYS, noteStatement);
  const files: Record<string, Call> & { readonly promises: Record<string, Call> } = createRequire(
    import.meta.url,
  )('node:fs');
  const noteLook: Call = (path) => add(looks, String(path));
  wrap(files, [...LOOKS, ...ASYNC_LOOKS], noteLook);
  wrap(files.promises, ASYNC_LOOKS, noteLook);
  syncBuiltinESMExports();
  return () => ({ statements, looks, writes, snapshots });
}

/** A function of `src/` that ran. */
export interface Ran {
  readonly file: string;
  /** Empty: it has no name. */
  readonly name: string;
  readonly calls: number;
}

/** Counts the calls of functions, from now on; gives those since it was asked last, by a key. */
export async function countFunctions(): Promise<() => Promise<ReadonlyMap<string, Ran>>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ran = new Map<string, Ran>();
    for (const { url, functions } of result) {
      const [, file] = url.split('/src/');
      if (file === undefined) continue;
      for (const { functionName: name, ranges } of functions) {
        const [whole] = ranges;
        if (!whole || whole.count === 0) continue;
        const key = `${file}:${whole.startOffset}`;
        const calls = whole.count + (ran.get(key)?.calls ?? 0);
        ran.set(key, { file, name: name.startsWith('<') ? '' : name, calls });
      }
    }
    return ran;
  };
}
