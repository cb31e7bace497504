/** Makes folders, and files of a certain mode. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes the folder, and those above it, if it does not exist. Node's own `recursive` never ends
 * where the folder above exists and the system says all the same that it does not, as in /proc.
 */
export function makeFolder(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(path);
  if (!existsSync(above)) makeFolder(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // If another process made the folder meanwhile, all is well.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Makes a file or folder with exactly this mode, whatever the umask. A chmod afterwards would come
 * too late if the process is stopped in between. It would also remove the bit by which new files
 * get the group of their folder, and the service manager forbids to set that bit again.
 */
export function withMode<T>(mode: number, make: (mode: number) => T): T {
  const umask = process.umask(0o777 & ~mode);
  try {
    return make(mode);
  } finally {
    process.umask(umask);
  }
}
