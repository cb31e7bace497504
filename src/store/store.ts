/**
 * The database as other rooms see it: a Kysely handle and transactions. Inside a transaction only
 * its own handle may be used: the outer handle would wait for the transaction itself for ever, so
 * it throws instead. Nothing but SQL is awaited there, and effects that must not happen when the
 * commit fails are given to `onCommit`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import type { Kysely, Transaction, TransactionBuilder } from 'kysely';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { BugError, invariant, isDiskFull, isStoreUnusable, StoreError } from '../lib/errors.ts';
import { type ConnectionOptions, openReader, openWriter, verifyPragmas } from './connection.ts';
import { type MigrationReport, migrate, pendingMigrations, triggersOf } from './migrate.ts';
import { asDiskFullError, copyBytes, requireRoom } from './space.ts';
import type { Tables } from './tables.ts';
import { asCorruptionError, overConnection, type WithWriteLock } from './transaction/dialect.ts';
import { type FileIds, filesOf, refuseToForget, requireInPlace } from './writers/in-place.ts';
import { writeAgainBeside } from './writers/write-again.ts';
import {
  handOffOfMain,
  handOffOfThread,
  isCheckpointTaken,
  isTakenCheckpointPinned,
  releaseCheckpoint,
  shareWriteHandOff,
  takeCheckpoint,
  type WriteHandOff,
} from './writers/write-hand-off.ts';

export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

export interface StoreOptions extends ConnectionOptions {
  readonly path: string;
}

/** Options of the mirror's database according to the configuration. */
export function storeOptions({ dataDir, store }: Pick<Config, 'dataDir' | 'store'>): StoreOptions {
  return { path: join(dataDir, 'mirror.db'), busyTimeoutMs: store.busyTimeout };
}

export interface Store {
  /** Handle outside of transactions; throws when used inside one. */
  readonly db: Db;
  /** Path of the file, for messages and for `stat`. */
  readonly path: string;
  /** Runs `work` in one IMMEDIATE transaction, one transaction at a time. */
  transaction<T>(work: (tx: Tx, onCommit: (effect: () => void) => void) => Promise<T>): Promise<T>;
  /** Runs reads that belong together: all of them see the database as it was at the first one. */
  snapshot<T>(read: (tx: Tx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Row that `pragma wal_checkpoint` returns. */
interface CheckpointResult {
  readonly busy: number;
  /** Pages in the log, and those of them that are in the database now. */
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Room that writing the whole database again needs, as a factor of its size: once in the log, and
 * once in a temporary file.
 */
const ROOM_TO_WRITE_AGAIN = 2;

type FirstWriter = Pick<SqliteStore, 'writeHandOff' | 'files'>;

export class SqliteStore implements Store {
  readonly path: string;
  /** Shared memory by which a second writer knows whose turn it is to write. */
  readonly writeHandOff: SharedArrayBuffer;
  /** Ids of the files that a second writer must find at the path. */
  readonly files: FileIds;
  /** Pages of the log after which a commit writes it back, unless the other writer does that. */
  readonly #autoCheckpoint: number;
  #leavesCheckpoint = false;
  /** Commits of the second writer between two checkpoints; 0: it runs none. */
  readonly #writeBackEvery: number;
  /** Number of transactions since this connection has written the log back. */
  #transactions = 0;
  readonly #writeHandOff: WriteHandOff;
  readonly #database: Database.Database;
  readonly #db: Db;
  readonly #inside = new AsyncLocalStorage<true>();
  #makeRoom: () => boolean = () => false;
  readonly #damage = new AbortController();
  /** Writes of this thread that run or wait for their turn. */
  readonly #writing = new Set<Promise<void>>();
  /** Pending while the database is written again, and no other write may begin. */
  #rewriting: Promise<void> | undefined;
  /** Call of {@link writeAgain} that has not begun yet. */
  #nextRewriting: Promise<boolean> | undefined;

  /**
   * Makes the store of a connection. A process may open the same file for a second writer; `first`
   * then describes the store that it opened before.
   */
  constructor(database: Database.Database, first?: FirstWriter, writeBackEvery = 0) {
    const writeHandOff = first?.writeHandOff;
    this.path = database.name;
    this.files = first?.files ?? filesOf(this.path);
    this.#autoCheckpoint = Number(database.pragma('wal_autocheckpoint', { simple: true }));
    this.#writeBackEvery = writeBackEvery;
    this.writeHandOff = writeHandOff ?? shareWriteHandOff();
    this.#writeHandOff = writeHandOff
      ? handOffOfThread(writeHandOff)
      : handOffOfMain(this.writeHandOff);
    this.#database = database;
    // The second writer writes in transactions only, which take the lock themselves.
    const locked: WithWriteLock = writeHandOff
      ? (write) => write()
      : (write) => this.#withWriteLock(write);
    const translate = (thrown: unknown): unknown => this.#translate(thrown);
    this.#db = overConnection<Tables>(database, locked, translate);
  }

  /** Registers the emergency release of disk space; it returns true when there may be room now. */
  onFull(makeRoom: () => boolean): void {
    this.#makeRoom = makeRoom;
  }

  /**
   * Signal that aborts once the database was found damaged or taken away, with the error as its
   * reason. The caller that found it may continue.
   */
  get damaged(): AbortSignal {
    return this.#damage.signal;
  }

  #translate(thrown: unknown): unknown {
    const error = asCorruptionError(thrown, this.path);
    if (error !== thrown) this.#damage.abort(error);
    return error;
  }

  get db(): Db {
    if (this.#inside.getStore()) {
      throw new BugError('bug.outer_handle', 'the outer database handle was used in a transaction');
    }
    return this.#db;
  }

  /**
   * Whether the other writer waits for the end of the transaction, so that a long one should end.
   */
  get isAwaited(): boolean {
    return this.#writeHandOff.isAwaited();
  }

  async transaction<T>(
    work: (tx: Tx, onCommit: (effect: () => void) => void) => Promise<T>,
  ): Promise<T> {
    let effects: (() => void)[] = [];
    const attempt = (): Promise<T> => {
      effects = [];
      const inside = (tx: Tx): Promise<T> => work(tx, (effect) => effects.push(effect));
      return this.#withWriteLock(() => this.#run(this.#db.transaction(), inside));
    };
    const result = await attempt().catch((error: unknown) => {
      // Nothing of the failed transaction was written; with more room it may succeed.
      if (isDiskFull(error) && this.#makesRoom()) return attempt();
      throw error;
    });
    for (const effect of effects) effect();
    // A failed checkpoint does not undo the commit; the log grows, which is watched elsewhere.
    await this.#writeBack().catch((error: unknown) => {
      if (isStoreUnusable(error)) throw error;
      releaseCheckpoint(this.writeHandOff);
    });
    return result;
  }

  /**
   * Makes room on a full disk, and tells whether there may be some now. The log is then written
   * back here and not left to the other writer, who may be idle or have no room either: it would
   * take all the room, and a database that cannot grow by its few new pages keeps SQLite from
   * restarting the log.
   */
  #makesRoom(): boolean {
    const isOurs = this.#autoCheckpoint > 0;
    const wasLeft = isOurs && this.isCheckpointTaken;
    releaseCheckpoint(this.writeHandOff);
    const isMade = this.#makeRoom() || wasLeft;
    try {
      if (isMade && isOurs) this.checkpoint('passive');
    } catch (error) {
      if (isStoreUnusable(error)) throw error;
    }
    return isMade;
  }

  async #withWriteLock<T>(work: () => Promise<T>): Promise<T> {
    while (this.#rewriting) await this.#rewriting;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writing.add(promise);
    try {
      await this.#writeHandOff.acquire();
      try {
        this.#requireInPlace();
        this.#applyCheckpointOwner();
        return await work();
      } catch (thrown) {
        throw this.#translate(thrown);
      } finally {
        this.#writeHandOff.release();
      }
    } finally {
      this.#writing.delete(promise);
      resolve();
    }
  }

  /**
   * Runs `work` while nothing else of this thread writes: SQLite would make this thread sleep at
   * the lock that the work's own thread holds.
   */
  async #withoutWrites<T>(work: () => Promise<T>): Promise<T> {
    while (this.#rewriting) await this.#rewriting;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#rewriting = promise;
    try {
      while (this.#writing.size > 0) await Promise.all(this.#writing);
      await this.#writeHandOff.acquire();
      this.#requireInPlace();
      return await work();
    } catch (thrown) {
      throw this.#translate(thrown);
    } finally {
      this.#writeHandOff.release();
      this.#rewriting = undefined;
      resolve();
    }
  }

  #requireInPlace(): void {
    try {
      requireInPlace(this.path, this.files);
    } catch (thrown) {
      this.#damage.abort(thrown);
      throw thrown;
    }
  }

  /**
   * Writes the log back as the second writer, by two checkpoints: SQLite restarts the log only when
   * all of it is in the database.
   */
  async #writeBack(): Promise<void> {
    this.#transactions += 1;
    if (this.#writeBackEvery === 0 || this.#transactions < this.#writeBackEvery) return;
    this.#transactions = 0;
    this.checkpoint('passive');
    await this.#withWriteLock(async () => this.takeCheckpoint());
  }

  /** Names of the schema's triggers that somebody has dropped, and of those of other origins. */
  triggers(): ReturnType<typeof triggersOf> {
    return triggersOf(this.#database);
  }

  /** Runs a checkpoint as the second writer, and tells the first whether a reader is in the way. */
  takeCheckpoint(): void {
    const found = this.checkpoint('passive');
    takeCheckpoint(this.writeHandOff, found !== undefined && found.checkpointed < found.log);
  }

  #applyCheckpointOwner(): void {
    const isTaken = this.isCheckpointTaken && this.#autoCheckpoint > 0;
    if (isTaken === this.#leavesCheckpoint) return;
    this.#leavesCheckpoint = isTaken;
    this.#database.pragma(`wal_autocheckpoint = ${isTaken ? 0 : this.#autoCheckpoint}`);
  }

  snapshot<T>(read: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#run(this.#db.transaction().setAccessMode('read only'), read);
  }

  async #run<T>(transaction: TransactionBuilder<Tables>, work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#inside.getStore()) {
      throw new BugError('bug.nested_transaction', 'a transaction was begun inside another one');
    }
    return this.#inside.run(true, () => transaction.execute(work));
  }

  /**
   * Writes the log back into the database, as far as readers allow; `truncate` empties it as well,
   * when nobody else is in the way. Undefined inside a transaction. Blocks while it works.
   */
  checkpoint(mode: 'passive' | 'truncate'): CheckpointResult | undefined {
    const database = this.#database;
    if (database.inTransaction) return undefined;
    const timeout = Number(database.pragma('busy_timeout', { simple: true }));
    // Without this pragma a checkpoint would wait for readers and block the thread.
    database.pragma('busy_timeout = 0');
    try {
      return database.prepare<[], CheckpointResult>(`pragma wal_checkpoint(${mode})`).get();
    } catch (thrown) {
      throw this.#translate(thrown);
    } finally {
      database.pragma(`busy_timeout = ${timeout}`);
    }
  }

  /** Whether the second writer writes the log back. */
  get isCheckpointTaken(): boolean {
    return isCheckpointTaken(this.writeHandOff);
  }

  /** Whether the second writer's checkpoint has found a reader in the way. */
  get isTakenCheckpointPinned(): boolean {
    return isTakenCheckpointPinned(this.writeHandOff);
  }

  /** Gives free pages back to the disk, up to this number; false: there were none. */
  async giveBackPages(pages: number): Promise<boolean> {
    const database = this.#database;
    if (Number(database.pragma('freelist_count', { simple: true })) === 0) return false;
    await this.#withWriteLock(async () => {
      if (!database.inTransaction) database.pragma(`incremental_vacuum(${pages})`);
    });
    return true;
  }

  /** Throws when the disk has no room for {@link writeAgain}. */
  requireRoomToWriteAgain(): void {
    requireRoom(this.path, copyBytes(this.#database) * ROOM_TO_WRITE_AGAIN);
  }

  /**
   * Writes the whole database again, so that nothing of deleted rows is left in its files. Calls
   * that come before it has begun share it. False: a reading program keeps the log from being
   * emptied.
   */
  writeAgain(): Promise<boolean> {
    const end = (): void => {
      this.#nextRewriting = undefined;
    };
    this.#nextRewriting ??= this.#withoutWrites(() => {
      end();
      return writeAgainBeside(this.path);
    }).catch((thrown: unknown) => {
      end();
      throw thrown;
    });
    return this.#nextRewriting;
  }

  /** Gives cached pages of the connection back to the system. */
  giveBackMemory(): void {
    this.#database.pragma('shrink_memory');
  }

  async close(): Promise<void> {
    if (this.#writeBackEvery > 0 && this.#database.open) {
      this.checkpoint('passive');
      releaseCheckpoint(this.writeHandOff);
    }
    // Kysely has not opened it: it would leave the write-ahead log behind.
    this.#database.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Cache sizes of the writers in KiB. They are small, because the system caches the pages, too, and
 * pages of a large cache lie scattered in the heap, which then cannot be given back for months.
 */
const MAIN_CACHE_KIB = 2_048;
const SECOND_CACHE_KIB = 4_096;

/**
 * Makes a first write and proves the settings after it, because a driver may change them with that
 * write.
 */
function writeFirst(
  database: Database.Database,
  key: string,
  options: ConnectionOptions,
  clock: Clock,
): void {
  database
    .prepare(
      `insert into daemon_state (key, value, updated_at) values (?, ?, ?)
       on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`,
    )
    .run(key, String(clock.now()), clock.now());
  verifyPragmas(database, options);
}

/** Opens the database for writing, migrates it, and proves that the durability settings hold. */
export async function openStore(
  asked: StoreOptions,
  clock: Clock,
): Promise<{ readonly store: SqliteStore; readonly migrated: MigrationReport }> {
  const options = { cacheKib: MAIN_CACHE_KIB, ...asked };
  refuseToForget(options.path);
  let database: Database.Database | undefined;
  try {
    database = openWriter(options.path, options);
    const migrated = migrate(database, clock);
    writeFirst(database, 'opened_at', options, clock);
    return { store: new SqliteStore(database), migrated };
  } catch (error) {
    database?.close();
    throw asDiskFullError(asCorruptionError(error, options.path), options.path);
  }
}

/**
 * Transactions of the second writer after which it writes the log back: some 4 MiB. It does so
 * between its transactions: within a commit, the first writer would wait for all of it, or have to
 * do it.
 */
const WRITE_BACK_EVERY = 4;

/**
 * Opens the database for writing in another thread of the process that has it open already; each
 * connection must be proved to be durable by itself.
 */
export async function openSecondWriter(
  asked: StoreOptions & FirstWriter,
  clock: Clock,
): Promise<SqliteStore> {
  const options = { cacheKib: SECOND_CACHE_KIB, ...asked };
  const byHand = { ...options, checkpoint: 'external' as const, mustExist: true };
  requireInPlace(options.path, options.files);
  const database = openWriter(options.path, byHand);
  try {
    const { pending } = pendingMigrations(database);
    invariant(pending.length === 0, 'a second writer was opened before the schema was migrated');
    writeFirst(database, 'second_writer_at', byHand, clock);
    const writeBackEvery = options.checkpoint === 'external' ? 0 : WRITE_BACK_EVERY;
    const store = new SqliteStore(database, options, writeBackEvery);
    if (writeBackEvery > 0) store.takeCheckpoint();
    return store;
  } catch (error) {
    database.close();
    throw asCorruptionError(error, options.path);
  }
}

/**
 * Opens the database for reading beside a running daemon. Refuses any schema but this program's.
 */
export async function openReadOnlyStore(options: StoreOptions): Promise<SqliteStore> {
  refuseToForget(options.path);
  let database: Database.Database | undefined;
  try {
    database = openReader(options.path, options);
    const { version, pending } = pendingMigrations(database);
    if (pending.length > 0) {
      const needed = version + pending.length;
      const message = `${database.name} has schema ${version}, this program needs ${needed}`;
      throw new StoreError('store.older_schema', message, {
        hint: 'start the daemon: it upgrades the database and keeps a copy',
      });
    }
    return new SqliteStore(database);
  } catch (error) {
    database?.close();
    throw asDiskFullError(asCorruptionError(error, options.path), options.path);
  }
}

/**
 * Throws what {@link openReadOnlyStore} throws; for a reader in another process, to which a schema
 * that this program does not know would look like an empty table.
 */
export async function requireReadable(options: StoreOptions): Promise<void> {
  const store = await openReadOnlyStore(options);
  await store.close();
}
