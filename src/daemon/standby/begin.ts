/**
 * The standby as the daemon meets it. Its parts are loaded only where the configuration names
 * servers: without them nothing of it exists.
 */

import { sql } from 'kysely';
import type { Permits } from '../../client/transport.ts';
import type { Config } from '../../config/schema.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import type { SqliteStore, Tx } from '../../store/store.ts';
import type { Begun, StandbyDeps } from './parts.ts';

/** Beginning of the names of the triggers that a standby has in the database. */
const TRIGGERS = 'standby_change_';

/** Removes what a standby of before has left; `triggers` are those that are not of the schema. */
export async function endStandby(
  store: SqliteStore,
  triggers: readonly string[],
): Promise<undefined> {
  if (!triggers.some((name) => name.startsWith(TRIGGERS))) return;
  await store.transaction(endFeedOf);
}

/** Ends the feed of the standby that the database has, if it has one. True: it had one. */
export async function endFeedOf(tx: Tx): Promise<boolean> {
  const { rows } = await sql`select 1 from sqlite_schema
    where type = 'table' and name = 'standby_change'`.execute(tx);
  if (rows.length === 0) return false;
  const { endFeed } = await import('../../standby/feed.ts');
  await endFeed(tx);
  return true;
}

/**
 * Takes the lease of this configuration's account, where it has a standby. Throws
 * `standby.superseded` where another machine holds it.
 */
export async function beginStandby(config: Config, deps: StandbyDeps): Promise<Begun | undefined> {
  if (config.standby.servers.length === 0) return undefined;
  const { takeLease } = await import('./machine.ts');
  return takeLease(config, deps);
}

/**
 * Refuses all that would change something at the service: without a daemon nobody holds the lease.
 */
export function permitsOffline({ standby }: Pick<Config, 'standby'>): Permits | undefined {
  if (standby.servers.length === 0) return undefined;
  return () =>
    Promise.reject(
      new RetryLaterError('standby.no_permit', 'only the daemon that holds the lease may send', {
        hint: 'start the daemon, and do it through that',
      }),
    );
}
