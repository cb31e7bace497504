/**
 * Connects to the copy in PostgreSQL as the configuration describes it, and runs the process that
 * keeps the copy under the service manager. The daemon itself loads none of this.
 */
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import {
  describeCopy,
  planeAccount,
  planeAddress,
  planeSettingsOf,
  readPlaneCopy,
} from '../ops/plane-copy.ts';
import { freshnessOf } from '../ops/status.ts';
import { type Cell, cellOf } from '../plane/cursor.ts';
import { connectPostgres, type PlaneClient } from '../plane/postgres.ts';
import { createSink } from '../plane/sink.ts';
import { createSource, type MirrorReader } from '../plane/source.ts';
import { storeOptions } from '../store/store.ts';
import { createSupervisor } from './supervisor.ts';
import { announce, type ServiceManager } from './systemd/manager.ts';
import { createWatchdog } from './systemd/watchdog.ts';

type Configured = Pick<Config, 'dataDir' | 'instance' | 'plane' | 'service' | 'store' | 'streams'>;

const STOP_MS_MAX = 20_000;

/** Access to the plane; throws where none is configured, or its address is unreadable. */
function accessOf(config: Configured) {
  const { schema, content } = config.plane;
  const url = planeAddress(config);
  const { path, busyTimeoutMs } = storeOptions(config);
  return {
    account: planeAccount(config),
    cell: cellOf(config.dataDir, freshnessOf(config)),
    schema,
    source: createSource({ path, busyTimeoutMs, content }),
    connect: connectPostgres({ url, schema }),
  };
}

export interface PlaneParts {
  readonly client: PlaneClient;
  readonly account: string;
  readonly cell: Cell;
  readonly schema: string;
  /** Opens the mirror on demand: elsewhere, only PostgreSQL may be within reach. */
  readonly reader: () => MirrorReader;
}

/** Runs a command's work with a session of the plane, and ends the session. */
export async function withPlane<T>(
  config: Configured,
  work: (parts: PlaneParts) => Promise<T>,
): Promise<T> {
  const { source, connect, ...names } = accessOf(config);
  const client = await connect();
  try {
    return await work({ client, reader: source.reader, ...names });
  } finally {
    source.close();
    await client.end();
  }
}

export interface PlaneRunDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly manager: ServiceManager;
}

/** Keeps the copy current until the signal aborts. */
export async function runPlane(
  config: Configured,
  { clock, log, manager }: PlaneRunDeps,
  signal: AbortSignal,
): Promise<void> {
  const { source, connect, account, cell, schema } = accessOf(config);
  const { dataDir, plane } = config;
  const settings = { account, schema, dataDir, cell, everyMs: plane.every };
  const sink = createSink({ source, connect, settings, clock, log });
  const describe = async (): Promise<string> => {
    const copy = readPlaneCopy(planeSettingsOf(config), clock.now());
    return copy ? describeCopy(copy) : 'nothing yet';
  };
  // The watchdog watches only the event loop, as SQL statements have time limits.
  const watchdog = createWatchdog({
    clock,
    log,
    notifier: manager.notifier,
    describe,
    stuck: () => [],
    note: async () => undefined,
  });
  const workers = [{ name: 'plane', run: (until: AbortSignal) => sink.run(until) }, watchdog];
  const supervisor = createSupervisor(workers, { clock, log, stopMsMax: STOP_MS_MAX });
  log.info({ account, schema }, 'started');
  announce(manager, Promise.resolve(true), signal);
  try {
    await supervisor.run(signal);
  } finally {
    source.close();
    log.info('stopped');
  }
}
