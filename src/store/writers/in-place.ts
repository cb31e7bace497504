/**
 * Guard of the database's path: a person may move the file away, put an older copy in its place, or
 * remove its log. An open connection would continue to write into files that nobody finds again, so
 * every write first proves that the path still names the open files.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreError, toError } from '../../lib/errors.ts';

/** Endings of the files that belong to one database and stay as long as somebody has it open. */
const ENDINGS = ['', '-wal', '-shm'];

/** Ids of a database's files; undefined: nothing is known of that file. */
export type FileIds = readonly (string | undefined)[];

/** Id of a file; empty: the file is missing; undefined: this user may not look. */
export function idOf(file: string): string | undefined {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : '';
  } catch {
    // A user who lost access to the folder still has the same files open.
    return undefined;
  }
}

export function filesOf(path: string): FileIds {
  return ENDINGS.map((ending) => idOf(path + ending));
}

/** Throws StoreError `store.taken_away` when the database's files were replaced while open. */
export function requireInPlace(path: string, files: FileIds): void {
  const isOther = (id: string | undefined, at: number): boolean =>
    id !== undefined && files[at] !== undefined && id !== files[at];
  const other = filesOf(path).findIndex(isOther);
  if (other < 0) return;
  const file = path + ENDINGS[other];
  const message = `somebody has moved, removed or replaced ${file}, which is in use`;
  throw new StoreError('store.taken_away', message, {
    hint: 'put back what was there, or restore a backup ("selvedge backup restore")',
  });
}

/** Suffix of a database that a restore prepares beside the one it replaces. */
export const RESTORING = '.restoring';

/**
 * Size in bytes of a database's header: a smaller file is no database, but SQLite takes it for a
 * new one (its file format, 1.3).
 */
const HEADER_BYTES = 100;

/** Files that exist only after the database did: one of them proves that there was a database. */
function besideOf(path: string): readonly string[] {
  const folder = dirname(path);
  return [`${path}-wal`, join(folder, 'exchange.db'), join(folder, 'ballast')];
}

/**
 * Refuses to start with an empty database where remains show that there was one: it would have
 * forgotten what was sent.
 */
export function refuseToForget(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  // An interrupted first start leaves an empty file as well, but nothing beside it.
  const beside = size !== undefined && size < HEADER_BYTES && besideOf(path).find(existsSync);
  if (beside) {
    throw new StoreError('store.emptied', `${path} is empty, but it was not: ${beside} is there`, {
      hint: 'restore a backup ("selvedge backup restore"); to begin with nothing, remove both',
    });
  }
  if (size !== undefined) return;
  if (existsSync(path + RESTORING)) {
    throw new StoreError('store.half_restored', `${path} is not there: a restore was cut off`, {
      hint: 'restore again; what was there before is beside it (.before-restore-…)',
    });
  }
  if (!existsSync(`${path}-wal`)) return;
  throw new StoreError('store.log_alone', `${path} is not there, but ${path}-wal is`, {
    hint: 'put back the database of that log, or restore a backup ("selvedge backup restore")',
  });
}

/** Requires a database, because a new, empty one would hide a wrong `dataDir`. */
export function requireDatabase(dataDir: string): void {
  const path = join(dataDir, 'mirror.db');
  refuseToForget(path);
  try {
    statSync(path);
  } catch (cause) {
    const message = `there is no database in ${dataDir} (${toError(cause).message})`;
    throw new StoreError('store.cannot_open', message, {
      hint: 'start the daemon once, or check dataDir and the permissions',
      cause,
    });
  }
}
