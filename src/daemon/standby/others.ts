/**
 * Looks which machines wait for this one's lease, and whether a replica confirms commits: both are
 * read alone, which goes on while a commit waits for a replica that is not there.
 */
import type { Clock } from '../../lib/clock.ts';
import { readOverview, type WaitingSeen } from '../../standby/overview.ts';
import type { Replication } from '../../standby/replication.ts';
import type { Servers } from '../../standby/session.ts';
import type { StandbySettings } from '../../standby/settings.ts';
import type { Worker } from '../supervisor.ts';

const LOOK_MS = 30_000;

interface Seen {
  readonly standbys: readonly WaitingSeen[];
  readonly replication: Replication;
}

export interface Others extends Worker {
  /** Undefined: not known now. */
  seen(): Seen | undefined;
}

export function watchOthers({
  servers,
  settings,
  clock,
}: {
  readonly servers: Servers;
  readonly settings: Pick<StandbySettings, 'account' | 'machine'>;
  readonly clock: Clock;
}): Others {
  let seen: Seen | undefined;
  const look = async (): Promise<Seen> => {
    const session = await servers.open();
    try {
      const { machines, replication } = await readOverview(session, settings.account);
      const standbys = machines.filter(({ machine }) => machine !== settings.machine);
      return { standbys, replication };
    } finally {
      await session.end();
    }
  };
  return {
    name: 'standby-others',
    seen: () => seen,
    async run(signal) {
      while (!signal.aborted) {
        // The lease's own worker says why PostgreSQL cannot be asked.
        seen = await look().catch(() => undefined);
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
