/** Entry point of the thread that writes a database again (started by write-again.ts). */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { WrittenAgain } from './write-again.ts';

/** Longest wait for the lock of another writer, and then for readers of the log, ms. */
const LOCK_MS = 10_000;
const LOG_LOCK_MS = 2_000;

function writeAgain(path: string): WrittenAgain {
  const database = new Database(path, { fileMustExist: true, timeout: LOCK_MS });
  try {
    database.pragma('synchronous = full');
    // The temporary copy is as large as the database, so it goes to a file.
    database.pragma('temp_store = file');
    database.exec('vacuum');
    if (database.pragma('journal_mode', { simple: true }) !== 'wal') return { isGone: true };
    database.pragma(`busy_timeout = ${LOG_LOCK_MS}`);
    const found = database
      .prepare<[], { readonly busy: number }>('pragma wal_checkpoint(truncate)')
      .get();
    return { isGone: found?.busy === 0 };
  } catch (thrown) {
    if (!(thrown instanceof Database.SqliteError)) throw thrown;
    return { failed: thrown.message, code: thrown.code };
  } finally {
    database.close();
  }
}

parentPort?.postMessage(writeAgain(String(workerData.data)));
