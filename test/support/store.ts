/** Real SQLite files in folders of their own; a failed test's folder is kept for a look. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { inject, onTestFinished } from 'vitest';
import { type Clock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { openStore, type SqliteStore } from '../../src/store/store.ts';

/**
 * Registers what runs when the test ends. A test that runs beside others has to pass the one of
 * its own context: Vitest cannot tell which of them asks.
 */
export type AtEnd = typeof onTestFinished;

/** A new folder that goes away when the test has passed. */
export function temporaryFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'));
  atEnd(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`kept for a look: ${folder}\n`);
    else rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** The database that was migrated once for all tests, in a place where there is none. */
export function placeDatabase(path: string, from = inject('migratedDatabase')): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  copyFileSync(from, path);
}

/** A migrated database in a folder of its own. */
export async function temporaryStore(clock: Clock = manualClock()): Promise<SqliteStore> {
  const path = join(temporaryFolder(), 'mirror.db');
  placeDatabase(path);
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  onTestFinished(() => store.close());
  return store;
}

/** Overwrites pages of a table and its indexes, or of one index, in a file that nobody has open. */
export async function damage(path: string, name: string): Promise<void> {
  const { store } = await openStore({ path, busyTimeoutMs: 0 }, systemClock());
  await store.close();
  const database = new Database(path, { readonly: true });
  const pages = database
    .prepare<[string], number>(
      'select rootpage from sqlite_schema where ? in (name, tbl_name) and rootpage > 0',
    )
    .pluck()
    .all(name);
  const size = Number(database.pragma('page_size', { simple: true }));
  database.close();
  const file = openSync(path, 'r+');
  for (const page of pages) writeSync(file, Buffer.alloc(size, 0x5a), 0, size, (page - 1) * size);
  closeSync(file);
}
