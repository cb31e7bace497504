/** A database of an older program, and a program that is killed while it migrates it. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterFirstStep, stepsFolder } from '../../support/made-up-steps.ts';
import { temporaryFolder } from '../../support/store.ts';

/** Migrates; is killed when it asks for the time this often: once for a copy, then once a step. */
const MIGRATE = `
  import { openWriter } from './src/store/connection.ts';
  import { migrate, readMigrations } from './src/store/migrate.ts';
  const [path, steps, killedAt] = process.argv.slice(1);
  let asked = 0;
  const now = () =>
    (asked += 1) === Number(killedAt) ? process.kill(process.pid, 'SIGKILL') : Date.now();
  migrate(openWriter(path, { busyTimeoutMs: 1_000 }), { now }, readMigrations(steps));
`;

export function migrateArgv(dataDir: string, steps: string, killedAt: number): string[] {
  const path = join(dataDir, 'mirror.db');
  return ['--input-type=module', '--eval', MIGRATE, path, steps, String(killedAt)];
}

/** Makes a database as an older program left it; copying 96 MiB takes a while. */
export function olderDatabase(things = 96): { readonly dataDir: string; readonly steps: string } {
  const dataDir = temporaryFolder();
  afterFirstStep(join(dataDir, 'mirror.db'), things).close();
  return { dataDir, steps: stepsFolder() };
}

export function inFile<T>(path: string, sql: string): T[] {
  const database = new Database(path, { readonly: true });
  try {
    return database.prepare<[], T>(sql).pluck().all();
  } finally {
    database.close();
  }
}
