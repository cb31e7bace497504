/** Copies a database while others may be writing it. */
import { statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { RetryLaterError, StoreError, toError } from '../../lib/errors.ts';
import { copyBytes, requireRoom } from '../space.ts';
import { asCorruptionError } from '../transaction/dialect.ts';

/**
 * Share of its largest possible size that a copy needs at least: pages that are half empty are
 * joined.
 */
const PACKED = 0.5;

/** Hint without a file name: the damaged file may be the mirror or the exchange. */
const DAMAGED = 'it is damaged: keep it, and see docs/operating/backup.md';

/**
 * Tells whether the file exists. Throws StoreError `backup.failed` when this user may not look,
 * because the file may exist all the same.
 */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    const message = `nobody knows whether ${path} is there: ${toError(cause).message}`;
    const hint = 'may this user into its folder, by its group (docs/install.md)?';
    throw new StoreError('backup.failed', message, { hint, cause });
  }
}

/**
 * Makes a consistent, compact copy of a database in a new file that only its owner may read. Throws
 * StoreError `backup.failed`, and RetryLaterError `store.disk_full` when there clearly is no room.
 */
export function copyDatabase(source: string, target: string, busyTimeoutMs: number): void {
  const options = { readonly: true, fileMustExist: true, timeout: busyTimeoutMs };
  let from: Database.Database | undefined;
  try {
    from = new Database(source, options);
    const most = copyBytes(from);
    requireRoom(target, most, most * PACKED);
    // The copy is private from its first byte on, and its journal with it.
    writeFileSync(target, '', { mode: 0o600, flag: 'wx' });
    from.prepare('vacuum into ?').run(target);
  } catch (cause) {
    if (cause instanceof RetryLaterError) throw cause;
    const message = `${source} cannot be copied to ${target}: ${toError(cause).message}`;
    const isDamaged = asCorruptionError(cause, source) !== cause;
    const otherHint = from
      ? 'is there room on that disk, and may this user write there?'
      : 'start the daemon once, or check dataDir and the permissions';
    const hint = isDamaged ? DAMAGED : otherHint;
    throw new StoreError('backup.failed', message, { hint, cause });
  } finally {
    from?.close();
  }
}
