/**
 * Publishes a snapshot of the mirror for reports elsewhere: one file without a write-ahead log,
 * which anybody can open while the daemon goes on. It appears under its name all at once, in place
 * of an older one.
 */
import {
  chmodSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isStoreUnusable, RefusedError, toError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import { isMirrorOfBackup } from '../store/backup/manifest.ts';
import { sealCopy } from '../store/backup/seal.ts';
import { openReader, readHead } from '../store/connection.ts';
import { asCorruptionError } from '../store/transaction/dialect.ts';
import { FILE_MODE } from './output-file.ts';
import type { Report } from './report-file.ts';
import { VIEWS } from './views.ts';

/** Metadata for Datasette, which finds it by the file's name without extension. */
export function datasetteMetadata(database: string, reports: readonly Report[]): object {
  const tables = VIEWS.map(({ name, about, columns }) => [name, { description: about, columns }]);
  const queries = reports.map(({ name, title, about, sql, params }) => [
    name,
    {
      sql,
      title,
      ...(about === undefined ? {} : { description: about }),
      params: Object.keys(params),
    },
  ]);
  return {
    title: 'Selvedge',
    description: 'The mirror of stock, orders and deliveries, and what was decided.',
    databases: {
      [database]: { tables: Object.fromEntries(tables), queries: Object.fromEntries(queries) },
    },
  };
}

export interface SnapshotOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
}

function isSameFile(path: string, other: string): boolean {
  const [one, two] = [path, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return one !== undefined && one.ino === two?.ino && one.dev === two.dev;
}

/** Whether the file is a snapshot, which unlike a mirror has no write-ahead log. */
function isCopy(path: string): boolean {
  try {
    const { isOurs, hasLog } = readHead(path);
    return isOurs && hasLog === false;
  } catch {
    // The file does not exist, or this user cannot read it, so it is no snapshot to replace.
    return false;
  }
}

/** Refuses to replace anything but an older snapshot: another file is somebody's. */
function requireOlderCopy(target: string): void {
  if (isMirrorOfBackup(target)) {
    const message = `${target} is the copy of a backup, which would be none any more`;
    throw new RefusedError('report.snapshot_of_backup', message, { hint: 'name another file' });
  }
  if (!existsSync(target) || isCopy(target)) return;
  const message = `${target} is there, and no copy of a mirror`;
  throw new RefusedError('report.snapshot_of_other', message, {
    hint: 'name another file, or remove this one',
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isJsonObject(error) && error.code === 'EPERM';
  }
}

/** Removes unfinished snapshots of processes that were killed. */
function removeLeft(target: string): void {
  const folder = dirname(target);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(basename(target))) continue;
    const found = /^\.(\d+)\.unfinished$/.exec(name.slice(basename(target).length));
    if (!found || isRunning(Number(found[1]))) continue;
    rmSync(join(folder, name), { force: true });
  }
}

/**
 * Creates the snapshot's file empty with its final mode, because SQLite fills an existing file and
 * others must never be able to read it.
 */
function makeEmpty(path: string): void {
  writeFileSync(path, '', { flag: 'wx', mode: FILE_MODE });
  chmodSync(path, FILE_MODE);
}

/** Writes the snapshot to `target`; blocks this thread meanwhile. */
export function publishSnapshot(source: SnapshotOptions, target: string): void {
  if (isSameFile(source.path, target)) {
    const message = `${target} is the mirror itself: the copy would replace it`;
    throw new RefusedError('report.snapshot_of_itself', message, {
      hint: 'name another file, or none: then it is snapshot.db in the data folder',
    });
  }
  requireOlderCopy(target);
  // The process id keeps two runs from writing the same unfinished file.
  const unfinished = `${target}.${process.pid}.unfinished`;
  const database = openReader(source.path, source);
  try {
    removeLeft(target);
    rmSync(unfinished, { force: true });
    makeEmpty(unfinished);
    // `vacuum into` needs query-only mode off; the mirror is open for reading only.
    database.pragma('query_only = 0');
    database.prepare('vacuum into ?').run(unfinished);
    sealCopy(unfinished);
    renameSync(unfinished, target);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    const thrown = asCorruptionError(cause, source.path);
    if (isStoreUnusable(thrown)) throw thrown;
    const message = `cannot write ${target}: ${toError(cause).message}`;
    throw new RefusedError('report.snapshot', message, {
      hint: 'the folder must exist, be writable for this user and have room for the whole file',
      cause,
    });
  } finally {
    database.close();
  }
}
