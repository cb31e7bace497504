/**
 * One daemon per database. The lock is an exclusive SQLite transaction on a file of its own: the
 * kernel drops it the moment the process dies, `kill -9` included, and it is never a lock on the
 * database itself. A lease row beside it says who holds it, and its fencing token tells a daemon
 * that was suspended that somebody took over.
 */
import { hostname } from 'node:os';
import Database from 'better-sqlite3';
import type { Clock } from '../lib/clock.ts';
import { StoreError } from '../lib/errors.ts';
import type { Store } from './store.ts';

export interface InstanceLock {
  readonly holder: string;
  readonly fencing: number;
  /** Extends the lease; throws `store.lease_lost` when somebody else has taken it. */
  renew(): Promise<void>;
  release(): Promise<void>;
}

export const LEASE_MS = 30_000;
const LEASE_NAME = 'daemon';

function lockFile(path: string): Database.Database {
  const database = new Database(path, { timeout: 0 });
  try {
    database.pragma('journal_mode = delete');
    database.exec('begin exclusive');
    return database;
  } catch (cause) {
    database.close();
    throw new StoreError('store.locked', `another daemon runs on this data folder (${path})`, {
      hint: 'stop it first, or give this one a dataDir of its own',
      cause,
    });
  }
}

async function takeLease(store: Store, holder: string, clock: Clock): Promise<number> {
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
      expires_at: clock.now() + LEASE_MS,
    };
    await tx
      .insertInto('lease')
      .values({ name: LEASE_NAME, ...values })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
      .execute();
    return fencing;
  });
}

/** Takes the lock beside the database, or throws `store.locked` at once. */
export async function acquireInstanceLock(
  store: Store,
  lockPath: string,
  clock: Clock,
): Promise<InstanceLock> {
  const file = lockFile(lockPath);
  const holder = `${hostname()}:${process.pid}`;
  const fencing = await takeLease(store, holder, clock);
  return {
    holder,
    fencing,
    async renew() {
      const result = await store.db
        .updateTable('lease')
        .set({ expires_at: clock.now() + LEASE_MS })
        .where('name', '=', LEASE_NAME)
        .where('fencing', '=', fencing)
        .executeTakeFirst();
      if (result.numUpdatedRows === 0n) {
        throw new StoreError('store.lease_lost', 'another daemon has taken this database over');
      }
    },
    async release() {
      await store.db
        .updateTable('lease')
        .set({ expires_at: clock.now() })
        .where('name', '=', LEASE_NAME)
        .where('fencing', '=', fencing)
        .execute();
      file.close();
    },
  };
}
