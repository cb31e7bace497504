/**
 * Kysely over better-sqlite3, with three changes to the stock dialect: a writing transaction begins
 * IMMEDIATE (a deferred one fails at once with SQLITE_BUSY_SNAPSHOT when another connection has
 * written since its first read, and no timeout helps), statements are prepared once, and a
 * statement that writes outside of a transaction waits for its turn, too.
 */
import type Database from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  SqliteDialect,
  SqliteDriver,
  type TransactionSettings,
} from 'kysely';
import { StoreError } from '../../lib/errors.ts';
import { readable } from '../../lib/json.ts';
import { isDamage } from '../connection.ts';

/**
 * Maximum number of prepared statements that are kept: more than the program has. A query built
 * from data would push others out.
 */
const STATEMENTS_MAX = 512;

/**
 * Runs a write when the other writer lets it, because SQLite would make the whole thread sleep for
 * the lock. Other queries of the connection wait meanwhile.
 */
export type WithWriteLock = <T>(write: () => Promise<T>) => Promise<T>;

interface CachedDatabase {
  readonly name: string;
  readonly inTransaction: boolean;
  prepare(sql: string): Database.Statement;
  close(): void;
}

/** Hint for a damaged database; SQLite reports a single failed read of the disk as damage, too. */
export const DAMAGE_HINT =
  'keep the file; where "selvedge doctor --offline" finds it whole, the disk could not read it: ' +
  'start again; else restore a backup ("selvedge backup restore")';

/** Translates damage into an error for a person, because further writes may make it worse. */
export function asCorruptionError(thrown: unknown, path: string): unknown {
  if (!isDamage(thrown)) return thrown;
  return new StoreError('store.damaged', `${path} is damaged: ${thrown.message}`, {
    hint: DAMAGE_HINT,
    cause: thrown,
  });
}

/** Translates an error of the database before it is thrown. */
type TranslateError = (thrown: unknown) => unknown;

/** The query with texts that are Unicode, whatever the service or a person sent. */
function withReadable<Query extends CompiledQuery>(query: Query): Query {
  const parameters = query.parameters.map((value) =>
    typeof value === 'string' ? readable(value) : value,
  );
  return { ...query, parameters };
}

class ImmediateDriver extends SqliteDriver {
  readonly #database: CachedDatabase;
  readonly #withWriteLock: WithWriteLock;
  readonly #translate: TranslateError;

  constructor(database: CachedDatabase, withWriteLock: WithWriteLock, translate: TranslateError) {
    super({ database });
    this.#database = database;
    this.#withWriteLock = withWriteLock;
    this.#translate = translate;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
      executeQuery: <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
        const execute = async (): Promise<QueryResult<R>> => {
          try {
            return await connection.executeQuery<R>(withReadable(query));
          } catch (thrown) {
            throw this.#translate(thrown);
          }
        };
        return this.#isWriteOutsideTransaction(query) ? this.#withWriteLock(execute) : execute();
      },
    };
  }

  #isWriteOutsideTransaction({ sql }: CompiledQuery): boolean {
    return !this.#database.inTransaction && !this.#database.prepare(sql).readonly;
  }

  override async beginTransaction(
    _connection: DatabaseConnection,
    settings?: TransactionSettings,
  ): Promise<void> {
    const begin = settings?.accessMode === 'read only' ? 'begin' : 'begin immediate';
    // The caller of a transaction already holds the write lock for all of it.
    this.#database.prepare(begin).run();
  }

  /**
   * Rolls back, unless a full disk has rolled back already: a second attempt would hide the reason.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

function withStatementCache(database: Database.Database): CachedDatabase {
  const statements = new Map<string, Database.Statement>();
  return {
    name: database.name,
    get inTransaction() {
      return database.inTransaction;
    },
    close: () => {
      statements.clear();
      database.close();
    },
    prepare(sql) {
      const known = statements.get(sql);
      // A busy statement is still being iterated and cannot run twice at once.
      if (known && !known.busy) return known;
      const statement = database.prepare(sql);
      if (statements.size >= STATEMENTS_MAX) statements.clear();
      statements.set(sql, statement);
      return statement;
    },
  };
}

export class ImmediateSqliteDialect extends SqliteDialect {
  readonly #database: CachedDatabase;
  readonly #withWriteLock: WithWriteLock;
  readonly #translate: TranslateError;

  constructor(
    database: Database.Database,
    withWriteLock: WithWriteLock,
    translate: TranslateError,
  ) {
    const cached = withStatementCache(database);
    super({ database: cached });
    this.#database = cached;
    this.#withWriteLock = withWriteLock;
    this.#translate = translate;
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.#database, this.#withWriteLock, this.#translate);
  }
}
