/**
 * Puts what an earlier holder left on this machine aside, before it waits as a standby: its data,
 * the exchange database and the files of its drop folder are of a past that ended, and are never
 * merged. Backups stay: each is judged when it is needed.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { sealAside } from '../../store/backup/seal.ts';
import { exchangeFile } from '../../store/exchange/exchange.ts';

/** What stays: the standby's own files, the lock that it holds, and backups. */
const STAYS = /^(?:standby\.json|standby-status\.json(?:\.partial)?|daemon\.lock.*|backups)$/;
const ASIDE = 'before-standby-';

export type SetAsideFolders = Pick<Config, 'dataDir' | 'intake'>;

function moveAll(from: string, names: readonly string[], to: string): void {
  if (names.length === 0) return;
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of names) renameSync(join(from, name), join(to, name));
}

/** Sets all of it aside; gives the folders in which it now is. */
export function setAside({ dataDir, intake }: SetAsideFolders, now: number): readonly string[] {
  if (!existsSync(join(dataDir, 'mirror.db'))) return [];
  sealAside(join(dataDir, 'mirror.db'));
  const name = `${ASIDE}${now}`;
  const folders: string[] = [];
  const move = (from: string, names: readonly string[]): void => {
    moveAll(from, names, join(from, name));
    if (names.length > 0) folders.push(join(from, name));
  };
  // The drop folder first: the database that says what was taken goes last, with all else.
  const { path } = intake.folder;
  if (path !== null && existsSync(path)) {
    const files = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isFile());
    move(
      path,
      files.map((entry) => entry.name),
    );
  }
  const exchange = exchangeFile({ dataDir, intake });
  const besides = [exchange, `${exchange}-wal`, `${exchange}-shm`];
  if (dirname(exchange) !== dataDir) {
    const there = besides.filter((file) => existsSync(file));
    move(
      dirname(exchange),
      there.map((file) => file.slice(dirname(exchange).length + 1)),
    );
  }
  const left = readdirSync(dataDir).filter(
    (entry) => !STAYS.test(entry) && !entry.startsWith(ASIDE),
  );
  move(dataDir, [...left.filter((entry) => entry !== 'mirror.db'), 'mirror.db']);
  return folders;
}
