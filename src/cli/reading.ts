/**
 * Opens the database for a command that only reads: read-only, beside the daemon or without one.
 */
import type { Command } from 'commander';
import type { Config } from '../config/schema.ts';
import { systemClock } from '../lib/clock.ts';
import { refuseOnStandby } from '../ops/standby-here.ts';
import { type Db, openReadOnlyStore, type Store, storeOptions } from '../store/store.ts';
import type { CliContext } from './command.ts';
import { configOf } from './configuration.ts';

export async function withMirror<T>(
  command: Command,
  context: CliContext,
  read: (db: Db, store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const { config } = configOf(command, context);
  refuseOnStandby(config, systemClock().now());
  const store = await openReadOnlyStore(storeOptions(config));
  try {
    return await read(store.db, store, config);
  } finally {
    await store.close();
  }
}
