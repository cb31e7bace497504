/** The pulls as the configuration describes them: planner, threads, and what a person may do. */
import { streamsNotAtLevel } from '../config/level.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { RouteGroup } from '../local-api/api.ts';
import { syncRoutes } from '../local-api/sync-routes.ts';
import type { ReadSequence } from '../store/state.ts';
import { type SqliteStore, storeOptions } from '../store/store.ts';
import type { Traits } from '../sync/account-traits.ts';
import { createBulkThreads } from '../sync/bulk/threads.ts';
import { createVariantPages } from '../sync/bulk/variant-pages.ts';
import { createSyncOperations, type SyncOperations } from '../sync/operations.ts';
import { createPlanner, requestRun } from '../sync/planner.ts';
import type { RunResult } from '../sync/run/run-stream.ts';
import type { OfflineParts } from './commands/offline.ts';
import type { Service } from './service.ts';
import { plannedStreams } from './streams.ts';
import type { Worker } from './supervisor.ts';

export interface SyncDeps {
  readonly store: SqliteStore;
  readonly clock: Clock;
  /** Not the planner's, at which its pulse is felt: the threads go idle while it sleeps. */
  readonly threadsClock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly service: Service;
  readonly traits: Traits;
  readonly sequence: ReadSequence;
  /** False while the stream is paused, or all must wait because the disk is nearly full. */
  readonly mayPull: (stream: string) => boolean;
  readonly sweepPace: () => number | undefined;
  readonly onRefetchRequested: () => void;
  readonly onRunEnded: (result: RunResult) => void;
  /** A person has accepted what decisions waited for. */
  readonly onAccepted: () => void;
}

export interface Sync {
  readonly planner: Worker;
  /** Something may be pulled again. */
  wakeUp(): void;
  /** Route of the local API for pulls. */
  readonly routes: RouteGroup;
  /** Acts of people. */
  readonly operations: SyncOperations;
  /** Has a stream pulled soon, for what waits for it. */
  requestRun(stream: string): Promise<void>;
}

/** Runs the planner with the threads that work for it, which end with it. */
function withThreads(planner: Worker, threads: AsyncDisposable): Worker {
  return {
    name: planner.name,
    async run(signal) {
      try {
        await planner.run(signal);
      } finally {
        await threads[Symbol.asyncDispose]();
      }
    },
  };
}

export function createSync(config: Config, deps: SyncDeps): Sync {
  const { store, clock, service } = deps;
  const log = deps.log.child({ room: 'sync' });
  const { writeHandOff, files } = store;
  const names = config.service.v1.members;
  const data = { ...storeOptions(config), writeHandOff, files };
  const threads = createBulkThreads(data, deps.threadsClock, names);
  const variants = createVariantPages({ store, clock, ...threads });
  const streams = plannedStreams(config, { ...service, ...deps });
  const planner = createPlanner({ ...deps, log, variants, streams, names });
  const operations = createSyncOperations({
    store,
    clock,
    names,
    variants,
    notAtLevel: streamsNotAtLevel(config),
    streams: streams.map(({ stream }) => stream),
    wakeUp: planner.wakeUp,
    onAccepted: deps.onAccepted,
    onRefetchRequested: deps.onRefetchRequested,
  });
  const { wakeUp } = planner;
  return {
    planner: withThreads(planner, threads),
    wakeUp,
    routes: syncRoutes(operations),
    operations,
    requestRun: (stream) => requestRun({ store, clock, wakeUp }, stream),
  };
}

/** For the command line while no daemon runs. */
export function offlineOperations({ config, clock, store, service }: OfflineParts): SyncOperations {
  const sources = { store, clock, ...service, onRefetchRequested: () => undefined };
  const streams = plannedStreams(config, sources).map(({ stream }) => stream);
  const names = config.service.v1.members;
  const variants = createVariantPages({ store, clock, names });
  const wakeUp = (): void => undefined;
  const notAtLevel = streamsNotAtLevel(config);
  const common = { store, clock, names, variants, streams, notAtLevel };
  return createSyncOperations({ ...common, wakeUp, onAccepted: wakeUp });
}
