/** Whether a replica confirms each commit, as a session may see it. */
import { z } from 'zod';
import type { Session } from './session.ts';

export interface Replication {
  /** Setting `synchronous_standby_names`. */
  readonly names: string;
  /** Connected replicas; the state is null where the user may not see it. */
  readonly replicas: readonly { readonly name: string; readonly state: string | null }[];
}

const REPLICAS = z.array(z.object({ name: z.string(), state: z.string().nullable() }));

export async function readReplication(session: Session): Promise<Replication> {
  const [row] = await session.ask(
    `select current_setting('synchronous_standby_names') AS names,
       (select coalesce(json_agg(json_build_object('name', coalesce(application_name, ''),
         'state', sync_state)), '[]') from pg_stat_replication) AS replicas`,
  );
  return { names: String(row?.names ?? ''), replicas: REPLICAS.parse(row?.replicas) };
}

/**
 * `nobody`: a commit waits for replicas of which none is connected, as at a promoted server that
 * waits for itself; `unknown`: the user may not see it.
 */
export function gradeReplication({
  names,
  replicas,
}: Replication): 'off' | 'confirmed' | 'nobody' | 'unknown' {
  if (names.trim() === '') return 'off';
  if (replicas.some(({ state }) => state === 'sync' || state === 'quorum')) return 'confirmed';
  return replicas.some(({ state }) => state === null) ? 'unknown' : 'nobody';
}
