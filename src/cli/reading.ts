/** A reading command's way to the database: read-only, beside the daemon or without one. */
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/schema.ts';
import { type Db, openReadOnlyStore, type Store } from '../store/store.ts';
import { type CliContext, configOf } from './command.ts';

export async function withMirror<T>(
  command: Command,
  context: CliContext,
  read: (db: Db, store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const { config } = configOf(command, context);
  const store = await openReadOnlyStore({
    path: join(config.dataDir, 'mirror.db'),
    busyTimeoutMs: config.store.busyTimeout,
  });
  try {
    return await read(store.db, store, config);
  } finally {
    await store.close();
  }
}
