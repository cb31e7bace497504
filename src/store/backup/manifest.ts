/**
 * Manifest of a backup: the JSON file beside its copies. Its schema, names and times, and the list
 * of backups.
 */
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import { RefusedError, toError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { databaseMadeAt } from './inspect.ts';

const part = z.object({
  /** Name of a copy in the manifest's own folder: a manifest must not name files elsewhere. */
  file: z.string().regex(/^[^/]+\.db$/),
  bytes: z.number(),
  sha256: z.string(),
  schema: z.number(),
  rows: z.record(z.string(), z.number()),
});
const manifest = z.object({
  /** Time of the backup, ISO text. */
  createdAt: z.string(),
  program: z.string(),
  /**
   * Time at which the copied database was made, ISO text, which tells databases apart. Undefined:
   * the copy does not say it.
   */
  databaseMadeAt: z.string().optional(),
  mirror: part,
  exchange: part.nullable(),
});

export type BackupPart = z.output<typeof part>;
export type BackupManifest = z.output<typeof manifest>;

export interface Backup {
  /** Path of the manifest, which names the backup. */
  readonly path: string;
  readonly manifest: BackupManifest;
}

/** Settings by which backups are found. */
export type BackupPlace = Pick<Config, 'dataDir' | 'store'>;

/** Folder of the backups according to the configuration. */
export function backupDirectory({ dataDir, store }: BackupPlace): string {
  return store.backup.directory ?? join(dataDir, 'backups');
}

/** Hint for a restore over a database that is not the one of the backup. */
export const OTHER_DATABASE_HINT =
  'is --config the right one? Else name a backup of this database (selvedge backup list); ' +
  'if the other one is meant, move mirror.db, -wal and -shm away first';

const NAME = /^backup-\d{8}T\d{6}Z\.json$/;

/** Name of a backup made at this time, as in `backup-20260105T080000Z`, without an ending. */
export function backupName(at: number): string {
  return `backup-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}`;
}

/** Reads a manifest; undefined: the file is none, or this user may not read it. */
export function readManifest(path: string): BackupManifest | undefined {
  try {
    return manifest.safeParse(tryParseJson(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/**
 * Tells whether the file is a finished backup's copy of the mirror: a manifest beside it names it.
 */
export function isMirrorOfBackup(path: string): boolean {
  const slip = path.replace(/-mirror\.db$/, '.json');
  return slip !== path && readManifest(slip)?.mirror.file === basename(path);
}

/**
 * Tells whether two copies may be of one database; if the time at which it was made is unknown of
 * one, they may.
 */
export function mayBeSame(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

/**
 * Milliseconds by which the clock of the machine that made a backup may differ from the clock that
 * asks.
 */
const SKEW_MS_MAX = 300_000;

const isNameAhead = (name: string, now: number): boolean =>
  name > `${backupName(now + SKEW_MS_MAX)}.json`;

/**
 * Tells whether the backup's date is in the future: the clock was ahead, so nobody knows how new it
 * truly is.
 */
export function isAhead({ path }: Pick<Backup, 'path'>, now: number): boolean {
  return isNameAhead(basename(path), now);
}

/**
 * Finished backups of a folder, the newest first and those with a date in the future last, at most
 * `most`. Backups that say that they are of another database than the one made at `madeAt` are left
 * out.
 */
export function listBackups(
  directory: string,
  now: number,
  most = Number.POSITIVE_INFINITY,
  madeAt?: string,
): Backup[] {
  if (!statSync(directory, { throwIfNoEntry: false })) return [];
  const names = readdirSync(directory).filter((name) => NAME.test(name));
  names.sort().reverse();
  const ahead = names.filter((name) => isNameAhead(name, now));
  const backups: Backup[] = [];
  for (const name of [...names.slice(ahead.length), ...ahead]) {
    if (backups.length >= most) break;
    const path = join(directory, name);
    const found = readManifest(path);
    if (found && mayBeSame(found.databaseMadeAt, madeAt)) backups.push({ path, manifest: found });
  }
  return backups;
}

function configuredMadeAt({ dataDir }: BackupPlace): string | undefined {
  return databaseMadeAt(join(dataDir, 'mirror.db'));
}

/** Finds the newest backup of the configured database; a caller that asks often passes `madeAt`. */
export function newestBackup(
  config: BackupPlace,
  now: number,
  madeAt = configuredMadeAt(config),
): Backup | undefined {
  const [newest] = listBackups(backupDirectory(config), now, 1, madeAt);
  return newest && !isAhead(newest, now) ? newest : undefined;
}

/** Counts backups of the configured database that were made while the clock was ahead. */
export function countAhead(config: BackupPlace, now: number): number {
  const own = listBackups(backupDirectory(config), now, undefined, configuredMadeAt(config));
  return own.filter((one) => isAhead(one, now)).length;
}

/**
 * Backups in one folder: those of the configured database, newest first, and the number of others.
 */
interface FoundBackups {
  readonly own: readonly Backup[];
  readonly others: number;
}

/**
 * Lists the backups of the configured database and counts those of others. Throws when the folder
 * is missing or unreadable, because that does not mean that there are no backups.
 */
export function requireBackups(
  config: BackupPlace,
  now: number,
  directory = backupDirectory(config),
): FoundBackups {
  try {
    if (statSync(directory, { throwIfNoEntry: false })) {
      const all = listBackups(directory, now);
      const madeAt = configuredMadeAt(config);
      const own = all.filter(({ manifest }) => mayBeSame(manifest.databaseMadeAt, madeAt));
      return { own, others: all.length - own.length };
    }
  } catch (cause) {
    const message = `the backups in ${directory} cannot be read: ${toError(cause).message}`;
    const hint = 'is it a folder, and are you the user of the service (runuser -u selvedge)?';
    throw new RefusedError('backup.unreadable', message, { hint, cause });
  }
  throw new RefusedError('backup.no_folder', `there is no folder ${directory}`, {
    hint: '"selvedge backup create" makes it; else check store.backup.directory',
  });
}

function newestOf({ own, others }: FoundBackups, directory: string): Backup {
  const [newest] = own;
  if (newest === undefined) {
    const rest = others === 0 ? '' : `, but ${others} of another database`;
    throw new RefusedError('backup.none', `there is no backup in ${directory}${rest}`, {
      hint: others === 0 ? 'selvedge backup create' : OTHER_DATABASE_HINT,
    });
  }
  const marked = own.filter(({ manifest }) => manifest.databaseMadeAt !== undefined);
  const byDatabase = Map.groupBy(marked, ({ manifest }) => manifest.databaseMadeAt);
  if (byDatabase.size < 2) return newest;
  const each = [...byDatabase.values()].map(([first]) => first?.path).join(', ');
  const message = `${directory} holds backups of ${byDatabase.size} databases: ${each}`;
  throw new RefusedError('backup.ambiguous', message, { hint: 'name the one that is meant' });
}

/**
 * Newest backup of the configured database; if that is absent, of the only database in the folder.
 */
export function requireNewest(config: BackupPlace, now: number): Backup {
  return newestOf(requireBackups(config, now), backupDirectory(config));
}

/**
 * Newest backup, provided that it is certain to be the newest: a restore of an older one would lose
 * all that is newer.
 */
export function requireCertainNewest(config: BackupPlace, now: number): Backup {
  const found = requireBackups(config, now);
  const newest = newestOf(found, backupDirectory(config));
  const ahead = found.own.find((one) => isAhead(one, now));
  if (ahead === undefined || isAhead(newest, now)) return newest;
  const message =
    `it cannot be told which backup is the newest: ${newest.path}, ` +
    `or ${ahead.path}, made while the clock was ahead`;
  throw new RefusedError('backup.ambiguous', message, { hint: 'name the one that is meant' });
}

/** SHA-256 of a finished copy, which nobody has open as a database. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
