/**
 * Copies of the databases beside a running daemon. `VACUUM INTO` on a connection that cannot write
 * gives a consistent, compact copy and disturbs nobody; SQLite's own backup interface would start
 * again with every write of the daemon. A copy counts once it was opened and every page of it was
 * checked; until then it has another name, so that a stop or a full disk leaves no half backup.
 *
 * Reads mirror.db and exchange.db through SQLite only; writes and deletes in the backup folder.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import { StoreError, toError } from '../../lib/errors.ts';
import { inspectCopy } from './inspect.ts';
import { type Backup, type BackupPart, backupName, digestOf, listBackups } from './manifest.ts';

export interface BackupPlan {
  readonly dataDir: string;
  /** It may lie elsewhere, and need not be there. */
  readonly exchangeFile: string;
  readonly directory: string;
  /** How many backups stay; the oldest go first. */
  readonly keep: number;
  readonly busyTimeoutMs: number;
  /** The program's version. */
  readonly program: string;
}

const PARTIAL = '.partial';

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function copyInto(source: string, target: string, busyTimeoutMs: number): void {
  const options = { readonly: true, fileMustExist: true, timeout: busyTimeoutMs };
  let from: Database.Database | undefined;
  try {
    from = new Database(source, options);
    from.prepare('vacuum into ?').run(target);
  } catch (cause) {
    const message = `${source} cannot be copied to ${target}: ${toError(cause).message}`;
    const hint = 'is there room on that disk, and may this user write there?';
    throw new StoreError('backup.failed', message, { hint, cause });
  } finally {
    from?.close();
  }
}

async function makePart(source: string, target: string, plan: BackupPlan): Promise<BackupPart> {
  const partial = target + PARTIAL;
  try {
    copyInto(source, partial, plan.busyTimeoutMs);
    chmodSync(partial, 0o600);
    const contents = inspectCopy(partial);
    flush(partial);
    const sha256 = await digestOf(partial);
    const bytes = statSync(partial).size;
    renameSync(partial, target);
    return { file: basename(target), bytes, sha256, ...contents };
  } finally {
    rmSync(partial, { force: true });
  }
}

function removeBackup({ path, manifest }: Backup): void {
  // First the slip: copies without one are no backup.
  rmSync(path, { force: true });
  for (const part of [manifest.mirror, manifest.exchange]) {
    if (part) rmSync(join(dirname(path), part.file), { force: true });
  }
}

/** What a stop in the middle left behind. */
function removePartials(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith('backup-') && name.endsWith(PARTIAL)) {
      rmSync(join(directory, name), { force: true });
    }
  }
}

/** Makes a backup, checks it, and removes the oldest ones beyond `keep`. */
export async function createBackup(
  plan: BackupPlan,
  clock: Clock,
): Promise<{ readonly backup: Backup; readonly removed: readonly string[] }> {
  const { dataDir, directory } = plan;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  removePartials(directory);
  const base = join(directory, backupName(clock.now()));
  const path = `${base}.json`;
  if (existsSync(path)) {
    throw new StoreError('backup.exists', `${path} is there already`, { hint: 'wait a second' });
  }
  const createdAt = new Date(clock.now()).toISOString();
  const mirror = await makePart(join(dataDir, 'mirror.db'), `${base}-mirror.db`, plan);
  const other = plan.exchangeFile;
  const exchange = existsSync(other) ? await makePart(other, `${base}-exchange.db`, plan) : null;
  const manifest = { createdAt, program: plan.program, mirror, exchange };
  writeFileSync(path + PARTIAL, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
  flush(path + PARTIAL);
  renameSync(path + PARTIAL, path);
  flush(directory);
  const old = listBackups(directory).slice(plan.keep);
  for (const backup of old) removeBackup(backup);
  return { backup: { path, manifest }, removed: old.map((backup) => backup.path) };
}
