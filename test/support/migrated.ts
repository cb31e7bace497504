/** Before all tests: empty databases, migrated once, from which {@link placeDatabase} copies. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { manualClock } from '../../src/lib/clock.ts';
import { openExchange } from '../../src/store/exchange/exchange.ts';
import { openStore } from '../../src/store/store.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of its file; nobody has it open. */
    migratedDatabase: string;
    /** The same of the exchange database. */
    migratedExchange: string;
  }
}

export async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-migrated-'));
  const path = join(folder, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, manualClock());
  await store.close();
  const exchange = join(folder, 'exchange.db');
  openExchange(exchange, manualClock())[Symbol.dispose]();
  project.provide('migratedDatabase', path);
  project.provide('migratedExchange', exchange);
  return () => rmSync(folder, { recursive: true, force: true });
}
