/** The local listener as the configuration describes it: what may be asked of a running daemon. */
import type { Config } from '../config/schema.ts';
import { createLocalApi, type RouteGroup } from '../console/api.ts';
import { type Health, healthRoutes } from '../console/health-routes.ts';
import { syncRoutes } from '../console/sync-routes.ts';
import type { Random } from '../lib/chance.ts';
import type { Logger } from '../lib/log.ts';
import type { SyncOperations } from '../sync/operations.ts';
import type { Worker } from './supervisor.ts';

export interface LocalDeps {
  readonly random: Random;
  readonly log: Logger;
  readonly sync: SyncOperations;
  readonly health: Health;
  /** What the other parts offer themselves. */
  readonly groups: readonly RouteGroup[];
  readonly onListening: () => void;
}

export function createLocal(config: Config, { sync, health, ...deps }: LocalDeps): Worker {
  const groups = [syncRoutes(sync), healthRoutes(health), ...deps.groups];
  return createLocalApi(
    { ...deps, groups, log: deps.log.child({ room: 'console' }) },
    { ...config.local, dataDir: config.dataDir },
  );
}
