/** Makes a copy of the database a plain file: no log beside it, so that it can be moved. */
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
