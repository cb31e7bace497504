/**
 * A name may come to stand for another file: somebody moves the database away, lays an older copy
 * in its place, or removes its log. Whoever has it open writes on into files that nobody finds
 * again, and whoever opens it anew mixes the two. So nothing is written before this was looked at.
 */
import { statSync } from 'node:fs';
import { StoreError } from '../../lib/errors.ts';

/** They belong together, and stay as long as somebody has the database open. */
const ENDINGS = ['', '-wal', '-shm'];

/** Undefined: of that one nothing is known. */
export type FileIds = readonly (string | undefined)[];

/** Empty: it is not there. */
export function idOf(file: string): string | undefined {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : '';
  } catch {
    // Whoever may not look into the folder any more still has the same files open.
    return undefined;
  }
}

export function filesOf(path: string): FileIds {
  return ENDINGS.map((ending) => idOf(path + ending));
}

/** Throws StoreError `store.taken_away` when they are no longer the files that they were. */
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
