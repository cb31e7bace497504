/** Makes a database a plain file: no log beside it, so that it can be moved. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError } from '../../lib/errors.ts';

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

/** Whoever opens it for writing writes its log back as he closes it, so this one only reads. */
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
 * Of what is put aside: its log may hold what came last, or be what a reader left. A damaged one
 * stays as it is with all that lies beside it, for whoever wants to save some of it.
 */
export function sealAside(path: string): void {
  if (!existsSync(`${path}-wal`) || !isSound(path)) return;
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
