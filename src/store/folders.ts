/** Making folders, and files of a certain mode. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes the folder, and those above it, if it is not there. Node's own `recursive` never ends where
 * the folder above is there and the system says all the same that it is not, as in /proc.
 */
export function makeFolder(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(path);
  if (!existsSync(above)) makeFolder(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Somebody else was as fast.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Makes a file or folder with exactly this mode, whatever the umask. A chmod afterwards would come
 * too late for a stop in between, and would take away that new files belong to the group of their
 * folder, which the service manager forbids to give back.
 */
export function withMode<T>(mode: number, make: (mode: number) => T): T {
  const umask = process.umask(0o777 & ~mode);
  try {
    return make(mode);
  } finally {
    process.umask(umask);
  }
}
