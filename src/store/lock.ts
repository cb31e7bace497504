/**
 * Lock of the data folder: one daemon per database. The lock is an exclusive SQLite transaction on
 * a file of its own, which the kernel drops the moment the process dies, `kill -9` included; the
 * database itself is not locked. A lease in the database names the holder, and its fencing token
 * tells a suspended daemon that another one took over.
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Clock } from '../lib/clock.ts';
import { ConfigError, StoreError, toError } from '../lib/errors.ts';
import { makeFolder, withMode } from './folders.ts';
import { asDiskFullError } from './space.ts';
import type { Db, Store } from './store.ts';

export interface FolderLock {
  release(): void;
}

export interface Lease {
  /** Extends the lease; throws `store.lease_lost` when somebody else has taken it. */
  renew(): Promise<void>;
  /** Number of times in a row that the lease could not be extended, and the last reason. */
  failed(): { readonly times: number; readonly why: string };
  release(): Promise<void>;
}

const LEASE_NAME = 'daemon';

/** End of a lease that was released: in the past for every clock. */
const RELEASED = 0;

const LOOK_MS = 100;

/**
 * Mode of the lock file: a program that could read it could hold the lock, and then no daemon
 * would start.
 */
const LOCK_MODE = 0o600;

const FOLDER_HINT = 'dataDir must name a folder that this user may write to, its files too';

/** Makes the folder of the databases, for its owner only, if it does not exist. */
export function makeDataFolder(path: string): void {
  try {
    makeFolder(path, 0o700);
  } catch (cause) {
    const message = `the data folder ${path} cannot be made: ${toError(cause).message}`;
    throw new ConfigError('store.data_folder', message, { hint: FOLDER_HINT, cause });
  }
}

/** Path of the file whose lock says that a process works on this data folder. */
export function lockFile(dataDir: string): string {
  return join(dataDir, 'daemon.lock');
}

/**
 * Takes the folder's lock, or throws `store.locked` at once; to be called before the database is
 * opened.
 */
export function lockFolder(path: string): FolderLock {
  let database: Database.Database | undefined;
  try {
    // A process that only looks whether the lock is held releases it in a moment.
    const held = withMode(LOCK_MODE, () => new Database(path, { timeout: LOOK_MS }));
    database = held;
    // SQLite silently opens a file that it may not write for reading only, and then locks nothing.
    accessSync(path, constants.W_OK);
    held.pragma('journal_mode = delete');
    held.exec('begin exclusive');
    return { release: () => held.close() };
  } catch (cause) {
    database?.close();
    const full = asDiskFullError(cause, path);
    if (full !== cause) throw full;
    if (!(cause instanceof Database.SqliteError) || !cause.code.startsWith('SQLITE_BUSY')) {
      const message = `cannot lock ${path}: ${toError(cause).message}`;
      throw new ConfigError('store.cannot_lock', message, { hint: FOLDER_HINT, cause });
    }
    throw new StoreError('store.locked', `a daemon runs on this data folder (${path})`, {
      hint: 'stop it first; a second daemon needs a dataDir of its own',
      cause,
    });
  }
}

/**
 * Tells whether a daemon works on this folder: the kernel drops its lock the moment it dies.
 * Undefined: this user may not look.
 */
export function isFolderLocked(path: string): boolean | undefined {
  let database: Database.Database | undefined;
  try {
    if (!existsSync(path)) return false;
    database = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 });
    database.prepare('select count(*) from sqlite_schema').get();
    return false;
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause;
    return cause.code.startsWith('SQLITE_BUSY') ? true : undefined;
  } finally {
    database?.close();
  }
}

/** Whether a daemon runs: one that can write renews its lease again and again. */
export async function daemonRuns(db: Db, now: number): Promise<boolean> {
  const lease = await db
    .selectFrom('lease')
    .select('expires_at')
    .where('name', '=', LEASE_NAME)
    .executeTakeFirst();
  return (lease?.expires_at ?? 0) > now;
}

async function takeLease(
  store: Store,
  holder: string,
  leaseMs: number,
  clock: Clock,
): Promise<number> {
  return store.transaction(async (tx) => {
    const row = await tx
      .selectFrom('lease')
      .select('fencing')
      .where('name', '=', LEASE_NAME)
      .executeTakeFirst();
    const fencing = (row?.fencing ?? 0) + 1;
    const values = {
      holder,
      fencing,
      acquired_at: clock.now(),
      expires_at: clock.now() + leaseMs,
    };
    await tx
      .insertInto('lease')
      .values({ name: LEASE_NAME, ...values })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
      .execute();
    return fencing;
  });
}

/** Takes over the lease; the folder's lock proves that no other daemon uses it. */
export async function acquireLease(store: Store, leaseMs: number, clock: Clock): Promise<Lease> {
  const holder = `${hostname()}:${process.pid}`;
  const fencing = await takeLease(store, holder, leaseMs, clock).catch((error: unknown) => {
    throw asDiskFullError(error, store.path);
  });
  const extend = async (expiresAt: number): Promise<bigint> => {
    const result = await store.db
      .updateTable('lease')
      .set({ expires_at: expiresAt })
      .where('name', '=', LEASE_NAME)
      .where('fencing', '=', fencing)
      .executeTakeFirst();
    return result.numUpdatedRows;
  };
  const none = { times: 0, why: '' };
  let failed = none;
  return {
    failed: () => failed,
    async renew() {
      const rows = await extend(clock.now() + leaseMs).catch((thrown: unknown) => {
        failed = { times: failed.times + 1, why: toError(thrown).message };
        throw thrown;
      });
      failed = none;
      if (rows === 0n) {
        throw new StoreError('store.lease_lost', 'another daemon has taken this database over');
      }
    },
    async release() {
      await extend(RELEASED);
    },
  };
}
