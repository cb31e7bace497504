/**
 * Kysely over better-sqlite3, with four changes to the stock dialect: a writing transaction begins
 * IMMEDIATE (a deferred one fails at once with SQLITE_BUSY_SNAPSHOT when another connection has
 * written since its first read, and no timeout helps), statements are prepared and planned once, a
 * statement that writes outside of a transaction waits for its turn, too, and limits stand in the
 * text: SQLite plans by them, and would plan a statement with a bound one again at each run.
 */
import type Database from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultConnectionProvider,
  DefaultQueryExecutor,
  type DialectAdapter,
  Kysely,
  type QueryResult,
  SingleConnectionProvider,
  SqliteDialect,
  SqliteDriver,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { BugError, StoreError } from '../../lib/errors.ts';
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

/** A prepared statement, with what the driver would look up in it at each run. */
interface Prepared {
  /** Its rows are what the query says that they are. */
  readonly statement: Database.Statement<unknown[], never>;
  readonly isReader: boolean;
  readonly isReadOnly: boolean;
}

/** Parameters with texts that are Unicode, whatever the service or a person sent. */
function readables(parameters: readonly unknown[]): readonly unknown[] {
  return parameters.map((value) => (typeof value === 'string' ? readable(value) : value));
}

function run<R>({ statement, isReader }: Prepared, given: readonly unknown[]): QueryResult<R> {
  const parameters = readables(given);
  if (isReader) return { rows: statement.all(parameters) };
  const { changes, lastInsertRowid } = statement.run(parameters);
  return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] };
}

type Prepare = (sql: string) => Prepared;

function withStatementCache(database: Database.Database): Prepare {
  const statements = new Map<string, Prepared>();
  return (sql) => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = database.prepare<unknown[], never>(sql);
    const prepared = { statement, isReader: statement.reader, isReadOnly: statement.readonly };
    if (statements.size >= STATEMENTS_MAX) statements.clear();
    statements.set(sql, prepared);
    return prepared;
  };
}

class ImmediateDriver extends SqliteDriver {
  readonly connection: DatabaseConnection;
  readonly #database: Database.Database;
  readonly #prepare: Prepare;
  readonly #translate: TranslateError;
  /** Pending while a transaction, or a query outside of one, has the connection. */
  #taken: PromiseWithResolvers<void> | undefined;

  constructor(database: Database.Database, locked: WithWriteLock, translate: TranslateError) {
    super({ database });
    this.#database = database;
    this.#prepare = withStatementCache(database);
    this.#translate = translate;
    this.connection = {
      streamQuery: () => {
        throw new BugError(
          'bug.streamed_query',
          'a query was streamed: the loop would wait for it',
        );
      },
      executeQuery: async <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
        try {
          const prepared = this.#prepare(sql);
          if (prepared.isReadOnly || database.inTransaction) return run<R>(prepared, parameters);
          return await locked(async () => run<R>(prepared, parameters));
        } catch (thrown) {
          throw translate(thrown);
        }
      },
    };
  }

  /** Runs a query of a transaction; once that is over, it would be a change of its own. */
  runInside<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#database.inTransaction) return this.connection.executeQuery<R>(query);
    throw new BugError('bug.transaction_over', 'a query came after the end of its transaction');
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    while (this.#taken) await this.#taken.promise;
    this.#taken = Promise.withResolvers();
    return this.connection;
  }

  override async releaseConnection(): Promise<void> {
    this.#taken?.resolve();
    this.#taken = undefined;
  }

  override async beginTransaction(
    _connection: DatabaseConnection,
    settings?: TransactionSettings,
  ): Promise<void> {
    const begin = settings?.accessMode === 'read only' ? 'begin' : 'begin immediate';
    // The caller of a transaction already holds the write lock for all of it.
    this.#prepare(begin).statement.run();
  }

  override async commitTransaction(): Promise<void> {
    try {
      this.#prepare('commit').statement.run();
    } catch (thrown) {
      throw this.#translate(thrown);
    }
  }

  /**
   * Rolls back, unless a full disk has rolled back already: a second attempt would hide the reason.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

/**
 * Writes statements that SQLite plans once, whatever is bound to them. Compared with a bare
 * parameter, `=` would have it plan again at each run, which takes longer than most of them do; a
 * plus sign changes neither the value nor the plan. So an index of some rows (`where kind =
 * 'order'`) serves only statements that have the value in their text (`sql.lit`).
 */
class PlannedOnce extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return '+?';
  }

  protected override appendValue(value: unknown): void {
    if (Number.isSafeInteger(value) && this.getSql().endsWith('limit ')) this.append(`${value}`);
    else super.appendValue(value);
  }
}

/**
 * Runs each query of a transaction at once. Kysely's executor asks for the connection again at each
 * of them, through ten promises, although nothing else has it; that takes longer than most queries.
 */
class InsideExecutor extends DefaultQueryExecutor {
  readonly #driver: ImmediateDriver;

  constructor(adapter: DialectAdapter, driver: ImmediateDriver) {
    super(new PlannedOnce(), adapter, new SingleConnectionProvider(driver.connection));
    this.#driver = driver;
  }

  override executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#driver.runInside<R>(query);
  }

  override withConnectionProvider(): DefaultQueryExecutor {
    return this;
  }
}

/** Runs each query outside of transactions once it has the connection. */
class OutsideExecutor extends DefaultQueryExecutor {
  readonly #inside: InsideExecutor;

  constructor(adapter: DialectAdapter, driver: ImmediateDriver) {
    super(new PlannedOnce(), adapter, new DefaultConnectionProvider(driver));
    this.#inside = new InsideExecutor(adapter, driver);
  }

  override withConnectionProvider(): DefaultQueryExecutor {
    return this.#inside;
  }
}

/** Kysely over this connection. */
export function overConnection<T>(
  database: Database.Database,
  withWriteLock: WithWriteLock,
  translate: TranslateError,
): Kysely<T> {
  const dialect = new SqliteDialect({ database });
  const driver = new ImmediateDriver(database, withWriteLock, translate);
  const executor = new OutsideExecutor(dialect.createAdapter(), driver);
  return new Kysely<T>({ config: { dialect }, dialect, driver, executor });
}
