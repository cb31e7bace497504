/** Makes a database one plain file without a log beside it, so that it can be moved. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError } from '../../lib/errors.ts';

/** Makes a copy one file by writing its log back. Throws StoreError when the copy is damaged. */
export function sealCopy(path: string): void {
  const copy = new Database(path, { fileMustExist: true });
  try {
    copy.pragma('journal_mode = delete');
    const found = String(copy.pragma('quick_check(1)', { simple: true }));
    if (found !== 'ok') throw new StoreError('store.damaged', `the copy is damaged: ${found}`);
  } finally {
    copy.close();
  }
}

/**
 * Checks a database by reading only, because closing a connection that can write would write its
 * log back.
 */
function isSound(path: string): boolean {
  let aside: Database.Database | undefined;
  try {
    aside = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 });
    return aside.pragma('quick_check(1)', { simple: true }) === 'ok';
  } catch {
    return false;
  } finally {
    aside?.close();
  }
}

/**
 * Writes the log of a replaced database back, because it may hold the last rows. A damaged database
 * stays as it is, so that somebody can still save a part of it.
 */
export function sealAside(path: string): void {
  if (!existsSync(`${path}-wal`) || !isSound(path)) return;
  let aside: Database.Database | undefined;
  try {
    aside = new Database(path, { fileMustExist: true, timeout: 0 });
    aside.pragma('journal_mode = delete');
  } catch {
    // If somebody reads the database, or there is no room, it stays whole together with its log.
  } finally {
    aside?.close();
  }
}
