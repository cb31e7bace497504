/** The standby as other parts of the daemon see it. */
import type { Permits } from '../../client/transport.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { RouteGroup } from '../../local-api/api.ts';
import type { StandbyStatus } from '../../standby/status-file.ts';
import type { SqliteStore } from '../../store/store.ts';
import type { Keep } from '../../store/transaction/keep.ts';
import type { Worker } from '../supervisor.ts';
import type { CatchUpDeps } from './catch-up.ts';

export interface StandbyDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Whether this machine may send at all; each request needs a permit besides. */
export interface Sending {
  /** Says why nothing may be sent; undefined: it may. */
  whyNot(): string | undefined;
  /** Adds a listener, called when sending begins or ceases to be allowed. */
  onTurn(listener: () => void): void;
}

export interface Standby {
  /** Its workers; one of them watches the mirror after a take-over. */
  workersWith(deps: CatchUpDeps): readonly Worker[];
  readonly routes: readonly RouteGroup[];
  /** Waits until PostgreSQL has what was committed. */
  readonly keep: Keep;
  readonly permit: Permits;
  readonly sending: Sending;
  /** Stops sending, waits until PostgreSQL has all, and gives the lease away, to this machine. */
  handOver(to?: string): Promise<void>;
  status(): StandbyStatus;
  close(): void;
}

/** A lease that was taken; `open` begins the record of the database that was opened since. */
export interface Begun {
  open(store: SqliteStore): Promise<Standby | undefined>;
}
