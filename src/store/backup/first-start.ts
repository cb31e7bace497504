/**
 * Guard of the first start: an absent `mirror.db` means a new installation only where nothing else
 * is left of an older one. A daemon that begins with an empty database does not know what was sent,
 * nor what a person has held.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Config } from '../../config/schema.ts';
import { StoreError } from '../../lib/errors.ts';
import { exchangeFile, isWithoutContent } from '../exchange/exchange.ts';
import { refuseToForget } from '../writers/in-place.ts';
import { backupDirectory, listBackups } from './manifest.ts';

/**
 * Tells whether a daemon has written receipts to the exchange file; the ERP's client may have made
 * the file first.
 */
function hasOurReceipts(path: string): boolean {
  if (isWithoutContent(path)) return false;
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { readonly: true, fileMustExist: true });
    const found = database.prepare(`select 1 from receipt where state <> 'waiting' limit 1`).get();
    return found !== undefined;
  } catch {
    // A part of the daemon that opens the file later reports that it cannot be read.
    return false;
  } finally {
    database?.close();
  }
}

interface Remains {
  readonly path: string;
  /** Text that tells a person how to start without the remains of the older installation. */
  readonly without: string;
}

function remainsOf(
  config: Pick<Config, 'dataDir' | 'store' | 'intake'>,
  now: number,
): Remains | undefined {
  const reserved = join(config.dataDir, 'ballast');
  if (existsSync(reserved)) return { path: reserved, without: `move ${reserved} away` };
  const exchange = exchangeFile(config);
  if (hasOurReceipts(exchange)) return { path: exchange, without: `move ${exchange} away` };
  const directory = backupDirectory(config);
  const [backup] = listBackups(directory, now, 1);
  if (backup === undefined) return undefined;
  const without = `move the backups in ${directory} away, or name another store.backup.directory`;
  return { path: backup.path, without };
}

/** Throws StoreError `store.forgotten` when the database is absent but remains of it are there. */
export function requireFirstStart(
  config: Pick<Config, 'dataDir' | 'store' | 'intake'>,
  now: number,
): void {
  const path = join(config.dataDir, 'mirror.db');
  refuseToForget(path);
  if (existsSync(path)) return;
  const remains = remainsOf(config, now);
  if (remains === undefined) return;
  const message = `${path} is not there, but it was: ${remains.path} is left of it`;
  throw new StoreError('store.forgotten', message, {
    hint:
      'put it back, or restore a backup ("selvedge backup restore"); to begin with nothing, ' +
      `not knowing what was sent or held, ${remains.without}`,
  });
}
