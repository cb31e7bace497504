/** The lease and the machines of an account, as PostgreSQL tells them. */
import { z } from 'zod';
import { formatDuration } from '../lib/units.ts';
import { type LeaseRow, readLease } from './lease.ts';
import { type Replication, readReplication } from './replication.ts';
import { literal, type Session } from './session.ts';
import type { StandbyStatus } from './status-file.ts';
import { TRIMMED } from './trim.ts';

const MACHINE = z.object({
  machine: z.string(),
  version: z.string(),
  ago: z.coerce.number(),
  backup_ago: z.coerce.number().nullable(),
  backup_place: z.coerce.number().nullable(),
});

/** A machine that waits, or has waited; times are ages by the server's clock. */
export type WaitingSeen = NonNullable<StandbyStatus['standbys']>[number];

/** A standby tells of itself each half minute. */
const SEEN_MS_MAX = 90_000;

/** Why a machine could not take over now; undefined: it could. */
export function whyNotReady(seen: WaitingSeen | undefined, version: string): string | undefined {
  if (seen === undefined) return 'it has not told that it waits';
  const { seenMsAgo, behind } = seen;
  if (seenMsAgo > SEEN_MS_MAX) return `it told of itself ${formatDuration(seenMsAgo)} ago at last`;
  if (behind === null) return 'it has no backup to begin from (its log says why)';
  if (seen.version !== version) return `it runs ${seen.version}, and this machine ${version}`;
  return undefined;
}

export interface Overview {
  readonly lease: LeaseRow | undefined;
  /** Age of the lease's last renewal cannot be told: this is until when it runs, in ms from now. */
  readonly endsInMs: number | undefined;
  readonly machines: readonly WaitingSeen[];
  /** Last place of the record. */
  readonly place: number;
  readonly replication: Replication;
}

export async function readOverview(session: Session, account: string): Promise<Overview> {
  const lease = await readLease(session, account);
  const ours = `account = ${literal(account)}`;
  const [now] = await session.ask(
    `select (select coalesce(max(place), 0) from standby_record where ${ours}) AS place,
       extract(epoch from clock_timestamp()) * 1000 AS now`,
  );
  const place = Number(now?.place);
  const rows = await session.ask(
    `select machine, version, extract(epoch from clock_timestamp() - at) * 1000 AS ago,
       extract(epoch from clock_timestamp() - backup_at) * 1000 AS backup_ago, backup_place
     from standby_machine where ${ours} and machine <> ${literal(TRIMMED)} order by machine`,
  );
  return {
    lease,
    replication: await readReplication(session),
    endsInMs: lease && lease.endsAt - Number(now?.now),
    place,
    machines: rows.map((row) => {
      const { machine, version, ago, backup_ago, backup_place } = MACHINE.parse(row);
      return {
        machine,
        version,
        seenMsAgo: Math.max(0, ago),
        backupMsAgo: backup_ago,
        behind: backup_place === null ? null : place - backup_place,
      };
    }),
  };
}
