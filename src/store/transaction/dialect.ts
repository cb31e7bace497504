/**
 * Kysely over better-sqlite3, with two changes to the stock dialect: a writing transaction begins
 * IMMEDIATE (a deferred one fails at once with SQLITE_BUSY_SNAPSHOT when another connection has
 * written since its first read; no timeout helps), and statements are prepared once.
 */
import type Database from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type TransactionSettings,
} from 'kysely';

/** More distinct statements than the program has; a query built from data would push others out. */
const STATEMENTS_MAX = 512;

class ImmediateDriver extends SqliteDriver {
  readonly #inTransaction: () => boolean;

  constructor(database: SqliteDatabase, inTransaction: () => boolean) {
    super({ database });
    this.#inTransaction = inTransaction;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings?: TransactionSettings,
  ): Promise<void> {
    const begin = settings?.accessMode === 'read only' ? 'begin' : 'begin immediate';
    await connection.executeQuery(CompiledQuery.raw(begin));
  }

  /** A full disk has rolled back already; to try it again would hide why. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#inTransaction()) await super.rollbackTransaction(connection);
  }
}

function withStatementCache(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, Database.Statement>();
  return {
    close: () => {
      statements.clear();
      database.close();
    },
    prepare(sql) {
      const known = statements.get(sql);
      // A busy statement is one that somebody iterates right now: it cannot run twice at once.
      if (known && !known.busy) return known;
      const statement = database.prepare(sql);
      if (statements.size >= STATEMENTS_MAX) statements.clear();
      statements.set(sql, statement);
      return statement;
    },
  };
}

export class ImmediateSqliteDialect extends SqliteDialect {
  readonly #database: SqliteDatabase;
  readonly #inTransaction: () => boolean;

  constructor(database: Database.Database) {
    const cached = withStatementCache(database);
    super({ database: cached });
    this.#database = cached;
    this.#inTransaction = () => database.inTransaction;
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.#database, this.#inTransaction);
  }
}
