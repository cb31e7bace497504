/** Offline mode: runs a command with store and service under the daemon's lock while none runs. */
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Scrubber } from '../../lib/secret.ts';
import { refuseOnStandby } from '../../ops/standby-here.ts';
import { requireFirstStart } from '../../store/backup/first-start.ts';
import { lockFile, lockFolder, makeDataFolder } from '../../store/lock.ts';
import { openStore, type SqliteStore, storeOptions } from '../../store/store.ts';
import { requireDatabase } from '../../store/writers/in-place.ts';
import { createService, type Service } from '../service.ts';
import { permitsOffline } from '../standby/begin.ts';

/** Parts that a command in offline mode works with. */
export interface OfflineParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly store: SqliteStore;
  readonly service: Service;
  readonly scrubber: Scrubber;
}

export interface OfflineDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly scrubber: Scrubber;
  /** Whether the database may be created, to keep the time of the last log-in. */
  readonly mayBeNew?: boolean;
}

/**
 * Runs a command's work while no daemon runs. Throws `store.locked` when one does, and where there
 * is no database, unless it may be new.
 */
export async function workOffline<T>(
  config: Config,
  deps: OfflineDeps,
  work: (parts: OfflineParts) => Promise<T>,
): Promise<T> {
  refuseOnStandby(config, deps.clock.now());
  if (deps.mayBeNew !== true) requireDatabase(config.dataDir);
  makeDataFolder(config.dataDir);
  const folder = lockFolder(lockFile(config.dataDir));
  try {
    requireFirstStart(config, deps.clock.now());
    const { store } = await openStore(storeOptions(config), deps.clock);
    const stopping = new AbortController();
    const permit = permitsOffline(config);
    const stop = stopping.signal;
    const service = await createService(config.service, { ...deps, store, stop, permit });
    try {
      return await work({ ...deps, config, store, service });
    } finally {
      stopping.abort(new Error('done'));
      await service.transport[Symbol.asyncDispose]();
      await store.close();
    }
  } finally {
    folder.release();
  }
}
