/**
 * The record's old end: a second machine begins from a backup, so that nobody asks for rows that
 * the oldest kept backup has.
 */
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { type BackupPlace, backupDirectory, listBackups } from '../store/backup/manifest.ts';
import { PLACE_KEY } from './feed.ts';
import type { Holding } from './lease.ts';
import { FEED_KEY } from './recorded.ts';
import { literal, type Session } from './session.ts';

/** Up to where a copy of the mirror has the record; undefined: it is not of this feed. */
function placeOfCopy(path: string, feed: string | undefined): number | undefined {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const state = database.prepare('select value from daemon_state where key = ?').pluck();
    if (state.get(FEED_KEY) !== feed) return undefined;
    const value = state.get(PLACE_KEY);
    return value === undefined ? undefined : Number(value);
  } finally {
    database.close();
  }
}

/** Place up to which all backups of the feed have the record; 0: there is none. */
export function placeOfBackups(config: BackupPlace, now: number, feed: string | undefined): number {
  const places = listBackups(backupDirectory(config), now).flatMap(({ path, manifest }) => {
    try {
      return placeOfCopy(join(dirname(path), manifest.mirror.file), feed) ?? [];
    } catch {
      // A backup that cannot be read is no beginning.
      return [];
    }
  });
  return places.length === 0 ? 0 : Math.min(...places);
}

const SLICE_ROWS = 2_000;

/** Row of `standby_machine` that says up to which place rows were deleted: it is no machine. */
export const TRIMMED = '';

/** Deletes rows up to this place, a few; true: there may be more. */
export async function trimRecord(
  session: Session,
  { account }: Pick<Holding, 'account'>,
  place: number,
): Promise<boolean> {
  // The place up to which all is gone is noted, too: an older backup is no beginning any more.
  const [deleted] = await session.ask(
    `with noted AS (insert into standby_machine (account, machine, at, version, backup_place)
       values (${literal(account)}, ${literal(TRIMMED)}, clock_timestamp(), '', ${place})
       on conflict (account, machine) do update set at = excluded.at,
         backup_place = greatest(standby_machine.backup_place, excluded.backup_place)),
     gone AS (delete from standby_record where account = ${literal(account)} and place in (
       select place from standby_record where account = ${literal(account)} and place <= ${place}
       order by place limit ${SLICE_ROWS}) returning 1)
     select count(*)::int AS rows from gone`,
  );
  return deleted?.rows === SLICE_ROWS;
}
