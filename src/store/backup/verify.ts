/** Proves that a backup still is what it was when it was made. */
import { dirname, join } from 'node:path';
import { RefusedError, StoreError } from '../../lib/errors.ts';
import { inspectCopy } from './inspect.ts';
import { type BackupManifest, type BackupPart, digestOf, readManifest } from './manifest.ts';

function differ(path: string, what: string): StoreError {
  return new StoreError('backup.differs', `${path}: ${what}`, {
    hint: 'it was changed or damaged since it was made; take another backup',
  });
}

async function verifyPart(folder: string, part: BackupPart): Promise<void> {
  const path = join(folder, part.file);
  const { schema, rows } = inspectCopy(path);
  if (schema !== part.schema) throw differ(path, `schema ${schema} instead of ${part.schema}`);
  for (const [table, count] of Object.entries(part.rows)) {
    if (rows[table] === count) continue;
    throw differ(path, `${rows[table] ?? 'no'} rows in ${table} instead of ${count}`);
  }
  if ((await digestOf(path)) !== part.sha256) throw differ(path, 'another digest than written');
}

/**
 * Verifies the backup whose manifest has this path. Throws a StoreError that says what is wrong
 * with the copies.
 */
export async function verifyBackup(path: string): Promise<BackupManifest> {
  const manifest = readManifest(path);
  if (!manifest) {
    throw new RefusedError('backup.unknown', `${path} is no backup`, {
      hint: 'name the .json of a backup that this user may read; "selvedge backup list" shows them',
    });
  }
  await verifyPart(dirname(path), manifest.mirror);
  if (manifest.exchange) await verifyPart(dirname(path), manifest.exchange);
  return manifest;
}
