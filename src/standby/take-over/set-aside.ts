/**
 * Puts what an earlier holder left on this machine aside, before it waits as a standby: its
 * databases and the files of its drop folder are of a past that ended, and are never merged.
 * Backups stay: each is judged when it is needed. So do folders, and files that are not the
 * daemon's: rules, secrets or a drop folder may be in the data folder, too.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { RefusedError, toError } from '../../lib/errors.ts';
import { sealAside } from '../../store/backup/seal.ts';
import { exchangeFile } from '../../store/exchange/exchange.ts';

/** The mirror, its log, and those that earlier restores replaced. */
const MIRROR = /^mirror\.db(?:[-.].*)?$/;
/** Endings of the files of one database: a journal that is left would change the next one. */
const ENDINGS = ['', '-wal', '-shm', '-journal'];
const ASIDE = 'before-standby-';

export type SetAsideFolders = Pick<Config, 'dataDir' | 'intake'>;

interface Moving {
  readonly from: string;
  readonly names: readonly string[];
}

/** Files to be moved, by folder; the mirror goes last, since all of it is looked for by that. */
function plan({ dataDir, intake }: SetAsideFolders): Moving[] {
  const { path } = intake.folder;
  const dropped =
    path === null || !existsSync(path) ? [] : readdirSync(path, { withFileTypes: true });
  const files = dropped.filter((entry) => entry.isFile()).map(({ name }) => name);
  const exchange = exchangeFile({ dataDir, intake });
  const besides = ENDINGS.map((ending) => basename(exchange) + ending);
  const mirrors = readdirSync(dataDir).filter((name) => MIRROR.test(name) && name !== 'mirror.db');
  return [
    { from: path ?? dataDir, names: files },
    {
      from: dirname(exchange),
      names: besides.filter((name) => existsSync(join(dirname(exchange), name))),
    },
    { from: dataDir, names: [...mirrors, 'mirror.db'] },
  ];
}

/**
 * Sets all of it aside, and tells each folder in which it now is. Throws `standby.set_aside`; what
 * was not moved by then is at the next call.
 */
export function setAside(
  folders: SetAsideFolders,
  now: number,
  tell: (folder: string) => void,
): void {
  const mirror = join(folders.dataDir, 'mirror.db');
  if (!existsSync(mirror)) return;
  sealAside(mirror);
  const told = new Set<string>();
  for (const { from, names } of plan(folders)) {
    if (names.length === 0) continue;
    const to = join(from, `${ASIDE}${now}`);
    try {
      mkdirSync(to, { recursive: true, mode: 0o700 });
      for (const name of names) renameSync(join(from, name), join(to, name));
    } catch (cause) {
      const why = toError(cause).message;
      throw new RefusedError('standby.set_aside', `what was here stays in ${from}: ${why}`, {
        hint: `have it writable; as a service by ReadWritePaths=${from} in a drop-in of its unit`,
        cause,
      });
    }
    if (!told.has(to)) tell(to);
    told.add(to);
  }
}
