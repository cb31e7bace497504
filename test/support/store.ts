/** Real SQLite files in folders of their own; a failed test's folder is kept for a look. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { type Clock, manualClock } from '../../src/lib/clock.ts';
import { openStore, type SqliteStore } from '../../src/store/store.ts';

/** A new folder that goes away when the test has passed. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'));
  onTestFinished(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`kept for a look: ${folder}\n`);
    else rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A database in a folder of its own, migrated once for all tests. */
export async function temporaryStore(clock: Clock = manualClock()): Promise<SqliteStore> {
  const path = join(temporaryFolder(), 'mirror.db');
  copyFileSync(inject('migratedDatabase'), path);
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  onTestFinished(() => store.close());
  return store;
}
