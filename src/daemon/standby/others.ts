/** Looks which machines wait for this one's lease, so that people see if one could take over. */
import type { Clock } from '../../lib/clock.ts';
import { readOverview, type WaitingSeen } from '../../standby/overview.ts';
import type { Servers } from '../../standby/session.ts';
import type { StandbySettings } from '../../standby/settings.ts';
import type { Worker } from '../supervisor.ts';

const LOOK_MS = 30_000;

export interface Others extends Worker {
  /** Undefined: not known now. */
  seen(): readonly WaitingSeen[] | undefined;
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
  let seen: readonly WaitingSeen[] | undefined;
  const look = async (): Promise<readonly WaitingSeen[]> => {
    const session = await servers.open();
    try {
      const { machines } = await readOverview(session, settings.account);
      return machines.filter(({ machine }) => machine !== settings.machine);
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
