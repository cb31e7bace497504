/** Builds the pulls from the configuration: planner, threads, and operations for people. */
import { streamsNotAtLevel } from '../config/level.ts';
import type { Config } from '../config/schema.ts';
import { pulledStreams } from '../config/streams.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { ReadSequence } from '../store/state.ts';
import { type SqliteStore, storeOptions } from '../store/store.ts';
import type { Traits } from '../sync/account-traits.ts';
import { createBulkThreads } from '../sync/bulk/threads.ts';
import { createVariantPages } from '../sync/bulk/variant-pages.ts';
import { createSyncOperations, type SyncOperations } from '../sync/operations.ts';
import type { OrderLooks } from '../sync/order-looks.ts';
import { createPlanner, requestRun } from '../sync/planner.ts';
import type { RunResult } from '../sync/run/run-stream.ts';
import type { OfflineParts } from './commands/offline.ts';
import type { Service } from './service.ts';
import { plannedStreams } from './streams.ts';
import type { Worker } from './supervisor.ts';

export interface SyncDeps {
  readonly store: SqliteStore;
  readonly clock: Clock;
  /**
   * Clock of the pulls' threads. Not the planner's, whose use shows the planner's progress: the
   * threads go idle while the planner sleeps.
   */
  readonly threadsClock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly service: Service;
  readonly traits: Traits;
  readonly sequence: ReadSequence;
  readonly looks: OrderLooks;
  /** Whether the stream may be pulled: no pause, disk with room, account not held. */
  readonly mayPull: (stream: string) => boolean;
  readonly sweepPace: () => number | undefined;
  readonly onRefetchRequested: () => void;
  readonly onRunEnded: (result: RunResult) => void;
  /** Called when a person has accepted a run's data that decisions waited for. */
  readonly onAccepted: () => void;
}

export interface Sync {
  readonly planner: Worker;
  /** Makes the planner look at once, because something may be pulled again. */
  wakeUp(): void;
  /** Operations of people on pulls. */
  readonly operations: SyncOperations;
  /** Has a stream pulled soon, because something waits for its data. */
  requestRun(stream: string): Promise<void>;
}

/** Planner that ends the threads that work for it when it ends. */
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

/** Streams that the configuration knows and does not pull, whatever the account's level is. */
function switchedOff(config: Config): readonly string[] {
  const pulled = pulledStreams(config);
  const { off, ...streams } = config.streams;
  return Object.keys(streams).filter((name) => pulled[name] === undefined);
}

export function createSync(config: Config, deps: SyncDeps): Sync {
  const { store, clock, service } = deps;
  const log = deps.log.child({ room: 'sync' });
  const { writeHandOff, files } = store;
  const names = config.service.dialect.v1.members;
  const data = { ...storeOptions(config), writeHandOff, files };
  const { decimals } = service;
  const form = { decimals, account: config.service.v1.baseUrl };
  const threads = createBulkThreads(data, deps.threadsClock, { names, decimals });
  const variants = createVariantPages({ store, clock, ...threads });
  const streams = plannedStreams(config, { ...service, ...deps });
  const planner = createPlanner({ ...deps, log, variants, streams, names, form });
  const operations = createSyncOperations({
    store,
    clock,
    names,
    variants,
    notAtLevel: streamsNotAtLevel(config),
    switchedOff: switchedOff(config),
    streams: streams.map(({ stream }) => stream),
    wakeUp: planner.wakeUp,
    onAccepted: deps.onAccepted,
    onRefetchRequested: deps.onRefetchRequested,
  });
  const { wakeUp } = planner;
  return {
    planner: withThreads(planner, threads),
    wakeUp,
    operations,
    requestRun: (stream) => requestRun({ store, clock, wakeUp }, stream),
  };
}

/** Operations on pulls for the command line while no daemon runs. */
export function offlineOperations({ config, clock, store, service }: OfflineParts): SyncOperations {
  const sources = { store, clock, ...service, onRefetchRequested: () => undefined };
  const streams = plannedStreams(config, sources).map(({ stream }) => stream);
  const names = config.service.dialect.v1.members;
  const { decimals } = service;
  const variants = createVariantPages({ store, clock, names, decimals });
  const notAtLevel = streamsNotAtLevel(config);
  const common = { store, clock, names, variants, streams, notAtLevel };
  return createSyncOperations({
    ...common,
    switchedOff: switchedOff(config),
    onAccepted: () => undefined,
  });
}
