/** Makes a database a plain file: no log beside it, so that it can be moved. */
import Database from 'better-sqlite3';
import { StoreError } from '../../lib/errors.ts';
import { databaseMadeAt } from './inspect.ts';

/** Of a copy that nobody else has open. Throws StoreError when the copy is damaged. */
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
 * Of what was put aside: its log may hold what came last, or be what a reader left. One that cannot
 * be read stays as it is with all that lies beside it, for whoever wants to save some of it.
 */
export function sealAside(path: string): void {
  if (databaseMadeAt(path) === undefined) return;
  let aside: Database.Database | undefined;
  try {
    aside = new Database(path, { fileMustExist: true, timeout: 0 });
    aside.pragma('journal_mode = delete');
  } catch {
    // Somebody reads it, or there is no room: it stays whole together with its log.
  } finally {
    aside?.close();
  }
}
