/**
 * A folder in memory where tests write without waiting for a disk: what they write is thrown away
 * with them.
 */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Linux's own; it needs no right, as mounting another one would. */
const FOLDER = '/dev/shm';

/** Several times what the tests of three workers keep at once. */
const ROOM_BYTES_MIN = 2 * 1024 ** 3;

/** Some tests start a program that they have written, which a mount may forbid. */
function mayStartPrograms(folder: string): boolean {
  const own = mkdtempSync(join(folder, 'selvedge-'));
  const program = join(own, 'program');
  try {
    writeFileSync(program, '', { mode: 0o700 });
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** undefined where there is none, where it is small (as in most containers), or no good. */
export function folderInMemory(folder = FOLDER): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ROOM_BYTES_MIN && mayStartPrograms(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}
