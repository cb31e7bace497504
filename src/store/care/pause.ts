/**
 * The brake for everything that has an effect at the service: a file in the data folder. While it
 * is there, nothing is sent; what was sent is still looked up. A file, because it works while the
 * daemon runs and while it does not, and because `touch` is enough in an emergency.
 */
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, isDiskFull, toError } from '../../lib/errors.ts';
import { isFolderLocked, lockFile } from '../lock.ts';
import { RESTORING, requireDatabase } from '../writers/in-place.ts';

function pauseFile(dataDir: string): string {
  return join(dataDir, 'pushes.stop');
}

/** Why nothing is sent; undefined: it is. Asked before each push. */
export function pauseReason(dataDir: string): string | undefined {
  const file = pauseFile(dataDir);
  try {
    return readFileSync(file, 'utf8').trim() || 'without a reason';
  } catch {
    // A file of root is a pause too. One that has gone meanwhile is none.
    return existsSync(file) ? `the reason in ${file} cannot be read by this user` : undefined;
  }
}

/** In an emergency it matters to know at once that the brake was not pulled. */
function changed(dataDir: string, change: (file: string) => void): void {
  const file = pauseFile(dataDir);
  try {
    // Where no database is, only a daemon asks for it whose database somebody has taken away. One
    // that is being restored is none yet.
    const isAsked = isFolderLocked(lockFile(dataDir)) === true;
    if (!isAsked && !existsSync(join(dataDir, `mirror.db${RESTORING}`))) requireDatabase(dataDir);
    change(file);
  } catch (cause) {
    const message = `nothing was changed: ${toError(cause).message}`;
    const hint = 'is dataDir right, and are you the user of the service (sudo -u selvedge)?';
    throw new ConfigError('store.pause', message, { hint, cause });
  }
}

export function pausePushes(dataDir: string, reason: string): void {
  changed(dataDir, (file) => {
    // On a full disk the file is made and stays empty: a pause all the same, without its reason.
    closeSync(openSync(file, 'a', 0o640));
    try {
      writeFileSync(file, `${reason}\n`);
    } catch (cause) {
      if (!isDiskFull(cause)) throw cause;
    }
  });
}

/** Whether there was a pause to end. */
export function resumePushes(dataDir: string): boolean {
  const was = existsSync(pauseFile(dataDir));
  changed(dataDir, (file) => rmSync(file, { force: true }));
  return was;
}
