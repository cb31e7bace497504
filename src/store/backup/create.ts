/**
 * Makes backups: copies of the databases beside a running daemon. `VACUUM INTO` on a connection
 * that cannot write gives a consistent, compact copy and disturbs nobody; SQLite's own backup
 * interface would start again with every write of the daemon. A copy counts once it was opened and
 * every page of it was checked; until then it has another name, so that a stop or a full disk
 * leaves no half backup.
 *
 * Reads mirror.db and exchange.db through SQLite only; writes and deletes in the backup folder.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { ConfigError, StoreError, toError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { makeFolder } from '../folders.ts';
import { requireDatabase } from '../writers/in-place.ts';
import { copyDatabase, isThere } from './copy.ts';
import { type Contents, databaseMadeAt, inspectCopy } from './inspect.ts';
import {
  type Backup,
  type BackupPart,
  backupName,
  digestOf,
  listBackups,
  mayBeSame,
} from './manifest.ts';

export interface BackupPlan {
  readonly dataDir: string;
  /** Path of exchange.db, which may lie in another folder or be absent. */
  readonly exchangeFile: string;
  readonly directory: string;
  /** Number of backups that stay; the oldest are removed first. */
  readonly keep: number;
  readonly busyTimeoutMs: number;
  readonly program: string;
}

const PARTIAL = '.partial';
const SLIP = '.json';

/**
 * Milliseconds after which a backup counts as interrupted: the service manager's unit allows it no
 * more.
 */
const RUN_MS_MAX = 3_600_000;

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Checks a new copy. If it is damaged, so is its source or the disk, and the hint says that, not to
 * take an older backup.
 */
function inspectNew(partial: string, source: string): Contents {
  try {
    return inspectCopy(partial);
  } catch (cause) {
    const reason = toError(toError(cause).cause).message;
    const message = `a copy of ${source} is damaged, made just now: ${reason}`;
    const hint = 'so is the database itself, or the disk of the copy: "selvedge doctor"';
    throw new StoreError('backup.damaged', message, { hint, cause });
  }
}

async function makePart(source: string, target: string, plan: BackupPlan): Promise<BackupPart> {
  const partial = target + PARTIAL;
  copyDatabase(source, partial, plan.busyTimeoutMs);
  const contents = inspectNew(partial, source);
  flush(partial);
  const sha256 = await digestOf(partial);
  return { file: basename(target), bytes: statSync(partial).size, sha256, ...contents };
}

function removeBackup({ path, manifest }: Backup): void {
  // The manifest is renamed first, because copies without one are no backup; what a stop leaves,
  // the next run removes.
  renameSync(path, path + PARTIAL);
  for (const part of [manifest.mirror, manifest.exchange]) {
    if (part) rmSync(join(dirname(path), part.file), { force: true });
  }
  rmSync(path + PARTIAL, { force: true });
}

/**
 * Removes copies without a manifest, which a stop or a failure left while the files were renamed.
 */
function removeCopies(slip: string): void {
  if (existsSync(slip)) return;
  for (const name of ['mirror', 'exchange']) {
    rmSync(`${slip.slice(0, -SLIP.length)}-${name}.db`, { force: true });
  }
}

/**
 * Removes unfinished files that an interrupted run left, but not those that a parallel run may be
 * writing.
 */
function removePartials(directory: string, now: number): void {
  const oldest = backupName(now - RUN_MS_MAX);
  for (const name of readdirSync(directory)) {
    if (!name.startsWith('backup-') || !name.includes(PARTIAL) || name >= oldest) continue;
    const path = join(directory, name);
    if (name.endsWith(SLIP + PARTIAL)) removeCopies(path.slice(0, -PARTIAL.length));
    rmSync(path, { force: true });
  }
}

/**
 * Reserves the backup's name; false: it is taken. Two backups made in the same second would write,
 * and clear away, the same files.
 */
function takeName(path: string): boolean {
  try {
    closeSync(openSync(path + PARTIAL, 'wx', 0o600));
  } catch (cause) {
    if (isJsonObject(cause) && cause.code === 'EEXIST') return false;
    throw cause;
  }
  if (!existsSync(path)) return true;
  rmSync(path + PARTIAL);
  return false;
}

/**
 * Copies the databases, checks the copies, and gives all files their final names, the manifest
 * last.
 */
async function makeBackup(plan: BackupPlan, base: string, now: number): Promise<Backup> {
  const path = `${base}.json`;
  const [mirrorCopy, exchangeCopy] = [`${base}-mirror.db`, `${base}-exchange.db`];
  const { dataDir, exchangeFile, program } = plan;
  try {
    const mirror = await makePart(join(dataDir, 'mirror.db'), mirrorCopy, plan);
    const has = isThere(exchangeFile);
    const exchange = has ? await makePart(exchangeFile, exchangeCopy, plan) : null;
    const made = databaseMadeAt(mirrorCopy + PARTIAL);
    const manifest = {
      createdAt: new Date(now).toISOString(),
      program,
      mirror,
      exchange,
      ...(made !== undefined && { databaseMadeAt: made }),
    };
    writeFileSync(path + PARTIAL, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    flush(path + PARTIAL);
    for (const target of [mirrorCopy, ...(has ? [exchangeCopy] : []), path]) {
      renameSync(target + PARTIAL, target);
    }
    flush(plan.directory);
    return { path, manifest };
  } finally {
    for (const target of [mirrorCopy, exchangeCopy, path]) {
      rmSync(target + PARTIAL, { force: true });
    }
    removeCopies(path);
  }
}

/** Makes a backup, checks it, and removes the oldest ones of this database beyond `keep`. */
export async function createBackup(
  plan: BackupPlan,
  clock: Clock,
): Promise<{ readonly backup: Backup; readonly removed: readonly string[] }> {
  const { directory } = plan;
  // The database is required first, because a wrong dataDir must not become a folder of backups.
  requireDatabase(plan.dataDir);
  const now = clock.now();
  const base = join(directory, backupName(now));
  let isOurs: boolean;
  try {
    makeFolder(directory, 0o700);
    removePartials(directory, now);
    isOurs = takeName(`${base}.json`);
  } catch (cause) {
    const message = `no backup can be made in ${directory}: ${toError(cause).message}`;
    const hint = 'is store.backup.directory right, and may this user write there?';
    throw new ConfigError('backup.folder', message, { hint, cause });
  }
  if (!isOurs) {
    const message = `${base}.json is there already, or under way`;
    throw new StoreError('backup.exists', message, { hint: 'wait a second' });
  }
  const backup = await makeBackup(plan, base, now);
  // The new backup is left out by its path, because a clock that was set back may sort it behind
  // others.
  const others = listBackups(directory, now).filter(
    ({ path, manifest }) =>
      path !== backup.path && mayBeSame(manifest.databaseMadeAt, backup.manifest.databaseMadeAt),
  );
  const old = others.slice(plan.keep - 1);
  for (const one of old) removeBackup(one);
  return { backup, removed: old.map(({ path }) => path) };
}
