/** A copy of a database that others may be writing. */
import { chmodSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError, toError } from '../../lib/errors.ts';

/** Consistent and compact, for its owner only; a new file. Throws StoreError `backup.failed`. */
export function copyDatabase(source: string, target: string, busyTimeoutMs: number): void {
  const options = { readonly: true, fileMustExist: true, timeout: busyTimeoutMs };
  let from: Database.Database | undefined;
  try {
    from = new Database(source, options);
    from.prepare('vacuum into ?').run(target);
    chmodSync(target, 0o600);
  } catch (cause) {
    const message = `${source} cannot be copied to ${target}: ${toError(cause).message}`;
    const hint = from
      ? 'is there room on that disk, and may this user write there?'
      : 'start the daemon once, or check dataDir and the permissions';
    throw new StoreError('backup.failed', message, { hint, cause });
  } finally {
    from?.close();
  }
}
