/** Writes the files of reports: whole or not at all, and replacing nothing but an older file. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { RefusedError, toError } from '../lib/errors.ts';

/** File mode of reports, which show customers and prices: owner and group only. */
export const FILE_MODE = 0o640;

/** File names of databases and what belongs to them, which a report never replaces. */
const DATABASE = /\.(?:db|sqlite3?)(?:-[a-z]+)?$/i;

function refuse(target: string, is: string): never {
  throw new RefusedError('report.output', `${target} is ${is}`, {
    hint: 'name another file; without --output the report goes to standard output',
  });
}

/** Path to write for a target; a symbolic link stays, and what it leads to is replaced. */
function placeFor(target: string): string {
  const stat = statSync(target, { throwIfNoEntry: false });
  if (!stat) return target;
  if (stat.isDirectory()) refuse(target, 'a folder');
  if (!stat.isFile()) refuse(target, 'no file');
  if (DATABASE.test(target)) refuse(target, 'a database');
  return realpathSync(target);
}

function writeAll(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx', FILE_MODE);
  try {
    fchmodSync(file, FILE_MODE);
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Refuses a target that cannot be written, before any row is read for it. */
export function requireOutput(target: string): void {
  placeFor(target);
}

/** Writes a file whole, by renaming a finished one; throws RefusedError if that fails. */
export function writeOutput(target: string, bytes: Uint8Array): void {
  const place = placeFor(target);
  // The process id keeps two runs from writing the same unfinished file.
  const unfinished = join(dirname(place), `.${basename(place)}.${process.pid}.unfinished`);
  try {
    rmSync(unfinished, { force: true });
    writeAll(unfinished, bytes);
    renameSync(unfinished, place);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    const message = `cannot write ${target}: ${toError(cause).message}`;
    throw new RefusedError('report.output', message, {
      hint: 'the folder must exist, be writable for this user and have room',
      cause,
    });
  }
}
