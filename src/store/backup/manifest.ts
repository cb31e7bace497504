/** The slip of paper beside a backup: what it must hold. Names and times of backups. */
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import { RefusedError, toError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';

const part = z.object({
  file: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  schema: z.number(),
  rows: z.record(z.string(), z.number()),
});
const manifest = z.object({
  /** ISO. */
  createdAt: z.string(),
  program: z.string(),
  mirror: part,
  exchange: part.nullable(),
});

export type BackupPart = z.output<typeof part>;
export type BackupManifest = z.output<typeof manifest>;

export interface Backup {
  /** The manifest's path, which names the backup. */
  readonly path: string;
  readonly manifest: BackupManifest;
}

/** The folder of the backups as the configuration describes it. */
export function backupDirectory({ dataDir, store }: Pick<Config, 'dataDir' | 'store'>): string {
  return store.backup.directory ?? join(dataDir, 'backups');
}

const NAME = /^backup-\d{8}T\d{6}Z\.json$/;

/** `backup-20260105T080000Z`, without an ending. */
export function backupName(at: number): string {
  return `backup-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}`;
}

/** Undefined when it is no manifest, or one that another user has made for himself. */
export function readManifest(path: string): BackupManifest | undefined {
  try {
    return manifest.safeParse(tryParseJson(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Whether the file is a finished backup's copy of the mirror: its slip lies beside it. */
export function isMirrorOfBackup(path: string): boolean {
  const slip = path.replace(/-mirror\.db$/, '.json');
  return slip !== path && readManifest(slip)?.mirror.file === basename(path);
}

/** The finished backups of a folder, newest first, as many as asked for. */
export function listBackups(directory: string, most = Number.POSITIVE_INFINITY): Backup[] {
  if (!statSync(directory, { throwIfNoEntry: false })) return [];
  const names = readdirSync(directory).filter((name) => NAME.test(name));
  const backups: Backup[] = [];
  for (const name of names.sort().reverse()) {
    if (backups.length >= most) break;
    const path = join(directory, name);
    const found = readManifest(path);
    if (found) backups.push({ path, manifest: found });
  }
  return backups;
}

/** As {@link listBackups}, for a person: no folder, or one that cannot be read, is not "none". */
export function requireBackups(directory: string): Backup[] {
  try {
    if (statSync(directory, { throwIfNoEntry: false })) return listBackups(directory);
  } catch (cause) {
    const message = `the backups in ${directory} cannot be read: ${toError(cause).message}`;
    const hint = 'is it a folder, and are you the user of the service (sudo -u selvedge)?';
    throw new RefusedError('backup.unreadable', message, { hint, cause });
  }
  throw new RefusedError('backup.no_folder', `there is no folder ${directory}`, {
    hint: '"selvedge backup create" makes it; else check store.backup.directory',
  });
}

/** The digest of a finished copy, which nobody has open as a database. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
