/** Making folders. */
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
