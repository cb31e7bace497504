/**
 * Whether the record and this database are of one past. PostgreSQL may have gone back by more than
 * is sent again: it was restored from a backup of its own, or a replica that had lagged for long
 * was promoted. The database may have, too: its machine was put back to a snapshot.
 */
import { z } from 'zod';
import { RefusedError } from '../lib/errors.ts';
import { literal, type Session } from './session.ts';
import { TRIMMED } from './trim.ts';

export interface OwnPast {
  readonly account: string;
  /** Takings of this data folder. */
  readonly takings: readonly string[];
  /** Place up to which this database has the record, and has forgotten what was sent. */
  readonly place: number;
  /** Last number of its queue that was drawn. */
  readonly drawn: number;
}

const FOUND = z.object({ has_place: z.boolean(), last: z.coerce.number() });

/**
 * False: the record lacks what this database has forgotten. Throws `standby.old_database` where the
 * record has what this machine has written, and this database has not.
 */
export async function isOfOnePast(session: Session, own: OwnPast): Promise<boolean> {
  const { place, drawn, takings } = own;
  if (place === 0) return true;
  const account = literal(own.account);
  const list = takings.map((taking) => literal(taking)).join(', ');
  // The last row of each taking is found by its key: a record may be long.
  const [row] = await session.ask(
    `select exists (select from standby_record where account = ${account} and place = ${place})
         or exists (select from standby_machine where account = ${account}
           and machine = ${literal(TRIMMED)} and backup_place >= ${place}) AS has_place,
       (select coalesce(max(newest.seq), 0) from unnest(array[${list}]::uuid[]) AS ours (taking),
         lateral (select seq, place from standby_record
           where account = ${account} and taking = ours.taking and seq is not null
           order by seq desc limit 1) AS newest
         where newest.place > ${place}) AS last`,
  );
  const { has_place, last } = FOUND.parse(row);
  if (!has_place) return false;
  if (last <= drawn) return true;
  const message = `mirror.db is older than what this machine has recorded (${drawn} of ${last})`;
  throw new RefusedError('standby.old_database', message, {
    hint:
      'stop the daemon, move standby.json out of the data folder, and start it: it then waits as ' +
      'a standby, and goes on from a backup and the record',
  });
}
